"""Encoders that see several frames together."""
