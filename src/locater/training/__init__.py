"""Losses, schedule, trainer, resume, ablations."""
