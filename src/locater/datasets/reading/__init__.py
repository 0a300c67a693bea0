"""What the readers of datasets share: frames and masks opened when somebody looks."""
