"""Proofs without a human: what is proposed for a claim, handed to the checker, and believed only if it accepts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import sympy as sp

from fedbounds.evidence.prover import horizon, implied, statement
from fedbounds.evidence.prover.rounds import at_every_step
from fedbounds.evidence.prover.run_setting import ROOM, cap_of
from fedbounds.evidence.symbolic import derivation as d
from fedbounds.evidence.symbolic import library
from fedbounds.evidence.symbolic.granted import granted as granted_definitions
from fedbounds.evidence.symbolic.proof_state import Checked
from fedbounds.evidence.symbolic.render import render_text
from fedbounds.plugins import claims
from fedbounds.theory import symbols as sy
from fedbounds.theory.claim import Claim, Kind
from fedbounds.theory.reading import Reading
from fedbounds.theory.verdict import Status, Verdict

# Polynomials of a higher degree than this take the proposals hours.
HIGHEST = 20


def examine(claim: Claim, reading: Reading) -> Verdict | None:
    """The verdict of a proof that was found, with the proof in words in its data; None where none was found."""
    result = proved(claim, reading)
    return None if result is None else result[0]


def proved(claim: Claim, reading: Reading) -> tuple[Verdict, d.Derivation] | None:
    """The same with the derivation: of the claim, or of the one about every step T whose case T = R tau it is."""
    every = at_every_step(claim)
    for stated in (claim,) if every is None else (claim, every):
        for proposed in proposals(stated, reading):
            checked = check(proposed, stated, reading)
            verdict = library.judge(checked, stated, reading)
            if verdict.status is Status.HOLDS:
                proof = render_text(checked, verdict).splitlines()
                proof += [] if stated is claim else ["", "  At T = R tau, after R rounds, this is the statement."]
                return replace(verdict, data={**verdict.data, "found by": "the prover", "proof": proof}), proposed
    return None


def proof_of(verdict: Verdict) -> tuple[str, ...]:
    """The proof in words, of a verdict of the prover's; empty for any other."""
    lines: Any = verdict.data.get("proof", ())
    return tuple(lines)


def check(proposed: d.Derivation, claim: Claim, reading: Reading) -> Checked:
    """What the checker says of a proposed proof, which may cite the installed ones."""
    known = {**library.installed(), proposed.key: proposed}
    return library.check(proposed.key, library.shelf(known, {**claims(), claim.key: claim}), reading)


def proposals(claim: Claim, reading: Reading) -> Iterator[d.Derivation]:
    """Derivations that may prove a claim."""
    if claim.kind is not Kind.INEQUALITY or not claim.on_fedavg:
        return
    right = sp.Add(*claim.stated(reading.repaired).values())
    powers = (claim.lhs - right).atoms(sp.Pow)
    if any(power.exp.is_Integer and abs(power.exp) > HIGHEST for power in powers):
        return
    universe = granted_definitions(reading, claim)
    yield from implied.proposals(claim, reading, {item.key: item for item in claim.assumptions_in(reading)})
    universe |= {item.key: item for item in claim.assumptions_in(reading)}
    cap = cap_of(claim.steps)
    limits = () if cap is None else ((d.Condition(ROOM, d.Earlier("cap")), cap.room),)
    put = {} if cap is None else {cap.steps: sy.eta, sy.eta_0: sy.eta}
    left, bound = (sp.sympify(side).xreplace(put) for side in (claim.lhs, right))
    goal = statement.Goal(left, bound, claim.scope, universe, claim.steps if cap is None else None, limits, claim)
    result = statement.prove(goal)
    if result is not None:
        if cap is not None:
            rest = sp.expand((right - claim.lhs).xreplace({cap.steps: sy.eta}) - (bound - left))
            first = ((sp.cancel(rest / (sy.eta - sy.eta_0)), d.premise("first-step")),) if rest != 0 else ()
            result = replace(result, steps=(cap.line, *result.steps), uses=(*result.uses, *first))
        yield derivation(claim, reading, result, {} if cap is None else cap.abbreviations)
    elif claim.scope in ("horizon", "step"):
        yield from horizon.proposals(claim, reading, universe)


def derivation(
    claim: Claim, reading: Reading, found: statement.Lines, abbreviations: dict[sp.Expr, sp.Expr]
) -> d.Derivation:
    """The lines that were found as a proof of the claim."""
    last = d.step("conclude", claim.lhs, "<=", sp.Add(*claim.stated(reading.repaired).values())).by(*found.uses)
    return d.Derivation(
        f"found-{claim.key}",
        claim.title,
        (*found.steps, last),
        claim=claim.key,
        readings=(reading.name,),
        conditions=found.conditions,
        abbreviations=abbreviations,
    )
