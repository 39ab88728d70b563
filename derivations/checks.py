"""Exact checks of remarks that no `Claim` states: each computes both sides of what the paper says, from data alone.

A check returns (lhs, rhs, relation): the remark says ``lhs relation rhs`` and is refuted where that fails.
Where exp enters, interval arithmetic proves lhs >= a and rhs <= b for two fractions a, b given in the data,
and those bounds are returned in place of the sides: a > b refutes lhs <= rhs with no rounding.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal

from fedbounds.engine.reference import at_every_client, mean, round_weights
from fedbounds.errors import reject
from fedbounds.evidence.evaluate import rational
from fedbounds.evidence.exact.compare import Sides, compare, judge_assumptions
from fedbounds.evidence.exact.instance import Instance, Vector, array
from fedbounds.evidence.exact.instance_json import fraction, from_json, rows, vector, whole
from fedbounds.evidence.exact.run import ExactRun, run
from fedbounds.plugins import claim_named
from fedbounds.theory.claim import Claim
from fedbounds.theory.reading import READINGS
from fedbounds.weightings.fedmax import top_k

from .intervals import ball, direction, final_gap, softmax, union

Compared = tuple[Fraction, Fraction, Literal["<=", "="]]
Data = Mapping[str, Any]


def largest(scores: Vector, k: int) -> Vector:
    """1/k on the k largest scores; those tied at the k-th place share what is left equally."""
    return tuple(top_k(array(scores), k) / Fraction(k))


def induction(data: Data) -> Compared:
    """The appendix's induction: Delta_t <= psi_t/(t + gamma) for beta > 1/(mu B) and gamma > 0 alone.

    Delta_{t+1} = (1 - eta_t mu B) Delta_t + eta_t^2 C + eta_t D with eta_t = beta/(t + gamma), every Delta_t
    non-negative, and psi_t = max(gamma Delta_0, (beta^2 C + D beta (t + gamma))/(beta mu B - 1)).
    """
    beta, mu, B, C, D, gamma, Delta_0 = (fraction(data[k]) for k in ("beta", "mu", "B", "C", "D", "gamma", "Delta_0"))
    _require(beta * mu * B > 1 and gamma > 0 and C >= 0 and Delta_0 >= 0, "the paper's conditions on the induction")
    Delta = Delta_0
    for t in range(whole(data["t"])):
        eta = beta / (t + gamma)
        Delta = (1 - eta * mu * B) * Delta + eta**2 * C + eta * D
        _require(Delta >= 0, "every Delta_t, a squared distance, to be non-negative")
    s = whole(data["t"]) + gamma
    psi = max(gamma * Delta_0, (beta**2 * C + D * beta * s) / (beta * mu * B - 1))
    return Delta, psi / s, "<="


def fedmax_skew(data: Data) -> Compared:
    """At Gamma = 0 FedMax has the largest rho_bar: that of other weights (lhs) never exceeds FedMax's (rhs)."""
    other, greedy = _rivals(data)
    return other.rho_all, greedy.rho_all, "<="


def fedmax_gap(data: Data) -> Compared:
    """At Gamma = 0 FedMax is truly optimal: its final gap (lhs) never exceeds that of other weights (rhs)."""
    other, greedy = _rivals(data)
    return greedy.paths["alpha"]["gap"][-1], other.paths["alpha"]["gap"][-1], "<="


def _rivals(data: Data) -> tuple[ExactRun, ExactRun]:
    """The run of the data's weights and FedMax's, on the same homogeneous instance."""
    instance = from_json({**data["instance"], "weighting": "fedmax"})
    greedy = run(instance)
    _require(greedy.values["Gamma"] == 0, "Gamma = 0")
    return run(instance.with_(weighting="fixed", weights=rows(data["weights"]))), greedy


def error_free_iid(data: Data) -> Compared:
    """Gamma = 0 corresponds to IID data: then every client has the same loss, F_1(w) = F_2(w)."""
    instance = from_json(data["instance"])
    _require(run(instance).values["Gamma"] == 0, "Gamma = 0")
    losses = _losses(instance, vector(data["w"]))
    return losses[0], losses[1], "="


