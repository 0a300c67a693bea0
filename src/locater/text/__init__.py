"""WORDS: splitting, vocabularies, mirroring."""
