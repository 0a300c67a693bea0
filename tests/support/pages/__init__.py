"""Pages in tests: the real commands that serve them, and whoever uses them."""
