"""Rocq run over all obligations: each compiled with what it requires, its axioms read, the results cached.

Trusted are Rocq's kernel, ``Space.v`` and ``Model.v`` (for fractions ``Fractions.v``), the statement's text, and the
axioms that ``Print Assumptions`` may show: those of the real numbers.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

from fedbounds.errors import InputError, reject
from fedbounds.evidence.kernel.claim_statement import digest
from fedbounds.evidence.kernel.coqc import AXIOMS, THIS, audited, available, compiled
from fedbounds.evidence.kernel.gram_certificates import certified
from fedbounds.evidence.kernel.proof_obligations import Obligation, needs, obligations, proved, sources
from fedbounds.io import cache_folder, read_json, shaped, write_json
from fedbounds.theory.verdict import Status

# Written proofs in one file: to start Rocq and to ask for axioms takes it as long as half of them.
AT_ONCE = 6


@dataclass(frozen=True)
class Audited:
    """What Rocq answered of one obligation, and the ``status`` that it shows of the readings.

    ``statement`` and ``sources`` are SHA-256 of the statement and of all that the proof rests on: what Rocq reads,
    and the Python that runs it. ``axioms`` are those used, ``fault`` is empty where all is well.
    """

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
    """Compile every obligation about these claims and remarks (all, if none is named), and audit its axioms.

    With ``certificates`` the shipped certificates instead of theorems and counterexamples.

    What was answered on this machine of the same texts by the same Rocq is not compiled again unless ``afresh``.
    Raises InputError where Rocq is not installed or nothing is known of a subject.
    """
    version, every = available(), list(certified() if certificates else obligations())
    if version is None:
        raise reject("checking proofs needs Rocq (Coq) 8.16 or newer", "no coqc", "install it: apt-get install coq")
    offered = sorted({obligation.subject for obligation in every})
    for subject in subjects:
        if subject not in offered:
            raise reject("the kernel must have something to check", subject, f"known are {', '.join(offered)}")
    wanted = [obligation for obligation in every if not subjects or obligation.subject in subjects]
    texts = source_texts(every)
    kept = {obligation: _cached(expected_result(obligation, texts, version)) for obligation in wanted}
    missing = [obligation for obligation in wanted if afresh or kept[obligation] is None]
    fresh = dict(zip(missing, _compiled(missing, texts, version, progress), strict=True))
    return [
        fresh[obligation] if obligation in fresh else kept[obligation] or fresh[obligation] for obligation in wanted
    ]


def check_script(obligation: Obligation, script: str) -> Audited:
    """Compile a script that proves an obligation, and audit its axioms. Raises InputError without Rocq."""
    version = available()
    if version is None:
        raise reject("checking proofs needs Rocq (Coq) 8.16 or newer", "no coqc", "install it: apt-get install coq")
    texts = {module: path.read_text(encoding="utf-8") for module, path in sources().items()}
    texts |= {obligation.module: script, obligation.stated: obligation.statement}
    return _cached(expected_result(obligation, texts, version)) or _compiled([obligation], texts, version, None)[0]


def source_texts(every: Sequence[Obligation]) -> dict[str, str]:
    """Module -> text of every file that these obligations may need, written ones included."""
    texts = {module: path.read_text(encoding="utf-8") for module, path in sources().items()}
    for obligation in every:
        if texts.setdefault(obligation.stated, obligation.statement) != obligation.statement:
            raise reject("obligations must have names of their own", f"two called {obligation.module}", "rename one")
    for module in _order(texts, [obligation.root for obligation in every]):
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
    result = TopologicalSorter(graph)
    try:
        result.prepare()
    except CycleError as wrong:
        raise reject("proofs must not require each other in a circle", str(wrong.args[1]), "part them") from wrong
    return result


def _levels(waiting: TopologicalSorter[str]) -> Iterator[tuple[str, ...]]:
    """Modules that do not require each other, all that each requires having come before."""
    while waiting.is_active():
        ready = waiting.get_ready()
        yield ready
        waiting.done(*ready)


def _order(texts: Mapping[str, str], modules: Iterable[str]) -> list[str]:
    return [module for level in _levels(_sorted(texts, modules)) for module in level]


def expected_result(obligation: Obligation, texts: Mapping[str, str], version: str) -> Audited:
    """What a obligation would be found to be, its axioms not yet known."""
    total = hashlib.sha256()
    for name in _order(texts, [obligation.root]):
        total.update(texts[name].encode())
    total.update(THIS.read_bytes())
    return Audited(
        obligation.module,
        obligation.subject,
        obligation.readings,
        obligation.status,
        digest(obligation.statement),
        total.hexdigest(),
        version,
        (),
    )


def _cache_path(answer: Audited) -> Path:
    """Where a finding is kept on this machine, under a hash of all that it follows from."""
    texts = f"{answer.module} {answer.statement} {answer.sources} {answer.rocq}"
    return cache_folder() / f"rocq-{digest(texts)[:32]}.json"


def matches(answer: Audited, expected: Audited) -> bool:
    """Whether a finding that was kept says what is expected of the obligation today, and no foreign axiom."""
    names = {name.rpartition(".")[2] for name in answer.axioms}
    return replace(answer, axioms=()) == expected and names <= AXIOMS.keys()


def _cached(expected: Audited) -> Audited | None:
    with contextlib.suppress(InputError):
        answer: Audited = shaped(read_json(_cache_path(expected)), Audited, "a kept finding")
        return answer if matches(answer, expected) else None
    return None


def _compiled(
    wanted: Sequence[Obligation], texts: Mapping[str, str], version: str, progress: Callable[[str], None] | None
) -> list[Audited]:
    """Compile obligations from nothing on all cores, and ask Rocq of each what it proves and what it rests on."""
    faults: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(os.cpu_count()) as pool:
        folder = Path(name)

        def fault(module: str) -> str:
            if progress:
                progress(module)
            lacking = [needed for needed in needs(texts[module]) if faults.get(needed)]
            return f"{lacking[0]}: {faults[lacking[0]]}" if lacking else compiled(folder, module, texts[module])[0]

        def results(group: Sequence[Obligation]) -> list[Audited]:
            before = next((faults[name] for obligation in group for name in obligation.before if faults[name]), "")
            if progress and group[0].proof:
                progress(" ".join(obligation.module for obligation in group))
            said = [(before, ())] * len(group) if before else audited(folder, group)
            answers = [
                replace(expected_result(obligation, texts, version), fault=fault, axioms=axioms)
                for obligation, (fault, axioms) in zip(group, said, strict=True)
            ]
            for one in answers:
                if not one.fault:
                    with contextlib.suppress(InputError):  # without a folder to write to it is compiled each time
                        write_json(_cache_path(one), asdict(one))
            return answers

        for level in _levels(_sorted(texts, [name for obligation in wanted for name in obligation.before])):
            faults |= zip(level, pool.map(fault, level), strict=True)
        return [one for answers in pool.map(results, _groups(wanted)) for one in answers]


def _groups(wanted: Sequence[Obligation]) -> Iterator[Sequence[Obligation]]:
    """The obligations in their order, written ones several at once."""
    for written, same in itertools.groupby(wanted, key=lambda obligation: obligation.proof is not None):
        obligations = list(same)
        size = AT_ONCE if written else 1
        yield from (obligations[k : k + size] for k in range(0, len(obligations), size))


def check_within(seconds: float, obligation: Obligation, script: str) -> Audited | None:
    """What `check_script` says, or None where it took longer."""
    fields = (obligation.module, obligation.subject, list(obligation.readings), obligation.status.value)
    work = json.dumps([*fields, obligation.statement, script])
    command = [sys.executable, "-c", f"import {__name__} as runs; runs.answer()"]
    with subprocess.Popen(command, stdin=-1, stdout=-1, text=True, start_new_session=True) as child:
        try:
            answer, _ = child.communicate(work, timeout=max(seconds, 0.0))
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            return None
        except BaseException:
            os.killpg(child.pid, signal.SIGKILL)
            raise
    result: Audited = shaped(json.loads(answer), Audited, "Rocq's answer")
    return result


def answer() -> None:
    """The child's part: the work from standard input, what Rocq says to standard output."""
    work: Any = json.load(sys.stdin)
    module, subject, readings, status, statement, script = work
    obligation = Obligation(module, subject, tuple(readings), Status(status), statement)
    print(json.dumps(asdict(check_script(obligation, script))))
