"""Scores, as pure functions of masks and of counts."""
