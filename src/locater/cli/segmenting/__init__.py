"""What `locater segment` reads and tells: videos and sentences, corrections, findings."""
