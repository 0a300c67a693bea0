"""Results as files for people and programs."""
