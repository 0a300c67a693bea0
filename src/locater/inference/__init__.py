"""From a source of frames and sentences to masks."""
