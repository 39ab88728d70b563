"""Instances where K of N clients take part: their pulls s_i are the corners u_i of a simplex, times zeta_*.

Exchanging the clients turns w = (x, y), x along w_0 and y in the span of the pulls, so that few numbers describe
it. Of quadratics, with the same two curvatures and angle in each plane of w_0 and u_i and one curvature in the rest,
E w w^T is E x^2 and E||y||^2, and those present have the mean x-bar plus the deviation of a draw without replacement:

    E||w'||^2 = (1 - v) E||x-bar||^2 + v mean_i E||x_i||^2 + (noise of all)/K,    v = (N - K)/(K (N - 1)),

a recursion without any sampling; where the number present is random v and 1/K are means, and a round of nobody
changes nothing. Other clients go farther:

    F_i(x) = mu/2 ||x||^2 + (L - mu)/2 dist(x, C_i)^2 + <s_i, x>

with C_i a wedge in the plane of w_0 and u_i, or a cone about u_i. Noise is always in a new direction that nothing
else has part in, so that all lengths are the same whatever its sign is. With r the length of what client i's own
noise is in x, its wedge is between the faces <n_k, x> + b_k r <= 0, k = 1, 2. Of any number of clients the pulls are
orthogonal to each other and to w_0, and nobody is drawn twice: then w moves by no random length. Of N clients all
sequences of draws are run where they are at most `DRAWS`; else that many are drawn, and the value is the lower end
of a band for their mean. The last draw is in no sequence where ||w_R||^2 is measured.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from fedbounds.evidence.ball_arithmetic import in_digits
from fedbounds.evidence.empirical.bands import band
from fedbounds.evidence.sdp.multi_round.lower_bound import BALLS, FLOATS, SURE_DIGITS, alike, symmetric
from fedbounds.evidence.sdp.multi_round.program import Run
from fedbounds.model.problem import Array

# Shapes a try, starts, and tries that narrow by half around the best one.
RANDOM, STARTS, TIMES = 600, 3, 14
# Sequences of draws in a search, and of the value, whose band has this error rate.
SEARCHED, DRAWS, ERROR_RATE = 128, 2**14, 1e-6
# Values that differ by less, relatively, are one.
SAME = 1e-12
# Wedges (first and last angle) from which the best is searched for, and how often one is tried for each number that
# is searched; cones by their first; how far the faces lean with noise. A wedge is no ray and no half-plane.
WEDGES, TRIED, CONES, LEAN = ((-0.05, -0.4), (-0.5, -1.4)), 20, np.linspace(-1.4, -0.05, 28), 0.5
NARROWEST = 1e-3

# First and last angle, and how much each face leans.
Wedge = tuple[float, float, float, float]
# Delta_0, zeta_*^2, sigma^2.
Given = tuple[float, float, float]


def highest(run: Run, delta_0: float, zeta_sq: float, sigma_sq: float) -> float:
    """A lower bound on what the run measures in mean, that of quadratics or of sets at ERROR_RATE."""
    exact = sampled(run, delta_0, zeta_sq, sigma_sq)[0]
    if not zeta_sq:
        return exact
    return max(exact, _of_sets(run, (delta_0, zeta_sq, sigma_sq)))


def sampled(run: Run, delta_0: float, zeta_sq: float, sigma_sq: float) -> tuple[float, Array]:
    """(what is measured of the best quadratics, their shape (5,)), in floating point."""
    mu, L, rng = float(run.mu), float(run.L), np.random.default_rng(0)
    least, most = np.array([[-np.pi / 2, mu, mu, mu, -np.pi / 2], [np.pi / 2, L, L, L, np.pi / 2]])[:, :, None]
    candidates = list[tuple[float, Array]]()
    for _ in range(STARTS):
        shape, reach = (least + most)[:, 0] / 2, (most - least)[:, 0]
        for _ in range(TIMES):
            tried = shape[:, None] + reach[:, None] * rng.uniform(-1, 1, (5, RANDOM))
            tried[:, 0], tried[1:4] = shape, np.clip(tried[1:4], mu, L)
            values = second_moments(run, tried, delta_0, zeta_sq, sigma_sq)
            shape, reach = tried[:, np.argmax(values)], reach / 2
        candidates.append((float(values.max()), shape))
    value, shape = max(candidates, key=lambda item: item[0])
    if sigma_sq and run.present and not run.by_coins and run.measure == "distance":
        value = max(value, float(alike(run, Fraction(delta_0), Fraction(sigma_sq) * run.share_of_noise)))
    return value, shape


def second_moments(run: Run, shape: Array, delta_0: float, zeta_sq: float, sigma_sq: float) -> Array:
    """What is measured at shapes (5, B): an angle, the plane's two curvatures, the rest's, the angle of the noise."""
    return np.asarray(_moments(run, shape, (delta_0**0.5, zeta_sq**0.5, sigma_sq), FLOATS), dtype=float)


def surely(run: Run, shape: Array, zeta_sq: Fraction) -> float:
    """A number that what is measured is not below, with ||w_0|| = 1 and no noise, in interval arithmetic."""
    bends = [min(max(Fraction(float(bend)), run.mu), run.L) for bend in shape[1:4]]
    several = np.array([shape[0], *bends, shape[4]], dtype=object)[:, None]
    with in_digits(SURE_DIGITS):
        # What is rational stays a fraction.
        given, arithmetic = (Fraction(1), BALLS[-1](zeta_sq), Fraction(0)), (lambda x: x, *BALLS[1:])
        return math.nextafter(float(_moments(run, several, given, arithmetic)[0].ball.lower()), 0.0)


def _moments(run: Run, shape: Any, given: tuple[Any, Any, Any], arithmetic: tuple[Any, ...]) -> Any:
    """What is measured, given ||w_0||, zeta_* and sigma^2, from E x, E x^2 and E||y||^2."""
    assert run.present is not None
    (size, pull, sigma_sq), (number, cos, sin, _), (_, N) = given, arithmetic, run.present
    n, v = number(Fraction(0) if N is None else Fraction(1, N - 1)), number(run.sampling)
    one_over, idle = number(run.share_of_noise), number(run.idle)
    H, rest = _hessian(cos(shape[0]), sin(shape[0]), shape[1], shape[2]), shape[3]
    along = np.stack([cos(shape[4]), sin(shape[4])], axis=-1)
    x, xx, yy = size + 0 * rest, size**2 + 0 * rest, 0 * rest
    for start in range(0, run.T, run.tau):
        sizes = [number(step) for step in run.sizes[start : start + run.tau]]
        P, q, C = _round(H, pull, sizes, along)
        keep = 1 + 0 * rest
        for eta in sizes:
            keep = keep * (1 - eta * rest)
        of_mean = P[:, 0, 0] ** 2 * xx + q[:, 0] ** 2 + 2 * P[:, 0, 0] * q[:, 0] * x
        of_each = of_mean + P[:, 0, 1] ** 2 * yy * n
        y_mean = (keep + (P[:, 1, 1] - keep) * n) ** 2 * yy
        y_each = P[:, 1, 0] ** 2 * xx + q[:, 1] ** 2 + 2 * P[:, 1, 0] * q[:, 1] * x
        y_each = y_each + (P[:, 1, 1] ** 2 * n + keep**2 * (1 - n)) * yy
        noise = sigma_sq * one_over
        x = (1 - idle) * (P[:, 0, 0] * x + q[:, 0]) + idle * x
        xx = (1 - idle) * ((1 - v) * of_mean + v * of_each + noise * C[:, 0, 0]) + idle * xx
        yy = (1 - idle) * ((1 - v) * y_mean + v * y_each + noise * C[:, 1, 1]) + idle * yy
    if run.measure == "distance":
        return xx + yy
    return (H[:, 0, 0] * xx + (rest + (H[:, 1, 1] - rest) * n) * yy) / 2


def _hessian(c: Array, s: Array, low: Array, high: Array) -> Array:
    return symmetric(low * c * c + high * s * s, (low - high) * c * s, low * s * s + high * c * c)


def _round(H: Array, pull: Any, sizes: list[Any], along: Array) -> tuple[Array, Array, Array]:
    """(P, q, covariance of the noise of variance 1) of one client after its local steps."""
    identity = np.eye(2, dtype=int)
    P, q, C = 0 * H + identity, 0 * H[..., 0], 0 * H
    for eta in sizes:
        step = identity - eta * H
        P, q = step @ P, (step @ q[..., None])[..., 0] - eta * np.array([0 * pull, pull])
        C = step @ C @ step + eta**2 * along[:, :, None] * along[:, None, :]
    return P, q, C


def _of_sets(run: Run, given: Given) -> float:
    """The value of the best wedge or cone that was found."""
    from scipy.optimize import minimize

    every = _sequences(run)
    some = every if 0 < every <= 4 * SEARCHED else SEARCHED

    def value(shape: Any, cone: bool, draws: int = some) -> Array:
        first, last, lean, other = map(float, shape)
        last = min(max(last, first - np.pi + NARROWEST), first - NARROWEST)
        return with_sets(run, (first, last, abs(lean), abs(other)), cone, given, draws)

    best = max((float(value(shape, True).mean()), shape, True) for shape in ((at, -np.pi - at, 0, 0) for at in CONES))
    many = 4 if given[2] else 2
    for start in WEDGES:
        begin = np.array([*start, LEAN, LEAN])
        simplex = begin + np.append(np.zeros((1, 4)), np.diag([0.1, -0.1, 0.3, 0.3]), axis=0)[: many + 1]

        def below(at: Array, begin: Array = begin) -> float:
            return -float(value(np.append(at, begin[many:]), False).mean())

        options = {"maxfev": TRIED * many, "initial_simplex": simplex[:, :many]}
        solved = minimize(below, begin[:many], method="Nelder-Mead", options=options)
        best = max(best, (-float(solved.fun), (*map(float, solved.x), *begin[many:]), False))
    values = value(best[1], best[2], every or DRAWS)
    if every or np.ptp(values) <= SAME * values.max():
        return float(values.mean())
    return float(band(values[:, None], ERROR_RATE).lower[0])


def _sequences(run: Run) -> int:
    """How many sequences of draws there are; 0 where they are more than `DRAWS`, or not equally likely."""
    K, N = run.present or (1, 1)
    if N is None or isinstance(K, Fraction):
        return 0
    count = math.comb(N, K) ** (run.rounds - (run.measure == "distance"))
    return count if count <= DRAWS else 0


def _drawn(run: Run, t: int, coins: Array) -> Array:
    """Who takes part in round ``t`` of several sequences (draws, N): in all of them, or by these random numbers."""
    assert run.present is not None
    (K, _), (draws, N) = run.present, coins.shape
    if isinstance(K, Fraction):
        return np.asarray(coins < float(K))
    if draws != _sequences(run):
        return np.asarray(coins.argsort(1).argsort(1) < K)
    members = np.array([np.isin(range(N), those) for those in combinations(range(N), K)])
    return np.asarray(members[np.arange(draws) // len(members) ** t % len(members)])


def with_sets(run: Run, wedge: Wedge, cone: bool, given: Given, draws: int) -> Array:
    """What is measured, of several sequences of draws (draws,); of any number of clients (1,).

    They are all that there are where there are as many. The last draw is in none where it is ||w_R||^2: the mean is
    given the others.
    """
    assert run.present is not None
    N, delta_0, rng = run.present[1], given[0], np.random.default_rng(0)
    if N is None:
        return _of_new_clients(run, wedge, cone, given)
    idle = float(run.idle)
    # w along w_0 and u_i, and the squared length of what the noise of each client is in it.
    x, y, noise, v = np.full(draws, delta_0**0.5), np.zeros((draws, N)), np.zeros((draws, N)), float(run.sampling)
    unit = (N / (N - 1)) ** 0.5  # u_i = unit (e_i - mean of all e_i)
    for start in range(0, run.T, run.tau):
        z = unit * y
        others = (y**2).sum(1, keepdims=True) - z**2
        rest = np.sqrt(np.maximum(x[:, None] ** 2 + others, 0)) if cone else x[:, None]
        p, q, left, added, outside = _after(run, start, wedge, rest, z, noise, given)
        keep: Array = p / np.maximum(rest, np.finfo(float).tiny) if cone else np.full(z.shape, outside)
        along, moved = (keep * x[:, None] if cone else p), q - keep * z
        if start + run.tau == run.T and run.measure == "distance":
            of_noise = outside**2 * (noise.sum(1, keepdims=True) - noise) + left**2 * noise + added
            each = along**2 + keep**2 * others + q**2 + of_noise
            middle = _mean_of(moved, unit, np.full(z.shape, 1 / N)) + keep.mean(1)[:, None] * y
            of_noise = (outside + (left - outside) / N) ** 2 * noise + added / N**2
            ends = (1 - v) * (along.mean(1) ** 2 + (middle**2 + of_noise).sum(1)) + v * each.mean(1)
            return np.asarray((1 - idle) * ends + idle * (x**2 + (y**2 + noise).sum(1)))
        those = _drawn(run, start // run.tau, rng.random(z.shape))
        some: Array = np.asarray(those.any(1))
        share = those / np.maximum(those.sum(1, keepdims=True), 1)
        y = np.where(some[:, None], _mean_of(moved, unit, share) + (share * keep).sum(1)[:, None] * y, y)
        x = np.where(some, (share * along).sum(1), x)
        noise = np.where(some[:, None], (outside + share * (left - outside)) ** 2 * noise + share**2 * added, noise)
    squared, z = x**2 + (y**2 + noise).sum(1), unit * y
    aside = np.sqrt(np.maximum(squared[:, None] - noise.sum(1)[:, None] - z**2, 0)) if cone else x[:, None]
    return _above_least(run, squared, aside, z, noise, wedge)


def _above_least(run: Run, squared: Array, p: Array, z: Array, noise: Array, wedge: Wedge) -> Array:
    """F(w) - F* at w of these squared lengths, from its place in the plane of every client's set."""
    beyond = (np.stack(_from_wedge(p, z, np.sqrt(noise), wedge)) ** 2).sum(0).mean(1)
    return np.asarray((float(run.mu) * squared + float(run.L - run.mu) * beyond) / 2)


