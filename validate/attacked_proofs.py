"""Proofs that the prover finds, and certificates over intervals, tampered with; and changed claims put to the prover.

    python -m validate.attacked_proofs [--count 1000] [--seed 3] [--rocq 40] [--seconds 4]

Tampered is a step of a found proof (a multiplier, a constant, an exponent, a fact, its points, its assumption), or a
number of a certificate: a multiplier, a constant, an end of its interval. Changed is a claim that is proved: a
constant, an exponent, a sign, an index, an assumption. What our checker accepts counts as false where an exact
instance violates the claim, where a certificate says more than before, or a line of a proof something else. Rocq is
asked about scripts with a changed multiplier, and about right scripts below changed statements; what it accepts is
false where an exact instance violates the claim.
"""

from __future__ import annotations

import random
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from fedbounds.errors import InputError
from fedbounds.evidence.kernel import coqc, found_proof, proof_obligations
from fedbounds.evidence.prover import automatic
from fedbounds.evidence.prover.special_cases import restated
from fedbounds.evidence.sdp.one_step import certificate as certificates
from fedbounds.evidence.sdp.one_step.certificate import Certificate
from fedbounds.evidence.symbolic import verified_proofs
from fedbounds.evidence.symbolic.derivation import Derivation
from fedbounds.io import read_json
from fedbounds.plugins import claims
from fedbounds.referee.stage_context import TimeSpent, at_most
from fedbounds.theory.claim import Claim
from fedbounds.theory.reading import READINGS, Reading
from fedbounds.theory.verdict import Status
from validate.broken_proofs import KINDS, mutated
from validate.false_theorems.specimens import WAYS, perturbed, pool
from validate.outside_theorems.trials import CLAIMS
from validate.runner import RESULTS, Study
from validate.tight_constants import CERTIFICATES

# Of a hundred attacks so many change claims and tamper with certificates; the others tamper with proofs.
CLAIMS_CHANGED, CERTIFICATES_CHANGED = 8, 20
# Scripts longer than this take Rocq too long to be part of a sample.
LONGEST = 12_000
MULTIPLIER = re.compile(r"(?<=\(plus _ \()|(?<=Rmult_le_pos \()")
# What found proofs rest on, each after what it requires.
MODULES = (
    *("Space", "Model", "Horizon", "Rounds", "Facts", "Together", "Points", "Independent"),
    *("Drift", "Inside", "Combine", "Drawn", "Runs", "Models"),
)


@dataclass(frozen=True)
class Theorem:
    """A proved claim, the reading it is proved in, and its proof."""

    claim: Claim
    reading: Reading
    proof: Derivation

    def proved_by(self, proof: Derivation) -> bool:
        """Whether our checker takes a proof of the claim."""
        checked = automatic.check(proof, self.claim, self.reading)
        return verified_proofs.judge(checked, self.claim, self.reading).status is Status.HOLDS


def theorems(seconds: float) -> Iterator[Theorem]:
    """What the prover proves, of the statements recorded as proved and of the shipped claims, within the seconds."""
    recorded = read_json(RESULTS / "outside_theorems.json")
    outside = [CLAIMS[key] for key, answer in recorded.items() if answer["headline"] == "PROVED"]
    for claim in (*outside, *(claims()[key] for key in sorted(claims()))):
        reading = READINGS[claim.readings[0]]
        if (found := _proof(claim, reading, seconds)) is not None:
            stated = Theorem(claim, reading, found)
            cases = (stated, *(replace(stated, claim=case) for case, _ in restated(claim)))
            yield next(case for case in cases if case.proved_by(found))


def _proof(claim: Claim, reading: Reading, seconds: float) -> Derivation | None:
    try:
        with at_most(seconds):
            found = automatic.proved(claim, reading)
    except TimeSpent:
        return None
    return None if found is None else found[1]


def violated(claim: Claim, reading: Reading, seed: int) -> bool:
    """Whether an exact instance violates a claim."""
    return any(True for _ in pool(seed, claim.steps).against(claim, reading, np.random.default_rng(seed)))


def proofs_attacked(known: list[Theorem], count: int, rng: random.Random, tally: Counter[str]) -> None:
    """So many found proofs with one step changed, put to our checker."""
    made = 0
    while made < count:
        one, kind = rng.choice(known), rng.choice(KINDS)
        k = rng.randrange(len(one.proof.steps))
        step = one.proof.steps[k]
        changed = mutated(step, kind, rng)
        if changed is None or changed == step:
            continue
        made += 1
        steps = (*one.proof.steps[:k], changed, *one.proof.steps[k + 1 :])
        taken = one.proved_by(replace(one.proof, steps=steps))
        line = (changed.lhs, changed.relation, changed.rhs) != (step.lhs, step.relation, step.rhs)
        _count(tally, f"proof: {kind}", taken, taken and line)


def claims_attacked(known: list[Theorem], count: int, seed: int, seconds: float, tally: Counter[str]) -> None:
    """So many changed claims, put to the prover; a proved one, to exact instances."""
    rng = np.random.default_rng(seed)
    for k in range(count):
        one, way = known[int(rng.integers(len(known)))], WAYS[k % len(WAYS)]
        claim, _ = perturbed(one.claim, one.reading, way, rng)
        taken = _proof(claim, one.reading, seconds) is not None
        _count(tally, f"claim: {way}", taken, taken and violated(claim, one.reading, seed))


