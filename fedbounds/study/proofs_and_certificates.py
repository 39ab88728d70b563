"""Proofs checked step by step; one-round claims decided for a class by certificates, and the smallest constants."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from fedbounds.errors import of_kind, reject, whole
from fedbounds.plugins import Plugins, claims_from, modules_from, nearest
from fedbounds.study.result_table import Findings, flat
from fedbounds.theory.claim import Claim, in_readings
from fedbounds.theory.reading import READINGS
from fedbounds.theory.verdict import Verdict

if TYPE_CHECKING:
    from fedbounds.evidence.sdp.one_step.certificate import Certificate
    from fedbounds.evidence.sdp.one_step.parameters import Setting
    from fedbounds.evidence.sdp.one_step.tight_constants import TightConstant
    from fedbounds.evidence.symbolic.proof_state import Checked
    from fedbounds.model import Progress
    from fedbounds.plugins import Theorem

# What of a setting counts.
COUNTS = ("clients", "tau", "time", "start")


@dataclass(frozen=True)
class OneStep:
    """The parameters of one step of FedAvg.

    clients: Number of clients N, without --weights.
    tau: Local steps a round.
    kappa: L/mu, a number or a fraction, or 1..1000, 1..inf.
    time: One step t of the first round.
    start: t0, the first step of the round.
    eta: Another step size than the claim's: a constant in units of 1/L, 0..1, or diminishing, 1/(mu (t + 4 kappa)).
    alpha: Weights alpha, with commas (default: uniform).
    p: Weights p, with commas (default: uniform).
    rho_bar: The value of rho_bar (default: min alpha_i/p_i).
    rho_tilde: The value of rho_tilde (default: every value at once).
    reading: plain, literal, sync, all-steps or repaired.
    local: Local models are gradient steps, or any points of mean w_t.
    """

    clients: int = 2
    tau: int = 4
    kappa: str = "10"
    time: int | None = None
    start: int = 0
    eta: str | None = None
    alpha: str | None = None
    p: str | None = None
    rho_bar: str | None = None
    rho_tilde: str | None = None
    reading: str = "repaired"
    local: Literal["steps", "any"] = "steps"


@dataclass(frozen=True)
class Decided:
    """A verdict for a whole class of problems at a ``setting``, with the certificate where it HOLDS."""

    verdict: Verdict
    setting: Setting
    certificate: Certificate | None


def _checked(setting: dict[str, Any]) -> dict[str, Any]:
    """The parameters of a setting: names that exist, and whole numbers where they count."""
    for name, value in setting.items():
        if name not in OneStep.__annotations__:
            raise nearest("parameter", name, OneStep.__annotations__)
        if value is not None and (name in COUNTS or isinstance(value, int)):
            whole(name, value)
    return setting


def certify(
    claim: Theorem | None = None,
    reading: str | None = "repaired",
    *,
    out: str | Path | None = None,
    plugins: Plugins = (),
    progress: Progress | None = None,
    **setting: Any,
) -> Findings[Decided]:
    """Decide one-round claims for every L-smooth mu-strongly convex problem at given parameters.

    ``setting``: the fields of `OneStep`, as numbers, fractions or texts such as "3/8". Without a claim every
    one-round claim, and with ``reading`` None every reading, is decided. HOLDS means a rational certificate, verified
    exactly; REFUTED an explicit instance.
    ``out``: folder for the certificates.

    >>> certify("star-step", tau=1, kappa=4)[0].verdict.status
    <Status.HOLDS: 'HOLDS'>
    """
    from fedbounds.evidence.sdp.one_step.certificate import save
    from fedbounds.evidence.sdp.one_step.coverage import round_settings
    from fedbounds.evidence.sdp.one_step.parameters import FORMS, NOISE, NUMBERS, applies, pointwise
    from fedbounds.evidence.sdp.one_step.verdict import examination

    named = claims_from(claim, modules_from(plugins))
    chosen = {key: entry for key, entry in named.items() if applies(entry)}
    if not chosen:
        symbols = {
            name for entry in named.values() for name in entry.symbols - {str(key) for key in entry.definitions}
        }
        beyond = ", ".join(sorted(symbols - {"Delta_next", "grad_sq", *FORMS, *NUMBERS, *NOISE}))
        received = f"{', '.join(named)}, which speaks of {beyond or 'no step'}"
        what = f"certificates need a statement about one step in {', '.join(FORMS)}"
        raise reject(what, received, "fedbounds referee asks the other evidence")
    decided: list[Decided] = []
    todo = list(in_readings(chosen, reading))
    for k, (entry, name) in enumerate(todo):
        if progress is not None:
            progress("claims", k, len(todo), f"{entry.key} [{name}]")
        for at in round_settings(entry, reading=name, **_checked(setting)):
            verdict, proof = examination(entry, at)
            proof = None if proof is None else replace(proof, name=f"{entry.key}-{name}-{at.step}")
            decided.append(Decided(verdict, at, proof))
            if pointwise(entry, READINGS[name]):
                break  # a statement about one point, not about a step
    for key in chosen if out is not None else ():
        proofs = [item.certificate for item in decided if item.verdict.claim == key and item.certificate is not None]
        if proofs:
            save(Path(str(out)) / f"{key}.jsonl", proofs)
    return Findings(tuple(decided), _of_decided)


def _of_decided(item: Decided) -> list[dict[str, Any]]:
    kappa, over = 1 / item.setting.mu, item.setting.over
    shown = float(kappa) if over is None or over.parameter != "kappa" else str(over)
    return [flat(item.verdict.to_json()) | {"step": item.setting.step, "tau": item.setting.tau, "kappa": shown}]


@dataclass(frozen=True)
class Tightened:
    """A tight constant at a ``setting``, of a curve at ``value`` of the parameter ``over``."""

    constant: TightConstant
    setting: Setting
    over: str = ""
    value: int | None = None


def tight(
    claim: str | Claim,
    term: str | None = None,
    reading: str = "repaired",
    *,
    over: str | None = None,
    out: str | Path | None = None,
    plugins: Plugins = (),
    progress: Progress | None = None,
    **setting: Any,
) -> Findings[Tightened]:
    """The smallest constants that make a one-round claim true, term by term, the others as stated.

    ``term``: one only; ``over``: kappa, tau, start or clients, along which they are found; ``setting`` as for
    `certify`, at the last local step unless ``time`` is given. "contraction" is the largest b in
    1 - eta mu (1 + b rho_bar). ``out``: folder for the certificates.

    >>> constant = tight("lemma-2", tau=2, kappa=10)[0].constant
    >>> constant.stated, round(float(constant.certified), 2)
    (16.0, 0.26)
    """
    from fedbounds.evidence.sdp.one_step.certificate import save
    from fedbounds.evidence.sdp.one_step.coverage import round_settings
    from fedbounds.evidence.sdp.one_step.tight_constants import CURVES
    from fedbounds.evidence.sdp.one_step.tight_constants import tight as constant_of

    (chosen,) = claims_from(claim, modules_from(plugins)).values()
    names = [name for name in chosen.terms if term in (None, name)]
    if not names:
        raise reject(f"{chosen.key} has no term {term}", term, f"its terms are {', '.join(chosen.terms)}")
    if over is not None and over not in CURVES:
        raise nearest("parameter", over, CURVES)
    constants: list[Tightened] = []
    values = CURVES[over] if over else (None,)
    for k, value in enumerate(values):
        if progress is not None:
            progress("constants", k, len(values), "" if value is None else f"{over} = {value}")
        given = _checked({**setting, **({over: value} if over else {})})
        *_, at = round_settings(chosen, reading=reading, **given)
        constants += [Tightened(constant_of(chosen, at, name), at, over or "", value) for name in names]
    if out is not None:
        proofs = [
            replace(proof, name=f"tight-{chosen.key}-{item.constant.term}-{over or 'at'}-{item.value or 0}")
            for item in constants
            if (proof := item.constant.certificate) is not None
        ]
        save(Path(out) / f"tight-{chosen.key}.jsonl", proofs)
    return Findings(tuple(constants), _of_tightened)


def _of_tightened(item: Tightened) -> list[dict[str, Any]]:
    constant = item.constant
    at = {item.over: item.value} if item.over else {}
    row = {"claim": constant.claim, **at, "term": constant.term, "stated": constant.stated, "tight": constant.solver}
    return [
        {
            **row,
            "certified": None if constant.certified is None else float(constant.certified),
            "needed": constant.needed,
        }
    ]


@dataclass(frozen=True)
class Proof:
    """A derivation with every step checked, and the verdict on its claim (None for a result of its own)."""

    checked: Checked
    verdict: Verdict | None

    def __str__(self) -> str:
        from fedbounds.evidence.symbolic.render import render_text

        return render_text(self.checked, self.verdict)


def derive(name: str | None = None, *, plugins: Plugins = ()) -> Findings[Proof]:
    """Check the proof of a claim, or the derivation, of that name (all, if none is given), step by step.

    A plug-in's DERIVATIONS count too. ``print(found[0])`` prints a proof.

    >>> derive("lemma-1")[0].verdict.status
    <Status.HOLDS: 'HOLDS'>
    """
    from fedbounds.evidence.symbolic.verified_proofs import proofs

    result = proofs(of_kind("a proof", name, str | None, "a name"), modules_from(plugins))
    return Findings(tuple(Proof(*pair) for pair in result), _of_proof)


def _of_proof(proof: Proof) -> list[dict[str, Any]]:
    derivation, outcomes = proof.checked.derivation, proof.checked.outcomes.values()
    data = {"claim": derivation.claim, "derivation": derivation.key, "steps": len(outcomes)}
    verdict = {} if proof.verdict is None else flat(proof.verdict.to_json())
    names = ("reading", "status", "detail")
    message = {key: verdict.get(key) for key in names}
    return [data | {"checked": sum(outcome.ok for outcome in outcomes)} | message]
