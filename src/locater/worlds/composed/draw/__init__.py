"""From scenes to pixels."""
