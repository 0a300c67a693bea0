"""From a seed to a scene: which cut-outs, where, how they move, and the sentence."""
