"""What a problem states about itself, tried: its losses against its gradients, L, mu, minima and gaps.

A problem or weighting from outside the package is tried once, before it is run (`admitted`).

Every test allows for rounding and nothing else, so a problem that keeps the contract passes it whatever the points
are. A false fact is found where it shows at the points of `Probe`.
"""

from typing import NamedTuple

import numpy as np

from fedbounds.engine.contracts.battery import ROUNDING, Probe, examine, noise_facts, require, worst
from fedbounds.engine.contracts.weighting import check_weighting
from fedbounds.engine.loop import kernel_arrays
from fedbounds.errors import reject
from fedbounds.model.problem import Array, Problem, client_weights
from fedbounds.model.weighting import Rule, Weighting
from fedbounds.plugins import foreign

# L and mu are compared to their last digits but three: their own computation rounds.
CONSTANT_ROUNDING = 1e-9
# Near a minimum: so far away, in units of the scale, that e_i lies far below the last digit of F_i; or, where the
# minimum is known less well, so many times its error.
CLOSE, CLEAR = 1e-9, 100.0
NEAR_DIRECTIONS, NEAR_ROUNDING = 8, 1e-6
# Directions of differences: all coordinates up to here, random ones beyond.
COORDINATES = 64
SHAPES, MINIMISERS = "shapes, finite values and inputs left alone", "minimisers of shape (d,) and finite values"
GAPS = (("F_i - F_i*", slice(0, -1)), ("F - F*", slice(-1, None)))


def check_problem(problem: Problem) -> tuple[str, ...]:
    """The facts that a problem keeps, which are all; InputError names the first point where one fails.

    >>> check_problem(problem)[0]
    'p on the simplex'
    """
    return examine(f"problem {problem.kind}", TESTS, Probe(problem))


def _simplex(probe: Probe) -> None:
    client_weights(probe.problem.p, len(probe.problem.p))


def _stated(probe: Probe) -> None:
    """Finite constants in order, and minimisers that the arrays of them repeat."""
    problem, L, mu = probe.problem, probe.problem.L, probe.problem.mu
    require(0 < mu <= L < np.inf, "0 < mu <= L, both finite", f"mu = {mu:.6g}, L = {L:.6g}", "mend them")
    clients = zip(problem.client_optima, problem.w_i_star, problem.F_i_star, range(problem.N), strict=True)
    for optimum, w, value, client in (*clients, (problem.optimum, problem.w_star, problem.F_star, None)):
        good = np.shape(optimum.w) == (problem.d,) and np.isfinite(optimum.w).all() and np.isfinite(optimum.value)
        same = good and np.array_equal(optimum.w, w) and optimum.value == value and 0 <= optimum.excess_bound < np.inf
        remedy = "mend argmin, or what says w* and F* beside it"
        require(same, MINIMISERS, f"{optimum}", remedy, client=client)


def _shapes(probe: Probe) -> None:
    """Leading axes are kept, one point at a time gives the same numbers, and no argument is written to."""
    problem, x, w, N = probe.problem, probe.x, probe.x[:, 0], probe.problem.N
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
        finite = np.isfinite(value).all()
        text = f"{name} of shape {value.shape}, finite: {finite}, for points {points.shape}"
        good = value.shape == (len(x), *tail) and finite
        require(good, SHAPES, text, f"return finite numbers of shape {(len(x), *tail)}")
        pure = np.array_equal(given, points) and np.array_equal(p, problem.p)
        require(pure, SHAPES, f"{name} that changes its argument", "copy before writing")
        alone = np.stack([np.asarray(call(point.copy())) for point in points[:3]])
        size = 1e-9 * np.abs(value[:3]).max(initial=0.0) + np.finfo(float).tiny
        close = alone.shape == value[:3].shape and np.abs(alone - value[:3]).max() <= size
        require(close, SHAPES, f"{name} that differs for one point alone", "compute each point by itself")


def _gradients(probe: Probe) -> None:
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
    worst(fact, off, x[:, None], remedy, text, slopes, stated)


