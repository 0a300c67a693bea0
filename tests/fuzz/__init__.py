"""Files and texts, damaged at random: whatever is done to them, one sentence or a result comes back."""
