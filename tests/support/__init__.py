"""What tests share: made files, tiny checkpoints, the real commands."""
