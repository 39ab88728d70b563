"""A certified bound on E||w_R - w*||^2 with noise in local steps or clients absent, by a quadratic potential a step.

Client i steps along grad F_i(x_i) + xi_i. Given the past the noise has mean 0, E||xi_i||^2 <= sigma^2, and that of
different clients is uncorrelated. With c, v and d as in `multi_round.program`, m the mean and w* = 0, let

    V_k = A_k ||m||^2 + sum_i p_i (B_k ||d_i||^2 + 2 C_k <d_i, s_i> + D_k ||s_i||^2),    V_T = ||m||^2,

where at a round's end, as the d_i are set to 0, B = C = 0; where clients are drawn B is A times the variance of their
mean, `Run.sampling`, and a round of nobody leaves V as it was. Co-convexity with K = L - mu gives

    <c, m> - ||c||^2/K + sum_i p_i (<v_i - s_i, d_i> - ||v_i - s_i||^2/K) >= 0.

A step without noise has V_{k+1} <= V_k if V_k - V_{k+1}(q m - eta c, q d - eta v, s) - lambda_k times the left side
is no negative form: two small rational matrices. Noise adds to E V_{k+1} just eta^2 (A_{k+1} E||noise of the
mean||^2 + B_{k+1} E of that of the deviations), at most sigma^2 sum p_i^2 and sigma^2 (1 - sum p_i^2). The sum over
the steps is the bound. The least V_k is a recursion in lambda, which is searched for in floats; the proof is made of
fractions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from fedbounds.errors import reject
from fedbounds.evidence.sdp import verification
from fedbounds.evidence.sdp.multi_round.bound import Bound, above
from fedbounds.evidence.sdp.multi_round.central_path import Array, worst
from fedbounds.evidence.sdp.multi_round.program import Run
from fedbounds.evidence.sdp.program import Constraint, Expression, Program, Symbol, Vector, exact

# Bits of the potentials' entries, which are rounded up.
BITS = 120
# Local steps beyond which the programme of a round takes too long where clients are absent.
LONG = 20
# Multipliers are told by their ratios to the A_{k+1}, which must exceed K eta^2. The first ones of a round are those
# of `fedavg-rounds`, or so many times the least where these are too small.
FIRST = 1.1
# A search ends where the slopes of the bound's logarithm are below this.
GAP = 1e-6
# The largest logarithm, which no search needs, so that nothing overflows.
LARGEST = 50.0
# So small a step of a rational function has its slope as imaginary part, to the last digit.
IMAGINARY = 1e-30

# Delta_0, zeta_*^2, and the noise's variance in the mean and in the deviations.
Given = tuple[float, float, tuple[float, float]]
Potential = tuple[Any, Any, Any, Any]


@dataclass(frozen=True)
class NoisyBound(Bound):
    """The same of E||w_R - w*||^2 with noise, for every N where the run has no weights.

    ``potentials`` are (A, B, C, D) before each step and after the last, ``steps`` the multipliers lambda_k.
    """

    steps: tuple[Fraction, ...] = field(default=(), repr=False)
    potentials: tuple[Potential, ...] = field(default=(), repr=False)


def shares(run: Run) -> tuple[Fraction, Fraction]:
    """The largest and least sum_i p_i^2: that of the weights, or 1/2 and 0 over every N >= 2."""
    of_weights = sum((p**2 for p in run.p), Fraction(0))
    if run.present is not None and run.present[1] is not None:
        of_weights = Fraction(1, run.present[1])
    return (of_weights, of_weights) if of_weights else (Fraction(1, 2), Fraction(0))


def gathered(run: Run, k: int, V: Potential) -> Potential:
    """The potential V before step ``k``, as one of the models that step k - 1 left.

    At a round's end those present are averaged, if there are any: ||w||^2 is then ||m||^2 + `Run.sampling`
    sum_i p_i ||d_i||^2 in mean. D counts whether there are any or not.
    """
    if k % run.tau:
        return V
    busy = _times(1 - run.idle, V[0])
    return busy, _times(run.sampling, busy), 0 * V[2], V[3]


def _stayed(run: Run, k: int, V: Potential, later: Potential) -> Potential:
    """The potential V before step ``k`` with what rounds of nobody add, if ``later`` is that of the next round."""
    return V if k % run.tau else (V[0] + _times(run.idle, later[0]), *V[1:])


def _times(number: Fraction, entry: Any) -> Any:
    return entry * (number if isinstance(entry, Fraction) else float(number))


def noisy(run: Run, delta_0: Fraction, zeta_sq: Fraction, sigma_sq: Fraction) -> NoisyBound | None:
    """The smallest such bound that was found; None where no first proof was."""
    if run.biased or run.measure != "distance":
        received = "weights that are not p" if run.biased else f"the {run.measure}"
        what = "noise needs the measure distance and a server with the weights p"
        raise reject(what, received, "leave out the noise")
    if run.server != 1:
        raise reject("noise needs the server's step 1", run.server, "leave out the noise")
    if delta_0 <= 0 or zeta_sq < 0 or sigma_sq < 0:
        received = f"Delta_0 = {delta_0}, zeta_*^2 = {zeta_sq}, sigma^2 = {sigma_sq}"
        raise reject("Delta_0 must be positive, zeta_*^2 and sigma^2 not negative", received, "mend them")
    share = float(shares(run)[0])
    best = _best(run, (float(delta_0), float(zeta_sq), (float(sigma_sq) * share, float(sigma_sq) * (1 - share))))
    if best is None:
        return None
    steps, potentials = _proof(run, best)
    a, b = potentials[0][0], potentials[0][3]
    c, d = added(run, potentials)
    noise = sigma_sq * max(c * item + d * (1 - item) for item in shares(run))
    value, certified = above(a * delta_0 + b * zeta_sq + noise), verify(run, steps, potentials)
    return NoisyBound(run, a, b, value, None, certified, steps=steps, potentials=potentials)


def upper_bound(run: Run, delta_0: Fraction, zeta_sq: Fraction, sigma_sq: Fraction) -> Bound | None:
    """The least bound that is found on a run, with or without noise and absent clients."""
    far = run.present is not None and run.measure == "distance" and not run.by_coins
    if not sigma_sq and not (far and run.tau > LONG):
        result = worst(run, delta_0, zeta_sq)
        if result is not None or not far:
            return result
    return noisy(run, delta_0, zeta_sq, sigma_sq)


def added(run: Run, potentials: tuple[Potential, ...]) -> tuple[Fraction, Fraction]:
    """What noise of variance 1 of the mean, and of the deviations from it, adds at most."""
    after = [gathered(run, k, potentials[k]) for k in range(1, run.T + 1)]
    mean, apart = (
        sum((size**2 * V[k] for size, V in zip(run.sizes, after, strict=True)), Fraction(0)) for k in (0, 1)
    )
    return mean, apart


def verify(run: Run, multipliers: tuple[Fraction, ...], potentials: tuple[Potential, ...]) -> bool:
    """Whether these prove the bound of `NoisyBound`, in exact arithmetic."""
    if len(multipliers) != run.T or len(potentials) != run.T + 1:
        return False
    if potentials[-1][0] < 1 or potentials[-1][3] < 0 or any(any(V[1:3]) for V in potentials[:: run.tau]):
        return False
    symbols = [Symbol(letter, step=k) for letter, count in (("m", 2), ("d", 3)) for k in range(count)]
    m, c, d, v, s = (Vector({symbol: exact(Fraction(1))}) for symbol in symbols)
    bend = exact(1 / (run.L - run.mu))
    for k, (size, each) in enumerate(zip(run.sizes, multipliers, strict=True)):
        here = d if k % run.tau else Vector()
        eta, q = exact(size), exact(1 - size * run.mu)
        convex = c @ m - bend * c.squared + (v - s) @ here - bend * (v - s).squared
        after = _potential(gathered(run, k + 1, potentials[k + 1]), q * m - eta * c, q * here - eta * v, s)
        program = Program(tuple(symbols), (), (Constraint("convexity", -1, "", convex),), {}, exact, apart=True)
        stayed = exact(run.idle * potentials[k + run.tau][0]) * m.squared if k % run.tau == 0 else Expression()
        gap = _potential(potentials[k], m, here, s) - stayed - after
        if not verification.verify(program, gap, {"convexity": each})[0]:
            return False
    return True


def _potential(entries: Potential, m: Vector, d: Vector, s: Vector) -> Expression:
    """A ||m||^2 + B ||d||^2 + 2 C <d, s> + D ||s||^2."""
    A, B, C, D = map(exact, entries)
    value: Expression = A * m.squared + B * d.squared + C * 2 * (d @ s) + D * s.squared
    return value


def _best(run: Run, given: Given) -> Array | None:
    """The ratios with the smallest bound found, from those of the later half of the rounds; None if none is."""
    sizes = np.array([float(size) for size in run.sizes])
    each = 2 * (1 - sizes * float(run.mu))
    if run.rounds > 1:
        rounds = (run.rounds + 1) // 2
        half = _best(replace(run, rounds=rounds, eta=run.sizes[-rounds * run.tau :]), given)
        if half is not None:
            half = half / sizes[-rounds * run.tau :]
            each = np.append(np.tile(half[: run.tau], run.rounds - rounds), half)
    first = np.maximum(each, FIRST * float(run.L - run.mu) * sizes) * sizes
    return _descended(run, given, first) if math.isfinite(_searched(first, run, given)[0]) else None


def _descended(run: Run, given: Given, first: Array) -> Array:
    """The ratios of the least bound, by BFGS on its logarithm in the logarithms of what they are above the least."""
    from scipy.optimize import minimize

    least = float(run.L - run.mu) * np.array([float(size) ** 2 for size in run.sizes])

    def ratios(logs: Array) -> Array:
        return least + (first - least) * np.exp(np.minimum(logs, LARGEST))

    def at(logs: Array) -> tuple[float, Array]:
        value, slopes = _searched(ratios(logs), run, given)
        return math.log(value), slopes * (ratios(logs) - least) / value

    return ratios(minimize(at, np.zeros(run.T), jac=True, method="BFGS", options={"gtol": GAP}).x)


def _step(run: Run, size: Any, each: Any, after: Potential) -> tuple[Any, ...]:
    """The entries mm, mc, cc and dd, dv, ds, vv, vs, ss of V_{k+1} after a step and lambda_k times the inequality."""
    number = type(each) if isinstance(each, Fraction) else float
    q, K, eta = number(1 - size * run.mu), number(run.L - run.mu), number(size)
    A, B, C, D = after
    means = A * q * q, each / 2 - A * q * eta, A * eta * eta - each / K
    deviations = B * q * q, each / 2 - B * q * eta, C * q - each / 2, B * eta * eta - each / K, each / K - C * eta
    return (*means, *deviations, D - each / K)


def _least(entries: tuple[Any, ...]) -> tuple[Any, ...]:
    """The least (A, B, C, D) before a step, with its entries."""
    mm, mc, cc, dd, dv, ds, vv, vs, ss = entries
    return mm - mc * mc / cc, dd - dv * dv / vv, ds - dv * vs / vv, ss - vs * vs / vv


def _proof(run: Run, ratios: Array) -> tuple[tuple[Fraction, ...], tuple[Potential, ...]]:
    """Multipliers of these ratios to the A_{k+1}, and the least potentials, rounded up to fractions of BITS bits.

    Multipliers as floats would not do: over many steps what they differ by from these grows against A.
    """
    unit, zero = Fraction(1, 2**BITS), Fraction(0)
    multipliers, result = [], [(Fraction(1), zero, zero, zero)]
    later = result[0]
    for k in reversed(range(run.T)):
        later = later if (k + 1) % run.tau else result[-1]
        after = gathered(run, k + 1, result[-1])
        multipliers.append(Fraction(float(ratios[k])) * after[0])
        A, B, C, D = _stayed(run, k, _least(_step(run, run.sizes[k], multipliers[-1], after)), later)
        A, D, B = (math.ceil(entry / unit) * unit + more for entry, more in ((A, zero), (D, unit), (B, unit)))
        result.append((A, zero, zero, D) if k % run.tau == 0 else (A, B, round(C / unit) * unit, D))
    return tuple(reversed(multipliers)), tuple(reversed(result))


def _searched(ratios: Array, run: Run, given: Given) -> tuple[float, Array]:
    """(the bound, its slopes in the ratios); infinite where the multipliers prove none.

    The slopes are imaginary parts: each ratio has a column of its own in which it is moved by IMAGINARY.
    """
    (delta_0, zeta_sq, spread), T = given, run.T
    moved: Array = ratios[:, None] + 1j * IMAGINARY * np.eye(T)
    V: tuple[Any, ...] = (1.0, 0.0, 0.0, 0.0)
    later = V
    noise = np.zeros(T, dtype=complex)
    for k in reversed(range(T)):
        later, V = later if (k + 1) % run.tau else V, gathered(run, k + 1, V)
        entries = _step(run, run.sizes[k], moved[k] * V[0], V)
        if not max(entries[2][0].real, entries[6][0].real) < 0:
            return math.inf, np.zeros(T)
        noise += float(run.sizes[k]) ** 2 * (V[0] * spread[0] + V[1] * spread[1])
        V = _stayed(run, k, _least(entries), later)
    bound = V[0] * delta_0 + V[3] * zeta_sq + noise
    return float(bound[0].real), bound.imag / IMAGINARY
