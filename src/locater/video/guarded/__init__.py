"""Decoding in child processes with bounds on memory, size and time: a file that kills its decoder ends no more."""
