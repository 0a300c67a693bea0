"""Measurements of speed and memory: each checks results before it times, and says where its numbers come from."""
