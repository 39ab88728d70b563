"""Twenty true one-step theorems of a stranger: which are PROVED, which of these Rocq accepts, in how many seconds.

    python -m validate.one_step [--only NAME ...] [--changes 100] [--seed 3] [--seconds 60] [--record]

A planted change is one of a statement that Rocq accepts, with its script as it was: a number or a constant of the
conclusion times 9/10 or 11/10, a sign, a hypothesis left out or weakened. What Rocq accepts then is printed.
"""

from __future__ import annotations

import random
import re
import resource
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fedbounds.errors import InputError
from fedbounds.evidence.kernel import coqc, found_proof, proof_obligations
from fedbounds.evidence.kernel.rocq_terms import module_name
from fedbounds.evidence.prover import automatic
from fedbounds.io import write_json
from fedbounds.latex import reader
from fedbounds.referee.stage_context import TimeSpent, at_most
from fedbounds.theory.claim import Claim
from fedbounds.theory.reading import READINGS
from validate.runner import RESULTS, ROOT, options

THEOREMS = ROOT / "tests" / "evidence" / "prover" / "one_step.tex"
RECORD = RESULTS / "one_step.json"
PLAIN = READINGS["plain"]
# What found proofs rest on, each after what it requires.
MODULES = (
    "Space",
    "Model",
    "Horizon",
    "Rounds",
    "Facts",
    "Together",
    "Points",
    "Independent",
    "Drift",
    "Inside",
    "Combine",
    "Drawn",
    "Runs",
    "Models",
)
CONSTANT = re.compile(r"(?<![\w^.])(?<!\^ )(?:\d+|L|mu|eta M|eta|G_sq|sigma_sq|sigma_p_sq|Gamma P)(?![\w.%])")
SIGN = re.compile(r"\(- 1\)| \+ ")
RELATION = re.compile(r"(.*) <= (.*)")
# Scripts that take Rocq longer, in seconds, are attacked a third as often.
SLOW = 5.0
KINDS = ("constant", "sign", "hypothesis left out", "hypothesis weakened")


@dataclass(frozen=True)
class Found:
    """A theorem's statement and script for Rocq, with the seconds that the proof took; why there is none."""

    name: str
    statement: str = ""
    script: str = ""
    proved: bool = False
    seconds: float = 0.0
    why: str = ""


def theorems() -> dict[str, Claim]:
    """The theorems that are read, by their names."""
    read = (item for item in reader.claims_in_order(THEOREMS) if not isinstance(item, InputError))
    return {item.key.removeprefix("true:"): item for item in read}


def found(name: str, claim: Claim, most: float = 60.0) -> Found:
    """What the prover finds of a theorem in so many processor seconds, as a script if there is one."""
    before, proof = spent(), None
    with suppress(TimeSpent), at_most(most):
        proof = automatic.proved(claim, PLAIN)
    seconds = spent() - before
    if proof is None:
        return Found(name, seconds=seconds, why="not proved")
    try:
        stated, text = found_proof.statement(claim, PLAIN), found_proof.script(claim, PLAIN, (proof[1],))
    except InputError as wrong:
        return Found(name, proved=True, seconds=seconds, why=str(wrong))
    return Found(name, stated, text, True, seconds)


def spent() -> float:
    """Processor seconds of this process and its children."""
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in both)


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


def accepted(one: Found, compiled: Callable[[str, str], str], stated: str | None = None) -> str:
    """Rocq's complaint about a script, below its statement or a changed one; empty where it accepts."""
    module = module_name(f"true:{one.name}")
    why = compiled(f"statement_{module}", stated or one.statement)
    return (why and f"the statement: {why}") or compiled(f"proof_{module}", one.script)


