"""What every benchmark shares: its request, clocks, checks, tables and plots."""
