"""The parameters of a one-round statement, in exact rationals, and which claims are such statements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

import sympy as sp

from fedbounds.errors import demand, reject
from fedbounds.evidence.evaluate import rational
from fedbounds.evidence.sdp.functions_on_interval import Function, Interval, require_defined
from fedbounds.evidence.sdp.one_step.point_expressions import number, written
from fedbounds.io import plain, shaped
from fedbounds.plugins import with_role
from fedbounds.theory import assumptions as shipped
from fedbounds.theory.claim import Claim, Kind, Role
from fedbounds.theory.quantity import Quantity
from fedbounds.theory.reading import READINGS, Reading
from fedbounds.theory.symbols import QUANTITIES, eta_0

Local = Literal["steps", "any"]
Gradients = Literal["full", "stochastic"]
# What of a setting may be a function over an interval; weights and tau are not.
FUNCTIONS = ("mu", "L", "rho_bar", "rho_tilde", "eta")
# What the right-hand side of a one-round statement may be made of.
FORMS = ("Delta", "drift", "G_sq", "Gamma", "excess", "sigma_sq")
# Bounds on variances, which are 0 where gradients are full; the latter two are known there only.
NOISE = ("sigma_sq", "sigma_0_sq", "growth")
LINEAR = (*FORMS, "Delta_0")
# What a statement about one point of one client is made of.
POINTWISE = {"excess", "L", "mu"}
NUMBERS = ("eta", "mu", "L", "tau", "N", "C", "rho_bar", "pi_min", "pi_max", "p_min", "rho_tilde")
# Gamma * rho_tilde as one quantity, sum_i alpha_i e_i(w*), where rho_tilde is left free.
FREE_BIAS = "Gamma_alpha"
PLAIN = READINGS["plain"]


@dataclass(frozen=True)
class Setting:
    """One step t of one round: weights ``alpha``, ``p`` (N,), the round's step sizes ``eta`` up to eta_t.

    ``local`` models are the points of gradient ``steps`` from w_t0, or ``any`` points with the virtual iterate as
    their mean (which covers every t). ``gradients`` are full, or stochastic: conditionally unbiased, with noise
    independent over clients and of variance at most sigma^2. ``rho_tilde`` None means every rho_tilde at once. Over
    an interval mu, ``eta`` and the skews may be functions of kappa or eta L. InputError where no losses have these.
    """

    alpha: tuple[Fraction, ...]
    p: tuple[Fraction, ...]
    eta: tuple[Fraction, ...]
    tau: int
    mu: Fraction
    L: Fraction = Fraction(1)
    rho_bar: Fraction = Fraction(1)
    rho_tilde: Fraction | None = None
    reading: str = "repaired"
    local: Local = "steps"
    gradients: Gradients = "full"

    def __post_init__(self) -> None:
        for name, weights in (("alpha", self.alpha), ("p", self.p)):
            proper = len(weights) == self.N > 0
            demand(proper, "alpha and p need the same clients", f"{len(weights)} and {self.N}", "match them")
            what, received = f"{name} must be non-negative and sum to exactly 1", ", ".join(map(str, weights))
            proper = min(weights) >= 0 and sum(weights) == 1
            demand(proper, what, received, "write weights as fractions such as 1/3")
        given, remedy = f"mu = {self.mu}, L = {self.L}", "use kappa = L/mu above 1 (at 1 F_i is fixed)"
        demand(0 <= self.mu < self.L, "mu must lie in [0, L)", given, remedy)
        available = f"use one of {', '.join(READINGS)}"
        demand(self.reading in READINGS, "reading must be a known name", self.reading, available)
        what = f"a step of a round of tau = {self.tau} needs between 1 and tau positive step sizes"
        proper = type(self.tau) is int and 1 <= len(self.eta) <= self.tau and min(self.eta) > 0
        demand(proper, what, f"{len(self.eta)} of them", "use a local step s with 0 <= s < tau")
        self._check_models()
        low, high = self.ratios
        what, remedy = f"rho_bar must lie between 0 and max alpha_i/p_i = {high}", "no losses show such a skew"
        demand(0 <= self.rho_bar <= high, what, self.rho_bar, remedy)
        what = f"rho_tilde must be at least min alpha_i/p_i = {low}"
        demand(self.rho_tilde is None or self.rho_tilde >= low, what, self.rho_tilde, remedy)

    def _check_models(self) -> None:
        proper = self.local in ("steps", "any") and self.gradients in ("full", "stochastic")
        what, received = (
            "local models are steps or any, gradients full or stochastic",
            f"{self.local}, {self.gradients}",
        )
        demand(proper, what, received, "choose one of each")
        noisy = self.gradients == "stochastic"
        what = "local models of any kind, and noise, need a reading that bounds the skew at an alpha-weighted w_t"
        received = f"the reading {self.reading!r} at local step {self.step}"
        remedy = "use local steps with full gradients, or the repaired reading"
        demand((self.local != "any" and not noisy) or self.knows_skew, what, received, remedy)
        what, received = "after noisy steps local models are covered as any points only", f"local step {self.step}"
        demand(not noisy or self.local == "any" or self.step == 0, what, received, "use local models of any kind")

    @property
    def knows_skew(self) -> bool:
        """Whether the reading bounds rho(t, w_t) at this step, for the alpha-weighted iterate."""
        return self.how.virtual == "alpha" and (self.how.skew == "all-steps" or self.step == 0)

    def at(self, point: Fraction) -> Setting:
        """The setting at a point of its interval."""
        return replace(self, **at_point({name: getattr(self, name) for name in FUNCTIONS}, point))

    @property
    def N(self) -> int:
        """Number of clients."""
        return len(self.p)

    @property
    def step(self) -> int:
        """s, the local step inside the round."""
        return len(self.eta) - 1

    @property
    def ratios(self) -> tuple[Fraction, Fraction]:
        """(pi, Pi): the smallest and largest alpha_i / p_i over clients with p_i > 0."""
        result = [a / p for a, p in zip(self.alpha, self.p, strict=True) if p > 0]
        return min(result), max(result)

    @property
    def how(self) -> Reading:
        """The reading."""
        return READINGS[self.reading]

    @property
    def over(self) -> Interval | None:
        """The interval over which the setting is one of functions."""
        result: Iterable[object] = (self.mu, self.rho_bar, self.rho_tilde, *self.eta)
        return next((item.over for item in result if isinstance(item, Function)), None)

    def to_json(self) -> dict[str, object]:
        """The setting as a JSON object; every rational is a string."""
        return dict(plain(self))

    @staticmethod
    def from_json(data: Mapping[str, object]) -> Setting:
        """The setting of a JSON object made by ``to_json``; one without ``gradients`` has full ones."""
        return shaped(data, Setting, "a setting")


def at_point(given: Mapping[str, Any], point: Fraction) -> dict[str, Any]:
    """The same numbers, each function of them at a point."""

    def value(number: Any) -> Any:
        if isinstance(number, tuple):
            return tuple(map(value, number))
        return number.at(point) if isinstance(number, Function) else number

    return {name: value(item) for name, item in given.items()}


def round_setting(
    clients: int = 2,
    tau: int = 1,
    step: int | None = None,
    kappa: Fraction | int = 10,
    start: int = 0,
    eta: Fraction | None = None,
    alpha: Sequence[Fraction] | None = None,
    p: Sequence[Fraction] | None = None,
    rho_bar: Fraction | None = None,
    rho_tilde: Fraction | None = None,
    reading: str = "repaired",
    local: Local = "steps",
) -> Setting:
    """A setting with L = 1 and mu = 1/kappa, of t = ``start`` + ``step`` in the round from ``start``.

    By default it is the round's last step, with the step sizes of the theory's main bound, uniform weights, the
    rho_bar that every loss satisfies (min alpha_i/p_i), and every rho_tilde. ``eta`` is one constant step size.
    """
    demand(clients >= 1, "a round needs at least one client", clients, "use --clients 2")
    step = tau - 1 if step is None else step
    demand(0 <= step < tau, f"the local step must lie in 0..{tau - 1}", step, "choose a step of the round")
    demand(
        kappa > 1, "kappa = L/mu must exceed 1", kappa, "at kappa = 1 every F_i is the same quadratic up to a shift"
    )
    N = clients if alpha is None else len(alpha)
    p = (Fraction(1, N),) * N if p is None else tuple(p)
    alpha = p if alpha is None else tuple(alpha)
    mu, L = Fraction(1) / kappa, Fraction(1)
    values = {"L": L, "mu": mu}
    sizes = sizes_at(with_role(Role.MAIN)[0], values, start, step + 1) if eta is None else (eta,) * (step + 1)
    if rho_bar is None:
        rho_bar = min((a / q for a, q in zip(alpha, p, strict=False) if q > 0), default=Fraction(0))
    return Setting(alpha, p, sizes, tau, mu, L, rho_bar, rho_tilde, reading, local)


def sizes_at(claim: Claim, constants: Mapping[str, Fraction], start: int, count: int) -> tuple[Fraction, ...]:
    """The step sizes eta_t that a claim is stated for at t = start, ..., or InputError where one is not rational."""
    times = [{**constants, "t": Fraction(start + k)} for k in range(count)]
    for at in times:
        require_defined(claim.steps, at)
    sizes = [rational(claim.steps, at) for at in times]
    result = tuple(size for size in sizes if size is not None)
    if len(result) < count:
        raise reject(f"{claim.key} needs a rational step size here", str(claim.eta), "choose another kappa, or --eta")
    return result


def applies(claim: Claim, reading: Reading = PLAIN) -> bool:
    """Whether a claim is a one-round statement in quantities that this evidence carries.

    The model has the gradient and the excess of one client only, at one point of it.
    """
    if (
        claim.tuned
        or claim.by_coins
        or claim.kind is not Kind.INEQUALITY
        or claim.scope not in ("step", "constant", "point")
    ):
        return False
    if str(claim.lhs) == "grad_sq":
        return pointwise(claim, reading)
    return not not_expressed(claim, reading)


def not_expressed(claim: Claim, reading: Reading = PLAIN) -> tuple[str, ...]:
    """The quantities of a claim that are none of this evidence's, the left side first."""
    symbols = {symbol for term in claim.sides(reading).terms.values() for symbol in term.free_symbols}
    used = {symbol for symbol in symbols if getattr(symbol, "in_class", None) is None}
    of_points = written_by(claim, reading)
    weights = {
        q.name for q in used if isinstance(q, Quantity) and number(q, (Fraction(1),), (Fraction(1),)) is not None
    }
    left = str(claim.lhs)
    carried = {*FORMS, *NUMBERS, *NOISE, *of_points, *weights} - {"excess"}
    others = sorted({symbol.name for symbol in used} - carried - {left})
    return (*([] if left in ("Delta_next", "drift") or left in of_points else [left]), *others)


