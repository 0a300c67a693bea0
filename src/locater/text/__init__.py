"""WORDS: splitting, vocabularies, mirroring, semantic roles."""
