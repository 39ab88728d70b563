"""The least proved bound on R rounds in links, its check in exact arithmetic, and how a solver finds it.

If sum_k V_t[k] before[k] - sum_k V_{t+1}[k] after[k] >= 0 on the class of link t, for every t, what is measured, the
last potential, is at most a Delta_0 + b zeta_*^2, the first. A whole run may be one link, a round or a step. One
programme finds all potentials and multipliers; each link's proof is checked by itself.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from fedbounds.errors import demand
from fedbounds.evidence.ball_arithmetic import Ball, Undecided, enclosed, in_bits
from fedbounds.evidence.sdp import verification
from fedbounds.evidence.sdp.functions_on_interval import fraction
from fedbounds.evidence.sdp.multi_round import steps
from fedbounds.evidence.sdp.multi_round.links import (
    Link,
    Links,
    both_outcomes,
    is_one_of_two,
    of_clients,
    whole,
)
from fedbounds.evidence.sdp.multi_round.program import Run
from fedbounds.evidence.sdp.program import Expression, Program, exact
from fedbounds.evidence.sdp.rounding import cancelling
from fedbounds.evidence.sdp.solver import Solution, conic, worst_case
from fedbounds.evidence.sdp.symmetry import corners, exchange
from fedbounds.model.problem import Array

Proof = Mapping[str, Fraction]
Potential = tuple[Fraction, ...]
# Bits of the balls, and rows up to which a matrix that has no room to spare is eliminated in fractions.
BITS, SMALL = 300, 4
# How far above the least value a proof with room to spare is sought, relatively.
ROOM = (Fraction(1, 10**6), Fraction(1, 10**5), Fraction(1, 10**4), Fraction(1, 10**3))
# zeta_*^2 over L^2 Delta_0 at which a bound for zeta_* = 0 is sought: b zeta_*^2 then costs a about 1e-5.
COMMON = Fraction(1, 10**10)
# Gradients of a run in all, up to which every client's are kept apart where the two blocks lose something.
EVERY_CLIENT = 16


@dataclass(frozen=True)
class Bound:
    """What a run measures is at most a Delta_0 + b zeta_*^2: proved by ``proofs``, or a closed form.

    Where the run is biased it is a Delta_0 + b sum_i alpha_i ||s_i||^2 + (bias - b) ||mean of s||^2 (`Run.spread`).
    Noise adds ``noise[0]`` E||its mean over the clients||^2 and ``noise[1]`` E||deviations from that||^2.
    ``value`` is that at the Delta_0 and zeta_*^2 asked for, rounded up. ``exact``: a closed form, without a proof.
    ``attained``: by some clients with these weights, up to inequalities that were left out. ``proofs`` are the
    multipliers in the ``links``, ``potentials`` those between the first and the last.
    """

    run: Run
    a: Fraction
    b: Fraction
    value: float
    proofs: tuple[Proof, ...] = field(default=(), repr=False)
    potentials: tuple[Potential, ...] = field(default=(), repr=False)
    links: Links = field(default=whole, repr=False)
    exact: bool = False
    attained: bool = False
    bias: Fraction = Fraction(0)
    noise: tuple[Fraction, ...] = ()

    @property
    def certified(self) -> bool:
        """Whether multipliers prove it."""
        return not self.exact


def verify(bound: Bound) -> bool:
    """Whether the potentials join and the multipliers of every link prove that they do not rise, exactly."""
    pairs = list(joined(bound))
    return 0 < len(pairs) == len(bound.proofs) and all(
        multipliers.keys() <= set(link.labels) and verification.verify(link, gap, multipliers, _positive)[0]
        for (link, gap), multipliers in zip(pairs, bound.proofs, strict=True)
    )


def joined(bound: Bound) -> Iterator[tuple[Program, Expression]]:
    """Every link with its potential before less that after; none where they do not join."""
    links, V = bound.links(bound.run, exact), [*bound.potentials, (Fraction(1),)]
    if not links or len(V) != len(links) or any(len(W) != len(link.after) for W, link in zip(V, links, strict=True)):
        return
    first = (bound.a, bound.b, *[bound.bias] * bound.run.biased, *bound.noise)[: len(links[0].before)]
    for link, here, there in zip(links, (first, *V), V, strict=False):
        yield link, _mean(here, link.before[: len(here)]) - _mean(there, link.after)


def _mean(potential: Sequence[Fraction], of: Sequence[Expression]) -> Expression:
    return Expression.mean(map(exact, potential), of)


def _positive(S: list[list[Any]]) -> bool:
    """Whether a rational matrix is positive semidefinite: by balls, as fractions grow, unless a pivot may be 0."""
    with contextlib.suppress(Undecided), in_bits(BITS):
        return verification.is_psd([[Ball(enclosed(fraction(value))) for value in row] for row in S])
    return len(S) <= SMALL and verification.is_psd(S)


def above(value: Fraction) -> float:
    """The least float that is not below a fraction: the nearest one may be."""
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def solved(program: Link, delta_0: Fraction, zeta_sq: Fraction) -> Solution:
    """The worst case of a whole run's programme in floating point, whose instance can be rebuilt."""
    most = delta_0, zeta_sq
    units = [start * float(1 / value) for start, value in zip(program.before, most, strict=False) if value]
    return worst_case(program, program.after[0], units, "nonneg", inaccurate=True)


