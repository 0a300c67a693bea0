"""Reports that people read: tables as Markdown, and one self-contained HTML page with charts and pictures."""
