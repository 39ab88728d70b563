"""What Rocq is given to check: each obligation is a statement written here, and a proof of it or of its negation.

``proof_a_b.v`` proves claim a-b; ``not_a_b__sync.v`` proves that it is false in the reading sync; both are shipped in
``derivations/rocq``. An exact counterexample a-b is ``instance_a_b``, whose proof is a computation, written too;
so is ``certificate_a_b``, that of the shipped certificate a-b.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from fedbounds.errors import InputError, reject
from fedbounds.evidence.exact.counterexamples import Counterexample, all_files, read
from fedbounds.evidence.kernel.claim_statement import statement
from fedbounds.evidence.kernel.counterexample_statements import proposition
from fedbounds.plugins import claim_named, shipped
from fedbounds.theory.claim import Claim
from fedbounds.theory.reading import READINGS, Reading
from fedbounds.theory.verdict import Status

NAME = re.compile(r"[A-Za-z]\w*", re.ASCII)
# A sentence of Rocq that requires modules, and a name in it; the standard library's stand for Rocq's version.
REQUIRED = re.compile(r"(\bFrom\s+Coq\s+)?\bRequire\b(.*?)\.(?=\s|$)", re.DOTALL)
WORD = re.compile(r"[\w']+(?:\.[\w']+)*")
# What is between these is no command: comments, which nest, and strings, in which comment marks mean nothing.
TOKENS = re.compile(r'"(?:[^"]|"")*"|\(\*|\*\)|[^"(*]+|.', re.DOTALL)
# Commands that read what no `Require` names.
UNSEEN = re.compile(
    r"\b(?:Load|Add\s+(?:Rec\s+)?(?:LoadPath|ML\s+Path)|Declare\s+ML\s+Module|Cd|Extra\s+Dependency)\b"
)
COMPUTED = "Theorem proof : statement.\nProof. unfold statement. computed. Qed.\n"


@dataclass(frozen=True)
class Obligation:
    """A Rocq file ``module`` with a theorem ``proof``: of the ``statement``, or of its negation where ``negated``.

    ``subject`` is the claim or remark, ``readings`` those it is read in, ``status`` what the proof says of it.
    ``proof`` writes what follows the statement in a file of both, and is None where it is shipped.
    """

    module: str
    subject: str
    readings: tuple[str, ...]
    status: Status
    statement: str
    negated: bool = False
    proof: Callable[[], str] | None = None

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.module):
            raise reject("a file for Rocq must be named as a module may be", self.module, "use letters, digits and _")

    @property
    def stated(self) -> str:
        """The module of the statement."""
        return "statement_" + self.module.removeprefix("proof_").removeprefix("not_")

    @property
    def root(self) -> str:
        """The module whose text, with all that it requires, a finding follows from.

        That is a shipped proof; of a written one the statement alone, for what was proved once stays proved.
        """
        return self.module if self.proof is None else self.stated

    @property
    def before(self) -> list[str]:
        """The modules to compile before this obligation is audited."""
        return [self.module, self.stated] if self.proof is None else list(needs(self.statement))


def reading_of(claim: Claim) -> Reading:
    """The reading in which a claim is proved: as repaired, else the plain one."""
    return READINGS["repaired" if "repaired" in claim.readings else "all-steps"]


def proved(module: str, claim: Claim | None = None) -> Obligation:
    """The obligation of a shipped file, about the claim that it names or the one given."""
    kind, _, name = module.partition("_")
    key, _, reading = name.partition("__")
    claim = claim or claim_named(key.replace("_", "-"))
    how = READINGS[reading.replace("_", "-")] if reading else reading_of(claim)
    status, negated = (Status.REFUTED, True) if kind == "not" else (Status.HOLDS, False)
    return Obligation(
        module, claim.key, (how.name,), status, statement(claim, how, attained=negated), negated=negated
    )


def computed(example: Counterexample) -> Obligation:
    """The obligation of a counterexample; InputError where it is not about fractions alone."""
    module = f"instance_{example.name.replace('-', '_')}"
    readings = (str(example.document.get("reading", "-")), *example.document.get("also", ()))
    return Obligation(module, example.subject, readings, Status.REFUTED, proposition(example), proof=lambda: COMPUTED)


def obligations() -> Iterator[Obligation]:
    """Every obligation that is shipped."""
    for pattern in ("rocq/proof_*.v", "rocq/not_*.v"):
        yield from (proved(path.stem) for path in shipped(pattern))
    for path in all_files():
        try:
            yield computed(read(path))
        except InputError:  # exp, which fractions do not have
            continue


def sources() -> dict[str, Path]:
    """The hand-written files by their modules, no two of one name: nobody could tell which a proof rests on."""
    result: dict[str, Path] = {}
    for path in shipped("rocq/*.v"):
        if path.stem.startswith("statement_"):
            raise reject("no statement may be shipped: it is written from the claim", str(path), "delete the file")
        if (other := result.setdefault(path.stem, path)) is not path:
            raise reject(f"{path} needs a name of its own", f"{path.name}, which {other} has", "rename it")
    return result


@lru_cache(maxsize=512)
def needs(text: str) -> tuple[str, ...]:
    """The modules that a file requires anywhere, Rocq's own left out. Raises InputError where it reads others."""
    commands = _commands(text)
    if read := UNSEEN.search(commands):
        raise reject("a proof may read other files by Require alone", read.group(), "name each file in a Require")
    sentences = [*REQUIRED.findall(text), *REQUIRED.findall(commands)]
    words = [word for standard, names in sentences if not standard for word in WORD.findall(names)]
    return tuple(dict.fromkeys(w.rpartition(".")[2] for w in words if w not in ("Import", "Export")))


def _commands(text: str) -> str:
    """The text without comments and strings."""
    depth, left = 0, []
    for token in TOKENS.findall(text):
        if token in ("(*", "*)"):
            depth = max(depth + (1 if token == "(*" else -1), 0)
            left.append(" ")
        elif depth == 0:
            left.append(" " if token[0] == '"' and len(token) > 1 else token)
    return "".join(left)
