"""A claim about a whole run after some rounds: whether its assumptions hold there, and its bound's coefficients."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import sympy as sp

from fedbounds.evidence.assumption_checks import in_fractions
from fedbounds.evidence.evaluate import rational
from fedbounds.evidence.sdp.multi_round.program import Measure, Run
from fedbounds.evidence.sdp.one_step.coverage import homogeneous
from fedbounds.theory import symbols as sy
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim import Claim, Kind, OwnSteps
from fedbounds.theory.claim_validation import require_own
from fedbounds.theory.coverage import Coverage, Region, Span, only
from fedbounds.theory.path_quantities import mean_slope_sq, p_sq
from fedbounds.theory.points import never_negative
from fedbounds.theory.quantity import Path, Quantity
from fedbounds.theory.reading import Reading
from fedbounds.theory.sample_path import growth_of_steps, ratios_of_steps

# What is bounded, by what a claim's left side is.
MEASURES: dict[sp.Expr, Measure] = {
    sy.Delta_T: "distance",
    sy.Delta_round: "distance",
    sy.gap: "gap",
    sy.gap_round: "gap",
    mean_slope_sq: "slope",
    sy.average_gap: "average",
    sy.T * sy.average_gap: "average",
}
# What zeta_*^2 and variances that are 0 may be multiplied by.
ANYTHING = Fraction(10) ** 100
# Shares of a maximum's arguments that are tried: it is at least any mean of them.
SHARES = tuple(Fraction(k, 16) for k in range(17))


class Bounded(NamedTuple):
    """a Delta_0 + b zeta_*^2 + c E||noise of the mean||^2 + d E||deviations from it||^2, claimed or proved."""

    a: Fraction
    b: Fraction
    c: Fraction = Fraction(0)
    d: Fraction = Fraction(0)

    def times(self, scale: Fraction) -> Bounded:
        return Bounded(*(scale * number for number in self))

    def within(self, claimed: Bounded) -> bool:
        """Whether it is at most another."""
        return all(number <= other for number, other in zip(self, claimed, strict=True))


def applies(claim: Claim, reading: Reading) -> bool:
    """Whether a claim is about what the programmes of whole runs bound: everybody with weights p, or some of N."""
    stated = {item.key for item in claim.assumptions_in(reading)}
    drawn = "equal-p" in stated and MEASURES.get(sp.sympify(claim.lhs)) == "distance"
    return (
        claim.scope == "horizon"
        and not claim.tuned
        and claim.kind is Kind.INEQUALITY
        and (claim.on_fedavg or (claim.by_coins and claim.examined and not claim.has_server_step))
        and sp.sympify(claim.lhs) in MEASURES
        and (claim.steps is not None or "constant-steps" in stated)
        and "smooth" in stated
        and (strongly_convex(claim, reading) or ("convex" in stated and "mu" not in claim.symbols))
        and bool({"unbiased", "selection-without-replacement"} & stated)  # of equal clients it is unbiased
        and ("full-participation" in stated or drawn)
    )


def strongly_convex(claim: Claim, reading: Reading) -> bool:
    """Whether it is about strongly convex losses."""
    return "strongly-convex" in {item.key for item in claim.assumptions_in(reading)}


# Assumptions that the programmes have.
BUILT_IN = {"smooth", "strongly-convex", "convex", "bounded-variance", "full-participation", "unbiased", "equal-p"}


@dataclass(frozen=True)
class ClaimAtRun:
    """A claim at a run."""

    claim: Claim
    reading: Reading
    run: Run
    eta_0: Fraction

    @property
    def assumptions(self) -> list[Assumption]:
        return [item for item in self.claim.assumptions_in(self.reading) if not isinstance(item, OwnSteps)]

    @property
    def values(self) -> dict[str, Fraction]:
        """What is known of the run at its end."""
        run = self.run
        constants = {"L": run.L, "mu": run.mu, "tau": Fraction(run.tau), "T": Fraction(run.T), "eta_0": self.eta_0}
        constants |= {"eta_sum": sum(run.sizes, Fraction(0))}
        if run.present:
            K, N = run.present
            assert N is not None
            drawn = {"q": Fraction(K)} if run.by_coins else {"m": Fraction(K)}
            constants |= {"C": Fraction(0) if run.by_coins else Fraction(K, N), "N": Fraction(N), **drawn}
        else:
            constants |= dict.fromkeys(("C", "pi_min", "pi_max", "rho_bar", "rho_tilde"), Fraction(1))
        path = Path(run.tau, np.array(run.sizes, dtype=object))
        for item in self.claim.computed:
            if item.statistic == "scheduled" and item.on_path is not None and item.name not in constants:
                constants[item.name] = Fraction(item.on_path(path)[-1])
        return constants

    @property
    def common(self) -> bool:
        """Whether zeta_* = 0, as Gamma is; or what does not matter, as with one local step a round F moves alone."""
        return (self.run.tau == 1 and not self.run.sampling) or any(
            sp.Eq(sy.Gamma, 0) in _relations(assumption) for assumption in self.assumptions
        )

    @property
    def quiet(self) -> bool:
        """Whether gradients have no noise."""
        return any(sp.Eq(sy.sigma_sq, 0) in _relations(assumption) for assumption in self.assumptions)

    @property
    def narrower(self) -> bool:
        """Whether an assumption is not decided here, so that the class may be smaller than the programme's."""
        return any(
            self.holds(assumption) is None
            and assumption.key not in BUILT_IN
            and not set(_relations(assumption)) & {sp.Eq(sy.Gamma, 0), sp.Eq(sy.sigma_sq, 0)}
            for assumption in self.assumptions
        )

    def holds(self, one: Assumption) -> bool | None:
        """Whether an assumption holds in every step; None where it is about more than step sizes and constants."""
        sizes = np.array(self.run.sizes, dtype=object)
        ratio, growth = (max(of(sizes, self.run.tau)) for of in (ratios_of_steps, growth_of_steps))
        values = {**self.values, "eta_ratio": ratio, "eta_growth": growth}
        answer = in_fractions(one, ({**values, "eta": eta, "t": Fraction(t)} for t, eta in enumerate(sizes)))
        return None if answer is None else answer.holds

    def claimed(self) -> Iterator[Bounded]:
        """What the claim's bound is at least, for all values of what is not known: of maxima several such."""
        require_own(self.claim)
        left, right = (sp.sympify(side) for side in self.claim.sides(self.reading)[:2])
        if left == sy.T * sy.average_gap:
            right = right / sy.T
        put = {s: sp.Rational(self.values[s.name]) for s in right.free_symbols if s.name in self.values}
        right = right.xreplace(put).doit()
        peaks = right.atoms(sp.Max)
        if len(peaks) > 1 or any(len(peak.args) != 2 or not _grows(right, peak) for peak in peaks):
            return
        for share in SHARES if peaks else SHARES[:1]:
            mean = {peak: share * peak.args[0] + (1 - share) * peak.args[1] for peak in peaks}
            bound = self._linear(sp.expand(right.xreplace(mean)))
            if bound is not None:
                yield bound

    def _linear(self, right: sp.Expr) -> Bounded | None:
        """Its coefficients; None where one is no number, or of something that may be large and counts against it."""
        result: dict[sp.Expr, Fraction] = {}
        for term in sp.Add.make_args(right):
            number, rest = term.as_coeff_Mul()
            value = _number(number, {})
            if term == 0:
                continue
            if value is None or (value < 0 and rest not in (sy.Delta_0, sy.gap_0)) or not _seen_non_negative(rest):
                return None
            result[rest] = result.get(rest, Fraction(0)) + value
        # sum_i p_i^2 sigma_i^2 is at most sigma^2 sum_i p_i^2.
        mean = result.get(sy.sigma_p_sq, Fraction(0)) + result.get(p_sq * sy.sigma_sq, Fraction(0))
        every = result.get(sy.sigma_sq, Fraction(0))
        if "equal-p" in {assumption.key for assumption in self.assumptions}:
            mean += result.get(sy.sigma_sq / sy.N, Fraction(0))
        if self.quiet:
            mean = every = ANYTHING
        b = ANYTHING if self.common else result.get(sy.zeta_star_sq, Fraction(0))
        start = sy.gap_0 if self.run.start == "gap" else sy.Delta_0
        return self.bounded(result.get(start, Fraction(0)), b, mean + every, every)

    def bounded(self, a: Fraction, b: Fraction, c: Fraction, d: Fraction) -> Bounded:
        """These coefficients; where N is known and sum_i p_i^2 is 1/N, noise has one."""
        if self.run.present is None:
            return Bounded(a, b, c, d)
        share = self.run.shares[0]
        return Bounded(a, b, share * c + (1 - share) * d)

    def right(self, values: Mapping[str, Fraction]) -> Fraction | None:
        """The right side, where no more is needed to know it."""
        constants = {"sigma_p_sq": values["sigma_sq"], "Gamma": Fraction(0), **self.values, **values}
        if self.run.start == "gap":
            constants["gap_0"] = constants.pop("Delta_0")
        if values["zeta_star_sq"]:
            del constants["Gamma"]
        right = self.claim.sides(self.reading).rhs
        return _number(right / sy.T if sp.sympify(self.claim.lhs) == sy.T * sy.average_gap else right, constants)

    def in_words(self) -> str:
        run = self.run
        several = "{1} clients with probability {0}, " if run.by_coins else "{} of {} clients, "
        drawn = several.format(*run.present) if run.present else ""
        curved = f"kappa = {run.L / run.mu}" if run.mu else "mu = 0"
        return f"{drawn}T = {run.T}, tau = {run.tau}, {curved}, eta_0 L = {self.eta_0 * run.L}"

    def to_json(self) -> dict[str, Any]:
        run = self.run
        kappa = str(run.L / run.mu) if run.mu else "inf"
        data = {"rounds": run.rounds, "tau": run.tau, "kappa": kappa, "eta_0": str(self.eta_0)}
        return data | ({"participation": "q=" * run.by_coins + "{}/{}".format(*run.present)} if run.present else {})

    @property
    def coverage(self) -> Coverage:
        run = self.run
        axes: dict[str, Region] = {
            "kappa": only(run.L / run.mu) if run.mu else Span(1),
            "tau": only(run.tau),
            "T": only(run.T),
            "eta_L": frozenset({*(size * run.L for size in run.sizes), tuple(size * run.L for size in run.sizes)}),
            "participation": only(1),
            "weight_ratio": Span(1, 1),
        }
        axes |= {"participation": only(self.values["C"]), "N": only(run.present[1])} if run.present else {}
        axes |= {"gradients": only("full")} if self.quiet else {}
        return Coverage(axes if homogeneous(self.claim, self.reading) else {**axes, "L": only(run.L)})


def _seen_non_negative(expression: sp.Expr) -> bool:
    """Whether it is not negative, where no sign is an author's word."""
    user_defined = [s for s in expression.free_symbols if sy.QUANTITIES.get(s.name) is not s]
    seen = all(
        isinstance(s, Quantity) and s.expression is not None and never_negative(s.expression) for s in user_defined
    )
    return bool(expression.is_nonnegative and seen)


def _grows(bound: sp.Expr, peak: sp.Expr) -> bool:
    """Whether a bound is linear in a maximum and grows with it, so that less in its place is a smaller bound."""
    value = sp.Dummy(nonnegative=True)
    slope = sp.expand(sp.diff(bound.xreplace({peak: value}), value))
    return bool(not slope.has(value) and slope.is_nonnegative)


def _number(expression: sp.Expr, values: Mapping[str, Fraction]) -> Fraction | None:
    """Its value; None where it is not rational, or has symbols without one."""
    expression = sp.sympify(expression)
    complete = {s.name for s in expression.free_symbols} <= values.keys()
    return rational(expression, values) if complete else None


def _relations(assumption: Assumption) -> list[sp.Expr]:
    return [sp.Eq(part.left, part.right) for part in assumption.parts if part.sign == "="]
