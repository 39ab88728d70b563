"""Performance estimation of one federated round: what Gram matrices and values its clients can show.

Every quantity is <Q, gram> + q . values, where gram holds the inner products of ``basis`` vectors
(positions relative to w*, gradients) and ``values`` the function values (each F_i* = 0) and G_sq. A matrix
gram >= 0 and values that satisfy every constraint belong to real mu-strongly convex L-smooth functions and
conversely (Taylor, Hendrickx and Glineur, 2017, Theorem 4), so the worst case over the class is a
semidefinite programme, with nothing lost. The arithmetic is generic: floats for a solver, exact
rationals (flint.fmpq) for a certificate.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedbounds.evidence.sdp.expressions import Arithmetic, Form, Point, Space, inner, interpolation
from fedbounds.evidence.sdp.one_step.parameters import FREE_BIAS, Setting

# The bounds of Assumptions 3 and 4 on stochastic gradients.
BOUNDS = ("sigma_sq", "G_sq")


class Forms(dict[str, Any]):
    """Name -> form, made when it is first asked for: a solve needs few of them."""

    def __getitem__(self, name: str) -> Form:
        made = super().__getitem__(name)
        form: Form = made if isinstance(made, Form) else made()
        self[name] = form
        return form


@dataclass(frozen=True)
class Model:
    """The class at a setting: constraints <quad_j, gram> + lin_j . values >= 0 and named ``forms``.

    ``quad`` (m, n, n) and ``lin`` (m, q) carry ``labels`` (m,); ``points`` lists those of each client, the
    last being w_i*.
    """

    setting: Setting
    basis: tuple[str, ...]
    scalars: tuple[str, ...]
    labels: tuple[str, ...]
    quad: NDArray[Any]
    lin: NDArray[Any]
    forms: Mapping[str, Form]
    points: tuple[tuple[Point, ...], ...] = field(repr=False)

    def combine(self, coefficients: Mapping[str, object], number: Arithmetic) -> Form:
        """sum_k c_k form_k."""
        zero = number(Fraction(0))
        total = Form(np.full(self.quad.shape[1:], zero), np.full(self.lin.shape[1:], zero))
        for name, value in coefficients.items():
            total = total + self.forms[name].times(value if not isinstance(value, Fraction) else number(value))
        return total


def build(setting: Setting, number: Arithmetic = float, bounds: Collection[str] = BOUNDS) -> Model:
    """The one-round model at a setting, in the arithmetic of ``number``.

    sum_i p_i grad F_i(w*) = 0 and, with ``local`` any, sum_i alpha_i (w_t^i - w_t) = 0 are substituted, not
    imposed: an equality would leave the feasible set without interior. ``bounds`` are those of Assumptions 3 and 4 to
    impose: one that the right-hand side does not pay for would leave the proofs without interior.

    Where gradients are stochastic, everything is its conditional expectation given the past, and the noise of client
    i has the variance n_i as a value of its own: conditionally unbiased noise, independent over clients, adds
    eta^2 sum_i alpha_i^2 n_i to ||w_{t+1} - w*||^2, with n_i <= sigma^2 and ||grad F_i(w_t^i)||^2 + n_i <= G^2.
    """
    basis, scalars = _names(setting)
    space, values = Space(basis, number), Space(scalars, number)
    points, virtual = _points(setting, space, values)
    labels, rows = _constraints(setting, points, number, values, bounds)
    forms = _forms(setting, points, virtual, number, values)
    if "G_sq" in bounds and setting.gradients == "stochastic" and setting.local == "any":
        # By Minkowski and Assumption 4, E||w_t^i - w_t0||^2 <= (sum_j eta_j)^2 G^2, and the mean w_t is nearer.
        reach = number(sum(setting.eta[:-1], Fraction(0)) ** 2)
        labels, rows = (*labels, "drift w0"), [*rows, forms["G_sq"].times(reach) - forms["drift"]]
    return Model(
        setting=setting,
        basis=space.names,
        scalars=values.names,
        labels=labels,
        quad=np.stack([row.quad for row in rows]),
        lin=np.stack([row.lin for row in rows]),
        forms=forms,
        points=tuple(points),
    )


def entries(setting: Setting) -> int:
    """How many numbers the model at a setting is made of, without building it."""
    basis, scalars = _names(setting)
    here = _last(setting) + 1 + len(_skewed_times(setting)) + 2
    rows = setting.N * here * (here - 1 + 1) + 2 * setting.N + here
    return rows * (len(basis) ** 2 + len(scalars))


def _last(setting: Setting) -> int:
    return 0 if setting.local == "any" else setting.step


def _names(setting: Setting) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Basis: w_t0; gradients g at w_t^i, h at w_t, s at w*; minimisers u; offsets y. Scalars: values, and G_sq."""
    n, inside, steps = setting.N, _skewed_times(setting), range(_last(setting) + 1)
    pivot, centre = _largest(setting.p), _largest(setting.alpha)
    basis = ["w0"]
    basis += [f"g{i}.{k}" for i in range(n) for k in steps]
    basis += [f"h{i}.{k}" for i in range(n) for k in inside]
    basis += [f"s{i}" for i in range(n) if i != pivot]
    basis += [f"u{i}" for i in range(n)] if n > 1 else []
    basis += [f"y{i}" for i in range(n) if i != centre] if setting.local == "any" else []
    scalars = [f"f{i}.{k}" for i in range(n) for k in steps]
    scalars += [f"v{i}.{k}" for i in range(n) for k in inside]
    scalars += [f"e{i}" for i in range(n)] if n > 1 else []
    scalars += [f"n{i}" for i in range(n)] + ["sigma_sq"] if setting.gradients == "stochastic" else []
    return tuple(basis), (*scalars, "G_sq")


