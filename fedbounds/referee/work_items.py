"""The pieces that a long stage is made of: computed in order, here or elsewhere, and kept as they finish."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fedbounds import io
from fedbounds.evidence.sdp.one_step.parameters import Setting
from fedbounds.study.parallel import in_order
from fedbounds.study.result import verdicts_from
from fedbounds.theory.verdict import Evidence, Status


@dataclass(frozen=True)
class Pieces:
    """``jobs`` processes (-1: one a core), or a Dask ``scheduler``; ``file`` keeps what is ``of`` this trial."""

    of: Mapping[str, Any] = field(default_factory=dict)
    file: Path | None = None
    jobs: int = 1
    scheduler: str | None = None

    def each(
        self,
        stage: str,
        function: Callable[[Any], Any],
        items: Iterable[Any],
        stands: Callable[[Any, Any], bool] = lambda item, piece: True,
    ) -> Generator[Any, None, None]:
        """function(item), a JSON value, of each item in order: the same whoever computes it, or did so before.

        What the file holds of an item is taken only where it ``stands``; the item is computed again elsewhere.
        """
        todo: Sequence[Any] = list(items)
        found = self._kept(stage)[: len(todo)]
        due = [k for k, item in enumerate(todo) if k >= len(found) or not stands(item, found[k])]
        fresh = in_order(function, [todo[k] for k in due], self.jobs, self.scheduler)
        for k in range(len(todo)):
            if k in due:
                found[k : k + 1] = [next(fresh)]
                if self.file is not None:
                    io.write_json(self.file, {"of": dict(self.of), "stage": stage, "found": found})
            yield found[k]

    def _kept(self, stage: str) -> list[Any]:
        if self.file is None or not self.file.exists():
            return []
        saved = io.shaped(io.read_json(self.file), _Saved, self.file.name)
        return saved.found if (saved.of, saved.stage) == (self.of, stage) else []


@dataclass(frozen=True)
class _Saved:
    """The pieces of a stage as their file holds them."""

    of: dict[str, Any]
    stage: str
    found: list[Any]


# What only a computation may say: a file that says so is not believed.
SURE = (Status.HOLDS, Status.REFUTED)


def left_open(claim: str, reading: str, place: Mapping[str, Any], piece: Any) -> bool:
    """Whether a piece of certificates leaves this claim open at this place: anything surer is computed again."""
    kept = io.shaped(piece, _Certificate, "a piece of certificates")
    (verdict,) = verdicts_from([kept.verdict])
    if (verdict.claim, verdict.reading, verdict.evidence) != (claim, reading, Evidence.SDP):
        return False
    if verdict.status in SURE or kept.facts:
        return False
    found, asked = Setting.from_json(kept.verdict.get("data", {}).get("setting", {})), Setting.from_json(place)
    # What was proved there may be of more than was asked.
    return replace(found, local=asked.local, gradients=asked.gradients) == asked


@dataclass(frozen=True)
class _Certificate:
    verdict: dict[str, Any]
    facts: list[str]
