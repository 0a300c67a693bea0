"""YAML whose numbers are those that people write: 1e-4 is one, as in YAML 1.2; PyYAML reads 1.1, where it is none."""

import re
from typing import Any

import yaml


class _Loader(yaml.SafeLoader):
    pass


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)[eE][-+]?[0-9]+$"),
    list("-+.0123456789"),
)


def load_yaml(text: str) -> Any:
    """The values of a text; `yaml.YAMLError` where it is none."""
    return yaml.load(text, Loader=_Loader)
