"""Annotations that others made: one file a dataset, one line in the catalog."""
