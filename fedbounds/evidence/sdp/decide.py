"""The SDP evidence: one-round claims decided for every problem of the class.

A claim HOLDS at a setting only where rational multipliers prove it (`fedbounds.evidence.sdp.certificate`); it is
REFUTED only where the worst case, rebuilt as explicit functions and run in the simulator, shows it; anything else
is UNDECIDED. It is proved for stochastic gradients where it can be, else for full ones, and the verdict's coverage
says which; worst cases have full gradients.

Multipliers read off derivations are tried on every claim, and matter where it is tight, as its proofs then have no
interior for a solver to find. Like any other candidate they count only once verified exactly.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction

from fedbounds.errors import InputError
from fedbounds.evidence.conditions import cannot_express
from fedbounds.evidence.sdp.certificate import Certificate, verify
from fedbounds.evidence.sdp.covered import conditions, coverage, in_words, one_client, pointwise
from fedbounds.evidence.sdp.forms import Form, exact
from fedbounds.evidence.sdp.model import BOUNDS, Model, build
from fedbounds.evidence.sdp.prove import prove, size
from fedbounds.evidence.sdp.setting import Setting, applies, coefficients
from fedbounds.evidence.sdp.solve import Solution, Solved, worst_case
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
    if edge.outcome is not Solved.OPTIMAL or edge.value <= VIOLATION:
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
        keys = cannot_express(f"{one.key} ({one.statement})" for one in shown.failed)
        detail = f"{keys} all over the class, and the solver's worst case is a problem that does not meet it"
        return replace(verdict, detail=detail, failed=shown.failed)
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
        if found.outcome is Solved.OPTIMAL and found.value > VIOLATION:
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
            return certify_form(lhs, rhs, wider, claim.key, scale, known=known)
    return certify_form(lhs, rhs, wider, claim.key, scale) if setting.local == "steps" else None


def certify_form(
    lhs: str,
    rhs: Mapping[str, Fraction],
    setting: Setting,
    claim: str | None = None,
    scale: Mapping[str, Fraction] | None = None,
    note: Mapping[str, object] | None = None,
    faces: bool = True,
    known: Mapping[str, Fraction] | None = None,
) -> Certificate | None:
    """A certificate of lhs <= sum_k rhs_k form_k at a setting, by multipliers ``known`` or found; None without."""
    multipliers = prove(setting, lhs, rhs, faces) if known is None else known
    if multipliers is None:
        return None
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
    return found.value if found.outcome is Solved.OPTIMAL else math.nan


def round_model(claim: Claim, setting: Setting) -> Model:
    """The model, without Assumptions 3 and 4 where the claim does not use their bounds."""
    used = coefficients(claim, setting)
    return build(setting, float, [name for name in BOUNDS if used.get(name)])


def _gap(claim: Claim, setting: Setting) -> tuple[Model, Form]:
    model = round_model(claim, setting)
    rhs = {k: float(v) for k, v in coefficients(claim, setting).items()}
    return model, model.combine(rhs, float) - model.forms[str(claim.lhs)]


def candidates(setting: Setting) -> Iterator[dict[str, Fraction]]:
    """Label -> multiplier of each argument that is known: convexity and skews, the same with smoothness, monotone."""
    eta, mu = setting.eta[-1], setting.mu
    # Jensen: ||sum alpha g_i||^2 <= sum alpha ||g_i||^2 <= G^2.
    jensen = {f"gradient {i} x0": eta**2 * a for i, a in enumerate(setting.alpha)}
    yield _with_noise(setting, _values(setting, 2 * eta) | jensen, bounded=True)
    if eta * setting.L < 1 and eta * mu <= 1:
        yield _with_noise(setting, _smooth_at_star(setting))
    if setting.alpha == setting.p:
        yield _with_noise(setting, _monotone(setting, 2 * eta * (1 - eta * mu)))


def _with_noise(setting: Setting, found: dict[str, Fraction], bounded: bool = False) -> dict[str, Fraction]:
    """The multipliers of the noises: eta^2 alpha_i^2 n_i <= eta^2 alpha_i n_i, which sigma^2 pays for.

    Where G^2 bounds the whole second moment (``bounded``), it pays for the noise too.
    """
    if setting.gradients == "stochastic":
        eta = setting.eta[-1]
        found = found | {f"noise {i}": eta**2 * (a - a**2) for i, a in enumerate(setting.alpha)}
        if not bounded:
            found |= {f"variance {i}": eta**2 * a for i, a in enumerate(setting.alpha)}
    return {label: value for label, value in found.items() if value}


def _smooth_at_star(setting: Setting) -> dict[str, Fraction]:
    """Convexity and skews, and Lemma 1 at w*: ||grad F_i(w*)||^2 <= 2 L e_i(w*), for weights alpha_i - pi p_i."""
    eta, mu, pi = setting.eta[-1], setting.mu, setting.ratios[0]
    found = _values(setting, 2 * eta * (1 - eta * mu))
    cost = eta**2 * (1 - eta * mu) / (1 - eta * setting.L) * 2 * setting.L * (1 - pi)
    for i, (a, p) in enumerate(zip(setting.alpha, setting.p, strict=True)):
        label = f"interpolation {i} star|own"
        found[label] = found.get(label, Fraction(0)) + cost * (a - pi * p)
    if setting.rho_tilde is not None:
        found["rho_tilde star"] = found.get("rho_tilde star", Fraction(0)) + cost
    return found


def _values(setting: Setting, weight: Fraction) -> dict[str, Fraction]:
    """Convexity at w_t^i towards w*, smoothness at w_t, the two skews, and F(w_t) - F* >= mu/2 Delta."""
    if setting.alpha == setting.p:
        # A rho_bar below 1 leaves (1 - rho_bar) Gamma over, which is not negative.
        over = {f"interpolation {i} star|own": weight * (1 - setting.rho_bar) * p for i, p in enumerate(setting.p)}
        return _monotone(setting, weight) | (over if setting.rho_tilde is None else {})
    found = {}
    for i, (a, p) in enumerate(zip(setting.alpha, setting.p, strict=True)):
        found[f"interpolation {i} star|x0"] = weight * a
        found[f"interpolation {i} x0|w0"] = weight * a
        found[f"interpolation {i} w0|star"] = weight * setting.rho_bar * p
    found["rho_bar w0"] = weight
    if setting.rho_tilde is not None:
        found["rho_tilde star"] = weight
    return found


def _monotone(setting: Setting, weight: Fraction) -> dict[str, Fraction]:
    """Co-coercivity between w_t^i and w*, both ways: enough where alpha = p."""
    pairs = [(i, way) for i in range(setting.N) for way in ("star|x0", "x0|star")]
    return {f"interpolation {i} {way}": weight * setting.alpha[i] for i, way in pairs}
