"""The paper's ablations: its tables, the runs behind them, and a table beside the paper's numbers."""
