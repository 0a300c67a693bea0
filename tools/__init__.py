"""Programs that make what is shipped: word table, demo clip, converted weights."""
