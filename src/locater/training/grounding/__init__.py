"""Training the grounding module: candidates to tell apart, the fit, how often the right one is chosen."""
