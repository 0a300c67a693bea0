"""The module that scores candidate masks, and its files."""
