"""What a problem states about itself, tried: its losses against its gradients, L, mu, minima and gaps.

Every test allows for rounding and nothing else, so a problem that keeps the contract passes it whatever the points
are. A false fact is found where it shows at the points of `Probe`.
"""

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from fedbounds.engine.contracts.finding import Finding, examine, refuse, worst
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


def problem_findings(problem: Problem) -> tuple[Finding, ...]:
    """The facts that were checked, up to the first group with a failure: later groups rest on it.

    >>> all(finding.holds for finding in problem_findings(problem))
    True
    """
    probe = Probe(problem)
    tests: dict[str, Callable[[Probe], Iterable[Finding]]] = {
        "p on the simplex": _simplex,
        "0 < mu <= L, and minimisers of shape (d,) with finite values": _stated,
        "shapes, finite values and inputs left alone": _shapes,
        "losses whose slopes are the gradients": _gradients,
        "L and mu": _curvature,
        "minimisers": _minimisers,
        "F_i - F_i* and F - F*": _gaps,
        "excesses without cancellation near the minimum": _near,
        "the noise": noise_facts,
    }
    findings: list[Finding] = []
    for fact, test in tests.items():
        findings += examine(fact, lambda test=test: test(probe))  # type: ignore[misc]
        if not all(finding.holds for finding in findings):
            break
    return tuple(findings)


def check_problem(problem: Problem) -> tuple[Finding, ...]:
    """The findings on a problem that keeps its contract; InputError names the first point where it does not.

    >>> check_problem(problem)[1].observed
    'mu = 1, L = 4'
    """
    return refuse(f"problem {problem.kind}", problem_findings(problem))


def _simplex(probe: Probe) -> Iterator[Finding]:
    check_distribution(probe.problem.p, len(probe.problem.p))
    yield Finding("p on the simplex", True)


def _stated(probe: Probe) -> Iterator[Finding]:
    """Finite constants in order, and minimisers that the arrays of them repeat."""
    problem, L, mu = probe.problem, probe.problem.L, probe.problem.mu
    yield Finding("0 < mu <= L, both finite", bool(0 < mu <= L < np.inf), f"mu = {mu:.6g}, L = {L:.6g}", "mend them")
    clients = zip(problem.client_optima, problem.w_i_star, problem.F_i_star, range(problem.N), strict=True)
    for optimum, w, value, client in (*clients, (problem.optimum, problem.w_star, problem.F_star, None)):
        good = np.shape(optimum.w) == (problem.d,) and np.isfinite(optimum.w).all() and np.isfinite(optimum.value)
        same = good and np.array_equal(optimum.w, w) and optimum.value == value and 0 <= optimum.excess_bound < np.inf
        fact, remedy = "minimisers of shape (d,) and finite values", "mend argmin, or what says w* and F* beside it"
        yield Finding(fact, bool(same), f"{optimum}", remedy, client=client)


