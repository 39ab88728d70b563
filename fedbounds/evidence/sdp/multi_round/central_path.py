"""The central path of the proofs of a bound on R rounds: a solver whose every answer can be a certificate."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedbounds.errors import reject
from fedbounds.evidence.sdp.multi_round.bound import Bound, above, least, of_clients, of_gradients, verify
from fedbounds.evidence.sdp.multi_round.drawn_rounds import ROUNDS, covered, drawn_rounds
from fedbounds.evidence.sdp.multi_round.program import Run, measured, points, program_of

Array = NDArray[Any]
# The path ends where the barrier's bound on the remaining gap is this part of the value.
GAP = 1e-6
# By what the weight of the objective grows once Newton's decrement is below CENTRED.
GROWTH, CENTRED = 8.0, 0.5
# A number that is no certificate is given where the solver was this near to the best one, relatively.
ACCURATE = 1e-3
# Steps up to which every interpolation inequality is used: twelve take half a second, twenty half a minute.
ALL_PAIRS = 12
# Gradients of a run in all, up to which every client's are kept apart where the two blocks lose something.
EVERY_CLIENT = 16
# Proofs on the path, the last first, of which one must verify; each leaves GROWTH times the room of the next.
TRIED = 6
# Newton's steps: the most in all, the least length that is still progress, the part of the way to a bound taken.
STEPS, SHORTEST, INSIDE = 2000, 1e-8, 0.98
# Added to the diagonal of Newton's matrix, scaled to 1, whose condition is beyond a double's near the end: the least
# that lets it be factored.
DAMPING = (1e-11, 1e-9, 1e-7)
# How far above the contraction of one step the first proof lies; the first that is strictly feasible is taken.
BEYOND = (0.02, 0.1, 0.3, 1.0, 3.0, 10.0)


def worst(run: Run, delta_0: Fraction = Fraction(1), zeta_sq: Fraction = Fraction(1)) -> Bound | None:
    """The smallest bound on what the run measures that the programme proves, certified where its proof verifies.

    None where no proof verifies and the solver came to no accurate number either. With zeta_* = 0 the distance is
    that of the contraction where one of the quadratics mu/2 and L/2 attains it. Where weights are free or clients
    absent the proof is that of the last round or rounds, from the bound of the rounds before.
    """
    if delta_0 <= 0 or zeta_sq < 0:
        received = f"Delta_0 = {delta_0}, zeta_*^2 = {zeta_sq}"
        raise reject("Delta_0 must be positive and zeta_*^2 not negative", received, "mend them")
    if zeta_sq == 0 and run.measure == "distance" and run.contraction is not None:
        a = run.contraction**2
        return Bound(run, a, Fraction(0), above(a * delta_0), 0.0, False, exact=True, attained=True)
    if covered(run) or ((run.ratios is not None or run.present) and run.rounds > 1):
        return _composed(run, delta_0, zeta_sq)
    few = 0 < len(run.p) * run.T <= EVERY_CLIENT
    if few and not run.exact and (run.ratios is None or run.permuted) and run.measure == "distance" and zeta_sq:
        bound = least(of_clients, run, delta_0, zeta_sq)
        if bound is not None:
            return replace(bound, attained=True)
    if run.server != 1 or run.present:
        return _by_solver(run, delta_0, zeta_sq)
    if run.T <= ALL_PAIRS and not run.all_pairs:
        bound = worst(replace(run, all_pairs=True), delta_0, zeta_sq)
        if bound is not None and bound.certified:
            return bound
    return _worst_on_path(run, delta_0, zeta_sq)


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
            if before is None or not before.proved:
                return None
            start = Fraction(before.value)
        of_last = drawn_rounds if drawn else _by_solver if last.present else worst
        bound = of_last(last, start, zeta_sq)
        if bound is not None or not drawn:
            return bound if before is None or bound is None else _after(before, bound)
    return None


def _after(before: Bound, last: Bound) -> Bound:
    """The bound of later rounds, from that of the rounds before."""
    a, b, bias = last.a * before.a, last.a * before.b + last.b, last.a * before.bias + last.bias
    return replace(last, a=a, b=b, bias=bias, gap=None, attained=False)


def _by_solver(run: Run, delta_0: Fraction, zeta_sq: Fraction) -> Bound | None:
    """The path begins at a proof for a server's step of 1 and everyone present, so the solver is asked."""
    if run.biased:
        received = f"{run.T} steps of {len(run.p)} clients"
        what = f"a server's step with weights that are not p is bounded for up to {EVERY_CLIENT} gradients in all"
        raise reject(what, received, "take fewer steps, or the server's step 1")
    bound = least(of_gradients, replace(run, all_pairs=run.T <= ALL_PAIRS), delta_0, zeta_sq)
    return None if bound is None else replace(bound, attained=run.exact)


