"""Finding a labeler by name: ours, or a user's own."""

from importlib import import_module

from locater.errors import LocaterError
from locater.text.roles.records import RoleLabeler


def open_labeler(spec: str = "") -> RoleLabeler:
    """Our labeler, or what `module:callable` gives when called: a user's own, such as a BERT-based one."""
    if not spec:
        return _our_labeler()
    module_name, colon, attribute = spec.partition(":")
    if not (module_name and colon and attribute):
        raise LocaterError(f"'{spec}' names no labeler; write module:callable, for example my_roles:BertLabeler.")
    try:
        labeler = getattr(import_module(module_name), attribute)()
    except Exception as error:  # whatever the user's module does wrong
        raise LocaterError(f"The labeler '{spec}' cannot be had: {type(error).__name__}: {error}") from error
    if not (isinstance(getattr(labeler, "name", None), str) and callable(getattr(labeler, "label", None))):
        raise LocaterError(f"'{spec}' gives no labeler: it needs a `name` and a `label(sentences)`.")
    found: RoleLabeler = labeler
    return found


def _our_labeler() -> RoleLabeler:
    try:
        from locater.text.roles.spacy_labeler import SpacyLabeler

        return SpacyLabeler()
    except ImportError as error:
        raise LocaterError(
            f"Semantic roles need spaCy, its small English model and lemminflect ({error.name} is missing); "
            'run: pip install "locater[contrast]".'
        ) from error