def _curvature(probe: Probe) -> None:
    """||grad F_i(x) - grad F_i(y)|| <= L ||x - y||, and mu below: strong convexity, or Polyak-Lojasiewicz."""
    problem, (first, second) = probe.problem, np.triu_indices(len(probe.x), 1)
    L, mu, call = problem.L, problem.mu, problem.client_grads
    steep = [(x, y, call(x), call(y)) for x, y in zip(*probe.steep, strict=True)]
    for x, y, gx, gy in ((probe.x[first], probe.x[second], probe.grads[first], probe.grads[second]), *steep):
        distance, change, inner = _norm(x - y), _norm(gx - gy), ((x - y) * (gx - gy)).sum(-1)
        apart = np.where(distance > 0, distance, 1.0)
        slack = ROUNDING * (_norm(gx) + _norm(gy) + L * (_norm(x) + _norm(y)))
        off = change - L * distance * (1 + CONSTANT_ROUNDING) - slack
        text = "a gradient that changes {:.9g} times as w does, above L = {:.9g},"
        worst("L", off, x, "declare a larger L, or mend the gradient", text, change / apart, L)
        if problem.convex:
            off = mu * distance**2 * (1 - CONSTANT_ROUNDING) - inner - slack * distance
            text, remedy = "curvature {:.9g} below mu = {:.9g}", "declare a smaller mu, or mend the gradient"
            worst("mu", off, x, remedy, text, inner / apart**2, mu)
    if not problem.convex:
        square, needed = (probe.grads**2).sum(-1), 2 * mu * problem.client_excess(probe.x)
        off = needed - square - CONSTANT_ROUNDING * square - L * probe.rounding
        text = "||grad F_i||^2 = {:.6g} below 2 mu (F_i - F_i*) = {:.6g}"
        worst("mu", off, probe.x, "declare a smaller mu, or mend F_i*", text, square, needed)


class _Levels(NamedTuple):
    """At a point of each client and, last, one of F: losses, gradients, gaps, and the size of what is added up."""

    losses: Array
    grads: Array
    gaps: Array
    size: Array


def _levels(problem: Problem, x: Array) -> _Levels:
    """x (..., N + 1, d) -> (..., N + 1), gradients (..., N + 1, d)."""
    local, w, p = x[..., :-1, :], x[..., -1, :], problem.p
    losses, grads = [problem.client_losses(local), problem.losses(w)], [problem.client_grads(local), problem.grads(w)]
    sizes = [np.abs(f) + _norm(g) * _norm(v) for f, g, v in zip(losses, grads, (local, w[..., None, :]), strict=True)]

    def join(local: Array, common: Array) -> Array:
        return np.concatenate([local, common], axis=-1)

    slopes = np.concatenate([grads[0], (p @ grads[1])[..., None, :]], axis=-2)
    gaps = join(problem.client_excess(local), np.asarray(problem.gap(w))[..., None])
    return _Levels(join(losses[0], losses[1] @ p[:, None]), slopes, gaps, join(sizes[0], sizes[1] @ p[:, None]))


def _minimisers(probe: Probe) -> None:
    """By mu, F - F* <= ||grad F||^2 / (2 mu) at every minimiser, and at that of a mixture of the clients."""
    problem, mu = probe.problem, probe.problem.mu
    mixture = probe.rng(3).dirichlet(np.ones(problem.N))
    common = [(problem.p, problem.optimum), (mixture, problem.argmin(mixture))]
    w = np.stack([*problem.w_i_star, *(optimum.w for _, optimum in common)])
    losses = [problem.client_losses(w[: problem.N]), *(q @ problem.losses(item.w)[:, None] for q, item in common)]
    grads = [problem.client_grads(w[: problem.N]), *(q[None] @ problem.grads(item.w) for q, item in common)]
    optima = [*problem.client_optima, *(optimum for _, optimum in common)]
    value, bound = (np.array([getattr(item, name) for item in optima]) for name in ("value", "excess_bound"))
    loss, slope = np.concatenate(losses), _norm(np.concatenate(grads))
    off = np.abs(loss - value) - bound - ROUNDING * (np.abs(loss) + np.abs(value))
    allowed = bound + ROUNDING * np.abs(loss) + (ROUNDING * problem.L * (_norm(w) + probe.scale)) ** 2 / (2 * mu)
    reached = slope**2 / (2 * mu)
    for part in (slice(0, problem.N), slice(problem.N, None)):
        text = "a minimum of {:.12g} where the loss is {:.12g}"
        worst("minimisers", off[part], w[part], "mend the value of argmin (F_i*)", text, value[part], loss[part])
        text = "a gradient of norm {:.3g}, which leaves {:.3g} > {:.3g} to F*,"
        parts, remedy = (slope[part], reached[part], allowed[part]), "mend argmin, or state its excess_bound"
        worst("minimisers", parts[1] - parts[2], w[part], remedy, text, *parts)


