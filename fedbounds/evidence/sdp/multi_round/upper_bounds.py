"""The least proved bound on a run: which programme, or which links, are asked."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from fedbounds.errors import reject
from fedbounds.evidence.sdp.multi_round import steps
from fedbounds.evidence.sdp.multi_round.bound import Bound, above, least, of_clients, whole
from fedbounds.evidence.sdp.multi_round.drawn_rounds import ROUNDS, covered, drawn_rounds
from fedbounds.evidence.sdp.multi_round.noise import noisy
from fedbounds.evidence.sdp.multi_round.program import Run

# Steps up to which every interpolation inequality is used: twelve take half a second, twenty half a minute.
ALL_PAIRS = 12
# Gradients of a run in all, up to which every client's are kept apart where the two blocks lose something.
EVERY_CLIENT = 16
# Local steps beyond which the programme of a round takes too long where clients are absent.
LONG = 20


def upper_bound(run: Run, delta_0: Fraction, zeta_sq: Fraction, sigma_sq: Fraction) -> Bound | None:
    """The least bound that is found on a run, with or without noise and absent clients."""
    far = run.present is not None and run.measure == "distance" and not run.by_coins
    if not sigma_sq and not (far and run.tau > LONG):
        result = worst(run, delta_0, zeta_sq)
        if result is not None or not far:
            return result
    return noisy(run, delta_0, zeta_sq, sigma_sq)


def worst(run: Run, delta_0: Fraction = Fraction(1), zeta_sq: Fraction = Fraction(1)) -> Bound | None:
    """The smallest bound on what the run measures that was proved; None where no proof was found.

    With zeta_* = 0 the distance is that of the contraction where one of the quadratics mu/2 and L/2 attains it. Where
    weights are free or clients absent the proof is that of the last round or rounds, from the bound of those before.
    """
    if delta_0 <= 0 or zeta_sq < 0:
        received = f"Delta_0 = {delta_0}, zeta_*^2 = {zeta_sq}"
        raise reject("Delta_0 must be positive and zeta_*^2 not negative", received, "mend them")
    plain = run.measure == "distance" and run.start == "distance"
    if zeta_sq == 0 and plain and run.contraction is not None:
        a = run.contraction**2
        return Bound(run, a, Fraction(0), above(a * delta_0), exact=True, attained=True)
    if covered(run) or ((run.ratios is not None or run.present) and run.rounds > 1):
        return _composed(run, delta_0, zeta_sq)
    few = 0 < len(run.p) * run.T <= EVERY_CLIENT
    if few and not run.exact and (run.ratios is None or run.permuted) and plain and zeta_sq:
        bound = least(of_clients, run, delta_0, zeta_sq)
        if bound is not None:
            return replace(bound, attained=True)
    links = whole if run.present or run.T <= ALL_PAIRS else steps.links
    bound = least(links, replace(run, all_pairs=run.T <= ALL_PAIRS), delta_0, zeta_sq)
    return bound and replace(bound, attained=run.exact)


def _composed(run: Run, delta_0: Fraction, zeta_sq: Fraction) -> Bound | None:
    """The bound of the last rounds in one programme, or of the last one, from that of the rounds before."""
    for count, drawn in ((min(run.rounds, ROUNDS), True), (1, False)):
        many = count * run.tau
        last = replace(run, rounds=count, eta=run.sizes[-many:])
        if drawn and not covered(last):
            continue
        start, before = delta_0, None
        if count < run.rounds:
            rest = replace(run, rounds=run.rounds - count, eta=run.sizes[:-many], measure="distance")
            before = worst(rest, delta_0, zeta_sq)
            if before is None:
                return None
            start = Fraction(before.value)
        bound = (drawn_rounds if drawn else worst)(last, start, zeta_sq)
        if bound is not None or not drawn:
            return bound if before is None or bound is None else _after(before, bound)
    return None


def _after(before: Bound, last: Bound) -> Bound:
    """The bound of later rounds, from that of the rounds before."""
    a, b, bias = last.a * before.a, last.a * before.b + last.b, last.a * before.bias + last.bias
    return replace(last, a=a, b=b, bias=bias, attained=False)
