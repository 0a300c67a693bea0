"""Every number that the paper prints, table by table as printed; one place, read by all that stand beside them."""