def _gaps(probe: Probe) -> None:
    """The gaps are differences of losses, none below 0, and Gamma is F* - sum_i p_i F_i* >= 0."""
    problem, p = probe.problem, probe.problem.p
    optima = (*problem.client_optima, problem.optimum)
    least, bounds = (np.array([getattr(item, name) for item in optima]) for name in ("value", "excess_bound"))
    x = np.concatenate([probe.x, probe.x[:, :1]], axis=1)
    levels = _levels(problem, x)
    plain, tiny = levels.losses - least, problem.L * (ROUNDING * probe.scale) ** 2
    off = np.abs(levels.gaps - plain) - bounds - ROUNDING * (levels.size + np.abs(least))
    off = np.maximum(off, -levels.gaps - bounds - tiny)
    for fact, part in GAPS:
        parts = off[:, part], x[:, part], levels.gaps[:, part], plain[:, part]
        text = f"{fact} = {{:.9g}} where the losses differ by {{:.9g}}"
        worst(fact, parts[0], parts[1], "mend the gaps, the minima or the losses", text, *parts[2:])
    Gamma, wanted = float(problem.Gamma), problem.F_star - float(p @ problem.F_i_star)
    near = bounds[-1] + p @ bounds[:-1] + ROUNDING * (abs(problem.F_star) + p @ np.abs(problem.F_i_star))
    holds = Gamma >= -near and abs(Gamma - wanted) <= near
    require(holds, "Gamma >= 0", f"{Gamma:.9g} for F* - sum_i p_i F_i* = {wanted:.9g}", "mend Gamma")


def _near(probe: Probe) -> None:
    """mu/2 (r - s)^2 <= e <= L/2 (r + s)^2 at distance r of a minimum that is known up to s."""
    problem = probe.problem
    star, u = np.vstack([problem.w_i_star, problem.w_star]), probe.directions(5, NEAR_DIRECTIONS)
    unsure = _norm(_levels(problem, star).grads) / problem.mu + np.finfo(float).eps * _norm(star)
    x = star + np.maximum(CLOSE * probe.scale, CLEAR * unsure)[:, None] * np.concatenate([u, u[:, :1]], axis=1)
    far, e = _norm(x - star), _levels(problem, x).gaps
    low = problem.mu / 2 * np.maximum(far - unsure, 0) ** 2 * (1 - NEAR_ROUNDING)
    high = problem.L / 2 * (far + unsure) ** 2 * (1 + NEAR_ROUNDING)
    text, remedy = (
        "{:.3g} outside [{:.3g}, {:.3g}], {:.1e} from the minimum,",
        "write it without a difference of losses, and improve argmin",
    )
    for fact, part in GAPS:
        values = [item[:, part] for item in (e, low, high, far)]
        off = np.maximum(low - e, e - high)[:, part]
        worst(f"{fact} without cancellation near the minimum", off, x[:, part], remedy, text, *values)


def _norm(v: Array) -> Array:
    return np.asarray(np.linalg.norm(v, axis=-1))


TESTS = {
    "p on the simplex": _simplex,
    "0 < mu <= L, and minimisers of shape (d,) with finite values": _stated,
    SHAPES: _shapes,
    "losses whose slopes are the gradients": _gradients,
    "L and mu": _curvature,
    "minimisers": _minimisers,
    "F_i - F_i* and F - F*": _gaps,
    "excesses without cancellation near the minimum": _near,
    "the noise": noise_facts,
}


class _Admitted(list[object]):
    """What has been tried on a problem, the problem itself first; a pickle of the problem does not carry it."""

    def __reduce__(self) -> tuple[type, tuple[()]]:
        return _Admitted, ()


def admitted(problem: Problem, weighting: Weighting | Rule | None = None) -> Problem:
    """The problem; where a class of it, or of the weighting, is not the package's, that one is tried once.

    InputError names the point, or the gaps, where it fails. Compiled kernels serve the package's own problems alone.
    """
    seen = vars(problem).setdefault("_admitted", _Admitted())
    for plugin in (problem, weighting):
        if plugin is None or not foreign(plugin, "fedbounds") or any(plugin is other for other in seen):
            continue
        if plugin is not problem:
            check_weighting(plugin, problem)  # type: ignore[arg-type]
        elif kernel_arrays(problem) is not None:
            what = f"problem {problem.kind} must run through its own methods"
            raise reject(what, "arrays for compiled kernels", "leave kernel_data() out")
        else:
            check_problem(problem)
        seen.append(plugin)
    return problem
