"""Presets: YAML, differences only, shipped here or in a file of one's own (`extends: default`)."""

from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from locater.errors import LocaterError
from locater.presets.numbers import load_yaml

_SUFFIXES = (".yaml", ".yml")


def preset_names() -> list[str]:
    """The presets shipped with the package."""
    folder = resources.files("locater.presets")
    return sorted(entry.name.removesuffix(".yaml") for entry in folder.iterdir() if entry.name.endswith(".yaml"))


def preset_values(name: str, extended_by: tuple[str, ...] = ()) -> dict[str, Any]:
    """The settings of a preset, or of a file of that path, as plain values, its `extends` chain merged."""
    own = _read(name)
    own.pop("about", None)
    parent = own.pop("extends", None)
    if parent is None:
        return own
    if not isinstance(parent, str):
        raise LocaterError(f"{name}: extends is a preset's name or a path, as in `extends: default`.")
    if name.endswith(_SUFFIXES) and parent.endswith(_SUFFIXES):
        parent = str((Path(name).parent / parent).resolve())
    if parent in (name, str(Path(name).resolve()), *extended_by):
        raise LocaterError(f"{name} extends itself by way of {parent}; let one of them extend a shipped preset.")
    return merged(preset_values(parent, (*extended_by, str(Path(name).resolve()))), own)


def preset_about(name: str) -> str:
    """The preset's own one-line description."""
    return str(_read(name).get("about", ""))


def merged(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """`base` with `changes` on top, group by group; an encoder of another kind starts afresh."""
    result = dict(base)
    for key, value in changes.items():
        old: Any = result.get(key)
        is_group = isinstance(old, dict) and isinstance(value, dict)
        is_encoder = key in ("visual", "text", "what", "where") and is_group
        is_other_encoder = is_encoder and value.get("kind", old["kind"]) != old["kind"]
        result[key] = merged(old, value) if is_group and not is_other_encoder else value
    return result


def _read(name: str) -> dict[str, Any]:
    """A file's settings as they stand in it."""
    if name.endswith(_SUFFIXES):
        try:
            values = load_yaml(Path(name).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise LocaterError(f"{name} cannot be read: {_reason(error)}; give a preset's name or a file.") from None
        except yaml.YAMLError:
            raise LocaterError(f"{name} is no YAML; shipped presets show how settings are written.") from None
    else:
        if name not in preset_names():
            raise LocaterError(
                f"There is no preset '{name}'; the presets are {', '.join(preset_names())}, and a path that ends in "
                ".yaml is a recipe of your own."
            )
        values = load_yaml((resources.files("locater.presets") / f"{name}.yaml").read_text(encoding="utf-8"))
    if not isinstance(values, dict):
        raise LocaterError(f"{name} holds no settings; a line such as `extends: default` is the least.")
    return values


def _reason(error: Exception) -> str:
    strerror = getattr(error, "strerror", None)
    return strerror.lower() if strerror else "it is no text"
