"""PIXELS in and out: reading, resizing, drawing, writing."""
