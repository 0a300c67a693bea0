"""What training learns from: clips of datasets, of worlds, and cached features."""
