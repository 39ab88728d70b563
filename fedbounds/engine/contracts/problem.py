"""What a problem states about itself, tried: its losses against its gradients, L, mu, minima and gaps.

Every test allows for rounding and nothing else, so a problem that keeps the contract passes it whatever the points
are. A false fact is found where it shows at the points of `probe.Probe`; each finding states what it resolves.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial

import numpy as np

from fedbounds.engine.contracts.finding import Finding, refuse, try_in_order, worst
from fedbounds.engine.contracts.noise import noise_facts
from fedbounds.engine.contracts.probe_points import ROUNDING, Probe
from fedbounds.model.problem import Array, Optimum, Problem, check_distribution

# L and mu are compared to their last digits but three: their own computation rounds.
CONSTANT_ROUNDING = 1e-9
# Near a minimum: so far away, in units of the scale, that e_i lies far below the last digit of F_i.
CLOSE = 1e-9
# ... unless the minimum is known less well; then so many times its error.
CLEAR = 100.0
NEAR_DIRECTIONS = 8
NEAR_ROUNDING = 1e-6
# Directions of differences: all coordinates up to here, random ones beyond.
COORDINATES = 64
# Evaluations of the independent minimisation.
MINIMISATION = 60


def problem_findings(problem: Problem) -> tuple[Finding, ...]:
    """Every fact that was tried, up to the first group with one that fails, as the later ones rest on it.

    >>> all(finding.holds for finding in problem_findings(problem))
    True
    """
    probe = Probe(problem)
    tests: dict[str, Callable[[Probe], Iterable[Finding]]] = {
        "p on the simplex": _simplex,
        "0 < mu <= L, both finite": _constants,
        "minimisers of shape (d,) and finite values": _optima,
        "shapes, finite values and inputs left alone": _shapes,
        "losses whose slopes are the gradients": _gradients,
        "L and mu": _curvature,
        "minimisers": _minimisers,
        "F_i - F_i* and F - F*": _gaps,
        "excesses without cancellation near the minimum": _near,
        "the noise": noise_facts,
    }
    return try_in_order({fact: partial(test, probe) for fact, test in tests.items()})


def check_problem(problem: Problem) -> tuple[Finding, ...]:
    """The findings on a problem that keeps its contract; InputError names the first point where it does not.

    >>> check_problem(problem)[1].observed
    'mu = 1, L = 4'
    """
    return refuse(f"problem {problem.kind}", problem_findings(problem))


def _simplex(probe: Probe) -> Iterator[Finding]:
    p = probe.problem.p
    check_distribution(p, len(p))
    yield Finding("p on the simplex", True, "")


def _constants(probe: Probe) -> Iterator[Finding]:
    fact, (L, mu) = "0 < mu <= L, both finite", (probe.problem.L, probe.problem.mu)
    yield Finding(fact, bool(0 < mu <= L < np.inf), f"mu = {mu:.6g}, L = {L:.6g}", "mend constants()")


def _optima(probe: Probe) -> Iterator[Finding]:
    """Every minimiser can be had, and the arrays of them say the same."""
    problem, fact = probe.problem, "minimisers of shape (d,) and finite values"
    clients = zip(problem.client_optima, problem.w_i_star, problem.F_i_star, range(problem.N), strict=True)
    for optimum, w, value, client in (*clients, (problem.optimum, problem.w_star, problem.F_star, None)):
        good = np.shape(optimum.w) == (problem.d,) and np.isfinite(optimum.w).all() and np.isfinite(optimum.value)
        same = good and np.array_equal(optimum.w, w) and optimum.value == value and 0 <= optimum.excess_bound < np.inf
        remedy = "mend argmin, or what says w* and F* beside it"
        yield Finding(fact, bool(same), f"{optimum}", remedy, client=client)


def _shapes(probe: Probe) -> Iterator[Finding]:
    """Leading axes are kept, one point at a time gives the same numbers, and no argument is written to."""
    problem, x = probe.problem, probe.x
    N, P, fact = problem.N, len(probe.x), "shapes, finite values and inputs left alone"
    w = x[:, 0]
    for name, call, points, tail in (
        ("client_losses", problem.client_losses, x, (N,)),
        ("client_excess", problem.client_excess, x, (N,)),
        ("client_grads", problem.client_grads, x, (N, problem.d)),
        ("client_variance", lambda v: problem.client_variance(v, 1), x, (N,)),
        ("losses", problem.losses, w, (N,)),
        ("grads", problem.grads, w, (N, problem.d)),
        ("gap", problem.gap, w, ()),
    ):
        given, p = points.copy(), problem.p.copy()
        value = np.asarray(call(given))
        if value.shape != (P, *tail) or not np.isfinite(value).all():
            text = f"{name} of shape {value.shape}, finite: {np.isfinite(value).all()}, for points {points.shape}"
            yield Finding(fact, False, text, f"return finite numbers of shape {(P, *tail)}")
            continue
        pure = np.array_equal(given, points) and np.array_equal(p, problem.p)
        yield Finding(fact, pure, f"{name} that changes its argument", "copy before writing")
        alone = np.stack([np.asarray(call(point.copy())) for point in points[:3]])
        size = 1e-9 * np.abs(value[:3]).max(initial=0.0) + np.finfo(float).tiny
        close = alone.shape == value[:3].shape and np.abs(alone - value[:3]).max() <= size
        yield Finding(fact, bool(close), f"{name} that differs for one point alone", "compute each point by itself")


def _gradients(probe: Probe) -> Iterator[Finding]:
    """Central differences: for an L-smooth loss they lie within L h/2 of the slope, and rounding adds rounding/h."""
    problem, d = probe.problem, probe.problem.d
    count = probe.affordable(COORDINATES)
    u = np.eye(d) if d <= count else probe.directions(2, count)[:, 0]
    rows = slice(probe.affordable(len(probe.x), 2.0 * len(u)))
    x, grads, noise = probe.x[rows], probe.grads[rows], probe.rounding[rows]
    h = np.maximum(np.sqrt(noise / problem.L), np.sqrt(ROUNDING) * probe.scale)[:, None]
    step = h[..., None] * u[None, :, None, :]
    slopes = (problem.client_losses(x[:, None] + step) - problem.client_losses(x[:, None] - step)) / (2 * h)
    stated = np.einsum("bnd,kd->bkn", grads, u)
    allowed = problem.L * h / 2 + noise[:, None] / h
    relative = allowed[:, 0] / np.maximum(np.linalg.norm(grads, axis=-1), np.finfo(float).tiny)
    yield worst(
        "losses whose slopes are the gradients",
        np.abs(slopes - stated) - allowed,
        x[:, None],
        "slope {:.9g} of the loss and {:.9g} of the gradient",
        (slopes, stated),
        "mend client_losses or client_grads",
        f"{np.median(relative):.0e} of the gradient's norm at the median point, {len(u)} directions",
    )


def _curvature(probe: Probe) -> Iterator[Finding]:
    """||grad F_i(x) - grad F_i(y)|| <= L ||x - y||, and mu below: strong convexity, or Polyak-Lojasiewicz."""
    problem = probe.problem
    first, second = np.triu_indices(len(probe.x), 1)
    yield from _pairs(probe, probe.x[first], probe.x[second], probe.grads[first], probe.grads[second])
    y, z = probe.steep
    for k in range(2):
        a, b = y[:, :, k], z[:, :, k]
        yield from _pairs(probe, a, b, problem.client_grads(a), problem.client_grads(b))
    if problem.convex:
        return
    square, e = (probe.grads**2).sum(-1), problem.client_excess(probe.x)
    allowed = CONSTANT_ROUNDING * square + problem.L * probe.rounding
    yield worst(
        "mu",
        2 * problem.mu * e - square - allowed,
        probe.x,
        "||grad F_i||^2 = {:.6g} below 2 mu (F_i - F_i*) = {:.6g}",
        (square, 2 * problem.mu * e),
        "declare a smaller mu, or mend F_i*",
    )


def _pairs(probe: Probe, x: Array, y: Array, gx: Array, gy: Array) -> Iterator[Finding]:
    problem, (u, g) = probe.problem, (x - y, gx - gy)
    distance, change, inner = np.linalg.norm(u, axis=-1), np.linalg.norm(g, axis=-1), (u * g).sum(-1)
    apart = np.where(distance > 0, distance, 1.0)
    size = np.linalg.norm(gx, axis=-1) + np.linalg.norm(gy, axis=-1)
    slack = ROUNDING * (size + problem.L * (np.linalg.norm(x, axis=-1) + np.linalg.norm(y, axis=-1)))
    tried_at = f"{len(x)} pairs of points a client"
    yield worst(
        "L",
        change - problem.L * distance * (1 + CONSTANT_ROUNDING) - slack,
        x,
        "a gradient that changes {:.9g} times as w does, above L = {:.9g},",
        (change / apart, np.asarray(problem.L)),
        "declare a larger L, or mend the gradient",
        tried_at,
    )
    if problem.convex:
        yield worst(
            "mu",
            problem.mu * distance**2 * (1 - CONSTANT_ROUNDING) - inner - slack * distance,
            x,
            "curvature {:.9g} below mu = {:.9g}",
            (inner / apart**2, np.asarray(problem.mu)),
            "declare a smaller mu, say convex = False, or mend the gradient",
            tried_at,
        )


def _minimisers(probe: Probe) -> Iterator[Finding]:
    """By mu, F - F* <= ||grad F||^2 / (2 mu); and an independent minimisation must find nothing lower."""
    problem, N = probe.problem, probe.problem.N
    mixture = probe.rng(3).dirichlet(np.ones(N))
    for weights, optimum in ((problem.p, problem.optimum), (mixture, problem.argmin(mixture))):
        w = optimum.w[None, :]
        yield _stationary(
            probe, optimum, weights @ problem.client_grads(w), float(weights @ problem.client_losses(w))
        )
    grads, losses = problem.client_grads(problem.w_i_star), problem.client_losses(problem.w_i_star)
    for i, optimum in enumerate(problem.client_optima):
        yield _stationary(probe, optimum, grads[i], float(losses[i]), i)
    yield from _independent(probe)


def _stationary(probe: Probe, optimum: Optimum, grad: Array, loss: float, client: int | None = None) -> Finding:
    mu, L, size = probe.problem.mu, probe.problem.L, float(np.linalg.norm(optimum.w)) + probe.scale
    fact, point = "minimisers", tuple(np.asarray(optimum.w).tolist())
    if abs(loss - optimum.value) > optimum.excess_bound + ROUNDING * (abs(loss) + abs(optimum.value)):
        text = f"a minimum of {optimum.value:.12g} where the loss is {loss:.12g}"
        return Finding(fact, False, text, "mend the value of argmin (F_i*)", "", point, client)
    reached = float(grad @ grad) / (2 * mu)
    allowed = optimum.excess_bound + ROUNDING * abs(loss) + (ROUNDING * L * size) ** 2 / (2 * mu)
    text = f"a gradient of norm {np.linalg.norm(grad):.3g}, which leaves {reached:.3g} > {allowed:.3g} to F*,"
    resolution = f"F - F* to {allowed:.0e}"
    return Finding(
        fact, reached <= allowed, text, "mend argmin, or state its excess_bound", resolution, point, client
    )


def _independent(probe: Probe) -> Iterator[Finding]:
    """All clients at once, as their sum over separate points is least where each of them is; then F itself."""
    from scipy.optimize import minimize

    problem, shape = probe.problem, probe.problem.w_i_star.shape
    start = probe.scale * probe.directions(4, 1)[0]
    options = {"maxfun": probe.affordable(MINIMISATION, 2.0), "maxiter": MINIMISATION}

    def lowest(function: object, w: Array) -> Array:
        return np.asarray(minimize(function, w.ravel(), jac=True, method="L-BFGS-B", options=options).x)

    def separate(v: Array) -> tuple[float, Array]:
        return float(problem.client_losses(v.reshape(shape)).sum()), problem.client_grads(v.reshape(shape)).ravel()

    def common(v: Array) -> tuple[float, Array]:
        return float(problem.losses(v) @ problem.p), problem.p @ problem.grads(v)

    x, w = lowest(separate, start).reshape(shape), lowest(common, start[0])
    reached = (problem.client_losses(x), (problem.losses(w) @ problem.p)[None])
    bounds = np.array([o.excess_bound for o in problem.client_optima]), np.array([problem.optimum.excess_bound])
    stars = problem.F_i_star, np.array([problem.F_star])
    for loss, star, bound, point in zip(reached, stars, bounds, (x, w[None]), strict=True):
        below = star - loss - bound - ROUNDING * (np.abs(star) + np.abs(loss))
        text = "a loss of {:.12g}, below the minimum {:.12g},"
        yield worst("minimisers", below, point, text, (loss, star), "mend argmin")


def _gaps(probe: Probe) -> Iterator[Finding]:
    """The gaps are differences of losses, none below 0, and Gamma is F* - sum_i p_i F_i* >= 0."""
    problem, p = probe.problem, probe.problem.p
    bounds = np.array([o.excess_bound for o in problem.client_optima])
    tiny = problem.L * (ROUNDING * probe.scale) ** 2
    e, plain = problem.client_excess(probe.x), probe.losses - problem.F_i_star
    allowed = bounds + probe.rounding + ROUNDING * np.abs(problem.F_i_star)
    remedy = "mend client_excess, F_i* or the losses"
    text = "F_i - F_i* = {:.9g} where the losses differ by {:.9g}"
    yield worst("F_i - F_i*", np.abs(e - plain) - allowed, probe.x, text, (e, plain), remedy, "1e-13 of F_i")
    yield worst("F_i - F_i* >= 0", -e - bounds - tiny, probe.x, "F_i - F_i* = {:.3g}", (e,), remedy)
    w, slack = probe.x[:, 0], problem.optimum.excess_bound
    losses, grads = problem.losses(w), problem.grads(w)
    gap, plain_gap = problem.gap(w), losses @ p - problem.F_star
    size = np.linalg.norm(grads, axis=-1) @ p * np.linalg.norm(w, axis=-1)
    apart = np.abs(gap - plain_gap) - slack - ROUNDING * (np.abs(losses) @ p + abs(problem.F_star) + size)
    bad = np.maximum(apart, -gap - slack - tiny)
    text = "F - F* = {:.9g} where the losses differ by {:.9g}"
    values = gap[:, None], plain_gap[:, None]
    yield worst("F - F*", bad[:, None], w[:, None], text, values, "mend gap", "1e-13 of F")
    Gamma, plain_Gamma = float(problem.Gamma), problem.F_star - float(p @ problem.F_i_star)
    near = slack + p @ bounds + ROUNDING * (abs(problem.F_star) + p @ np.abs(problem.F_i_star))
    holds = Gamma >= -near and abs(Gamma - plain_Gamma) <= near
    yield Finding("Gamma >= 0", bool(holds), f"{Gamma:.9g} for F* - sum_i p_i F_i* = {plain_Gamma:.9g}", "mend Gamma")


def _near(probe: Probe) -> Iterable[Finding]:
    """mu/2 (r - s)^2 <= e <= L/2 (r + s)^2 at distance r of a minimum that is known up to s."""
    problem = probe.problem
    u = probe.directions(5, NEAR_DIRECTIONS)
    for fact, star, grads, call in (
        ("F_i - F_i*", problem.w_i_star, problem.client_grads(problem.w_i_star), problem.client_excess),
        (
            "F - F*",
            problem.w_star[None, :],
            (problem.p @ problem.grads(problem.w_star))[None, :],
            lambda x: problem.gap(x[..., 0, :])[..., None],
        ),
    ):
        unsure = np.linalg.norm(grads, axis=-1) / problem.mu + np.finfo(float).eps * np.linalg.norm(star, axis=-1)
        r = np.maximum(CLOSE * probe.scale, CLEAR * unsure)
        x = star + r[:, None] * u[:, : len(star)]
        far, e = np.linalg.norm(x - star, axis=-1), call(x)
        low = problem.mu / 2 * np.maximum(far - unsure, 0) ** 2 * (1 - NEAR_ROUNDING)
        high = problem.L / 2 * (far + unsure) ** 2 * (1 + NEAR_ROUNDING)
        yield worst(
            f"{fact} without cancellation near the minimum",
            np.maximum(low - e, e - high),
            x,
            "{:.3g} outside [{:.3g}, {:.3g}], {:.1e} from the minimum,",
            (e, low, high, far),
            "write it without a difference of losses, and improve argmin",
            f"{r.max() / probe.scale:.0e} of the scale from the minimum",
        )
