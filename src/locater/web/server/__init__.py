"""What both pages are served with: an address with a token, bounded connections, checked requests."""