def certificates_attacked(count: int, rng: random.Random, tally: Counter[str]) -> None:
    """So many certificates over intervals with one number changed, put to our checker."""
    known = [one for one in certificates.read(CERTIFICATES / "parametric.jsonl") if one.interval is not None]
    for k in range(count):
        kind = ("multiplier", "constant", "end of the interval")[k % 3]
        while (changed := _tampered(one := rng.choice(known), kind, rng)) == one:
            pass
        taken = certificates.check(changed)[0]
        _count(tally, f"certificate: {kind}", taken, taken and kind != "multiplier")


def _tampered(one: Certificate, kind: str, rng: random.Random) -> Certificate:
    """The certificate with one multiplier changed, or saying more: a smaller constant, or a longer interval."""
    over = one.interval
    if kind == "end of the interval" and over is not None:
        far = None if over.high is None else over.high * rng.choice((Fraction(11, 10), Fraction(3, 2)))
        low = over.low * Fraction(9, 10) if over.low > 0 and over.parameter == "eta_L" else over.low
        return replace(one, interval=replace(over, high=far, low=low))
    name = "multipliers" if kind == "multiplier" else "rhs"
    given: dict[str, Any] = dict(getattr(one, name))
    label = rng.choice(sorted(given)) if given else ""
    factors = ("-1", "0", "11/10", "2") if kind == "multiplier" else ("99/100", "1/2", "0")
    if given:
        given[label] = _times(given[label], Fraction(rng.choice(factors)))
    return replace(one, **{name: given})


def _times(value: Any, factor: Fraction) -> Any:
    if hasattr(value, "num"):
        return replace(value, num=tuple(str(Fraction(str(x)) * factor) for x in value.num))
    return str(Fraction(str(value)) * factor)


@contextmanager
def compiler() -> Iterator[Callable[[str, str], str]]:
    """What compiles (module, text) beside all that found proofs rest on: Rocq's complaint, or nothing."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)

        def complaint(module: str, text: str) -> str:
            return coqc.compiled(folder, module, text)[0]

        for module in MODULES:
            complaint(module, proof_obligations.sources()[module].read_text(encoding="utf-8"))
        yield complaint


def rocq_attacked(known: list[Theorem], count: int, seed: int, tally: Counter[str]) -> None:
    """So many scripts with a changed multiplier, or below a changed statement, put to Rocq."""
    rng, numbers = random.Random(seed), np.random.default_rng(seed)
    short = [(one, text) for one in known if (text := _script(one)) and len(text) < LONGEST]
    with compiler() as complaint:
        while short and count:
            (one, text), claim = rng.choice(short), None
            stated, changed, module = found_proof.statement(one.claim, one.reading), text, _module(one)
            if count % 2:
                at = rng.choice([match.end() for match in MULTIPLIER.finditer(text)])
                changed = f"{text[:at]}{rng.choice(('2', '(1 / 2)', '(- 1)'))} * ({text[at:].replace(')', '))', 1)}"
            else:
                claim, _ = perturbed(one.claim, one.reading, rng.choice(WAYS), numbers)
                try:
                    other = found_proof.statement(claim, one.reading)
                except InputError:
                    continue
                if other == stated:
                    continue
                stated = other
            count -= 1
            taken = not (complaint(f"statement_{module}", stated) or complaint(f"proof_{module}", changed))
            false = claim is not None and taken and violated(claim, one.reading, seed)
            _count(tally, "Rocq: a statement" if claim is not None else "Rocq: a multiplier", taken, false)


def _module(one: Theorem) -> str:
    return one.claim.key.replace("-", "_")


def _script(one: Theorem) -> str:
    try:
        return found_proof.script(one.claim, one.reading, (one.proof,))
    except InputError:
        return ""


def _count(tally: Counter[str], kind: str, taken: bool, false: bool) -> None:
    tally.update({f"{kind}, tried": 1, f"{kind}, accepted": int(taken), f"{kind}, false": int(false)})


def attack(seed: int = 3, count: int = 1000, rocq: int = 40, seconds: float = 4.0) -> dict[str, Any]:
    """The whole attack: by kind, how many were tried, accepted, and of these false."""
    known, tally = list(theorems(seconds)), Counter[str]()
    of_claims, of_certificates = count * CLAIMS_CHANGED // 100, count * CERTIFICATES_CHANGED // 100
    proofs_attacked(known, count - of_claims - of_certificates, random.Random(seed), tally)
    certificates_attacked(of_certificates, random.Random(seed), tally)
    claims_attacked(known, of_claims, seed, seconds, tally)
    if coqc.available() is not None:
        rocq_attacked(known, rocq, seed, tally)
    kinds = sorted({key.rpartition(", ")[0] for key in tally})
    rows = {kind: {word: tally[f"{kind}, {word}"] for word in ("tried", "accepted", "false")} for kind in kinds}
    return {"seed": seed, "theorems": sorted(one.claim.key for one in known), "rocq": coqc.available(), "kinds": rows}


def table(record: dict[str, Any]) -> str:
    kinds = record["kinds"].items()
    return "\n".join(f"{kind:40}" + "".join(f"{row[word]:6} {word}" for word in row) for kind, row in kinds)


STUDY = Study(__doc__, "attacked_proofs", attack, table)

if __name__ == "__main__":
    raise SystemExit(any(row["false"] for row in STUDY.main()["kinds"].values()))
