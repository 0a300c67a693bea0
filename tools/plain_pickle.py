"""Turns a pickle of plain values (RefCOCO's refs) into JSON: python -m tools.plain_pickle 'refs(unc).p'.

A pickle runs code through the classes and functions it names; this reader admits no name at all, so only lists, tables,
texts and numbers come through.
"""

import argparse
import json
import pickle
from pathlib import Path
from typing import Any, NoReturn

from locater.errors import LocaterError
from locater.io.atomic import atomic_path


class PlainUnpickler(pickle.Unpickler):
    """Reads plain values and refuses every class and function."""

    def find_class(self, module_name: str, global_name: str) -> NoReturn:
        """Nothing: whatever a pickle names is refused."""
        raise pickle.UnpicklingError(f"it names {module_name}.{global_name}")


def read_plain_pickle(path: Path) -> Any:
    """The lists, tables, texts and numbers of a pickle."""
    try:
        with path.open("rb") as file:
            # Python 2 wrote these files; its texts are bytes to Python 3, and latin-1 maps every byte.
            return PlainUnpickler(file, encoding="latin-1").load()
    except OSError as error:
        raise LocaterError(f"{path} cannot be read: {(error.strerror or str(error)).lower()}.") from None
    except Exception as error:  # a cut or foreign file ends in any of a dozen kinds
        raise LocaterError(f"{path} is no pickle of plain values: {error}.") from None


def convert(path: Path) -> Path:
    """The JSON file written beside the pickle."""
    target = path.with_suffix(".json")
    with atomic_path(target) as partial:
        partial.write_text(json.dumps(read_plain_pickle(path)), encoding="utf-8")
    return target


def main() -> None:
    """Convert each file named on the command line."""
    parser = argparse.ArgumentParser(prog="python -m tools.plain_pickle", description=__doc__.split(":")[0])
    parser.add_argument("pickles", metavar="FILE", type=Path, nargs="+", help="the JSON is written beside each")
    for path in parser.parse_args().pickles:
        try:
            print(convert(path))
        except LocaterError as error:
            raise SystemExit(f"Error: {error}") from None


if __name__ == "__main__":
    main()