def _mean_of(moved: Array, unit: float, share: Array) -> Array:
    """sum_i share_i moved_i u_i."""
    several = unit * share * moved
    return np.asarray(several - several.mean(1, keepdims=True))


def _of_new_clients(run: Run, wedge: Wedge, cone: bool, given: Given) -> Array:
    """The same where every client is new: the length of w is no random number."""
    assert run.present is not None
    delta_0, K = given[0], float(run.present[0])
    x, rest = np.array([delta_0**0.5]), np.zeros(1)
    for start in range(0, run.T, run.tau):
        if cone:
            x, rest = np.sqrt(x**2 + rest), 0 * rest
        x, q, _, added, keep = _after(run, start, wedge, x, 0 * x, 0 * x, given)
        rest = keep**2 * rest + (q**2 + added) / K
    squared = x**2 + rest
    if run.measure == "distance":
        return np.asarray(squared)
    p = (np.sqrt(squared) if cone else x)[:, None]
    return _above_least(run, squared, p, 0 * p, 0 * p, wedge)


def _after(
    run: Run, start: int, wedge: Wedge, p: Array, z: Array, noise: Array, given: Given
) -> tuple[Array, Array, Array, Array, float]:
    """A client after a round's local steps: (p, z) in the plane of its set, what is left of its own noise, the square
    of the noise added, and what is left of a direction outside.
    """
    mu, bend, keep = float(run.mu), float(run.L - run.mu), 1.0
    (_, zeta_sq, sigma_sq), own_left, added = given, np.ones(z.shape), np.zeros(z.shape)
    for eta in map(float, run.sizes[start : start + run.tau]):
        r = np.sqrt(own_left**2 * noise + added)
        slope = _from_wedge(p, z, r, wedge)
        left = 1 - eta * (mu + bend * slope[2] / np.maximum(r, np.finfo(float).tiny))
        p, z = p - eta * (mu * p + bend * slope[0]), z - eta * (mu * z + bend * slope[1] + zeta_sq**0.5)
        own_left, added = own_left * left, left**2 * added + eta**2 * sigma_sq
        keep *= 1 - eta * mu
    return p, z, own_left, added, keep


