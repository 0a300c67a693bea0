"""Files: whole or not at all, and whatever is wrong with them told in one sentence."""
