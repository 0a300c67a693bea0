"""Finding a labeler by name: ours, or a user's own."""

from importlib import import_module

from locater.errors import LocaterError
from locater.text.roles.records import RoleLabeler
from locater.text.roles.trained_labeler import TrainedLabeler, open_rules

TRAINED = "huggingface"


def open_labeler(spec: str = "") -> RoleLabeler:
    """The rules; a trained network, `huggingface:NAME`; or what a user's own `module:callable` gives when called."""
    if not spec:
        return open_rules()
    module_name, colon, attribute = spec.partition(":")
    if module_name == TRAINED and attribute:
        return TrainedLabeler(attribute)
    if not (module_name and colon and attribute):
        raise LocaterError(
            f"'{spec}' names no labeler; write {TRAINED}:FOLDER-or-hub-name, or module:callable, as my_roles:MyLabeler."
        )
    try:
        labeler = getattr(import_module(module_name), attribute)()
    except Exception as error:  # whatever the user's module does wrong
        raise LocaterError(f"The labeler '{spec}' cannot be had: {type(error).__name__}: {error}") from error
    if not (isinstance(getattr(labeler, "name", None), str) and callable(getattr(labeler, "label", None))):
        raise LocaterError(f"'{spec}' gives no labeler: it needs a `name` and a `label(sentences)`.")
    found: RoleLabeler = labeler
    return found