def _points(setting: Setting, space: Space, values: Space) -> tuple[list[tuple[Point, ...]], list[NDArray[Any]]]:
    """Every client's points, and the virtual iterates w_t0 .. w_t."""
    n, steps = setting.N, range(_last(setting) + 1)
    if setting.local == "any":
        local, virtual = _offsets(setting, space, _largest(setting.alpha)), [space.unit("w0")]
    else:
        local = _local_steps(setting, space)
        virtual = [space.mean(_virtual_weights(setting, k), [x[k] for x in local]) for k in steps]
    star = _star_gradients(setting, space, _largest(setting.p))
    points = []
    for i in range(n):
        mine = [Point(f"x{k}", local[i][k], space.unit(f"g{i}.{k}"), values.unit(f"f{i}.{k}")) for k in steps]
        mine += [
            Point(f"w{k}", virtual[k], space.unit(f"h{i}.{k}"), values.unit(f"v{i}.{k}"))
            for k in _skewed_times(setting)
        ]
        # A single client has its minimiser at w*; two points there would leave the feasible set without interior.
        mine += [Point("star", space.zero, star[i], values.unit(f"e{i}"))] if n > 1 else []
        mine += [Point("own", space.unit(f"u{i}") if n > 1 else space.zero, space.zero, values.zero)]
        points.append(tuple(mine))
    return points, virtual


def _largest(weights: tuple[Fraction, ...]) -> int:
    return max(range(len(weights)), key=lambda i: weights[i])


def _skewed_times(setting: Setting) -> tuple[int, ...]:
    """Local steps k whose virtual iterate needs values of its own: those where rho_bar constrains it."""
    if setting.alpha == setting.p:
        return ()  # rho is 1 everywhere, so the constraint says nothing
    if setting.local == "any":
        return (0,)
    return tuple(range(1, setting.step + 1)) if setting.how.skew == "all-steps" else ()


def _virtual_weights(setting: Setting, k: int) -> tuple[Fraction, ...]:
    return setting.p if setting.how.virtual == "p" and k > 0 else setting.alpha


def _local_steps(setting: Setting, space: Space) -> list[list[NDArray[Any]]]:
    """x_i^k = w_t0 - sum_{j<k} eta_j g_i^j for k = 0..s."""
    local = []
    for i in range(setting.N):
        x = [space.unit("w0")]
        for k, eta in enumerate(setting.eta[:-1]):
            x.append(x[-1] - space.unit(f"g{i}.{k}") * space.number(eta))
        local.append(x)
    return local


def _offsets(setting: Setting, space: Space, centre: int) -> list[list[NDArray[Any]]]:
    """x_i = w_t + y_i with sum_i alpha_i y_i = 0."""
    y = {i: space.unit(f"y{i}") for i in range(setting.N) if i != centre}
    rest = sum((y[i] * space.number(setting.alpha[i] / setting.alpha[centre]) for i in y), space.zero)
    return [[space.unit("w0") + y.get(i, -rest)] for i in range(setting.N)]


def _star_gradients(setting: Setting, space: Space, pivot: int) -> list[NDArray[Any]]:
    """grad F_i(w*) with sum_i p_i grad F_i(w*) = 0."""
    found = {i: space.unit(f"s{i}") for i in range(setting.N) if i != pivot}
    rest = sum((found[i] * space.number(setting.p[i] / setting.p[pivot]) for i in found), space.zero)
    return [found.get(i, -rest) for i in range(setting.N)]


def _constraints(
    setting: Setting, points: list[tuple[Point, ...]], number: Arithmetic, values: Space, bounds: Collection[str]
) -> tuple[tuple[str, ...], list[Form]]:
    labels: list[str] = []
    forms: list[Form] = []
    for i, mine in enumerate(points):
        names, quad, lin = interpolation(mine, setting.mu, setting.L, number)
        labels += [f"interpolation {i} {name}" for name in names]
        forms += [Form(a, b) for a, b in zip(quad, lin, strict=True)]
    none = inner(points[0][0].x * number(Fraction(0)), points[0][0].x)
    if "G_sq" in bounds:
        for i, mine in enumerate(points):
            for point in mine:
                if point.label.startswith("x"):
                    labels.append(f"gradient {i} {point.label}")
                    forms.append(Form(-inner(point.g, point.g), values.unit("G_sq") - _variance(setting, i, values)))
    for name, weights in _skew_rows(setting):
        for label in _skewed_points(setting) if name == "rho_bar" else ("star",):
            rows = [next(q.f for q in mine if q.label == label) for mine in points]
            labels.append(f"{name} {label}")
            forms.append(Form(none, values.mean(weights, rows)))
    if setting.gradients == "stochastic":
        for i in range(setting.N):
            noise = _variance(setting, i, values)
            labels.append(f"noise {i}")
            forms.append(Form(none, noise))
            if "sigma_sq" in bounds:
                labels.append(f"variance {i}")
                forms.append(Form(none, values.unit("sigma_sq") - noise))
    return tuple(labels), forms


