"""Training the second look: named crops, what may be said of them, the fit, and scores to trust."""