def _from_wedge(p: Array, z: Array, r: Array, wedge: Wedge) -> tuple[Array, Array, Array]:
    """(p, z, r >= 0) less the nearest point of the wedge, last < first < last + pi, that leans with r."""
    first, last, *lean = wedge
    turned = first + np.pi / 2, last - np.pi / 2
    flat = np.array([[np.cos(angle), np.sin(angle), 0.0] for angle in turned])
    faces = np.array([np.array([*normal[:2], b]) / np.hypot(1, b) for normal, b in zip(flat, lean, strict=True)])
    leaning = _beyond(p, z, r, faces)
    if not r.any():
        return leaning if not any(lean) else _beyond(p, z, r, flat)
    upright = _beyond(p, z, 0 * r, flat)  # where the nearest point would have r < 0 it has r = 0
    below = r < leaning[2]
    return (
        np.where(below, upright[0], leaning[0]),
        np.where(below, upright[1], leaning[1]),
        np.where(below, r, leaning[2]),
    )


def _beyond(p: Array, z: Array, r: Array, faces: Array) -> tuple[Array, Array, Array]:
    """(p, z, r) less the nearest point of two half-spaces <n_k, .> <= 0 with unit normals."""
    above = [n[0] * p + n[1] * z + n[2] * r for n in faces]
    cosine = float(faces[0] @ faces[1])
    both = [(above[k] - cosine * above[1 - k]) / (1 - cosine**2) for k in (0, 1)]
    edge = (both[0] > 0) & (both[1] > 0)
    alone = [(above[k] > 0) & (both[1 - k] <= 0) for k in (0, 1)]
    lengths = [np.where(edge, both[k], np.where(alone[k], above[k], 0.0)) for k in (0, 1)]
    result = [lengths[0] * faces[0][j] + lengths[1] * faces[1][j] for j in range(3)]
    if not faces[:, 2].any():  # where nearest is the corner, without rounding
        result[:2] = (np.where(edge, x, otherwise) for x, otherwise in zip((p, z), result[:2], strict=True))
    return result[0], result[1], result[2]
