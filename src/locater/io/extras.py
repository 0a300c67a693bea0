"""Libraries of the package's extras: one plain sentence where one of them is absent."""

import importlib
import re
from importlib import metadata
from typing import Any

from locater.errors import LocaterError

_REQUIREMENT = re.compile(r"""(?P<package>[\w.-]+).*extra\s*==\s*["'](?P<extra>[\w-]+)["']""")


def data_library(name: str) -> Any:
    """The module `name` of the extra `data`; a user without it learns how to get it."""
    try:
        return importlib.import_module(name)
    except ImportError:
        package = name.partition(".")[0]
        raise LocaterError(
            f"This dataset's files need {package}, which is not installed; run: pip install 'locater[data]'."
        ) from None


def how_to_install(module: str) -> str | None:
    """The sentence for a missing module that belongs to an extra of ours; None for any other."""
    package = module.partition(".")[0]
    extras = [extra for extra, packages in _extras().items() if package in packages]
    if not extras:
        return None
    commands = " or ".join(f"pip install 'locater[{extra}]'" for extra in extras)
    return f"This needs {package}, which is not installed; run: {commands}."


def _extras() -> dict[str, set[str]]:
    """The packages of each extra, as the installed package itself declares them."""
    try:
        declared = metadata.requires("locater") or []
    except metadata.PackageNotFoundError:
        return {}
    extras: dict[str, set[str]] = {}
    for match in filter(None, map(_REQUIREMENT.match, declared)):
        if match["extra"] != "dev":
            extras.setdefault(match["extra"], set()).add(match["package"].lower().replace("-", "_"))
    return extras