def _shapes(probe: Probe) -> Iterator[Finding]:
    """Leading axes are kept, one point at a time gives the same numbers, and no argument is written to."""
    problem, x, P, N = probe.problem, probe.x, len(probe.x), probe.problem.N
    fact, w, vectors = "shapes, finite values and inputs left alone", probe.x[:, 0], (N, probe.problem.d)
    for name, call, points, tail in (
        ("client_losses", problem.client_losses, x, (N,)),
        ("client_excess", problem.client_excess, x, (N,)),
        ("client_grads", problem.client_grads, x, vectors),
        ("client_variance", lambda v: problem.client_variance(v, 1), x, (N,)),
        ("losses", problem.losses, w, (N,)),
        ("grads", problem.grads, w, vectors),
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
    problem, d, count = probe.problem, probe.problem.d, probe.affordable(COORDINATES)
    u = np.eye(d) if d <= count else probe.directions(2, count)[:, 0]
    rows = slice(probe.affordable(len(probe.x), 2.0 * len(u)))
    x, rounding = probe.x[rows], probe.rounding[rows]
    h = np.maximum(np.sqrt(rounding / problem.L), np.sqrt(ROUNDING) * probe.scale)[:, None]
    step = h[..., None] * u[None, :, None, :]
    slopes = (problem.client_losses(x[:, None] + step) - problem.client_losses(x[:, None] - step)) / (2 * h)
    stated = np.einsum("bnd,kd->bkn", probe.grads[rows], u)
    off = np.abs(slopes - stated) - (problem.L * h / 2 + rounding[:, None] / h)
    text = "slope {:.9g} of the loss and {:.9g} of the gradient"
    fact, remedy = "losses whose slopes are the gradients", "mend client_losses or client_grads"
    yield worst(fact, off, x[:, None], remedy, text, slopes, stated)


def _curvature(probe: Probe) -> Iterator[Finding]:
    """||grad F_i(x) - grad F_i(y)|| <= L ||x - y||, and mu below: strong convexity, or Polyak-Lojasiewicz."""
    problem, (first, second) = probe.problem, np.triu_indices(len(probe.x), 1)
    yield from _pairs(problem, probe.x[first], probe.x[second], probe.grads[first], probe.grads[second])
    for x, y in zip(*probe.steep, strict=True):
        yield from _pairs(problem, x, y, problem.client_grads(x), problem.client_grads(y))
    if not problem.convex:
        square, needed = (probe.grads**2).sum(-1), 2 * problem.mu * problem.client_excess(probe.x)
        off = needed - square - CONSTANT_ROUNDING * square - problem.L * probe.rounding
        text, remedy = (
            "||grad F_i||^2 = {:.6g} below 2 mu (F_i - F_i*) = {:.6g}",
            "declare a smaller mu, or mend F_i*",
        )
        yield worst("mu", off, probe.x, remedy, text, square, needed)


def _pairs(problem: Problem, x: Array, y: Array, gx: Array, gy: Array) -> Iterator[Finding]:
    def norm(v: Array) -> Array:
        return np.asarray(np.linalg.norm(v, axis=-1))

    distance, change, inner = norm(x - y), norm(gx - gy), ((x - y) * (gx - gy)).sum(-1)
    apart = np.where(distance > 0, distance, 1.0)
    slack = ROUNDING * (norm(gx) + norm(gy) + problem.L * (norm(x) + norm(y)))
    steep = change - problem.L * distance * (1 + CONSTANT_ROUNDING) - slack
    text = "a gradient that changes {:.9g} times as w does, above L = {:.9g},"
    yield worst("L", steep, x, "declare a larger L, or mend the gradient", text, change / apart, problem.L)
    if problem.convex:
        flat = problem.mu * distance**2 * (1 - CONSTANT_ROUNDING) - inner - slack * distance
        text, remedy = (
            "curvature {:.9g} below mu = {:.9g}",
            "declare a smaller mu, or mend the gradient",
        )
        yield worst("mu", flat, x, remedy, text, inner / apart**2, problem.mu)


def _minimisers(probe: Probe) -> Iterator[Finding]:
    """By mu, F - F* <= ||grad F||^2 / (2 mu) at every minimiser, and at that of a mixture of the clients."""
    problem = probe.problem
    mixture = probe.rng(3).dirichlet(np.ones(problem.N))
    for weights, optimum in ((problem.p, problem.optimum), (mixture, problem.argmin(mixture))):
        w = optimum.w[None, :]
        loss = float(weights @ problem.client_losses(w))
        yield _stationary(probe, optimum, weights @ problem.client_grads(w), loss)
    grads, losses = problem.client_grads(problem.w_i_star), problem.client_losses(problem.w_i_star)
    for i, optimum in enumerate(problem.client_optima):
        yield _stationary(probe, optimum, grads[i], float(losses[i]), i)


def _stationary(probe: Probe, optimum: Optimum, grad: Array, loss: float, client: int | None = None) -> Finding:
    mu, L, size = probe.problem.mu, probe.problem.L, float(np.linalg.norm(optimum.w)) + probe.scale
    fact, point = "minimisers", tuple(np.asarray(optimum.w).tolist())
    if abs(loss - optimum.value) > optimum.excess_bound + ROUNDING * (abs(loss) + abs(optimum.value)):
        text = f"a minimum of {optimum.value:.12g} where the loss is {loss:.12g}"
        return Finding(fact, False, text, "mend the value of argmin (F_i*)", point, client)
    reached = float(grad @ grad) / (2 * mu)
    allowed = optimum.excess_bound + ROUNDING * abs(loss) + (ROUNDING * L * size) ** 2 / (2 * mu)
    text = f"a gradient of norm {np.linalg.norm(grad):.3g}, which leaves {reached:.3g} > {allowed:.3g} to F*,"
    return Finding(fact, reached <= allowed, text, "mend argmin, or state its excess_bound", point, client)


def _gaps(probe: Probe) -> Iterator[Finding]:
    """The gaps are differences of losses, none below 0, and Gamma is F* - sum_i p_i F_i* >= 0."""
    problem, p = probe.problem, probe.problem.p
    bounds = np.array([optimum.excess_bound for optimum in problem.client_optima])
    tiny = problem.L * (ROUNDING * probe.scale) ** 2
    e, plain = problem.client_excess(probe.x), probe.losses - problem.F_i_star
    off = np.abs(e - plain) - bounds - probe.rounding - ROUNDING * np.abs(problem.F_i_star)
    remedy, text = "mend client_excess, F_i* or the losses", "F_i - F_i* = {:.9g} where the losses differ by {:.9g}"
    yield worst("F_i - F_i*", np.maximum(off, -e - bounds - tiny), probe.x, remedy, text, e, plain)
    w, slack = probe.x[:, 0], problem.optimum.excess_bound
    losses, gap = problem.losses(w), problem.gap(w)
    plain = losses @ p - problem.F_star
    size = np.linalg.norm(problem.grads(w), axis=-1) @ p * np.linalg.norm(w, axis=-1)
    off = np.abs(gap - plain) - slack - ROUNDING * (np.abs(losses) @ p + abs(problem.F_star) + size)
    bad, text = np.maximum(off, -gap - slack - tiny), "F - F* = {:.9g} where the losses differ by {:.9g}"
    yield worst("F - F*", bad[:, None], w[:, None], "mend gap", text, gap[:, None], plain[:, None])
    Gamma, wanted = float(problem.Gamma), problem.F_star - float(p @ problem.F_i_star)
    near = slack + p @ bounds + ROUNDING * (abs(problem.F_star) + p @ np.abs(problem.F_i_star))
    holds = Gamma >= -near and abs(Gamma - wanted) <= near
    yield Finding("Gamma >= 0", bool(holds), f"{Gamma:.9g} for F* - sum_i p_i F_i* = {wanted:.9g}", "mend Gamma")


def _near(probe: Probe) -> Iterator[Finding]:
    """mu/2 (r - s)^2 <= e <= L/2 (r + s)^2 at distance r of a minimum that is known up to s."""
    problem, u = probe.problem, probe.directions(5, NEAR_DIRECTIONS)
    w_star, common = problem.w_star[None, :], (problem.p @ problem.grads(problem.w_star))[None, :]
    for fact, star, grads, call in (
        ("F_i - F_i*", problem.w_i_star, problem.client_grads(problem.w_i_star), problem.client_excess),
        ("F - F*", w_star, common, lambda x: problem.gap(x[..., 0, :])[..., None]),
    ):
        unsure = np.linalg.norm(grads, axis=-1) / problem.mu + np.finfo(float).eps * np.linalg.norm(star, axis=-1)
        x = star + np.maximum(CLOSE * probe.scale, CLEAR * unsure)[:, None] * u[:, : len(star)]
        far, e = np.linalg.norm(x - star, axis=-1), call(x)
        low = problem.mu / 2 * np.maximum(far - unsure, 0) ** 2 * (1 - NEAR_ROUNDING)
        high = problem.L / 2 * (far + unsure) ** 2 * (1 + NEAR_ROUNDING)
        text, name = "{:.3g} outside [{:.3g}, {:.3g}], {:.1e} from the minimum,", f"{fact} without cancellation"
        remedy = "write it without a difference of losses, and improve argmin"
        yield worst(f"{name} near the minimum", np.maximum(low - e, e - high), x, remedy, text, e, low, high, far)
