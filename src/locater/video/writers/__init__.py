"""Writers of results, one module per family of formats; `video/writer.py` opens them by name."""
