"""Exact evidence: a claim evaluated on a small instance in rational arithmetic, both sides as fractions.

REFUTED is said only if lhs > rhs exactly and every assumption of the claim, in that reading, holds
exactly. The right-hand side is the claim's own sympy terms with fractions substituted: one formula.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

import sympy as sp

from fedbounds.errors import reject
from fedbounds.evidence.exact.instance import Instance, to_json
from fedbounds.evidence.exact.run import ExactRun, run
from fedbounds.theory.claim import Assumption, Claim, Kind
from fedbounds.theory.reading import Reading
from fedbounds.theory.verdict import Evidence, Status, Verdict

Values = Mapping[str, Fraction]


@dataclass(frozen=True)
class Sides:
    """Both sides of a claim at one place: time ``t`` (None for constants) and client ``i`` (point claims)."""

    lhs: Fraction
    rhs: Fraction
    t: int | None = None
    client: int | None = None

    def violated(self, kind: Kind) -> bool:
        """Whether the stated relation fails here."""
        return self.lhs != self.rhs if kind is Kind.IDENTITY else self.lhs > self.rhs

    @property
    def margin(self) -> Fraction:
        """(rhs - lhs)/max(|rhs|, |lhs|), negative where an inequality fails; 0 at 0 <= 0."""
        scale = max(abs(self.lhs), abs(self.rhs))
        return (self.rhs - self.lhs) / scale if scale else Fraction(0)


def rational(expression: sp.Expr, values: Values) -> Fraction | None:
    """The exact value of a sympy expression at rational values; None where it is undefined (a division by 0)."""
    expression = sp.sympify(expression)
    missing = sorted({s.name for s in expression.free_symbols} - set(values))
    if missing:
        raise reject(f"{expression} needs a value for {missing[0]}", sorted(values), "use symbols an exact run has")
    known = {s: sp.Rational(values[s.name].numerator, values[s.name].denominator) for s in expression.free_symbols}
    result = expression.xreplace(known)
    return Fraction(int(result.p), int(result.q)) if isinstance(result, sp.Rational) else None


def places(claim: Claim, record: ExactRun, reading: Reading) -> Iterator[tuple[int | None, int | None, Values]]:
    """(t, client, symbol values) of every place the claim ranges over on a run."""
    constants = record.constants(reading.skew)
    path = record.paths[reading.virtual]
    instance = record.instance
    if claim.scope == "constant":
        yield None, None, constants
    elif claim.scope == "horizon":
        for t in range(instance.total + 1):
            yield t, None, constants | {"T": Fraction(t), "gap": path["gap"][t], "Delta_T": path["distance_sq"][t]}
    elif claim.scope == "point":
        for t, i, grad_sq, excess in record.points:
            yield t, i, constants | {"grad_sq": grad_sq, "excess": excess}
    else:
        distance = path["distance_sq"]
        for t in range(instance.total):
            here = {"t": Fraction(t), "eta": instance.eta[t], "drift": path["drift"][t], "gap_t": path["gap"][t]}
            yield t, None, constants | here | {"Delta": distance[t], "Delta_next": distance[t + 1]}


def compare(claim: Claim, record: ExactRun, reading: Reading, only: int | None = None) -> Iterator[Sides]:
    """Both sides, exactly, at every place (or ``only`` at one time) where the right-hand side is defined."""
    right = sp.Add(*claim.terms_in(reading).values())
    left = sp.sympify(claim.lhs).subs(dict(claim.definitions))
    for t, client, values in places(claim, record, reading):
        if only is not None and t != only:
            continue
        lhs, rhs = rational(left, values), rational(right, values)
        if lhs is not None and rhs is not None:
            yield Sides(lhs, rhs, t, client)


def examine(instance: Instance, claim: Claim, reading: Reading) -> Verdict:
    """Decide a claim on one instance exactly: REFUTED, HOLDS (here only), NOT_APPLICABLE or UNDECIDED."""
    record = run(instance)
    failed, unknown = judge_assumptions(claim, record, reading)
    if failed:
        return _verdict(claim, reading, Status.NOT_APPLICABLE, "assumption fails: " + "; ".join(failed))
    if claim.kind is Kind.RATE:
        return _examine_rate(claim, record, reading, unknown)
    sides = list(compare(claim, record, reading))
    if not sides:
        return _verdict(claim, reading, Status.NOT_APPLICABLE, "the right-hand side is undefined on this instance")
    violated = [s for s in sides if s.violated(claim.kind)]
    worst = min(violated or sides, key=lambda s: s.margin)
    if violated and unknown:
        detail = f"the relation fails, but these assumptions cannot be checked exactly: {', '.join(unknown)}"
        return _verdict(claim, reading, Status.UNDECIDED, detail, worst, instance)
    relation = ">" if worst.lhs > worst.rhs else "=" if worst.lhs == worst.rhs else "<"
    status = Status.REFUTED if violated else Status.HOLDS
    detail = f"lhs {short(worst.lhs)} {relation} rhs {short(worst.rhs)}, exactly" + (
        "" if violated else "; holds on this instance, which proves nothing beyond it"
    )
    return _verdict(claim, reading, status, detail, worst, instance)


def _examine_rate(claim: Claim, record: ExactRun, reading: Reading, unknown: list[str]) -> Verdict:
    """lhs = O(1/T) fails if w_0 is a fixed point of the algorithm, for every step size, with a positive gap."""
    instance = record.instance
    gap = record.paths["alpha"]["gap"][0]
    if unknown or instance.tau != 1 or any(instance.noise) or len(instance.weights) > 1:
        detail = "decided only for tau = 1, without noise, with weights that do not change by themselves"
        return _verdict(claim, reading, Status.UNDECIDED, detail)
    alpha = instance.alpha(0, instance.excess(instance.w0))
    slopes = [instance.grad(i, instance.w0) for i in range(instance.N)]
    direction = [sum((a * g[k] for a, g in zip(alpha, slopes, strict=True)), Fraction(0)) for k in range(instance.d)]
    if any(direction) or not gap:
        return _verdict(claim, reading, Status.UNDECIDED, "w_0 is not a fixed point with a positive gap")
    detail = f"w_0 is a fixed point for every step size: the gap is {short(gap)} at every T"
    return _verdict(claim, reading, Status.REFUTED, detail, Sides(gap, Fraction(0), 0), instance)


def _verdict(
    claim: Claim,
    reading: Reading,
    status: Status,
    detail: str,
    sides: Sides | None = None,
    instance: Instance | None = None,
) -> Verdict:
    data: dict[str, object] = {}
    if sides is not None and instance is not None:
        data = {"t": sides.t, "lhs": str(sides.lhs), "rhs": str(sides.rhs), "instance": to_json(instance)}
        data |= {} if sides.client is None else {"client": sides.client}
    return Verdict(
        claim.key,
        reading.name,
        Evidence.EXACT,
        status,
        margin=None if sides is None else float(sides.margin),
        tightness=None if sides is None or not sides.lhs else float(sides.rhs / sides.lhs),
        worst_t=None if sides is None else sides.t,
        detail=detail,
        data=data,
    )


# Longer fractions are shown by their rounded value; the files keep every digit.
SHOWN_DIGITS = 24


def short(x: Fraction) -> str:
    """A fraction as text, by an approximation where it is long."""
    text = str(x)
    return text if len(text) <= SHOWN_DIGITS else f"{float(x):.6g} (a fraction of {len(text)} characters)"


Check = Callable[[ExactRun, Mapping[str, Fraction]], tuple[bool, str]]


def _positive(name: str) -> Check:
    return lambda record, values: (values[name] > 0, f"{name} = {values[name]}")


# The package's assumptions, by key, in exact arithmetic. Quadratics with positive curvature satisfy the first
# two with the instance's L and mu; the moments are those of the points visited, so they bound them by definition.
ASSUMPTIONS: Mapping[str, Check] = {
    "smooth": lambda record, values: (True, f"L = {values['L']} on R^d"),
    "strongly-convex": lambda record, values: (values["mu"] > 0, f"mu = {values['mu']} on R^d"),
    "bounded-variance": lambda record, values: (True, f"sigma^2 = {values['sigma_sq']}"),
    "bounded-gradient": lambda record, values: (True, f"G^2 = {values['G_sq']} at the points visited"),
    "full-participation": lambda record, values: (True, "C = 1"),
    "unbiased": lambda record, values: (record.alphas == {record.instance.p}, "alpha = p"),
    "equal-selection": lambda record, values: (values["m"] > 0, f"m = {values['m']}"),
    "positive-rho_bar": _positive("rho_bar"),
    "positive-pi_min": _positive("pi_min"),
    "positive-p_min": _positive("p_min"),
    "positive-rho-pairs": _positive("rho_pairs"),
    "homogeneous": lambda record, values: (values["Gamma"] == 0, f"Gamma = {values['Gamma']}"),
    "small-steps": lambda record, values: (max(record.instance.eta) * values["L"] <= 1, "eta_t <= 1/L"),
    "eta-below-1/L": lambda record, values: (max(record.instance.eta) * values["L"] < 1, "eta_t < 1/L"),
    "eta-below-2/(L+mu)": lambda record, values: (
        max(record.instance.eta) * (values["L"] + values["mu"]) <= 2,
        "eta_t <= 2/(L + mu)",
    ),
    "slow-decay": lambda record, values: (record.eta_ratio <= 4, f"eta_s/eta_t up to {record.eta_ratio}"),
}


def has_exact_check(assumption: Assumption) -> bool:
    """Whether an assumption is one of the package's own that can be checked exactly (a user's may share a name)."""
    own = assumption.check.__module__.startswith("fedbounds.")
    return own and (assumption.key in ASSUMPTIONS or assumption.key == "step-size")


def judge_assumptions(claim: Claim, record: ExactRun, reading: Reading) -> tuple[list[str], list[str]]:
    """(assumptions that fail, assumptions with no exact check) of a claim on a run."""
    values = record.constants(reading.skew)
    failed, unknown = [], []
    for assumption in claim.assumptions_in(reading):
        if not has_exact_check(assumption):
            unknown.append(assumption.key)
            continue
        if assumption.key == "step-size":
            holds, found = _step_size(claim, record, values)
        else:
            holds, found = ASSUMPTIONS[assumption.key](record, values)
        if not holds:
            failed.append(f"{assumption.statement} ({found})")
    return failed, unknown


def _step_size(claim: Claim, record: ExactRun, values: Values) -> tuple[bool, str]:
    for t, eta in enumerate(record.instance.eta):
        wanted = step_at(claim, values, t)
        if eta != wanted:
            return False, f"eta_{t} = {eta}, the claim asks {wanted}"
    return True, "the step size of the claim"


def step_at(claim: Claim, values: Values, t: int) -> Fraction | None:
    """The step size the claim asks at time t, exactly."""
    formula = sp.sympify(claim.eta).subs(dict(claim.definitions))
    return rational(formula, {**values, "t": Fraction(t)})
