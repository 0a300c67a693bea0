"""Kills, full and read-only disks at every change that a writer makes to the disk, and what is left after them."""
