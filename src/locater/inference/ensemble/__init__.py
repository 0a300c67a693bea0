"""Several mask sequences for one sentence: scored, chosen among, fused; and image models as a source of them."""
