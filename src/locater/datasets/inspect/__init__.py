"""What `locater data check` and `locater data show` find in a dataset."""
