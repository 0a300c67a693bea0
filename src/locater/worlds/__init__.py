"""SCENES we make, whose masks and sentences are true by construction."""