def power_of_choice(data: Data) -> Compared:
    """FedMax(k) boils down to Power-of-Choice: a client's weight under both, all N clients being candidates.

    Power-of-Choice ranks by F_i(w) (Cho, Wang and Joshi, 2020), FedMax(k) by F_i(w) - F_i*.
    """
    instance, w, k, i = from_json(data["instance"]), vector(data["w"]), whole(data["k"]), whole(data["client"])
    return largest(instance.excess(w), k)[i], largest(_losses(instance, w), k)[i], "="


def _losses(instance: Instance, w: Vector) -> Vector:
    return tuple(e + low for e, low in zip(instance.excess(w), instance.floor, strict=True))


def depends_alone(data: Data) -> Compared:
    """A claim's term depends on these symbols alone: it agrees on two instances where ``same`` are equal."""
    term = claim_named(data["claim"]).terms[data["term"]]
    first, second = (run(from_json(data[name])).values for name in ("first", "second"))
    same = data["same"]
    _require(all(first[name] == second[name] for name in same), f"equal {', '.join(same)}")
    sides = [rational(term, values) for values in (first, second)]
    _require(None not in sides, "a finite bound")
    return Fraction(sides[0] or 0), Fraction(sides[1] or 0), "="


def ordered(data: Data) -> Compared:
    """A bound is no larger for what is said to be as good or better: its right side on ``first`` <= on ``second``.

    Both are taken at the end of the run, in the ``terms`` named or in all.
    """
    claim = claim_named(data["claim"])
    claim = replace(claim, terms={name: claim.terms[name] for name in data.get("terms", claim.terms)})
    first, second = (_at_the_end(claim, from_json(data[name])) for name in ("first", "second"))
    return first.rhs, second.rhs, "<="


def loose(data: Data) -> Compared:
    """A bound is tight: at the end of a run it is at most ``factor`` times what it bounds."""
    sides = _at_the_end(claim_named(data["claim"]), from_json(data["instance"]))
    return sides.rhs, fraction(data["factor"]) * sides.lhs, "<="


def _at_the_end(claim: Claim, instance: Instance) -> Sides:
    record, reading = run(instance), READINGS[claim.readings[0]]
    _require(judge_assumptions(claim, record, reading) == ((), ()), f"the assumptions of {claim.key}")
    (sides,) = compare(claim, record, reading, instance.total)
    return sides


def fedmax_tie(data: Data) -> Compared:
    """FedMax's argmax is a single client: from a start without a tie no weights of a run are shared."""
    instance = from_json(data["instance"])
    _require(
        sum(a > 0 for a in instance.round_weights(0, instance.excess(instance.w0))[1]) == 1, "a start without a tie"
    )
    return Fraction(max(sum(a > 0 for a in row) for row in run(instance).alphas)), Fraction(1), "<="


def aggregation_index(data: Data) -> Compared:
    """Equation (2), which aggregates in the step from t where tau divides t, has one model at tau as Algorithm 1 has.

    The sides are the first coordinates of two clients' models at t = tau.
    """
    instance = from_json(data["instance"])
    losses, w = instance.losses, array(instance.w0)
    _, alpha = round_weights(instance.rule, losses.p, losses.excess(w), 0)
    x = at_every_client(w, losses.p)
    for t in range(instance.tau):
        x = x - instance.eta[t] * losses.client_grads(x)
        x = at_every_client(mean(alpha, x), alpha) if t % instance.tau == 0 else x
    return x[0, 0], x[1, 0], "="


