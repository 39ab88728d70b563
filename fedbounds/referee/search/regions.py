"""The experiments that shapes are made of, as coverages and in a few words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from fedbounds.referee.search.family import MAX_CONDITION, MAX_STEP, MIN_STEP, InstanceFamily, Shape
from fedbounds.theory.coverage import Coverage, Span, only


def region(shapes: Sequence[Shape], families: Mapping[str, InstanceFamily]) -> Coverage:
    """The experiments that shapes are made of: what a search of them spoke of, and no more."""
    words = dict.fromkeys(f"{families[s.family].what} in at most {s.d} coordinates" for s in shapes)
    axes: dict[str, Span | frozenset] = {
        "problem": only(*words),
        "gradients": only(*("stochastic" if s.noise else "full" for s in shapes)),
        "participation": only(*(Fraction(s.present, s.N) if s.absent else 1 for s in shapes)),
        "kappa": Span(1, int(MAX_CONDITION)),
        "N": only(*(s.N for s in shapes)),
        "tau": only(*(s.tau for s in shapes)),
        "T": Span(1, max(s.total for s in shapes)),
        "weights": only(*(s.weighting for s in shapes)),
    }
    searched = {s.schedule for s in shapes}
    if searched <= {"free", "paper", "constant"}:
        axes["eta_L"] = Span(MIN_STEP, MAX_STEP if searched == {"constant"} else 1)
    return Coverage(axes)


def regions(shapes: Sequence[Shape], families: Mapping[str, InstanceFamily]) -> list[Coverage]:
    """What was searched: one set a family, without chance and for each kind of it; together they are no product."""
    kinds = dict.fromkeys((s.family, bool(s.noise), s.absent > 0) for s in sorted(shapes, key=_plainest))
    return [
        region([s for s in shapes if (s.family, bool(s.noise), s.absent > 0) == kind], families) for kind in kinds
    ]


def _plainest(shape: Shape) -> tuple[bool, bool, bool]:
    return shape.family != "diagonal", bool(shape.noise), shape.absent > 0


def limits(shapes: Sequence[Shape], families: Mapping[str, InstanceFamily]) -> str:
    """The sizes beyond which nothing was searched, in a few words."""
    said = []
    for key in dict.fromkeys(s.family for s in sorted(shapes, key=_plainest)):
        some = [s for s in shapes if s.family == key]
        clients = ", ".join(map(str, sorted({s.N for s in some})))
        noise = [kind for kind in dict.fromkeys(s.noise for s in some) if kind]
        more = f", {' and '.join(noise)} noise" if noise else ""
        more += ", absent clients" if any(s.absent for s in some) else ""
        what = f"{families[key].what} (N = {clients}, T <= {max(s.total for s in some)}{more})"
        said.append(what)
    return "; ".join(said)
