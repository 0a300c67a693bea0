"""The page where people accept and reject the pairs of a contrast set."""
