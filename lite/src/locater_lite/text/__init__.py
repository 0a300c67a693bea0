"""Locater's own rules of words, copied: its tests hold each copy against its original."""
