"""Probes of words: strange ones, unknown nouns, which decide, and vectors."""
