"""One way to declare a study, and the command that runs it: its record, its picture, and its blocks of a page."""

from __future__ import annotations

import argparse
import inspect
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import Any

from fedbounds.io import read_json, write_json, write_text
from validate.markdown import filled

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


@dataclass(frozen=True)
class Study:
    """A study: ``about`` says what is asked, ``compute`` answers with a record for JSON; its parameters are options.

    ``table`` shows the record in words, ``draw`` as the PNG ``picture`` (beside the record unless it says where), and
    ``blocks`` as what stands between marks of ``page``. A run with options of its own is stored where --out says and
    nowhere else; ``only`` asks for a part, whose rows join the record's others. Without a ``name`` none is kept.
    """

    about: str | None
    name: str
    compute: Callable[..., Any]
    table: Callable[[Any], str] = str
    draw: Callable[[Any, Path], None] | None = None
    picture: Path | None = None
    page: Path | None = None
    blocks: Mapping[str, Callable[[Any], str]] = field(default_factory=dict)

    def stored(self) -> Any:
        """The record in the repository."""
        return read_json(RESULTS / f"{self.name}.json")

    def written(self, text: str, record: Any) -> str:
        """The page with its blocks as the record has them."""
        return reduce(lambda page, name: filled(page, self.blocks[name](record), name), self.blocks, text)

    def main(self, arguments: Sequence[str] | None = None) -> Any:
        """Run the study, print it, and write its record, picture and page."""
        known = {name: item.default for name, item in inspect.signature(self.compute).parameters.items()}
        chosen = vars(options(self.about, arguments, **known, **({"out": Path} if self.name else {})))
        out = chosen.pop("out", None)
        record = self.compute(**chosen)
        print(self.table(record))
        if out is None and any(chosen[name] != value for name, value in known.items() if name != "only"):
            return record
        if self.name:
            home = (out or RESULTS) / f"{self.name}.json"
            home.parent.mkdir(parents=True, exist_ok=True)
            write_json(home, record)
        if self.draw is not None:
            self.draw(record, self.picture if self.picture and out is None else home.with_suffix(".png"))
        if self.page is not None and out is None:
            write_text(self.page, self.written(self.page.read_text(encoding="utf-8"), record))
        return record


def cells(
    path: Path, places: Iterable[Mapping[str, Any]], cell: Callable[..., dict[str, Any]]
) -> list[dict[str, Any]]:
    """The rows of a table, one a place; a place that the file has is not computed again, and each is stored at once.

    A row repeats the numbers of its place.
    """
    rows = read_json(path) if path.exists() else []
    for place in places:
        if not any(all(row[name] == float(value) for name, value in place.items()) for row in rows):
            rows.append(cell(**place))
            write_json(path, rows)
            print(*(f"{name} = {rows[-1][name]}" for name in place), flush=True)
    return rows


def grid(**axes: Iterable[Any]) -> Iterator[dict[str, Any]]:
    """Every place of a grid."""
    return (dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values()))
