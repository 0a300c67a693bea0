"""The command line in tests: run in this process or in one of its own, and held to leave nothing behind."""