def _worst_on_path(run: Run, delta_0: Fraction, zeta_sq: Fraction) -> Bound | None:
    from threadpoolctl import threadpool_limits

    tried: list[Bound] = []
    path, labels = _Path(run, float(delta_0), float(zeta_sq)), [f"interpolation {a}|{b}" for a, b in run.pairs]
    # One thread adds in one order; two wait for each other longer than they compute where others use the machine.
    with threadpool_limits(limits=1, user_api="blas"):
        proofs = path.follow()
    for z, gap in reversed(proofs[-TRIED:]):
        multipliers = _balanced(run, [Fraction(float(value)) for value in z[: len(labels)]])
        a, b, bias = (Fraction(float(value)) for value in (*z[len(labels) :], *path.paid(z), 0)[:3])
        most, mean = run.spread
        lost = max(b - bias, Fraction(0)) * mean * zeta_sq  # the path took bias >= b
        value = above(a * delta_0 + (b * most + (bias - b) * mean) * zeta_sq + lost)
        named = dict(zip(labels, multipliers, strict=True))
        bound = Bound(run, a, b, value, gap + float(lost), False, (named,), attained=run.exact, bias=bias)
        if verify(bound):
            return replace(bound, certified=True)
        tried.append(bound)
    return tried[0] if tried and tried[0].gap <= ACCURATE * tried[0].value else None  # type: ignore[operator]


def _balanced(run: Run, multipliers: list[Fraction]) -> list[Fraction]:
    """The multipliers with those towards w* raised until the function values cancel."""
    excess = [Fraction(0)] * (run.star + 1)
    for (a, b), value in zip(run.pairs, multipliers, strict=True):
        excess[a] += value
        excess[b] -= value
    excess[run.T] += run.star - run.T
    result = list(multipliers)
    for k, more in enumerate(excess[:-1]):
        result[2 * k + (more > 0)] += abs(more)
    return result