def negative_alpha(data: Data) -> Compared:
    """A one-step inequality for weights of any sign that sum to 1, over one step from w_0 with Gamma = 0."""
    claim, instance, alpha = claim_named(data["claim"]), from_json(data["instance"]), vector(data["alpha"])
    record = run(instance)
    _require(sum(alpha) == 1 and instance.total == 1, "alpha of sum 1 and one step")
    _require(record.values["Gamma"] == 0, "Gamma = 0")
    losses, w = instance.losses, array(instance.w0)
    e = losses.excess(w)
    skew = (array(alpha) * e).sum() / (losses.p * e).sum()
    after = mean(array(alpha), w - instance.eta[0] * losses.grads(w))
    places = {"Delta": record.values["Delta_0"], "eta": instance.eta[0], "rho_bar": skew}
    right = rational(claim.rhs, {**record.values, **places})
    _require(right is not None, "a finite bound")
    return ((after - losses.w_star) ** 2).sum(), Fraction(right or 0), "<="


def seen_noise(data: Data) -> Compared:
    """E(A_2) = 0 where alpha is FedMax's at the local models after the step, so that it sees the step's noise.

    A_2 = 2 eta <w_0 - w* - eta sum_i alpha_i grad F_i, sum_i alpha_i (grad F_i - g_i)>.
    """
    instance = from_json(data["instance"])
    losses, w, eta = instance.losses, array(instance.w0), instance.eta[0]
    slopes = losses.grads(w)
    total, outcomes = Fraction(0), list(itertools.product(*((-s, s) for s in instance.noise)))
    for noise in outcomes:
        drawn = slopes.copy()
        drawn[:, 0] += array(noise)
        alpha = array(largest(tuple(losses.client_excess(w - eta * drawn)), 1))
        ahead = (w - losses.w_star - eta * mean(alpha, slopes))[0]
        total -= 2 * eta * ahead * (alpha * array(noise)).sum() / len(outcomes)
    return total, Fraction(0), "="


def softmax_bound(data: Data) -> Compared:
    """The error that the bound in pi gives FedSoftMax, after a round from ``far``, is at most that from w_0."""
    instance, term = from_json(data["instance"]), claim_named(data["claim"]).terms[data["term"]]
    far, near = (
        [a / ball(q) for a, q in zip(softmax(instance, list(map(ball, w)), heat), instance.p, strict=True)]
        for heat in [fraction(data["temperature"])]
        for w in (vector(data["far"]), instance.w0)
    )
    low = _certified(min(far, key=lambda r: float(r.mid())), data, "pi_far_below")
    high = min(_certified(r, data, "pi_near_above") for r in near)
    sides = [rational(term, {**run(instance).values, "pi_min": pi}) for pi in (low, high)]
    return Fraction(sides[0] or 0), Fraction(sides[1] or 0), "<="


def softmax_bias(data: Data) -> Compared:
    """FedSoftMax's bias |w_inf - w*| grows in proportion to heterogeneity: ``factor`` times bounds it on ``second``.

    ``second`` has the minimisers of ``first`` twice as far apart, so that Gamma is 4 times as large.
    """
    biases = []
    for name in ("first", "second"):
        instance, low, high = _bracket({**data[name], "temperature": data["temperature"]})
        w_star = instance.argmin(instance.p)[0]
        _require(not low <= w_star <= high, "w* to lie outside the bracket")
        biases.append(sorted((abs(low - w_star), abs(high - w_star))))
    return biases[1][0], fraction(data["factor"]) * biases[0][1], "<="


def softmax_path(data: Data) -> Compared:
    """FedSoftMax interpolates to FedMax(k): its weights come within distance 0 of 1/k on the k largest gaps.

    With x = exp(1/T) and decreasing gaps e, alpha_i is proportional to p_i x^(e_i). The last weight falls
    and the first rises with x, so for any x_0 > 1 the largest deviation from FedMax(k) is, at every
    temperature, at least min(alpha_N(x_0), alpha_1(x_0) - 1/k). That bound is the left side.
    """
    e, p, k, x = vector(data["e"]), vector(data["p"]), whole(data["k"]), fraction(data["x"])
    decreasing = all(a > b for a, b in itertools.pairwise(e))
    _require(decreasing and x > 1 and 1 <= k < len(e), "decreasing gaps, x > 1 and k < N")
    _require(all(g.denominator == 1 for g in e), "whole gaps, so that powers of x are exact")
    raw = [q * x ** whole(g) for q, g in zip(p, e, strict=True)]
    alpha = [a / sum(raw) for a in raw]
    return min(alpha[-1], alpha[0] - Fraction(1, k)), Fraction(0), "<="


