"""Probes: each answers one question, and dev/LOG.md says what came of it."""
