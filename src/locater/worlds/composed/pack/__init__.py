"""From pictures to a pack: what the composed world draws from."""
