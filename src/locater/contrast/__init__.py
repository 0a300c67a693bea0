"""Harder test sets, built from any dataset: contrasting pairs of videos, joined. The paper's A2D-S+ (section 4)."""
