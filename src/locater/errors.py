"""The one error a user can cause; the command line prints it as a sentence and exits with code 2."""


class LocaterError(Exception):
    """What went wrong and what to do next, in one plain sentence."""
