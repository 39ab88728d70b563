"""A claim about a whole run decided at a number of rounds, for every problem of the class, start and noise there.

The bound a ||w_0 - w*||^2 + b zeta_*^2 + noise that multipliers prove is compared with the claim's, coefficient by
coefficient, so that a certificate is one for all values of Delta_0, zeta_*^2 and the variances. What else the claim's
bound has must not be negative. How near an instance comes is told of each certificate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

import sympy as sp

from fedbounds.evidence.sdp.functions_on_interval import fraction
from fedbounds.evidence.sdp.multi_round import participation_lower_bound, steps
from fedbounds.evidence.sdp.multi_round.bound import Bound, Proof, joined, upper_bound, verify
from fedbounds.evidence.sdp.multi_round.claim_at_run import MEASURES, Bounded, ClaimAtRun
from fedbounds.evidence.sdp.multi_round.lower_bound import alike, attained, surely
from fedbounds.evidence.sdp.multi_round.program import Run
from fedbounds.evidence.sdp.program import exact
from fedbounds.theory.claim import Claim
from fedbounds.theory.reading import Reading
from fedbounds.theory.verdict import Evidence, Status, Verdict

# zeta_*^2 over (mu L Delta_0), or over L^2 Delta_0 where mu = 0, at which proofs are sought, and instances.
RATIOS = (Fraction(1), Fraction(1, 16), Fraction(16))
# What one may not be beyond the other by before it is more than rounding of floats.
ROUNDING = 1e-9
# A bound that an instance attains leaves a certificate no room: it is proved with constants that are larger by this.
SLIGHTLY = Fraction(1, 1000)


class Near(NamedTuple):
    """What an instance has on the left, the bound there at Delta_0 = 1, itself in words, and both sides surely."""

    left: float
    right: float
    words: str
    surely: Callable[[], tuple[float, float]]

    @property
    def ratio(self) -> float:
        return self.right / self.left if self.left else math.inf


def meets(claim: Claim, reading: Reading, run: Run, eta_0: Fraction) -> bool:
    """Whether no assumption is seen to fail."""
    at = ClaimAtRun(claim, reading, run, eta_0)
    return all(at.holds(assumption) is not False for assumption in at.assumptions)


def examine(claim: Claim, reading: Reading, run: Run, eta_0: Fraction) -> Verdict:
    """The verdict on a claim after the run's rounds, over every problem of the class."""
    verdict = Verdict(claim.key, reading.name, Evidence.SDP, Status.HOLDS)
    undecided = replace(verdict, status=Status.UNDECIDED)
    at = ClaimAtRun(claim, reading, run, eta_0)
    claimed = list(at.claimed())
    if not claimed:
        return replace(undecided, detail="its bound is not linear in Delta_0, zeta_*^2 and variances")
    data: dict[str, object] = {"run": at.to_json(), "where": at.in_words()}
    near, larger = _nearest(at), list[Bounded]()
    ratio = None if near is None else near.ratio
    for bound in _proofs(at):
        larger.append(bound)
        if any(bound.within(item) for item in claimed):
            detail = f"proved by rational multipliers: {at.in_words()}"
            held = replace(verdict, detail=detail, data=data, coverage=at.coverage)
            return held if ratio is None else replace(held, tightness=max(ratio, 1.0), margin=max(1 - 1 / ratio, 0.0))
    if near is not None and ratio is not None and ratio < 1 - ROUNDING:
        return _refuted(at, undecided, near, data)
    detail = "no multipliers prove its constants, and no instance violates it"
    if any(bound.within(item.times(1 + SLIGHTLY)) for bound in larger for item in claimed):
        detail = f"proved by rational multipliers with constants that are {float(100 * SLIGHTLY):g}% larger"
    return replace(undecided, detail=detail, data=data, tightness=None if ratio is None else max(ratio, 1.0))


def _proofs(at: ClaimAtRun) -> Iterator[Bounded]:
    """Bounds that multipliers prove, the quick first."""
    run = at.run
    measure, scale = MEASURES[sp.sympify(at.claim.lhs)], Fraction(1)
    if measure == "gap":
        scale, run = run.L / 2, replace(run, measure="distance")
    short = (
        run.present is None and run.start == "distance" and all(size * (run.L + run.mu) <= 2 for size in run.sizes)
    )
    if measure in ("distance", "gap") and run.tau == 1 and short:
        bound = _of_one_step(run)
        if bound is not None:
            yield bound.times(scale)
    if at.quiet:
        for ratio in (Fraction(0),) if at.common else RATIOS:
            least = upper_bound(at.run, Fraction(1), ratio * _unit(run))
            if least is not None:
                yield Bounded(least.a, least.b)
        return
    if measure in ("average", "slope") or run.start == "gap":
        return
    for ratio in (Fraction(1, 10**6),) if at.common else RATIOS:
        size = _unit(run) * ratio
        proof = upper_bound(run, Fraction(1), size, size)
        if proof is not None:
            b = proof.b if run.tau > 1 or run.sampling else Fraction(0)
            yield at.bounded(proof.a, b, *proof.noise).times(scale)


