"""The command line: one module for each group of commands, heavy imports inside each, so that --help is instant."""
