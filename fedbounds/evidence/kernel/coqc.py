"""Rocq run on files, and what it must answer for a proof to count: all that decides a verdict is here.

A result is bound to the text of this file (``THIS``), so that none outlives a change to it.
"""

import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from fedbounds.evidence.kernel.proof_obligations import Obligation

THIS = Path(__file__)
# One file takes seconds; a proof that runs away is stopped.
SECONDS_A_FILE = 600
# What the standard library's real numbers rest on, by name and in full: a name alone may be another module's.
AXIOMS: Mapping[str, str] = {
    "sig_forall_dec": "forall P : nat -> Prop, (forall n : nat, {P n} + {~ P n}) -> "
    "{n : nat | ~ P n} + {forall n : nat, P n}",
    "sig_not_dec": "forall P : Prop, {~ ~ P} + {~ P}",
    "functional_extensionality_dep": "forall (A : Type) (B : A -> Type) (f g : forall x : A, B x), "
    "(forall x : A, f x = g x) -> f = g",
}


def available() -> str | None:
    """The version of Rocq (Coq) on this machine, or None."""
    if shutil.which("coqc") is None:
        return None
    answer = subprocess.run(["coqc", "--print-version"], capture_output=True, text=True, check=False)
    return answer.stdout.split()[0] if answer.returncode == 0 else None


def compiled(folder: Path, module: str, text: str) -> tuple[str, str]:
    """Run Rocq on one file: the beginning of its complaint, empty where there is none, and what it printed."""
    (folder / f"{module}.v").write_text(text, encoding="utf-8")
    try:
        done = subprocess.run(
            ["coqc", "-q", "-w", "-require-in-module", f"{module}.v"],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS_A_FILE,
        )
    except subprocess.TimeoutExpired:
        return f"{module}.v took over {SECONDS_A_FILE} s", ""
    return "" if done.returncode == 0 else " ".join(done.stderr.split())[:300], done.stdout


def audited(folder: Path, obligations: Sequence[Obligation]) -> list[tuple[str, tuple[str, ...]]]:
    """(fault, axioms) of each obligation: it must prove this statement or its negation, from allowed axioms alone.

    Several are asked about in one file, and have the axioms of all; where one fails, each is asked about alone.
    """
    every = ", ".join(f"audited_{obligation.module}" for obligation in obligations)
    text = "".join(map(_question, obligations)) + f"Definition audited := ({every}).\nPrint Assumptions audited.\n"
    fault, printed = compiled(folder, f"audit_{obligations[0].module}", text)
    axioms, foreign = axioms_in(printed)
    fault = fault or (f"it rests on {', '.join(foreign)}" if foreign else "")
    if fault and len(obligations) > 1:
        return [result for obligation in obligations for result in audited(folder, [obligation])]
    return [(fault, axioms)] * len(obligations)


def _question(obligation: Obligation) -> str:
    """What Rocq accepts where the obligation's proof is of its statement or, as it says, of the negation."""
    name, no = obligation.module, "~ " if obligation.negated else ""
    if obligation.proof is None:
        home, text = obligation.stated, f"Require {obligation.stated} {name}.\n"
    else:
        home, text = name, f"Module {name}.\n{obligation.statement}\n{obligation.proof()}\nEnd {name}.\n"
    return f"{text}Definition audited_{name} : {no}{home}.statement := {name}.proof.\n"


def axioms_in(printed: str) -> tuple[tuple[str, ...], list[str]]:
    """(names, what is not allowed) of an answer to ``Print Assumptions``.

    Types are indented; any other line begins an axiom, or tells of a guard of the kernel that was switched off.
    """
    lines = [" ".join(entry.split()) for entry in re.split(r"\n(?=\S)", printed.strip())]
    axioms = [entry for entry in lines if entry not in ("", "Axioms:", "Closed under the global context")]
    return tuple(sorted(entry.partition(" :")[0] for entry in axioms)), [one for one in axioms if not allowed(one)]


def allowed(entry: str) -> bool:
    """Whether Rocq's line on an axiom says one of the standard library's, in full."""
    name, _, stated = entry.partition(" : ")
    return AXIOMS.get(name.rpartition(".")[2]) == stated
