"""The challenge entry in miniature: scales and flips, members, and the grounding module that chooses among them."""