def written_by(claim: Claim, reading: Reading = PLAIN) -> dict[str, sp.Expr]:
    """The quantities of a claim that a model reads from expressions of points."""
    terms = (claim.lhs, *claim.sides(reading).terms.values())
    return written({symbol for term in terms for symbol in sp.sympify(term).free_symbols})


def pointwise(claim: Claim, reading: Reading = PLAIN) -> bool:
    """Whether a claim is about one point of one client, whatever the round."""
    symbols = {symbol.name for term in claim.sides(reading).terms.values() for symbol in term.free_symbols}
    return (str(claim.lhs), claim.scope) == ("grad_sq", "point") and symbols <= POINTWISE


def numbers(setting: Setting) -> dict[str, Fraction]:
    """Symbol -> value, of those that have one at a setting."""
    low, high = setting.ratios
    result = {
        "eta": setting.eta[-1],
        "mu": setting.mu,
        "L": setting.L,
        "tau": Fraction(setting.tau),
        "N": Fraction(setting.N),
        "C": Fraction(1),  # every client takes part
        "rho_bar": setting.rho_bar,
        "pi_min": low,
        "pi_max": high,
        "p_min": min(setting.p),
        **{name: q.in_class(setting) for name, q in QUANTITIES.items() if q.in_class is not None},
    }
    return result if setting.rho_tilde is None else {**result, "rho_tilde": setting.rho_tilde}


OF_A_RUN = {"Delta_0", "T", "eta_0", "L", "mu"}


def is_gradient_descent(claim: Claim, reading: Reading) -> bool:
    """Whether a claim bounds F(w_T) - F* of gradient descent: one exact local step by all, alpha = p."""
    parts = [part for assumption in claim.assumptions for part in assumption.parts]
    one_step = any(part.sign == "=" and {str(part.left), str(part.right)} == {"tau", "1"} for part in parts)
    needed = {shipped.full_participation, shipped.unbiased, shipped.full_gradients} <= set(claim.assumptions)
    symbols = {s.name for term in claim.sides(reading).terms.values() for s in term.free_symbols}
    about = claim.on_fedavg and claim.kind is Kind.INEQUALITY and (str(claim.lhs), claim.eta) == ("gap", eta_0)
    return about and one_step and needed and symbols <= OF_A_RUN
