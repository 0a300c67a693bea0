"""Linear probes on frozen features, for `experiments.encoders`."""
