"""The SDP evidence: one-round claims decided for every problem of the class.

A claim HOLDS at a setting only where rational multipliers prove it (`one_step.certificate`); it is
REFUTED only where the worst case, rebuilt as explicit functions and run in the simulator, shows it; anything else
is UNDECIDED. It is proved for stochastic gradients where it can be, else for full ones, and the verdict's coverage
says which; worst cases have full gradients. Over an interval multipliers are functions (`fitted_multipliers`).
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from operator import add

from fedbounds.errors import InputError
from fedbounds.evidence.judge import cannot_express
from fedbounds.evidence.sdp.one_step.certificate import Certificate
from fedbounds.evidence.sdp.one_step.coverage import conditions, coverage, in_words, one_client
from fedbounds.evidence.sdp.one_step.fitted_multipliers import fitted
from fedbounds.evidence.sdp.one_step.parameters import Setting, applies, pointwise, written_by
from fedbounds.evidence.sdp.one_step.point_expressions import Expressions
from fedbounds.evidence.sdp.one_step.program import BOUNDS, Model, build, size
from fedbounds.evidence.sdp.one_step.right_hand_side import coefficients, term_form
from fedbounds.evidence.sdp.program import Expression, exact
from fedbounds.evidence.sdp.rounding import prove
from fedbounds.evidence.sdp.solver import Solution, Solved, worst_case
from fedbounds.io import plain
from fedbounds.theory.claim import Claim
from fedbounds.theory.points import w_round
from fedbounds.theory.verdict import Evidence, Status, Verdict

# Solvers are accurate to about 1e-8 on problems scaled to size 1; a violation must stand clear of that.
VIOLATION = 1e-6
# How much of every term is in a unit of one.
LITTLE = Fraction(1, 1000)
# A ratio lhs / rhs below this is a left side of zero, up to the solver.
NOTHING = 1e-7


def examine(claim: Claim, setting: Setting) -> Verdict:
    """The verdict on a claim at a setting, over every problem of the class."""
    return examination(claim, setting)[0]


def examination(claim: Claim, setting: Setting) -> tuple[Verdict, Certificate | None]:
    """The verdict, with the certificate that carries it where it HOLDS."""
    verdict = Verdict(claim.key, setting.reading, Evidence.SDP, Status.NOT_APPLICABLE)
    undecided = replace(verdict, status=Status.UNDECIDED)
    if not applies(claim, setting.how):
        return replace(verdict, detail="no one-round statement in the model's quantities"), None
    if pointwise(claim, setting.how):
        setting = one_client(setting)
    over = setting.over
    try:
        failed, unknown = conditions(claim, setting)
    except InputError as wrong:
        if over is None:
            raise
        return replace(undecided, detail=str(wrong)), None
    if failed:
        return replace(verdict, detail="; ".join(f"{f.key} fails: {f}" for f in failed), failed=failed), None
    try:
        coefficients(claim, setting)
    except InputError as wrong:
        return replace(undecided, detail=str(wrong)), None
    certificate = _proof(claim, setting)
    if certificate is None and over is not None:
        detail = f"no multipliers were found that prove it for {over.parameter} {over}"
        return replace(undecided, detail=f"{detail}: narrow this, or ask at a number"), None
    if certificate is None:
        return _without_proof(claim, setting, unknown, undecided), None
    # What is proved is at most 1; the solver's number may exceed it by its own error.
    # Where both sides are 0 there is no ratio.
    ratio = min(worst_ratio(claim, setting) if over is None else math.nan, 1.0)
    shown = certificate.parameters
    verdict = replace(
        verdict,
        status=Status.HOLDS,
        margin=1 - ratio if math.isfinite(ratio) else None,
        tightness=(1 / ratio if ratio > NOTHING else math.inf) if over is None else None,
        worst_t=setting.step,
        detail=f"{len(certificate.multipliers)} rational multipliers, verified exactly: {in_words(claim, shown)}",
        data={"setting": shown.to_json(), "worst_ratio": ratio},
        coverage=coverage(claim, shown),
    )
    return verdict, certificate


def _proof(claim: Claim, setting: Setting) -> Certificate | None:
    """A certificate for stochastic gradients where the reading and the claim allow one, else for full ones."""
    certificate = None
    if setting.gradients == "full" and setting.knows_skew and not pointwise(claim, setting.how):
        noisy = replace(setting, gradients="stochastic", local="any" if setting.step else setting.local)
        with contextlib.suppress(InputError):  # its variances are not those of the model
            certificate = certify(claim, noisy)
    return certificate or certify(claim, setting)


def _without_proof(claim: Claim, setting: Setting, unknown: tuple[str, ...], verdict: Verdict) -> Verdict:
    from fedbounds.evidence.sdp.one_step.worst_instance import replay

    lacking = f"; {cannot_express(unknown)}" if unknown else ""
    model, gap = _gap(claim, setting)
    terms = [model.sum(term_form(claim, setting, term)) for term in claim.terms]
    edge = _violation(model, gap, terms)
    solver = f"the solver's worst case violates by {edge.value:.2e}"
    if edge.outcome is not Solved.OPTIMAL or edge.value <= VIOLATION:
        none = f"no violation above {VIOLATION:g} (solver: {edge.outcome}, {edge.value:.2e})"
        return replace(verdict, detail=f"no proof was found, and {none}{lacking}")
    if setting.local == "any" or setting.gradients == "stochastic":
        detail = f"{solver}, and only local steps with full gradients are replayed{lacking}"
        return replace(verdict, detail=detail)
    shown = replay(claim, model, edge)
    if shown.unknown:
        return replace(verdict, detail=cannot_express(shown.unknown))
    if shown.failed:
        # A worst case outside the claim's assumptions refutes nothing; what the model cannot impose may be why.
        keys = cannot_express(f"{item.key} ({item.statement})" for item in shown.failed)
        detail = f"{keys} all over the class, and the solver's worst case is a problem that does not meet it"
        return replace(verdict, detail=detail, failed=shown.failed)
    if not shown.violated:
        return replace(verdict, detail=f"{solver}, its replay does not{lacking}")
    detail = f"an instance in R^{shown.problem.d}, run in the simulator: left {shown.lhs:.6g} > right {shown.rhs:.6g}"
    return replace(
        verdict,
        status=Status.REFUTED,
        margin=(shown.rhs - shown.lhs) / max(abs(shown.lhs), abs(shown.rhs)),
        tightness=shown.rhs / shown.lhs if shown.lhs else None,
        worst_t=setting.step,
        detail=f"{detail}; at {in_words(claim, setting)}",
        data={"setting": setting.to_json(), "instance": shown.to_json()},
        coverage=coverage(claim, setting),
    )


def _violation(model: Model, gap: Expression, terms: Sequence[Expression]) -> Solution:
    """The worst case of lhs - rhs, in the first unit of measurement that shows a violation, else in the first.

    Violations are rays, so any unit will do; at extreme weights solvers manage some and not others. Where a term is
    needed in a limit only, as it vanishes beside the others, a unit of it with a little of all keeps both in sight.
    """
    units = [size(model), *(model[name] for name in ("G_sq", "Delta_next", "Delta"))]
    units += [model.sum(dict.fromkeys(("own", "spread", "Delta_start"), Fraction(1)))]
    units += [reduce(add, [other * LITTLE for other in terms], term) for term in terms]
    first = solution = worst_case(model, -gap, units[:1])
    for unit in units[1:]:
        if solution.outcome is Solved.OPTIMAL and solution.value > VIOLATION:
            return solution
        solution = worst_case(model, -gap, [unit])
    return solution if solution.outcome is Solved.OPTIMAL and solution.value > VIOLATION else first


def certify(claim: Claim, setting: Setting, scale: Mapping[str, Fraction] | None = None) -> Certificate | None:
    """A certificate of the claim, with named terms multiplied by ``scale``, or None where none was found.

    Where no proof by gradient steps is found, one for any local models will do, which proves more; its
    setting says so. It needs the skew at w_t, which the readings that know it at round starts only lack.
    """
    lhs, rhs, whole = str(claim.lhs), coefficients(claim, setting, scale), setting.over is not None

    def attempt(there: Setting, exactly: bool) -> Certificate | None:
        of_points = written_by(claim, there.how)
        multipliers = fitted(lhs, rhs, there, of_points) if exactly else None
        if exactly and multipliers is None:
            return None
        return certify_form(lhs, rhs, there, claim.key, scale, known=multipliers, written=of_points)

    certificate = attempt(setting, whole)
    if certificate is None and not whole and setting.local == "steps":
        certificate = attempt(setting, True)
    started = any(item.has(w_round) for item in written_by(claim, setting.how).values())
    if certificate is not None or not setting.knows_skew or started:
        return certificate
    wider = replace(setting, local="any")
    certificate = attempt(wider, True)
    return certificate if certificate or whole or setting.local == "any" else attempt(wider, False)


def certify_form(
    lhs: str,
    rhs: Mapping[str, Fraction],
    setting: Setting,
    claim: str | None = None,
    scale: Mapping[str, Fraction] | None = None,
    note: Mapping[str, object] | None = None,
    known: Mapping[str, Fraction] | None = None,
    written: Expressions | None = None,
) -> Certificate | None:
    """A certificate of lhs <= sum_k rhs_k form_k at a setting, by multipliers ``known`` or found; None without."""
    multipliers = known
    if known is None:
        bounds = [name for name in BOUNDS if rhs.get(name)]
        model = build(setting, float, bounds, written)
        multipliers = prove(model, build(setting, exact, bounds, written), lhs, rhs)
    if multipliers is None:
        return None
    numbers, data = (plain(item) for item in (multipliers, scale or {}))
    return Certificate(lhs, plain(rhs), setting.to_json(), numbers, claim, data, note or {}, interval=setting.over)


def worst_ratio(claim: Claim, setting: Setting) -> float:
    """sup lhs / rhs over the class, for a claim that holds there (so that rhs >= 0)."""
    model, gap = _gap(claim, setting)
    lhs = model[str(claim.lhs)]
    solution = worst_case(model, lhs, [gap + lhs])
    return solution.value if solution.outcome is Solved.OPTIMAL else math.nan


def round_model(claim: Claim, setting: Setting) -> Model:
    """The model, without Assumptions 3 and 4 where the claim does not use their bounds."""
    used = coefficients(claim, setting)
    return build(setting, float, [name for name in BOUNDS if used.get(name)], written_by(claim, setting.how))


def _gap(claim: Claim, setting: Setting) -> tuple[Model, Expression]:
    model = round_model(claim, setting)
    return model, model.sum(coefficients(claim, setting)) - model[str(claim.lhs)]
