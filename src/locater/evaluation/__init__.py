"""Scores as pure functions, the runner, reports."""
