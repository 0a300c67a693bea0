"""Visual encoders: frames to patch features."""
