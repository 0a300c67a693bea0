"""What tests of the evaluation share: its command, and segmenters whose score is known."""
