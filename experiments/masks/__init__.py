"""What masks look like, whatever they mean."""
