"""Presets: YAML, differences only."""
