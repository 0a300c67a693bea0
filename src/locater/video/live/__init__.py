"""What happens now: frames from cameras and streams, and pictures to a player as they are made."""