class _Path:
    """The central path of the proofs z = (lambda, a, b), or (lambda, a, b, bias), in floating point."""

    def __init__(self, run: Run, delta_0: float, zeta_sq: float) -> None:
        # Before the path is followed: a library that is loaded later has threads of its own, which nothing holds.
        from scipy.linalg import cho_solve

        self.solve = cho_solve
        self.run, self.K = run, float(run.L - run.mu)
        self.a, self.b = (np.array([pair[side] for pair in run.pairs]) for side in (0, 1))
        self.count = len(self.a)
        program, every, end = program_of(run, float), points(run, float), measured(run, float)
        x = np.stack([program.coordinates(vector) for vector in (*(point.x for point in every), end)])
        c = np.stack([program.coordinates(point.g) for point in every])
        self.whole = [(x[:, block], c[:, block]) for block in program.blocks]
        # (block, diagonal entry, what it costs) of the last entries of z.
        most, mean = (float(item) * zeta_sq for item in run.spread)
        ends = [(0, 0, delta_0), (1, 0, most - mean), (0, run.T + 1, mean)][: 2 + run.biased]
        # Where zeta_* = 0 a proof may spend on s what it likes, so that the path has no such coordinates.
        self.ends, self.unpaid = ends[: 3 if zeta_sq else 1], ends[3 if zeta_sq else 1 :]
        self.blocks = [tuple(part.copy() for part in block) for block in self.whole]
        for block, at, _ in self.unpaid:
            for part in self.blocks[block]:
                part[:, at] = 0
        self.cost = np.append(np.zeros(self.count), [cost for _, _, cost in self.ends])
        self.flow = np.zeros((run.star + 1, len(self.cost)))
        np.add.at(self.flow, (self.a, np.arange(self.count)), 1.0)
        np.add.at(self.flow, (self.b, np.arange(self.count)), -1.0)
        self.flow = self.flow[:-1]

    def follow(self) -> list[tuple[Array, float]]:
        """The centred proofs along the path, each with the barrier's bound on its distance from the best.

        The path ends where a step makes no progress or Newton's matrix has no factor: there is no such bound there.
        """
        z, factors = self.start()
        barriers = 2 * (self.run.star + 1) + self.run.biased + self.count
        t, result = barriers / float(self.cost @ z), []
        for _ in range(STEPS):
            try:
                step, decrement = self.newton(z, factors, t)
            except np.linalg.LinAlgError:
                break
            length, z, factors = self.advance(z, factors, step, decrement, t)
            if length < SHORTEST:
                break
            if decrement < CENTRED and length == 1.0:
                result.append((z, barriers / t))
                if barriers / t < GAP * float(self.cost @ z):
                    break
                t *= GROWTH
        return result

    def start(self) -> tuple[Array, list[Array]]:
        """A strictly feasible proof: the contraction of one step, with room, as many times as there are steps.

        For F the proof of (L/2) ||w - w*||^2, where ||w||^2 is at most the mean of ||w_t||^2 if w is their mean.
        """
        run, mu, T = self.run, float(self.run.mu), self.run.T
        eta = np.array([float(size) for size in run.sizes])
        q = 1 - eta * mu
        for margin in BEYOND:
            beyond = abs(self.K * eta**2 - 2 * q * eta) / self.K * (1 + margin) + 1e-3 * margin * eta**2
            each = self.K * (beyond + eta**2)
            rate = q**2 + (q * eta - each / 2) ** 2 / beyond * (1 + margin) + margin * eta * mu
            scale = 1.0 if run.star == T else float(run.L) / 2 * (1 + margin)
            after = np.full(T + 1, scale / (T if run.measure == "average" else 1))
            for k in reversed(range(T)):
                after[k] = after[k + 1] * max(rate[k], 1 - 5 / T) + (after[T] if run.measure == "average" else 0)
            later = np.append(each * (1 + 0.01 * margin) * after[1:], [scale * each[-1]] * 2)
            z = np.zeros(len(self.cost))
            z[: self.count] = np.minimum(later[self.a], later[self.b]) * 1e-4 * margin / T
            z[: 2 * T], z[self.count] = np.repeat(later[:T], 2), 2 * after[0] * (1 + margin)
            if run.star > T:
                z[2 * T : 2 * T + 2] = 0.1 * margin, 1 + 0.1 * margin
            for z[self.count + 1 :] in 10.0 ** np.arange(-3, 12):
                factors = self.factors(z)
                if factors is not None:
                    return z, factors
        raise reject("no first proof was found", f"{self.run}", "take a smaller step, or fewer rounds")

    def slack(self, z: Array, block: int, blocks: list[Any] | None = None) -> Array:
        """S of the means (0) or S' of the deviations (1)."""
        (x, c), weights = (blocks or self.blocks)[block], z[: self.count, None]
        dx, dc, cb = x[self.a] - x[self.b], c[self.a] - c[self.b], c[self.b]
        product = (cb * weights).T @ dx
        S: Array = (product + product.T) / 2 + (dc * weights).T @ dc / (2 * self.K)
        for (where, at, _), value in zip(self.ends, z[self.count :], strict=True):
            if where == block:
                S[at, at] += value
        if block == 0:
            S -= (1.0 if self.run.measure == "distance" else float(self.run.mu) / 2) * np.outer(x[-1], x[-1])
        for where, at, _ in self.unpaid if blocks is None else ():
            if where == block:
                S[at, at] += 1
        return S

    def paid(self, z: Array) -> list[float]:
        """Enough of what costs nothing for the whole matrices to be definite."""
        result = []
        for block, at, _ in self.unpaid:
            S = self.slack(z, block, self.whole)
            others = np.delete(S[at], at)
            rest = np.delete(np.delete(S, at, 0), at, 1)
            result.append(
                2 * float(others @ np.linalg.solve(rest, others)) + abs(S[at, at]) + float(self.run.L) ** -2
            )
        return result

    def factors(self, z: Array) -> list[Array] | None:
        """The Cholesky factors of both matrices; None where z is no strictly feasible proof."""
        try:
            return [np.linalg.cholesky(self.slack(z, k)) for k in (0, 1)] if (z > 0).all() else None
        except np.linalg.LinAlgError:
            return None

    def barrier(self, z: Array, factors: list[Array], t: float) -> float:
        logs = sum(2 * np.log(np.diag(factor)).sum() for factor in factors)
        return float(t * self.cost @ z - logs - np.log(z[: self.count]).sum())

    def newton(self, z: Array, factors: list[Array], t: float) -> tuple[Array, float]:
        """(Newton's step of the barrier along the flow's kernel, its decrement)."""
        H, g = np.zeros((len(z), len(z))), t * self.cost
        H[np.arange(self.count), np.arange(self.count)] = 1 / z[: self.count] ** 2
        g[: self.count] -= 1 / z[: self.count]
        for block, factor in enumerate(factors):
            self.add_curvature(H, g, block, self.solve((factor, True), np.eye(len(factor))))
        d = 1 / np.sqrt(np.diag(H))
        right = np.column_stack([d[:, None] * self.flow.T, d * g])
        solved = d[:, None] * self.solve((_damped(H * d[:, None] * d), True), right)
        price = np.linalg.lstsq(self.flow @ solved[:, :-1], self.flow @ solved[:, -1], rcond=None)[0]
        step = solved[:, :-1] @ price - solved[:, -1]
        return step, math.sqrt(max(-float(g @ step), 0.0))

    def add_curvature(self, H: Array, g: Array, block: int, P: Array) -> None:
        """Add the Hessian and gradient of -log det S, P its inverse; a constraint is of rank 3: inner products do."""
        x, c = self.blocks[block]
        dx, dc, cb = x[self.a] - x[self.b], c[self.a] - c[self.b], c[self.b]
        Pc, Px, Pd = cb @ P, dx @ P, dc @ P
        cx, cd, xd, dd, bend = Pc @ dx.T, Pc @ dc.T, Px @ dc.T, Pd @ dc.T, 1 / (2 * self.K)
        mixed = cd * xd
        n = self.count
        H[:n, :n] += (Pc @ cb.T * (Px @ dx.T) + cx * cx.T) / 2 + bend * (mixed + mixed.T) + bend**2 * dd**2
        g[:n] -= np.diag(cx) + bend * np.diag(dd)
        ends = [(n + k, at) for k, (where, at, _) in enumerate(self.ends) if where == block]
        for row, at in ends:
            H[row, :n] = H[:n, row] = Pc[:, at] * Px[:, at] + bend * Pd[:, at] ** 2
            g[row] -= P[at, at]
            for other, there in ends:
                H[row, other] = P[at, there] ** 2

    def advance(
        self, z: Array, factors: list[Array], step: Array, decrement: float, t: float
    ) -> tuple[float, Array, list[Array]]:
        """(length, proof, factors) after a step that stays inside and lowers the barrier; length 0 if none."""
        before, falls = self.barrier(z, factors, t), step[: self.count] < 0
        length = min(1.0, INSIDE * float(np.min(-z[: self.count][falls] / step[: self.count][falls], initial=np.inf)))
        while length >= SHORTEST:
            there = z + length * step
            inside = self.factors(there)
            allowed = before - 1e-4 * length * decrement**2 + 1e-12 * abs(before)
            if inside is not None and self.barrier(there, inside, t) <= allowed:
                return length, there, inside
            length *= 0.6
        return 0.0, z, factors


def _damped(H: Array) -> Array:
    """The Cholesky factor of a matrix of unit diagonal, damped where rounding left it indefinite."""
    for damping in DAMPING[:-1]:
        try:
            return np.linalg.cholesky(H + damping * np.eye(len(H)))
        except np.linalg.LinAlgError:
            continue
    return np.linalg.cholesky(H + DAMPING[-1] * np.eye(len(H)))
