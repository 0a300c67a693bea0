"""What the tests of the worlds share."""
