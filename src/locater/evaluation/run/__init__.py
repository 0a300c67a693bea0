"""A checkpoint's answers to every question of a dataset."""
