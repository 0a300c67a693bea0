"""The network of the authors' released code, where it differs from the paper's text (docs/deviations.md)."""
