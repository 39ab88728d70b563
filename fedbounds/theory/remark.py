"""A remark of a paper: a sentence that no claim states in terms, examined by exact instances alone."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Remark:
    """``words`` are the paper's where they stand in quotation marks, ``reading`` how they are taken here.

    ``undecided`` says why no instance can decide it, where that is so; else the counterexamples of its ``key`` do.
    """

    key: str
    source: str
    words: str
    reading: str
    undecided: str = ""
