"""Many videos on Ray: a manifest in, a folder of results per video out, resumable at any moment."""
