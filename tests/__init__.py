"""Tests, in the order of the package; `support` is what they share."""
