"""Commands that run what the paper has."""