def least(
    links: Links,
    run: Run,
    delta_0: Fraction,
    zeta_sq: Fraction,
    sigma_sq: Fraction = Fraction(0),
    room: Sequence[Fraction] = ROOM,
) -> Bound | None:
    """The smallest bound that the links prove, certified; None where no proof was found."""
    pull = zeta_sq or COMMON * run.L**2 * delta_0
    most, mean = run.spread if links is not of_clients else (Fraction(1), Fraction(0))
    starts = [float(delta_0), float(pull * (most - mean)), *[float(pull * mean)] * bool(mean)]
    share = run.shares[0]
    starts += [float(sigma_sq * part) for part in (share, 1 - share) if sigma_sq]
    chain = _Chain(links(run, float), starts)
    smallest = chain.smallest()
    if smallest is None:
        return None
    for margin in room:
        inside = chain.inside(smallest * (1 + float(margin)))
        if inside is None:
            continue
        ((a, b, *more_), *between), proofs = inside
        bias, noise = (more_[0] if mean else Fraction(0)), tuple(more_) if sigma_sq else ()
        added = max((noise[0] * part + noise[1] * (1 - part) for part in run.shares if noise), default=Fraction(0))
        value = above(a * delta_0 + (b * most + max(bias - b, Fraction(0)) * mean) * zeta_sq + added * sigma_sq)
        result = Bound(run, a, b, value, (), tuple(between), links, bias=bias, noise=noise)
        pairs = zip(joined(result), proofs, strict=True)
        exactly = [cancelling(link, gap, given) for (link, gap), given in pairs]
        result = replace(result, proofs=tuple(proof for proof in exactly if proof is not None))
        if verify(result):
            return result
    return None


def upper_bound(
    run: Run, delta_0: Fraction = Fraction(1), zeta_sq: Fraction = Fraction(1), sigma_sq: Fraction = Fraction(0)
) -> Bound | None:
    """The smallest bound on what the run measures that was proved; None where no proof was found.

    With zeta_* = 0 the distance is that of the contraction where one of the quadratics mu/2 and L/2 attains it. Where
    weights are free or clients come by coins the proof is that of the last round, from the bound of those before.
    """
    received = f"Delta_0 = {delta_0}, zeta_*^2 = {zeta_sq}, sigma^2 = {sigma_sq}"
    what = "Delta_0 must be positive, zeta_*^2 and sigma^2 not negative"
    demand(delta_0 > 0 and zeta_sq >= 0 and sigma_sq >= 0, what, received, "mend them")
    if sigma_sq:
        received = "weights that are not p" if run.biased else f"the {run.measure}, step {run.server}"
        what = "noise needs the measure distance, and a server with the weights p and the step 1"
        proper = not run.biased and run.measure == "distance" and run.server == 1
        demand(proper, what, received, "leave out the noise")
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
    # Where clients are drawn there often is no proof nearer to the least value.
    room = ROOM[2:] if run.sampling and run.rounds > 1 else ROOM
    links = both_outcomes if is_one_of_two(run) else steps.links
    bound = least(whole if run.short and not run.sampling else links, run, delta_0, zeta_sq, room=room)
    return bound and replace(bound, attained=run.exact)


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


