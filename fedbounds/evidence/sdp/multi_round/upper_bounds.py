"""The least proved bound on a run: which programme, or which links, are asked."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from fedbounds.errors import reject
from fedbounds.evidence.sdp.multi_round import both_outcomes, steps
from fedbounds.evidence.sdp.multi_round.bound import ROOM, Bound, Links, above, least, of_clients, whole
from fedbounds.evidence.sdp.multi_round.program import Run

# Gradients of a run in all, up to which every client's are kept apart where the two blocks lose something.
EVERY_CLIENT = 16
# Where clients are drawn there often is no proof nearer to the least value.
NEAREST = ROOM[2:]


def upper_bound(
    run: Run, delta_0: Fraction = Fraction(1), zeta_sq: Fraction = Fraction(1), sigma_sq: Fraction = Fraction(0)
) -> Bound | None:
    """The smallest bound on what the run measures that was proved; None where no proof was found.

    With zeta_* = 0 the distance is that of the contraction where one of the quadratics mu/2 and L/2 attains it. Where
    weights are free or clients come by coins the proof is that of the last round, from the bound of those before.
    """
    if delta_0 <= 0 or zeta_sq < 0 or sigma_sq < 0:
        received = f"Delta_0 = {delta_0}, zeta_*^2 = {zeta_sq}, sigma^2 = {sigma_sq}"
        raise reject("Delta_0 must be positive, zeta_*^2 and sigma^2 not negative", received, "mend them")
    if sigma_sq:
        if run.biased or run.measure != "distance" or run.server != 1:
            received = "weights that are not p" if run.biased else f"the {run.measure}, step {run.server}"
            what = "noise needs the measure distance, and a server with the weights p and the step 1"
            raise reject(what, received, "leave out the noise")
        return least(steps.noisy_links, run, delta_0, zeta_sq, sigma_sq)
    plain = run.measure == "distance" and run.start == "distance"
    if zeta_sq == 0 and plain and run.contraction is not None:
        a = run.contraction**2
        return Bound(run, a, Fraction(0), above(a * delta_0), exact=True, attained=True)
    if run.rounds > 1 and (run.ratios is not None or run.by_coins):
        return _composed(run, delta_0, zeta_sq)
    few = 0 < len(run.p) * run.T <= EVERY_CLIENT
    if few and not run.exact and (run.ratios is None or run.permuted) and plain and zeta_sq:
        bound = least(of_clients, run, delta_0, zeta_sq)
        if bound is not None:
            return replace(bound, attained=True)
    room = NEAREST if run.sampling and run.rounds > 1 else ROOM
    bound = least(_links(run), run, delta_0, zeta_sq, room=room)
    return bound and replace(bound, attained=run.exact)


def _links(run: Run) -> Links:
    """Those whose bounds are the least."""
    if run.short and not run.sampling:
        return whole
    return both_outcomes.links if both_outcomes.is_one_of_two(run) else steps.links


def _composed(run: Run, delta_0: Fraction, zeta_sq: Fraction) -> Bound | None:
    """The bound of the last round, from that of the rounds before."""
    before = upper_bound(
        replace(run, rounds=run.rounds - 1, eta=run.sizes[: -run.tau], measure="distance"), delta_0, zeta_sq
    )
    start = delta_0 if before is None else Fraction(before.value)
    last = upper_bound(replace(run, rounds=1, eta=run.sizes[-run.tau :]), start, zeta_sq)
    if before is None or last is None:
        return None
    a, b, bias = last.a * before.a, last.a * before.b + last.b, last.a * before.bias + last.bias
    return replace(last, a=a, b=b, bias=bias, attained=False)
