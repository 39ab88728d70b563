"""Rocq run over what it is given to check, and what a release remembers of it.

Trusted are Rocq's kernel, ``Space.v`` and ``Model.v`` (for fractions ``Fractions.v``), the statement's text, and the
axioms that ``Print Assumptions`` may show: those of the real numbers.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from fedbounds import plugins
from fedbounds.errors import InputError, reject
from fedbounds.evidence.exact.counterexamples import all_files, read
from fedbounds.evidence.kernel.gram import certified, module_of, piece_of
from fedbounds.evidence.kernel.pieces import Piece, computed, needs, pieces, proved, sources
from fedbounds.evidence.kernel.rocq import AXIOMS, THIS, asked, available, compiled
from fedbounds.evidence.kernel.rounds import expressible
from fedbounds.evidence.kernel.statement import digest, statement
from fedbounds.evidence.sdp.certificate import Certificate
from fedbounds.io import cache_folder, read_json, shaped, write_json
from fedbounds.plugins import shipped
from fedbounds.theory.claim import Claim
from fedbounds.theory.reading import Reading
from fedbounds.theory.verdict import Evidence, Status, Verdict

STORED = "rocq/checked.json"
CERTIFIED = "rocq/certified.json"
# Written proofs in one file: to start Rocq and to ask for axioms takes it as long as half of them.
AT_ONCE = 6


@dataclass(frozen=True)
class Audited:
    """What Rocq found of one piece: its ``module``, ``subject``, ``readings`` and what it shows of them, ``status``;
    SHA-256 of its ``statement`` and of all ``sources`` that it rests on (what Rocq reads, and the Python that asks it
    and reads its answer), Rocq's version, the axioms used, and ``fault``, empty where all is well."""

    module: str
    subject: str
    readings: tuple[str, ...]
    status: Status
    statement: str
    sources: str
    rocq: str
    axioms: tuple[str, ...]
    fault: str = ""


def check(
    subjects: Sequence[str] = (),
    progress: Callable[[str], None] | None = None,
    afresh: bool = False,
    certificates: bool = False,
) -> list[Audited]:
    """Compile every piece about these claims and remarks (all, if none is named), and audit its axioms.

    With ``certificates`` the shipped certificates instead of theorems and counterexamples.

    What was found on this machine of the same texts by the same Rocq is not compiled again unless ``afresh``.
    Raises InputError where Rocq is not installed or nothing is known of a subject.
    """
    version, every = available(), list(certified() if certificates else pieces())
    if version is None:
        raise reject("checking proofs needs Rocq (Coq) 8.16 or newer", "no coqc", "install it: apt-get install coq")
    known = sorted({piece.subject for piece in every})
    for subject in subjects:
        if subject not in known:
            raise reject("the kernel must have something to check", subject, f"known are {', '.join(known)}")
    wanted = [piece for piece in every if not subjects or piece.subject in subjects]
    texts = _texts(every)
    kept = {piece: _kept(_unchecked(piece, texts, version)) for piece in wanted}
    missing = [piece for piece in wanted if afresh or kept[piece] is None]
    fresh = dict(zip(missing, _compiled(missing, texts, version, progress), strict=True))
    return [fresh[piece] if piece in fresh else kept[piece] or fresh[piece] for piece in wanted]


def _texts(every: Sequence[Piece]) -> dict[str, str]:
    """Module -> text of every file that these pieces may need, written ones included."""
    texts = {module: path.read_text(encoding="utf-8") for module, path in sources().items()}
    for piece in every:
        if texts.setdefault(piece.stated, piece.statement) != piece.statement:
            raise reject("pieces must have names of their own", f"two called {piece.module}", "rename one")
    for module in _order(texts, [piece.root for piece in every]):
        for name in needs(texts[module]):
            if name.startswith("statement_") and name not in texts:  # that of a proof which this one uses
                texts[name] = proved(name.replace("statement_", "proof_", 1)).statement
    return texts


