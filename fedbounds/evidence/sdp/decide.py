"""The SDP evidence: one-round claims decided for every problem of the class.

A claim HOLDS at a setting only where rational multipliers prove it (`fedbounds.evidence.sdp.certificate`); it is
REFUTED only where the worst case, rebuilt as explicit functions and run in the simulator, shows it; anything else
is UNDECIDED. It is proved for stochastic gradients where it can be, else for full ones, and the verdict's coverage
says which; worst cases have full gradients.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from fedbounds.errors import InputError
from fedbounds.evidence.conditions import cannot_express
from fedbounds.evidence.sdp.certificate import Certificate, verify
from fedbounds.evidence.sdp.forms import Form, exact
from fedbounds.evidence.sdp.known import candidates
from fedbounds.evidence.sdp.model import BOUNDS, Model, build
from fedbounds.evidence.sdp.rounding import prove, size
from fedbounds.evidence.sdp.scope import conditions, coverage, in_words, one_client, pointwise
from fedbounds.evidence.sdp.setting import Setting, applies, coefficients
from fedbounds.evidence.sdp.solve import Outcome, Solution, worst_case
from fedbounds.theory.claim import Claim
from fedbounds.theory.verdict import Evidence, Status, Verdict

# Solvers are accurate to about 1e-8 on problems scaled to size 1; a violation must stand clear of that.
VIOLATION = 1e-6
# A ratio lhs / rhs below this is a left side of zero, up to the solver.
NOTHING = 1e-7


def examine(claim: Claim, setting: Setting) -> Verdict:
    """The verdict on a claim at a setting, over every problem of the class."""
    return examination(claim, setting)[0]


def examination(claim: Claim, setting: Setting) -> tuple[Verdict, Certificate | None]:
    """The verdict, with the certificate that carries it where it HOLDS."""
    verdict = Verdict(claim.key, setting.reading, Evidence.SDP, Status.NOT_APPLICABLE)
    if not applies(claim):
        return replace(verdict, detail="no one-round statement in the model's quantities"), None
    if pointwise(claim):
        setting = one_client(setting)
    failed, unknown = conditions(claim, setting)
    if failed:
        return replace(verdict, detail="; ".join(f"{f.key} fails: {f}" for f in failed), failed=failed), None
    try:
        coefficients(claim, setting)
    except InputError as wrong:
        return replace(verdict, status=Status.UNDECIDED, detail=str(wrong)), None
    found = _proof(claim, setting)
    if found is None:
        return _without_proof(claim, setting, unknown, verdict), None
    # What is proved is at most 1; the solver's number may exceed it by its own error.
    ratio = min(worst_ratio(claim, setting), 1.0)
    shown = Setting.from_json(found.setting)
    verdict = replace(
        verdict,
        status=Status.HOLDS,
        margin=1 - ratio,
        tightness=1 / ratio if ratio > NOTHING else math.inf,
        worst_t=setting.step,
        detail=f"{len(found.multipliers)} rational multipliers, verified exactly: {in_words(claim, shown)}",
        data={"setting": shown.to_json(), "worst_ratio": ratio},
        coverage=coverage(claim, shown),
    )
    return verdict, found


def _proof(claim: Claim, setting: Setting) -> Certificate | None:
    """A certificate for stochastic gradients where the reading and the claim allow one, else for full ones."""
    if setting.gradients == "full" and setting.knows_skew and not pointwise(claim):
        noisy = replace(setting, gradients="stochastic", local="any" if setting.step else setting.local)
        try:
            found = certify(claim, noisy)
        except InputError:  # its variances are not those of the model
            found = None
        if found is not None:
            return found
    return certify(claim, setting)


def _without_proof(claim: Claim, setting: Setting, unknown: tuple[str, ...], verdict: Verdict) -> Verdict:
    from fedbounds.evidence.sdp.replay import replay

    verdict = replace(verdict, status=Status.UNDECIDED)
    lacking = f"; {cannot_express(unknown)}" if unknown else ""
    model, gap = _gap(claim, setting)
    edge = _violation(model, gap)
    if edge.outcome is not Outcome.OPTIMAL or edge.value <= VIOLATION:
        found = f"no violation above {VIOLATION:g} (solver: {edge.outcome}, {edge.value:.2e})"
        return replace(verdict, detail=f"no proof was found, and {found}{lacking}")
    if setting.local == "any" or setting.gradients == "stochastic":
        found = f"the solver's worst case violates by {edge.value:.2e}"
        return replace(verdict, detail=f"{found}, and only local steps with full gradients are replayed{lacking}")
    shown = replay(claim, model, edge)
    if shown.unknown:
        return replace(verdict, detail=cannot_express(shown.unknown))
    if shown.failed:
        # A worst case outside the claim's assumptions refutes nothing; what the model cannot impose may be why.
        keys = [failure.key for failure in shown.failed]
        outside = "; ".join(f"{failure.key} fails there: {failure}" for failure in shown.failed)
        return replace(verdict, detail=f"{cannot_express(keys)}: {outside}", failed=shown.failed)
    if not shown.violated:
        return replace(
            verdict, detail=f"the solver's worst case violates by {edge.value:.2e}, its replay does not{lacking}"
        )
    top = max(abs(shown.lhs), abs(shown.rhs))
    detail = f"an instance in R^{shown.problem.d}, run in the simulator: left {shown.lhs:.6g} > right {shown.rhs:.6g}"
    return replace(
        verdict,
        status=Status.REFUTED,
        margin=(shown.rhs - shown.lhs) / top,
        tightness=shown.rhs / shown.lhs if shown.lhs else None,
        worst_t=setting.step,
        detail=f"{detail}; at {in_words(claim, setting)}",
        data={"setting": setting.to_json(), "instance": shown.to_json()},
        coverage=coverage(claim, setting),
    )


def _violation(model: Model, gap: Form) -> Solution:
    """The worst case of lhs - rhs, in the first unit of measurement that shows a violation.

    Violations are rays, so any unit will do; at extreme weights solvers manage some and not others.
    """
    first = None
    for unit in (size(model), *(model.forms[name] for name in ("G_sq", "Delta_next", "Delta"))):
        found = worst_case(model, Form(-gap.quad, -gap.lin), [unit])
        if found.outcome is Outcome.OPTIMAL and found.value > VIOLATION:
            return found
        first = first or found
    assert first is not None
    return first


def certify(claim: Claim, setting: Setting, scale: Mapping[str, Fraction] | None = None) -> Certificate | None:
    """A certificate of the claim, with named terms multiplied by ``scale``, or None where none was found.

    Where no proof by gradient steps is found, one for any local models will do, which proves more; its
    setting says so. It needs the skew at w_t, which the readings that know it at round starts only lack.
    """
    lhs, rhs = str(claim.lhs), coefficients(claim, setting, scale)
    found = certify_form(lhs, rhs, setting, claim.key, scale)
    if found is not None or not setting.knows_skew:
        return found
    wider = replace(setting, local="any")
    model = build(wider, exact)
    for known in candidates(wider):
        if known.keys() <= set(model.labels) and verify(model, lhs, rhs, known)[0]:
            return _certificate(lhs, rhs, wider, known, claim.key, scale)
    return certify_form(lhs, rhs, wider, claim.key, scale) if setting.local == "steps" else None


def certify_form(
    lhs: str,
    rhs: Mapping[str, Fraction],
    setting: Setting,
    claim: str | None = None,
    scale: Mapping[str, Fraction] | None = None,
    note: Mapping[str, object] | None = None,
    faces: bool = True,
) -> Certificate | None:
    """A certificate of lhs <= sum_k rhs_k form_k at a setting, or None where none was found."""
    multipliers = prove(setting, lhs, rhs, faces)
    return None if multipliers is None else _certificate(lhs, rhs, setting, multipliers, claim, scale, note)


def _certificate(
    lhs: str,
    rhs: Mapping[str, Fraction],
    setting: Setting,
    multipliers: Mapping[str, Fraction],
    claim: str | None,
    scale: Mapping[str, Fraction] | None = None,
    note: Mapping[str, object] | None = None,
) -> Certificate:
    return Certificate(
        lhs=lhs,
        rhs={k: str(v) for k, v in rhs.items()},
        setting=setting.to_json(),
        multipliers={k: str(v) for k, v in multipliers.items()},
        claim=claim,
        scale={k: str(v) for k, v in (scale or {}).items()},
        note=note or {},
    )


def worst_ratio(claim: Claim, setting: Setting) -> float:
    """sup lhs / rhs over the class, for a claim that holds there (so that rhs >= 0)."""
    model, gap = _gap(claim, setting)
    lhs = model.forms[str(claim.lhs)]
    found = worst_case(model, lhs, [gap + lhs])
    return found.value if found.outcome is Outcome.OPTIMAL else math.nan


def round_model(claim: Claim, setting: Setting) -> Model:
    """The model, without Assumptions 3 and 4 where the claim does not use their bounds."""
    used = coefficients(claim, setting)
    return build(setting, float, [name for name in BOUNDS if used.get(name)])


def _gap(claim: Claim, setting: Setting) -> tuple[Model, Form]:
    model = round_model(claim, setting)
    rhs = {k: float(v) for k, v in coefficients(claim, setting).items()}
    return model, model.combine(rhs, float) - model.forms[str(claim.lhs)]
