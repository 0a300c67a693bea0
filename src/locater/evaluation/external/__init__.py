"""Masks of any system: their files, their scores, and zips for the benchmarks' servers."""
