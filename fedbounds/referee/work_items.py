"""The pieces that a long stage is made of: computed in order, here or elsewhere, and kept as they finish."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from fedbounds import io
from fedbounds.evidence.sdp.one_step.parameters import Setting
from fedbounds.study.parallel import in_order
from fedbounds.study.result import verdicts_from
from fedbounds.theory.verdict import Evidence, Status


@dataclass(frozen=True)
class WorkItems:
    """``jobs`` processes (-1: one a core), or a Dask ``scheduler``; ``file`` holds results by their keys."""

    of: Mapping[str, Any] = field(default_factory=dict)
    file: Path | None = None
    jobs: int = 1
    scheduler: str | None = None

    def key(self, stage: str, item: Any) -> str:
        """Where the result of an item is held: its stage, and a digest of all that it depends on."""
        content = json.dumps([dict(self.of), item], sort_keys=True, default=asdict)
        return f"{stage}/{hashlib.sha256(content.encode()).hexdigest()[:32]}"

    def each(
        self,
        stage: str,
        function: Callable[[Any], Any],
        items: Iterable[Any],
        is_usable: Callable[[Any, Any], bool] = lambda item, piece: True,
    ) -> Generator[Any, None, None]:
        """function(item), a JSON value, of each item in order: the same whoever computes it, or did so before.

        What the file holds of an item is taken only where it ``is_usable``; the item is computed again elsewhere.
        """
        todo: Sequence[Any] = list(items)
        keys = [self.key(stage, item) for item in todo]
        held = self._held() if self.file is not None else {}
        usable = [key in held and is_usable(item, held[key]) for key, item in zip(keys, todo, strict=True)]
        due = [item for item, done in zip(todo, usable, strict=True) if not done]
        fresh = in_order(function, due, self.jobs, self.scheduler)
        for key, done in zip(keys, usable, strict=True):
            if not done:
                held[key] = next(fresh)
                if self.file is not None:
                    io.write_json(self.file, held)
            yield held[key]
        next(fresh, None)  # it has ended, not been given up: its processes stay for the next stage

    def _held(self) -> dict[str, Any]:
        exists = self.file is not None and self.file.exists()
        return io.shaped(io.read_json(self.file), dict[str, Any], self.file.name) if exists and self.file else {}


# What only a computation may say: a file that says so is not believed.
SURE = (Status.HOLDS, Status.REFUTED)


def left_open(claim: str, reading: str, place: Mapping[str, Any], piece: Any) -> bool:
    """Whether a piece of certificates leaves this claim open at this place: anything surer is computed again."""
    saved = io.shaped(piece, _Certificate, "a piece of certificates")
    (verdict,) = verdicts_from([saved.verdict])
    if (verdict.claim, verdict.reading, verdict.evidence) != (claim, reading, Evidence.SDP):
        return False
    if verdict.status in SURE or saved.facts:
        return False
    result, wanted = Setting.from_json(saved.verdict.get("data", {}).get("setting", {})), Setting.from_json(place)
    # What was proved there may be of more than was asked.
    return replace(result, local=wanted.local, gradients=wanted.gradients) == wanted


@dataclass(frozen=True)
class _Certificate:
    verdict: dict[str, Any]
    facts: list[str]
