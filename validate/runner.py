"""What the studies share: where their records, pages and pictures are, and a command line."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS, DOCS = ROOT / "validate" / "results", ROOT / "docs"
IMAGES = DOCS / "img"


def options(about: str | None, arguments: Sequence[str] | None = None, **values: Any) -> argparse.Namespace:
    """The command line of a study: an option a value, with the value as its default.

    False is a flag, a tuple takes several words, a type has no default, and a dict is for argparse as it stands.
    """
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in values.items():
        if isinstance(value, dict):
            more = value
        elif value is False:
            more = {"action": "store_true"}
        elif isinstance(value, tuple):
            more = {"nargs": "+", "default": value, "type": type(value[0]) if value else str}
        else:
            more = {"type": value} if isinstance(value, type) else {"type": type(value), "default": value}
        parser.add_argument(f"--{name.replace('_', '-')}", **more)
    return parser.parse_args(arguments)
