"""The same worst cases modelled in PEPit: a second opinion that shares no code with the package."""

from __future__ import annotations

import warnings

from PEPit import PEP
from PEPit.functions import SmoothStronglyConvexFunction


def _solve(problem: PEP) -> float:
    with warnings.catch_warnings():
        # Its formulation stops a little short of full accuracy at some sizes; the comparison is to 1e-5.
        warnings.filterwarnings("ignore", message="Solution may be inaccurate")
        return float(problem.solve(verbose=0, solver="CLARABEL"))


def lemma_1(mu: float, L: float) -> float:
    """sup ||grad f||^2 subject to f - f* <= 1."""
    problem = PEP()
    function = problem.declare_function(SmoothStronglyConvexFunction, mu=mu, L=L, reuse_gradient=True)
    star = function.stationary_point()
    point = problem.set_initial_point()
    problem.set_initial_condition(function(point) - function(star) <= 1)
    problem.set_performance_metric(function.gradient(point) ** 2)
    return _solve(problem)


def local_descent(N: int, tau: int, mu: float, L: float, eta: float) -> float:
    """sup ||w+ - w*||^2 over ||w_0 - w*||^2 <= 1 and mean_i ||grad F_i(w*)||^2 <= 1, uniform weights."""
    problem = PEP()
    clients = [
        problem.declare_function(SmoothStronglyConvexFunction, mu=mu, L=L, reuse_gradient=True) for _ in range(N)
    ]
    total = sum(clients[1:], clients[0]) / N
    star = total.stationary_point()
    slopes = [client.gradient(star) for client in clients[:-1]]
    slopes.append(-sum(slopes[1:], slopes[0]) if N > 1 else star * 0)
    start = problem.set_initial_point()
    problem.set_initial_condition((start - star) ** 2 <= 1)
    problem.set_initial_condition(sum(s**2 for s in slopes[1:]) / N + slopes[0] ** 2 / N <= 1)
    after = []
    for client in clients:
        x = start
        for _ in range(tau):
            x = x - eta * client.gradient(x)
        after.append(x)
    mean = sum(after[1:], after[0]) / N
    problem.set_performance_metric((mean - star) ** 2)
    return _solve(problem)


def one_round(
    alpha: tuple[float, ...],
    p: tuple[float, ...],
    eta: tuple[float, ...],
    mu: float,
    rest: dict[str, float],
    rho_bar: float = 0.0,
    rho_tilde: float | None = None,
    every: bool = True,
    left: str = "Delta_next",
) -> float:
    """sup (left - sum_k rest_k quantity_k) over one round with L = 1 and ||grad F_i||^2 <= 1 where it was computed.

    rho_bar bounds the skew at the round's start, and with ``every`` at each alpha-weighted iterate; rho_tilde at w*.
    """
    problem = PEP()
    clients = [problem.declare_function(SmoothStronglyConvexFunction, mu=mu, L=1.0, reuse_gradient=True) for _ in p]
    own = [client(client.stationary_point()) for client in clients]
    total = sum((w * client for w, client in zip(p[1:], clients[1:], strict=True)), p[0] * clients[0])
    star, start = total.stationary_point(), problem.set_initial_point()

    def mean(weights, things):
        return sum((w * item for w, item in zip(weights[1:], things[1:], strict=True)), weights[0] * things[0])

    def excess(point):
        return [client(point) - least for client, least in zip(clients, own, strict=True)]

    local, w = [start for _ in p], start
    for k, step in enumerate(eta):
        if k == 0 or every:
            here = excess(w)
            problem.set_initial_condition(mean(alpha, here) >= rho_bar * mean(p, here))
        slopes = [client.gradient(x) for client, x in zip(clients, local, strict=True)]
        for slope in slopes:
            problem.set_initial_condition(slope**2 <= 1)
        before, x = w, local
        local = [x - step * slope for x, slope in zip(local, slopes, strict=True)]
        w = mean(alpha, local)
    Gamma, bias = mean(p, excess(star)), mean(alpha, excess(star))
    if rho_tilde is not None:
        problem.set_initial_condition(bias <= rho_tilde * Gamma)
    quantities = {
        "Delta_next": (w - star) ** 2,
        "Delta": (before - star) ** 2,
        "drift": mean(alpha, [(item - before) ** 2 for item in x]),
        "Gamma": Gamma,
        "Gamma_alpha": bias,
    }
    problem.set_performance_metric(quantities[left] - sum(value * quantities[name] for name, value in rest.items()))
    return _solve(problem)
