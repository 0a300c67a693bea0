"""The commands that serve pages."""
