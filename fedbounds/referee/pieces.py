"""The pieces that a long stage is made of: computed in order, here or elsewhere, and kept as they finish."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fedbounds import files
from fedbounds.study.sweep.spread import in_order


@dataclass(frozen=True)
class Pieces:
    """``jobs`` processes (-1: one a core), or a Dask ``scheduler``; ``file`` keeps what is ``of`` this trial."""

    of: Mapping[str, Any] = field(default_factory=dict)
    file: Path | None = None
    jobs: int = 1
    scheduler: str | None = None

    def each(self, stage: str, function: Callable[[Any], Any], items: Iterable[Any]) -> Generator[Any, None, None]:
        """function(item), a JSON value, of each item in order: the same whoever computes it, or did so before."""
        todo: Sequence[Any] = list(items)
        found = self._kept(stage)[: len(todo)]
        yield from found
        for one in in_order(function, todo[len(found) :], self.jobs, self.scheduler):
            found.append(one)
            if self.file is not None:
                files.write_json(self.file, {"of": dict(self.of), "stage": stage, "found": found})
            yield one

    def _kept(self, stage: str) -> list[Any]:
        if self.file is None or not self.file.exists():
            return []
        saved = files.read_json(self.file)
        return list(saved["found"]) if (saved.get("of"), saved.get("stage")) == (self.of, stage) else []
