"""Plausible bugs, one at a time, and the tests that must notice them: `python -m tests.mutants`."""
