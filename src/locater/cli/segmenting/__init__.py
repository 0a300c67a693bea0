"""What `locater segment` reads: videos and sentences, corrections, formats."""