def _sorted(texts: Mapping[str, str], modules: Iterable[str]) -> TopologicalSorter[str]:
    """The modules and all that they require, to be taken each after what it requires."""
    graph: dict[str, list[str]] = {}
    waiting = list(modules)
    while waiting:
        module = waiting.pop()
        if module not in graph:
            graph[module] = [name for name in needs(texts[module]) if name in texts]
            waiting += graph[module]
    found = TopologicalSorter(graph)
    try:
        found.prepare()
    except CycleError as wrong:
        raise reject("proofs must not require each other in a circle", str(wrong.args[1]), "part them") from wrong
    return found


def _levels(waiting: TopologicalSorter[str]) -> Iterator[tuple[str, ...]]:
    """Modules that do not require each other, all that each requires having come before."""
    while waiting.is_active():
        ready = waiting.get_ready()
        yield ready
        waiting.done(*ready)


def _order(texts: Mapping[str, str], modules: Iterable[str]) -> list[str]:
    return [module for level in _levels(_sorted(texts, modules)) for module in level]


def _unchecked(piece: Piece, texts: Mapping[str, str], version: str) -> Audited:
    """What a piece would be found to be, its axioms not yet known."""
    total = hashlib.sha256()
    for name in _order(texts, [piece.root]):
        total.update(texts[name].encode())
    total.update(THIS.read_bytes())
    return Audited(
        piece.module,
        piece.subject,
        piece.readings,
        piece.status,
        digest(piece.statement),
        total.hexdigest(),
        version,
        (),
    )


def _place(found: Audited) -> Path:
    """Where a finding is kept on this machine, under a hash of all that it follows from."""
    return (
        cache_folder() / f"rocq-{digest(f'{found.module} {found.statement} {found.sources} {found.rocq}')[:32]}.json"
    )


def _stands(found: Audited, expected: Audited) -> bool:
    """Whether a finding that was kept says what is expected of the piece today, and no foreign axiom."""
    names = {name.rpartition(".")[2] for name in found.axioms}
    return replace(found, axioms=()) == expected and names <= AXIOMS.keys()


def _kept(expected: Audited) -> Audited | None:
    with contextlib.suppress(InputError):
        found: Audited = shaped(read_json(_place(expected)), Audited, "a kept finding")
        return found if _stands(found, expected) else None
    return None


def _compiled(
    wanted: Sequence[Piece], texts: Mapping[str, str], version: str, progress: Callable[[str], None] | None
) -> list[Audited]:
    """Compile pieces from nothing on all cores, and ask Rocq of each what it proves and what it rests on."""
    faults: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(os.cpu_count()) as pool:
        folder = Path(name)

        def fault(module: str) -> str:
            if progress:
                progress(module)
            lacking = [needed for needed in needs(texts[module]) if faults.get(needed)]
            return f"{lacking[0]}: {faults[lacking[0]]}" if lacking else compiled(folder, module, texts[module])[0]

        def audited(group: Sequence[Piece]) -> list[Audited]:
            before = next((faults[name] for piece in group for name in piece.before if faults[name]), "")
            if progress and group[0].proof:
                progress(" ".join(piece.module for piece in group))
            said = [(before, ())] * len(group) if before else asked(folder, group)
            found = [
                replace(_unchecked(piece, texts, version), fault=fault, axioms=axioms)
                for piece, (fault, axioms) in zip(group, said, strict=True)
            ]
            for one in found:
                if not one.fault:
                    with contextlib.suppress(InputError):  # without a folder to write to it is compiled each time
                        write_json(_place(one), asdict(one))
            return found

        for level in _levels(_sorted(texts, [name for piece in wanted for name in piece.before])):
            faults |= zip(level, pool.map(fault, level), strict=True)
        return [one for found in pool.map(audited, _groups(wanted)) for one in found]


def _groups(wanted: Sequence[Piece]) -> Iterator[Sequence[Piece]]:
    """The pieces in their order, written ones several at once."""
    for written, same in itertools.groupby(wanted, key=lambda piece: piece.proof is not None):
        pieces = list(same)
        size = AT_ONCE if written else 1
        yield from (pieces[k : k + size] for k in range(0, len(pieces), size))


