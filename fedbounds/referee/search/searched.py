"""The experiments that families are made of, as a coverage and in a few words."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from fedbounds.referee.search.family import MAX_CONDITION, MIN_STEP, Family
from fedbounds.theory.coverage import Coverage, Span, only


def searched(todo: Sequence[Family]) -> Coverage:
    """The experiments that families are made of: what a search of them spoke of, and no more."""
    axes: dict[str, Span | frozenset] = {
        "problem": only(f"a diagonal quadratic in at most {max(f.d for f in todo)} coordinates"),
        "gradients": only(*("stochastic" if f.noise else "full" for f in todo)),
        "participation": only(*(Fraction(f.present, f.N) if f.absent else 1 for f in todo)),
        "kappa": Span(1, int(MAX_CONDITION)),
        "N": only(*(f.N for f in todo)),
        "tau": only(*(f.tau for f in todo)),
        "T": Span(1, max(f.total for f in todo)),
        "weights": only(*(f.weighting for f in todo)),
    }
    if all(f.schedule in ("free", "paper") for f in todo):
        axes["eta_L"] = Span(MIN_STEP, 1)
    return Coverage(axes)


# Where families with noise or absent clients differ from the others, and what such families are called.
OF_CHANCE = ("tau", "gradients", "participation", "T")
KINDS = {
    (False, False): "",
    (False, True): " with absent clients",
    (True, False): " with noise",
    (True, True): " with both",
}


def parts(todo: Sequence[Family]) -> list[Coverage]:
    """What was searched, one set without chance and one for each kind of it: together they are no product."""
    kinds = sorted({(f.noise, f.absent > 0) for f in todo})
    return [searched([f for f in todo if (f.noise, f.absent > 0) == kind]) for kind in kinds]


def limits(todo: Sequence[Family]) -> str:
    """The sizes beyond which nothing was searched, in a few words."""
    longest = dict.fromkeys(KINDS, 0)
    for f in todo:
        kind = (f.noise, f.absent > 0)
        longest[kind] = max(longest[kind], f.total)
    times = ", ".join(f"T <= {total}{KINDS[kind]}" for kind, total in longest.items() if total)
    clients = ", ".join(map(str, sorted({f.N for f in todo})))
    return f"diagonal quadratics, d <= {max(f.d for f in todo)}, N = {clients}, {times}"