class _Chain:
    """The identities of all links as rows; as columns the multipliers of all links and V_0, V_1 .. V_{R-1}."""

    def __init__(self, links: Sequence[Link], prices: Sequence[float]) -> None:
        from scipy.sparse import block_diag, csr_matrix, hstack

        made = {id(link): _columns(link) for link in links}
        sizes, kinds, rules, before, after = zip(*(made[id(link)] for link in links), strict=True)
        self.sizes, self.kinds = tuple(size for several in sizes for size in several), np.concatenate(kinds)
        starts = [before[0][:, : len(prices)], *before[1:]]
        measured, here = after[-1][:, 0], block_diag(starts)
        there = block_diag([*after[:-1], csr_matrix((len(measured), 0))])
        potentials = hstack([csr_matrix((here.shape[0], len(prices))), there]) - here
        self.matrix = hstack([block_diag(rules), potentials]).tocsr()
        self.target = np.append(np.zeros(here.shape[0] - len(measured)), -measured)
        lengths = [part.shape[1] for part in (*rules, *starts)]
        self.ends, self.count = np.cumsum(lengths), len(links)
        self.cost = np.zeros(self.ends[-1])
        self.cost[self.ends[self.count - 1] :][: len(prices)] = prices
        signed = [constraint.kind != "equality" for link in links for constraint in link.constraints]
        self.signed = np.flatnonzero(signed)

    def smallest(self) -> float | None:
        """The least price of a proof."""
        x = self._solved(self.cost, 0)
        return None if x is None else float(self.cost @ x)

    def inside(self, price: float) -> tuple[list[Potential], list[Array]] | None:
        """(potentials, multipliers of each link) of a proof of that price, as far inside as can be."""
        x = self._solved(np.append(0 * self.cost, -1.0), 1, price)
        if x is None or x[-1] <= 0:
            return None
        parts = np.split(x[:-1], self.ends[:-1])
        return [tuple(map(Fraction, map(float, part))) for part in parts[self.count :]], parts[: self.count]

    def _solved(self, cost: Array, margin: int, price: float = 0.0) -> Array | None:
        """The least cost, with ``margin`` = 1 of how far inside everything is, at most 1, as one more column."""
        from scipy.sparse import csr_matrix, hstack, vstack

        many = len(self.signed)
        above_zero = csr_matrix((-np.ones(many), (range(many), self.signed)), shape=(many, len(self.cost)))
        matrix, bound = self.matrix, np.zeros(many)
        if margin:
            matrix = hstack([matrix, 1.0 * (self.kinds > 0)[:, None]])
            above_zero = hstack(
                [vstack([above_zero, self.cost, 0 * self.cost]), np.append(np.ones(many), [0, 1])[:, None]]
            )
            bound = np.append(bound, [price, 1.0])
        values, inside = ((matrix.tocsr()[rows], self.target[rows]) for rows in (self.kinds < 0, self.kinds >= 0))
        return conic(cost, values, (above_zero, bound), inside, self.sizes)


def _columns(link: Link) -> tuple[Any, ...]:
    """(sizes of blocks, rows: 1 on a diagonal, -1 of a value, else 0; columns of constraints, before and after)."""
    cut = exchange(link, any_client=False)
    rows, columns, _ = corners(cut.sizes)
    kinds = np.append(1.0 * (rows == columns), -np.ones(len(link.values)))

    def of(expressions: Sequence[Expression]) -> Array:
        return np.concatenate(cut.rows(link, expressions), axis=1).T

    constraints = [constraint.expression for constraint in link.constraints]
    return cut.sizes, kinds, of(constraints), of(link.before), of(link.after)
