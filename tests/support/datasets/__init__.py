"""The datasets' official layouts, made small."""
