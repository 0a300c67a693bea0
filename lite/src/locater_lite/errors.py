"""What goes wrong for a person to put right."""


class LocaterError(Exception):
    """One plain sentence, with what to do next."""