def _variance(setting: Setting, i: int, values: Space) -> NDArray[Any]:
    """The variance of client i's stochastic gradient at w_t^i, which is 0 where gradients are full."""
    return values.unit(f"n{i}") if setting.gradients == "stochastic" else values.zero


def _skew_rows(setting: Setting) -> list[tuple[str, tuple[Fraction, ...]]]:
    """sum alpha e_i - rho_bar sum p e_i >= 0 at w_t, and rho_tilde sum p e_i - sum alpha e_i >= 0 at w*."""
    pairs = list(zip(setting.alpha, setting.p, strict=True))
    low = tuple(a - setting.rho_bar * p for a, p in pairs)
    rows = [("rho_bar", low)] if setting.alpha != setting.p else []
    if setting.rho_tilde is not None and setting.N > 1:
        high = tuple(setting.rho_tilde * p - a for a, p in pairs)
        rows += [("rho_tilde", high)] if any(w < 0 for w in high) else []
    return rows


def _skewed_points(setting: Setting) -> tuple[str, ...]:
    if setting.local == "any":
        return ("w0",)
    return ("x0", *(f"w{k}" for k in _skewed_times(setting)))


def _forms(
    setting: Setting, points: list[tuple[Point, ...]], virtual: list[NDArray[Any]], number: Arithmetic, values: Space
) -> Forms:
    last = _last(setting)
    flat = inner(virtual[0] * number(Fraction(0)), virtual[0])
    nothing = values.zero
    local = [next(q for q in mine if q.label == f"x{last}") for mine in points]
    star = [next((q for q in mine if q.label == "star"), mine[-1]) for mine in points]
    after = setting.alpha if setting.step + 1 == setting.tau else _virtual_weights(setting, last + 1)
    if setting.local == "any":
        after = setting.alpha
    moved = [q.x - q.g * number(setting.eta[-1]) for q in local]
    space_zero = virtual[0] * number(Fraction(0))
    new = sum((x * number(w) for x, w in zip(moved, after, strict=True)), space_zero)

    def square(v: NDArray[Any]) -> Form:
        return Form(inner(v, v), nothing)

    def average(weights: tuple[Fraction, ...], forms: list[Form]) -> Form:
        total = Form(flat, nothing)
        for w, form in zip(weights, forms, strict=True):
            total = total + form.times(number(w))
        return total

    noise = values.mean(
        tuple(setting.eta[-1] ** 2 * a**2 for a in setting.alpha),
        [_variance(setting, i, values) for i in range(setting.N)],
    )
    own = [Form(flat, q.f) for q in star]
    spread = [square(q.x - virtual[last]) for q in local]
    slope = sum((q.g * number(w) for q, w in zip(local, setting.alpha, strict=True)), space_zero)
    return Forms(
        {
            "zero": lambda: Form(flat, nothing),
            "local_excess": lambda: average(setting.alpha, [Form(flat, q.f) for q in local]),
            "local_gap": lambda: average(
                setting.alpha, [Form(flat, q.f) - e for q, e in zip(local, own, strict=True)]
            ),
            "local_pull": lambda: average(setting.alpha, [Form(inner(q.x, q.g), nothing) for q in local]),
            "pull": lambda: Form(inner(virtual[last], slope), nothing),
            "mean_slope_sq": lambda: square(slope),
            "Delta": lambda: square(virtual[last]),
            "Delta_next": lambda: square(new) + Form(flat, noise),
            "Delta_start": lambda: square(virtual[0]),
            "drift": lambda: average(setting.alpha, spread),
            "spread": lambda: average((Fraction(1, setting.N),) * setting.N, spread),
            "G_sq": lambda: Form(flat, values.unit("G_sq")),
            "sigma_sq": lambda: Form(flat, values.unit("sigma_sq") if setting.gradients == "stochastic" else nothing),
            "Gamma": lambda: average(setting.p, own),
            FREE_BIAS: lambda: average(setting.alpha, own),
            "own": lambda: average((Fraction(1, setting.N),) * setting.N, own),
            "star_grad_sq": lambda: average(setting.p, [square(q.g) for q in star]),
            "grad_sq": lambda: square(local[0].g),
            "excess": lambda: Form(flat, local[0].f),
        }
    )
