"""The command as a process: how it starts, and how it is stopped."""
