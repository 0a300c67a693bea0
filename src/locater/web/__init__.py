"""Pages for people who never open a terminal, on one server: segmenting, and the review of a contrast set."""
