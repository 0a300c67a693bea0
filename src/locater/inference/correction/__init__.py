"""Masks that a person put right, and the frames around them that follow."""