def planted(stated: str, kind: str, rng: random.Random) -> str | None:
    """A statement with one change of a kind; None where it has no place for one."""
    head, quantified, body = stated.partition(",\n")
    *hypotheses, conclusion = body.split(" ->\n")
    if kind in ("constant", "sign"):
        places = list((CONSTANT if kind == "constant" else SIGN).finditer(conclusion))
        if not places:
            return None
        at = rng.choice(places)
        old = at.group()
        new = {" + ": " - ", "(- 1)": "1"}.get(old) or f"({old} * {rng.choice(('(9 / 10)', '(11 / 10)'))})"
        new = new.replace("(eta M *", "(eta M) * (1 *") if old == "eta M" else new
        conclusion = conclusion[: at.start()] + new + conclusion[at.end() :]
    else:
        k = rng.randrange(len(hypotheses))
        old = hypotheses[k]
        new = "  True" if kind == "hypothesis left out" else _weakened(old)
        if new == old:
            return None
        hypotheses[k] = new
    return f"{head}{quantified}" + " ->\n".join([*hypotheses, conclusion])


def _weakened(hypothesis: str) -> str:
    for word, weak in (
        ("smooth P L", "smooth P (2 * L)"),
        ("strongly_convex P mu", "strongly_convex P (mu * (9 / 10))"),
    ):
        if hypothesis.strip() == word:
            return f"  {weak}"
    relation = RELATION.fullmatch(hypothesis)
    return f"{relation[1]} <= (11 / 10) * ({relation[2]})" if relation and "forall" not in hypothesis else hypothesis


def attacked(
    known: Sequence[Found], count: int, seed: int, compiled: Callable[[str, str], str]
) -> Iterator[tuple[str, str, str, bool]]:
    """(theorem, kind, the changed statement, whether Rocq accepts it) of so many planted changes."""
    rng, tried = random.Random(seed), 0
    while tried < count:
        one, kind = known[tried % len(known)], rng.choice(KINDS)
        changed = planted(one.statement, kind, rng)
        if changed is None or changed == one.statement:
            continue
        tried += 1
        yield one.name, kind, changed, compiled("changed", beside(one, changed)) == ""


def beside(one: Found, stated: str) -> str:
    """The script in one file with a statement."""
    module = f"statement_{module_name(f'true:{one.name}')}"
    head, opened, rest = one.script.replace(f" {module}", "", 1).partition("Open Scope R_scope.\n")
    return f"{head}{opened}Module {module}.\n{stated}End {module}.\n{rest}"


def measured(only: Sequence[str], changes: int, seed: int, most: float) -> Iterator[dict[str, Any]]:
    """The rows of the theorems, and by kind how many planted changes were tried and accepted: more with each one."""
    rows: dict[str, Any] = {}
    known: list[Found] = []
    tally = {kind: {"tried": 0, "accepted": 0} for kind in KINDS}
    with compiler() as compiled:
        for name, claim in theorems().items():
            if only and name not in only:
                continue
            one, before = found(name, claim, most), spent()
            why = one.why or accepted(one, compiled)
            rows[name] = {"proved": one.proved, "seconds": round(one.seconds, 1), "rocq": not why}
            rows[name] |= {"why": why} if why else {"rocq seconds": round(spent() - before, 1)}
            print(f"{name:28}", rows[name], flush=True)
            known += [one] * (not why) * (1 if spent() - before > SLOW else 3)
        random.Random(seed).shuffle(known)
        yield {"seed": seed, "theorems": rows, "changes": tally}
        for name, kind, changed, taken in attacked(known, changes if known else 0, seed, compiled):
            tally[kind]["tried"] += 1
            tally[kind]["accepted"] += taken
            print(*((f"accepted: {name}, {kind}:\n{changed}",) if taken else ()), end="", flush=True)
            yield {"seed": seed, "theorems": rows, "changes": tally}


def main() -> int:
    """Print the table, and what Rocq accepts of the planted changes."""
    chosen = options(__doc__, only=(), changes=100, seed=3, seconds=60.0, record=False)
    for result in measured(chosen.only, chosen.changes, chosen.seed, chosen.seconds):
        if chosen.record:
            write_json(RECORD, result)
    rows = result["theorems"].values()
    print(f"PROVED {sum(row['proved'] for row in rows)}, Rocq {sum(row['rocq'] for row in rows)}", result["changes"])
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
