"""For the paper's tables in miniature (docs/reproduction.md)."""
