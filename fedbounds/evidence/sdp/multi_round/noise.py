"""A certified bound on E||w_R - w*||^2 with noise in local steps or clients absent, by a quadratic potential a step.

Client i steps along grad F_i(x_i) + xi_i. Given the past the noise has mean 0, E||xi_i||^2 <= sigma^2, and that of
different clients is uncorrelated. With c, v and d as in `multi_round.program`, m the mean and w* = 0, let

    V_k = A_k ||m||^2 + D_k sum_i p_i ||s_i||^2 + sum_i p_i (B_k ||d_i||^2 + 2 C_k <d_i, s_i>),    V_T = ||m||^2.

At a round's end the d_i are set to 0, and where clients are drawn B is A times the variance of their mean,
`Run.sampling`. A round of nobody leaves w as it was: where there may be one, the square of the round's start is part
of V too. Co-convexity with K = L - mu gives

    <c, m> - ||c||^2/K + sum_i p_i (<v_i - s_i, d_i> - ||v_i - s_i||^2/K) >= 0.

A step without noise has V_{k+1} <= V_k if V_k - V_{k+1}(q m - eta c, q d - eta v, s) - lambda_k times the left side
is no negative form: two small matrices, and all V_k and lambda_k are found in one programme. Noise adds to E V_{k+1}
just eta^2 (A_{k+1} E||noise of the mean||^2 + B_{k+1} E of that of the deviations), at most sigma^2 sum p_i^2 and
sigma^2 (1 - sum p_i^2). The sum over the steps is the bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from operator import mul
from typing import Any

from fedbounds.errors import reject
from fedbounds.evidence.sdp.multi_round.bound import Bound, Potential, above, least, named
from fedbounds.evidence.sdp.multi_round.program import Run
from fedbounds.evidence.sdp.program import Constraint, Program, Symbol, Vector

LAST = Fraction(1), Fraction(0)


def shares(run: Run) -> tuple[Fraction, Fraction]:
    """The largest and least sum_i p_i^2: that of the weights, or 1/2 and 0 over every N >= 2."""
    of_weights = sum((p**2 for p in run.p), Fraction(0))
    if run.present is not None and run.present[1] is not None:
        of_weights = Fraction(1, run.present[1])
    return (of_weights, of_weights) if of_weights else (Fraction(1, 2), Fraction(0))


def links(run: Run, number: Any) -> tuple[Sequence[Program], Potential]:
    """A programme a step; those of equal steps are one."""
    made, result = dict[Any, Program](), []
    for k, size in enumerate(run.sizes):
        at = size, k % run.tau == 0, (k + 1) % run.tau == 0
        made.setdefault(at, _step(run, *at, number))
        result.append(made[at])
    return result, LAST


def _step(run: Run, size: Fraction, first: bool, last: bool, number: Any) -> Program:
    """The programme of a step, of a round the ``first`` or ``last`` or neither."""
    symbols = [Symbol(letter, step=k) for letter, count in (("m", 2), ("d", 3), ("w", 1)) for k in range(count)]
    m, c, d, v, s, start = (Vector({symbol: number(Fraction(1))}) for symbol in symbols)
    used = [symbols[k] for k in range(6) if not (first and k in (2, 5)) and (k != 5 or run.idle)]
    d, start = (Vector(), m) if first else (d, start)
    eta, q, bend = number(size), number(1 - size * run.mu), number(1 / (run.L - run.mu))
    convex = c @ m - bend * c.squared + (v - s) @ d - bend * (v - s).squared

    def kept(mean: Vector, apart: Vector) -> list[Any]:
        inside = [mean.squared, s.squared, apart.squared, 2 * (apart @ s)]
        return [*inside, start.squared] if run.idle else inside

    before = [m.squared, s.squared] if first else kept(m, d)
    mean, apart = q * m - eta * c, q * d - eta * v
    drawn = (mean.squared + number(run.sampling) * apart.squared) * number(1 - run.idle)
    after = [drawn + number(run.idle) * start.squared, s.squared] if last else kept(mean, apart)
    constraint = Constraint("convexity", -1, "", convex)
    return Program(tuple(used), (), (constraint,), named(before, after), number, apart=True)


def _paid(run: Run, k: int) -> tuple[list[Fraction], list[Fraction]]:
    """What noise of variance 1, of the mean and of the deviations, in step k adds for each entry of V_{k+1}."""
    size, zero = run.sizes[k] ** 2, Fraction(0)
    if (k + 1) % run.tau == 0:
        busy = size * (1 - run.idle)
        return [busy, zero], [busy * run.sampling, zero]
    more = [zero] * bool(run.idle)
    return [size, zero, zero, zero, *more], [zero, zero, size, zero, *more]


def added(run: Run, potentials: Sequence[Potential]) -> tuple[Fraction, Fraction]:
    """What noise of variance 1 of the mean, and of the deviations from it, adds at most."""
    mean = apart = Fraction(0)
    for k, V in enumerate((*potentials, LAST)):
        more = [sum(map(mul, paid, V), Fraction(0)) for paid in _paid(run, k)]
        mean, apart = mean + more[0], apart + more[1]
    return mean, apart


def noisy(run: Run, delta_0: Fraction, zeta_sq: Fraction, sigma_sq: Fraction) -> Bound | None:
    """The smallest such bound that was found, for every N where the run has no weights; None where no proof was."""
    if run.biased or run.measure != "distance":
        received = "weights that are not p" if run.biased else f"the {run.measure}"
        what = "noise needs the measure distance and a server with the weights p"
        raise reject(what, received, "leave out the noise")
    if run.server != 1:
        raise reject("noise needs the server's step 1", run.server, "leave out the noise")
    if delta_0 <= 0 or zeta_sq < 0 or sigma_sq < 0:
        received = f"Delta_0 = {delta_0}, zeta_*^2 = {zeta_sq}, sigma^2 = {sigma_sq}"
        raise reject("Delta_0 must be positive, zeta_*^2 and sigma^2 not negative", received, "mend them")
    share = shares(run)[0]
    prices = [
        [float(sigma_sq * (share * x + (1 - share) * y)) for x, y in zip(*_paid(run, k), strict=True)]
        for k in range(run.T)
    ]
    result = least(links, run, delta_0, zeta_sq, prices[:-1], prices[-1][0])
    if result is None:
        return None
    c, d = added(run, result.potentials)
    noise = sigma_sq * max(c * item + d * (1 - item) for item in shares(run))
    return replace(result, value=above(result.a * delta_0 + result.b * zeta_sq + noise))
