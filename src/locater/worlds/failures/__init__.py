"""Scenes for the paper's failure types (section 5.8): bound attributes, sentences that fit two, mirror images."""
