"""Programs that make what is shipped or trained on: word table, demo clip, converted weights, packs."""