def softmax_rate(data: Data) -> Compared:
    """E[F(w_T)] - F* = O(1/T) under FedSoftMax: a start in ``bracket`` that never moves has gap <= 0.

    The direction sum_i p_i exp(e_i/T) grad F_i changes sign over the bracket (intervals prove it), so one of its
    points is fixed for tau = 1 and every step size; w* lies outside, so the gap there is at least the
    left side.
    """
    instance, low, high = _bracket(data)
    w_star = instance.argmin(instance.p)[0]
    _require(not low <= w_star <= high, "w* to lie outside the bracket")
    gaps = []
    for w in (low, high):
        e, base = instance.excess((w,)), instance.excess((w_star,))
        gaps.append(sum((q * (a - b) for q, a, b in zip(instance.p, e, base, strict=True)), Fraction(0)))
    return min(gaps), Fraction(0), "<="


def alpha_limit(data: Data) -> Compared:
    """alpha_i -> p_i under FedSoftMax: at the fixed point in the bracket |alpha_1 - p_1| <= 0."""
    instance, low, high = _bracket(data)
    alpha = softmax(instance, (union(low, high),), fraction(data["temperature"]))
    return _certified(abs(alpha[0] - ball(instance.p[0])), data, "lhs_above"), Fraction(0), "<="


def temperature(data: Data) -> Compared:
    """A temperature said to be ``faster`` reaches a final gap (lhs) no larger than that of the ``slower`` (rhs)."""
    instance = from_json(data["instance"])
    left = final_gap(instance, fraction(data["faster"]))
    right = final_gap(instance, fraction(data["slower"]))
    return _certified(left, data, "lhs_above"), _certified(right, data, "rhs_below"), "<="


def _bracket(data: Data) -> tuple[Instance, Fraction, Fraction]:
    """A one-dimensional instance and a bracket whose ends see FedSoftMax's direction with opposite signs."""
    instance, heat = from_json(data["instance"]), fraction(data["temperature"])
    low, high = vector(data["bracket"])
    signs = [direction(instance, (w,), heat)[0] for w in (low, high)]
    _require(instance.d == 1 and bool(signs[0] < 0) and bool(signs[1] > 0), "a certain change of sign")
    return instance, low, high


def _certified(value: Any, data: Data, key: str) -> Fraction:
    """The data's bound on an interval, once the interval is proved to lie beyond it."""
    bound = fraction(data[key])
    beyond = value > ball(bound) if key.endswith("above") else value < ball(bound)
    _require(bool(beyond), f"the interval {value} to satisfy {key} = {bound}")
    return bound


def _require(condition: bool, what: str) -> None:
    if not condition:
        raise reject(f"this check requires {what}", "data that does not satisfy it", "correct the file")


CHECKS: Mapping[str, Callable[[Data], Compared]] = {
    "induction": induction,
    "fedmax-skew": fedmax_skew,
    "fedmax-gap": fedmax_gap,
    "error-free-iid": error_free_iid,
    "fedmax-k-poc": power_of_choice,
    "pi-alone": depends_alone,
    "without-loss": ordered,
    "fedmax-speed": ordered,
    "tight": loose,
    "fedmax-tie": fedmax_tie,
    "equation-2": aggregation_index,
    "negative-alpha": negative_alpha,
    "seen-noise": seen_noise,
    "softmax-bound": softmax_bound,
    "softmax-bias": softmax_bias,
    "softmax-limits": softmax_path,
    "softmax-rate": softmax_rate,
    "alpha-limit": alpha_limit,
    "temperature": temperature,
}
