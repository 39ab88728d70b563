"""What every result can do: rows, a data frame, LaTeX, a picture, a file, and a few lines to look at."""

import abc
import csv
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import Any, Generic, TypeVar

from fedbounds import io
from fedbounds.errors import reject
from fedbounds.plugins import nearest
from fedbounds.problems.data.sources import frame

T = TypeVar("T")
# Refutations that a few lines name.
NAMED = 4
# Columns that a part may be asked for by, beside its claim.
PARTS = ("weighting", "reading", "term")
SUFFIXES = (".json", ".csv", ".html", ".tex")


class Tabled(abc.ABC):
    """A result that is a table at heart: ``rows`` is what the rest is made of."""

    @abc.abstractmethod
    def rows(self) -> list[dict[str, Any]]:
        """One dictionary of plain values a row."""

    def to_frame(self) -> Any:
        """The rows as a ``pandas.DataFrame``, or as a list of dictionaries where pandas is not installed."""
        return frame(self.rows())

    def to_latex(self) -> str:
        """LaTeX for an appendix: the steps of a proof, else a table."""
        return shown("to_latex", self)

    def plot(self, kind: str = "") -> Any:
        """The result as a `fedbounds.report.figure_styles.Plot`; ``kind`` chooses the picture."""
        return shown("plot", self, kind)

    def report(self, out: str | Path = "report.html") -> Path:
        """Write the result as one page of HTML that opens offline: of a study with the grounds of every verdict."""
        return shown("report", self, out)

    def save(self, path: str | Path) -> Path:
        """Write the result as its suffix says: .json or .csv (the rows), .html (a page) or .tex."""
        path, rows = Path(path), self.rows()
        if path.suffix == ".json":
            return io.write_json(path, rows)
        if path.suffix == ".csv":
            text = StringIO(newline="")
            names = list(dict.fromkeys(name for row in rows for name in row))
            writer = csv.DictWriter(text, names, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
            return io.write_text(path, text.getvalue())
        if path.suffix not in SUFFIXES:
            raise reject(f"a result is saved as {', '.join(SUFFIXES)}", path.name, "rename the file")
        return io.write_text(path, self._repr_html_() if path.suffix == ".html" else self.to_latex())

    def __repr__(self) -> str:
        rows = self.rows()
        words = [row.get("status") or row.get("outcome") for row in rows]
        message = ", ".join(f"{count} {word}" for word, count in Counter(filter(None, words)).items())
        false = dict.fromkeys(
            str(row["claim"]) for row, word in zip(rows, words, strict=True) if word in ("REFUTED", "FALSE")
        )
        more = f" and {len(false) - NAMED} more" if len(false) > NAMED else ""
        lines = [
            f"{type(self).__name__}: {len(rows)} row{'s' * (len(rows) != 1)}" + (f": {message}" if message else "")
        ]
        lines += [f"  refuted: {', '.join(list(false)[:NAMED])}{more}"] if false else []
        return "\n".join([*lines, "  .to_frame(), .plot(), .to_latex() and .save(PATH) show the whole"])

    def _repr_html_(self) -> str:
        return shown("to_html", self)


def flat(record: Mapping[str, Any]) -> dict[str, Any]:
    """The plain values of a record."""
    return {name: value for name, value in record.items() if not isinstance(value, Mapping | list | tuple)}


@dataclass(frozen=True, repr=False)
class Findings(Tabled, Generic[T]):
    """What was found, in order: ``found[0]`` an item, ``found["lemma-2"]`` or ``found["lemma-2", "plain"]`` a part.

    The second word of a part may be a reading, a weighting, or a term.
    """

    items: tuple[T, ...]
    rows_of: Callable[[T], list[dict[str, Any]]] = field(compare=False)

    def rows(self) -> list[dict[str, Any]]:
        return [row for item in self.items for row in self.rows_of(item)]

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[T]:
        return iter(self.items)

    def __getitem__(self, key: int | str | tuple[str, ...]) -> Any:
        if isinstance(key, int):
            return self.items[key]
        claim, *rest = (key,) if isinstance(key, str) else key
        result = self.items
        for word, names in ((claim, ("claim",)), *((word, PARTS) for word in rest)):
            names_there = {
                str(row[name]) for item in result for row in self.rows_of(item) for name in names if row.get(name)
            }
            if word not in names_there:
                raise nearest("what was examined", word, names_there)
            result = tuple(
                item for item in result if any(row.get(name) == word for row in self.rows_of(item) for name in names)
            )
        return replace(self, items=result)


def shown(how: str, *what: Any) -> Any:
    """What the report makes of a result; it imports results, and is loaded on use."""
    return getattr(import_module("fedbounds.report.show_result"), how)(*what)