def store(found: Sequence[Audited], path: Path) -> None:
    """Write what a release remembers; only proofs without fault are kept."""
    write_json(path, [asdict(proof) for proof in found if not proof.fault])


@cache
def stored(file: str = STORED) -> tuple[Audited, ...]:
    """What was checked at release; certificates stand apart, as what they prove is in no case a claim.

    Only of this package's own release: whoever ships proofs beside it could as well ship a record of them.
    """
    return tuple(
        proof for path in shipped(file, own=True) for proof in shaped(read_json(path), list[Audited], path.name)
    )


def examine(claim: Claim, reading: Reading) -> Verdict | None:
    """The kernel's word on a claim as far as the release remembers it: of this very statement, from these sources.

    A counterexample in fractions speaks only of the shipped claim, whose terms it was written from.
    """
    shown: list[Audited] = []
    stale = False
    for proof in stored():
        if proof.subject != claim.key or not _speaks(proof, claim, reading):
            continue
        if not proof.module.startswith("instance_"):
            same = _still(proof, claim)
        else:
            same = plugins.claims().get(claim.key) is claim and _still(proof, claim)
        shown += [proof] if same else []
        stale = stale or not same
    if shown:
        return _verdict(shown[0], claim.key, reading.name)
    if stale:
        detail = "the claim is not the one whose proof was checked at release: run `fedbounds kernel`"
        return Verdict(claim.key, reading.name, Evidence.KERNEL, Status.UNDECIDED, detail=detail)
    return None


def _speaks(proof: Audited, claim: Claim, reading: Reading) -> bool:
    """Whether a stored proof is of the claim in this reading: its file says so, not what was stored of it."""
    try:
        piece = _piece(proof, claim)
        if proof.status != piece.status or reading.name in piece.readings or proof.module.startswith("instance_"):
            return proof.status == piece.status and reading.name in piece.readings
        return piece.statement == statement(claim, reading, attained=piece.negated)  # another reading, word for word
    except (InputError, KeyError):
        return reading.name in proof.readings  # no longer expressed: then it is found to be stale


def of_remark(key: str) -> list[Verdict]:
    """The kernel's word on the counterexamples to a remark of a paper."""
    return [_verdict(proof, key, "-") for proof in stored() if proof.subject == key and _still(proof, None)]


def of_certificate(certificate: Certificate) -> str:
    """The kernel's word on a shipped certificate: what it has checked of it at release, empty where nothing."""
    proof = next((proof for proof in stored(CERTIFIED) if proof.module == module_of(certificate)), None)
    piece = piece_of(certificate)
    if proof is None or not _stands(proof, _unchecked(piece, _texts([piece]), proof.rocq)):
        return ""
    about = "the functions of every problem of the class" if expressible(certificate) else "inner products"
    return f"checked at release by Rocq {proof.rocq} as a statement about {about}, {proof.statement[:12]}"


def _still(proof: Audited, claim: Claim | None) -> bool:
    """Whether the texts that were checked are those of today."""
    try:
        piece = _piece(proof, claim)
        return _stands(proof, _unchecked(piece, _texts([piece]), proof.rocq))
    except (InputError, KeyError):  # not a claim that the model can express, so not the one that was proved
        return False


def _piece(proof: Audited, claim: Claim | None) -> Piece:
    if not proof.module.startswith("instance_"):
        return proved(proof.module, claim)
    (path,) = [path for path in all_files() if proof.module == f"instance_{path.stem.replace('-', '_')}"]
    return computed(read(path))


def _verdict(proof: Audited, key: str, reading: str) -> Verdict:
    rests = f"axioms: {', '.join(proof.axioms) or 'none'}"
    detail = f"checked at release by Rocq {proof.rocq}, statement {proof.statement[:12]}; "
    if proof.status is Status.HOLDS:
        detail += f"noise of finite support; {rests}"
    elif proof.module.startswith("not_"):
        detail += f"its negation is proved; {rests}"
    else:
        detail += f"both sides of a counterexample computed again in fractions; {rests}"
    return Verdict(key, reading, Evidence.KERNEL, proof.status, detail=detail)
