"""Where FedSoftMax and FedMax go as the steps tend to 0: minimisers of a soft and of a hard maximum.

The gradient of Phi_T(w) = T log sum_i p_i exp(e_i(w)/T) is sum_i alpha_i(w) grad F_i(w) with FedSoftMax's alpha,
so FedSoftMax is stochastic gradient descent on Phi_T. Its Hessian, sum_i alpha_i Hessian_i + Cov_alpha(grads)/T,
is at least mu: the fixed point alpha_inf exists and is unique. As T -> 0,

    Phi_T(w) <= M(w) = max_i e_i(w) <= Phi_T(w) + T log(1/min p),

whence ||w_T - w_M||^2 <= (2/mu) T log(1/min p) for the minimisers w_T of Phi_T and w_M of M.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedbounds.model.problem import Array, Problem

# Newton's method stops when a step lowers neither Phi_T nor, at its rounding, the gradient.
NEWTON_STEPS, HALVINGS = 200, 40
# Each temperature of the path down is this fraction of the one before.
COOLING = 0.5
# The temperature, relative to the largest gap, at which M is taken to be reached; the certificate says how well.
COLD = 1e-10


@dataclass(frozen=True)
class Limit:
    """The limit point w (d,), its weights alpha (N,), its gap F(w) - F*, and how well each is known.

    ``residual``: largest |alpha_i - softmax_i(e(argmin under alpha))|, the fixed point's own error (softmax), and
    ``duality``: M(w) - min sum_i alpha_i e_i, so that ||w - w_M||^2 <= 2 duality/mu (meaningful for FedMax).
    """

    w: Array
    alpha: Array
    gap: float
    residual: float
    duality: float


def softmax(problem: Problem, w: Array, temperature: float) -> Array:
    """alpha_i = p_i exp(e_i(w)/T)/Z (N,)."""
    e = problem.excess(w)
    weights = problem.p * np.exp((e - e.max()) / temperature)
    return np.asarray(weights / weights.sum())


def soft_limit(problem: Problem, temperature: float) -> Limit:
    """argmin Phi_T by Newton's method, cooled down from T = max_i e_i(w*); for clients with constant Hessians."""
    w, start = problem.w_star, float(problem.star_excess.max())
    hessians = (problem.grads(np.eye(problem.d)) - problem.grads(np.zeros(problem.d))).swapaxes(0, 1)
    heat = max(temperature, start)
    while True:
        w = _newton(problem, w, heat, hessians)
        if heat <= temperature:
            break
        heat = max(temperature, heat * COOLING)
    alpha = softmax(problem, w, temperature)
    point = problem.argmin(alpha).w
    residual = float(np.abs(softmax(problem, point, temperature) - alpha).max())
    duality = float(problem.excess(w).max() - alpha @ problem.excess(point))
    return Limit(w, alpha, float(problem.gap(w)), residual, duality)


def hard_limit(problem: Problem) -> Limit:
    """argmin max_i e_i, the limit of FedMax, as the limit of FedSoftMax at a negligible temperature."""
    return soft_limit(problem, COLD * float(problem.star_excess.max()))


def potential(problem: Problem, w: Array, temperature: float) -> float:
    """Phi_T(w)."""
    e = problem.excess(w)
    return float(e.max() + temperature * np.log(problem.p @ np.exp((e - e.max()) / temperature)))


def _slope(problem: Problem, w: Array, temperature: float) -> float:
    return float(np.linalg.norm(softmax(problem, w, temperature) @ problem.grads(w)))


def _newton(problem: Problem, w: Array, temperature: float, hessians: Array) -> Array:
    value = potential(problem, w, temperature)
    for _ in range(NEWTON_STEPS):
        alpha, grads = softmax(problem, w, temperature), problem.grads(w)
        mean = alpha @ grads
        spread = (grads - mean) * np.sqrt(alpha / temperature)[:, None]
        step = np.linalg.solve(np.tensordot(alpha, hessians, 1) + spread.T @ spread, mean)
        for k in range(HALVINGS):
            there = w - step / 2**k
            lower = potential(problem, there, temperature)
            if lower < value:
                break
        else:  # the value is at its rounding, where the gradient still tells better from worse
            there = w - step
            if _slope(problem, there, temperature) >= np.linalg.norm(mean):
                return w
        w, value = there, lower
    return w
