"""Fused GPU kernels, held against the plain functions that they stand for."""