def _unit(run: Run) -> Fraction:
    """A squared gradient over a squared distance that is usual in the class."""
    return run.L * (run.mu or run.L)


def _nearest(at: ClaimAtRun) -> Near | None:
    """An instance that comes nearest to the bound at Delta_0 = 1, or goes beyond it."""
    if at.narrower:
        return None
    result: list[Near] = []
    ratios = RATIOS[::2] if at.run.present else RATIOS
    if at.run.present is None or at.run.by_coins:  # of K clients the start alone is what it is with everybody
        ratios = (Fraction(0), *ratios)
    for ratio in (Fraction(0),) if at.common or at.run.start == "gap" else ratios:
        near = _instance(at, ratio * _unit(at.run))
        if near is None:
            return None
        result.append(near)
    if not at.quiet and MEASURES[sp.sympify(at.claim.lhs)] == "distance":
        unit = _unit(at.run)
        result += [near for size in (unit, 100 * unit) for near in _alike(at, size)]
    return min(result, key=lambda near: near.ratio)


def _alike(at: ClaimAtRun, sigma_sq: Fraction) -> Iterator[Near]:
    """Equal clients of one curvature, with noise; nothing where more is needed to know the bound."""
    if at.run.by_coins or at.run.start == "gap":
        return
    drawn, share = (at.run.present[0], at.run.shares[0]) if at.run.present else (1, Fraction(1))
    values = {"zeta_star_sq": Fraction(0), "sigma_sq": sigma_sq, "sigma_p_sq": share * sigma_sq, "N": Fraction(1)}
    right = at.right({"Delta_0": Fraction(1), **values, **at.values})
    if right is not None:
        both = float(alike(at.run, Fraction(1), sigma_sq / drawn)), float(right)
        yield Near(*both, "clients of one curvature", lambda: both)


def _instance(at: ClaimAtRun, zeta_sq: Fraction) -> Near | None:
    """That of a run without noise; None where more is needed to know the bound."""
    run, values = at.run, {"Delta_0": Fraction(1), "zeta_star_sq": zeta_sq, "sigma_sq": Fraction(0)}
    right = at.right(values)
    if right is None:
        return None
    if run.present is None:
        pair = attained(run, 1.0, float(zeta_sq))
        bent = f"one function on a line whose curvature falls at {pair.shape[0]:.6g}"
        words = bent if pair.problem is None else f"two quadratics of shape {pair.shape}"
        return Near(pair.value, float(right), words, lambda: (surely(run, pair, Fraction(1), zeta_sq), float(right)))
    left, shape = participation_lower_bound.sampled(run, 1.0, float(zeta_sq), 0.0)
    words = f"quadratics about a simplex, of shape {tuple(map(float, shape))}"
    return Near(
        left, float(right), words, lambda: (participation_lower_bound.surely(run, shape, zeta_sq), float(right))
    )


def _refuted(at: ClaimAtRun, verdict: Verdict, near: Near, data: Any) -> Verdict:
    """The verdict of an instance that exceeds the bound, by interval arithmetic."""
    sure, right = near.surely()
    if not sure > right * (1 + ROUNDING):
        return replace(verdict, detail="an instance violates it in floating point only", data=data)
    detail = f"left {sure:.6g} > right {right:.6g}, by {near.words}, {at.in_words()}"
    return replace(verdict, status=Status.REFUTED, detail=detail, data=data, tightness=right / sure)


def _of_one_step(run: Run) -> Bounded | None:
    """The exact bound of one local step a round: each keeps (1 - eta mu)^2 of the distance, and adds its noise."""
    kept, paid = [Fraction(1)], [Fraction(0)]
    for size in reversed(run.sizes):
        paid.insert(0, paid[0] + size**2 * kept[0])
        kept.insert(0, (1 - size * run.mu) ** 2 * kept[0])
    zero, links = Fraction(0), steps.noisy_links(run, exact)
    lengths = [len(link.before) for link in links[1:]]
    between = [(a, zero, c, *[zero] * (n - 3)) for a, c, n in zip(kept[1:], paid[1:], lengths, strict=False)]
    bound = Bound(run, kept[0], zero, math.inf, (), tuple(between), steps.noisy_links, noise=(paid[0], zero))
    proofs = list[Proof]()
    for size, after, (link, gap) in zip(run.sizes, kept[1:], joined(bound), strict=True):
        twice = 2 * (1 - size * run.mu) * size * after
        proof = {"interpolation 0|*": twice, "interpolation *|0": twice, "noise 0": size**2 * after}
        rows = (row for row in link.constraints if row.kind == "equality")
        rest = {row.label: fraction(gap.terms.get(key, exact(0))) for row in rows for key in row.expression.terms}
        proofs.append(proof | {label: value for label, value in rest.items() if value})
    bound = replace(bound, proofs=tuple(proofs))
    return Bounded(bound.a, zero, *bound.noise) if verify(bound) else None
