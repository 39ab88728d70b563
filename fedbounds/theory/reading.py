"""How the paper is read where it is ambiguous."""

from dataclasses import dataclass
from typing import Literal

# What a study may refute by chance, all its verdicts together, unless another rate is chosen.
ERROR_RATE = 1e-3


@dataclass(frozen=True)
class Reading:
    """One way to read the paper where it is ambiguous (THEORY: the readings).

    ``skew``: rho_bar over every step or only at synchronisation times. ``virtual``: the iterate inside
    a round is weighted by alpha (what the proof needs) or by p (as the paper writes). ``repaired``: the
    claim's repair (extra conditions, capped skews) is applied.
    """

    name: str
    skew: Literal["all-steps", "sync"]
    virtual: Literal["alpha", "p"]
    repaired: bool
    summary: str


READINGS = {
    r.name: r
    for r in (
        Reading("literal", "sync", "p", False, "as the paper writes: rho_bar at t = 0 mod tau, p-weighted iterate"),
        Reading("sync", "sync", "alpha", False, "rho_bar at t = 0 mod tau, alpha-weighted iterate"),
        Reading("all-steps", "all-steps", "alpha", False, "rho_bar over every step, alpha-weighted iterate"),
        Reading("plain", "all-steps", "alpha", False, "as stated: rho_bar over every step, alpha-weighted iterate"),
        Reading("repaired", "all-steps", "alpha", True, "all-steps, with the conditions the proof needs"),
    )
}


@dataclass(frozen=True)
class Remark:
    """A remark of a paper that no claim states in terms, examined by exact instances alone.

    ``words`` are the paper's where they stand in quotation marks, ``reading`` how they are taken here.
    ``undecided`` says why no instance can decide it, where that is so; else the counterexamples of its ``key`` do.
    """

    key: str
    source: str
    words: str
    reading: str
    undecided: str = ""
