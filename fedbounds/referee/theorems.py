"""A theorem put on trial, refuted or sharpened, wherever it is: a claim, its key, a file, a folder."""

from __future__ import annotations

import contextlib
import re
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from fedbounds import io
from fedbounds.errors import Gathered, InputErrors, Interrupted, explained, reject, whole
from fedbounds.evidence.kernel import found_proof
from fedbounds.latex.reader import LATEX, read, read_each
from fedbounds.plugins import Plugins, claims_from, modules_from, nearest, read_plugin
from fedbounds.plugins import claims as known_claims
from fedbounds.referee.certificate_settings import front
from fedbounds.referee.regimes import REGIMES, Suite
from fedbounds.referee.repair import alternatives, limit
from fedbounds.referee.search import refute as search_for
from fedbounds.referee.search.populations import BUDGETS
from fedbounds.referee.search.resume import resumed
from fedbounds.referee.sharpen import Sharpening
from fedbounds.referee.stage_context import TimeSpent, at_most
from fedbounds.referee.trial import Outcome, Progress, Trial, checked, try_claim
from fedbounds.study.parallel import in_order
from fedbounds.study.result_table import Findings, flat
from fedbounds.theory.claim import Claim, Kind, in_readings
from fedbounds.theory.reading import READINGS, Reading
from fedbounds.theory.verdict import Verdict

if TYPE_CHECKING:
    from fedbounds.plugins import Theorem

# Seconds in which Rocq accepts most of the proofs that are found.
ROCQ = 60.0
# Processor seconds that a sharpening spends unless others are given; a share for the front of its constants.
SHARPENING, SHARE_OF_FRONT = 45.0, 0.15


def theorems(theorem: Theorem, plugins: Plugins = ()) -> dict[str, Claim]:
    """The claims of a file, also of LaTeX, of each file of a folder that has some, or the one known by that key."""
    if theorem is None:
        raise reject("a theorem is a claim, the key of one, or a file or folder of claims", "None", "give one")
    extra, files = modules_with(theorem, plugins), _files(theorem)
    if files is None:
        if isinstance(theorem, str | Path) and str(theorem) not in (shipped := known_claims(extra)):
            raise nearest("no such file or folder exists, and a claim", str(theorem), shipped)
        return claims_from(theorem, extra)
    if isinstance(theorem, str | Path) and Path(theorem).suffix in LATEX:
        return read(Path(theorem))
    modules = (module for module in extra if str(module.__file__) in files)
    claims = {claim.key: claim for module in modules for claim in getattr(module, "CLAIMS", ())}
    if not claims:
        remedy = "define CLAIMS; fedbounds new claim NAME begins one"
        raise reject("a theorem needs a claim", f"none in {theorem}", remedy)
    return claims


def _files(theorem: Theorem) -> list[str] | None:
    """The Python files that a theorem is, none where it is LaTeX; None where it is no file."""
    path = Path(theorem) if isinstance(theorem, str | Path) else None
    if path is None or (not path.exists() and path.suffix not in (".py", *LATEX)):
        return None
    if path.is_dir():
        return [str(item) for item in sorted(path.glob("*.py")) if "CLAIMS" in read_plugin(item)]
    return [] if path.suffix in LATEX else [str(path)]


def modules_with(theorem: Theorem, plugins: Plugins) -> list[ModuleType]:
    """The plug-ins, and the files of the theorem that are not among them."""
    extra = modules_from(plugins)
    names = {getattr(module, "__file__", None) for module in extra}
    return [*extra, *modules_from(file for file in _files(theorem) or () if file not in names)]


def theorems_and_faults(
    theorem: Theorem, label: str | None = None, plugins: Plugins = ()
) -> tuple[dict[str, Claim], Gathered]:
    """The claims of a file, or that of a label, and of LaTeX the errors of the theorems that cannot be read."""
    if isinstance(theorem, str | Path) and Path(theorem).suffix in LATEX:
        return read_each(theorem, label)
    claims = theorems(theorem, plugins) if label is None else {label: theorem_of(theorem, label, plugins)}
    return claims, Gathered()


def theorem_of(theorem: Theorem, label: str, plugins: Plugins = ()) -> Claim:
    """The one claim of that key, or label in LaTeX, of a file or folder."""
    if isinstance(theorem, str | Path) and Path(theorem).suffix in LATEX:
        return read(theorem, label)[label]
    stated = theorems(theorem, plugins)
    if label not in stated:
        raise nearest(f"a claim of {theorem}", label, stated)
    return stated[label]


def referee(
    theorem: Theorem,
    reading: str | None = None,
    budget: str = "small",
    *,
    seed: int = 0,
    out: str | Path | None = None,
    jobs: int | None = None,
    seconds: float | None = None,
    plugins: Plugins = (),
    progress: Progress | None = None,
    each: Callable[[Trial], None] = lambda trial: None,
    repair: bool | None = False,
    rocq: float = ROCQ,
    each_followed: Callable[[Trial], None] = lambda trial: None,
) -> Findings[Trial]:
    """Is this theorem true? A claim, its key, a file of claims or a folder of them, on trial.

    ``reading``: one (default: each that the claim states); ``budget`` small or large; ``out``: a folder for what each
    stage found, from which a search goes on; ``jobs``, ``progress``, ``seconds`` of each claim: as for
    `try_claim`; ``each`` is called with every trial as it ends. With ``repair`` the nearest statements that stand are
    then looked for where a claim is false (None: for a few seconds). Where a proof is found Rocq is asked about it,
    if it is installed, for at most ``rocq`` seconds. ``each_followed`` is called with the trial that has either.
    Theorems of a LaTeX file that cannot be read are warned of while the others are tried.
    An interruption ends it: what was found is returned, and the last trial is not ``finished``. A fault of one claim
    of several ends its own trial alone.

    >>> referee("lemma-2", "literal")[0].refutation.detail
    'lhs 1/16 > rhs 4/625, exactly'
    """
    trials: list[Trial] = []
    folder = None if out is None else io.require_writable(out)
    extra = modules_with(theorem, plugins)
    attempt = partial(
        try_claim, seed=seed, progress=progress, suite=Suite(REGIMES), jobs=jobs, seconds=seconds, plugins=extra
    )
    claims, faults = theorems_and_faults(theorem, plugins=extra)
    if not claims:
        faults.raise_all()
    if faults:
        warnings.warn(str(InputErrors(faults)), stacklevel=2)
    for claim, name in in_readings(claims, reading):
        safe = re.sub(r"[^\w.-]+", "-", f"{claim.key}-{name}")
        state = None if folder is None else folder / f"{safe}.json"
        try:
            trial = attempt(claim, name, budget, state=state)
        except Exception as wrong:
            if len(claims) == 1:
                raise
            fault = explained(wrong) or f"fedbounds failed with {type(wrong).__name__}: {wrong}. Report it."
            trial = Trial(claim, name, budget, seed, fault=fault)
        each(trial)
        if trial.outcome is Outcome.FALSE and (left := limit(trial, repair, seconds)):
            trial = _repaired(trial, left)
            each_followed(trial)
        elif rocq > 0 and found_proof.may_ask(trial.whole_proof):
            trial = _by_rocq(trial, rocq)
            each_followed(trial)
        trials.append(trial)
        if not trial.finished and not trial.fault:
            break
    return Findings(tuple(trials), Trial.rows)


def _repaired(trial: Trial, seconds: float) -> Trial:
    """A trial with the nearest statements that stand, not finished where their search was interrupted."""
    try:
        return replace(trial, alternatives=alternatives(trial, seconds=seconds))
    except Interrupted as end:
        return replace(trial, alternatives=end.partial, finished=False)


def _by_rocq(trial: Trial, seconds: float) -> Trial:
    """A trial with Rocq's answer to the proof, not finished where that was interrupted."""
    proof = trial.whole_proof
    if proof is None:
        return trial
    try:
        answered = found_proof.asked(proof, trial.claim, READINGS[trial.reading], seconds)
    except KeyboardInterrupt:
        return replace(trial, finished=False)
    stages = (
        replace(stage, verdicts=tuple(answered if verdict is proof else verdict for verdict in stage.verdicts))
        for stage in trial.stages
    )
    return replace(trial, stages=tuple(stages))


def _of_verdict(verdict: Verdict) -> list[dict[str, Any]]:
    return [flat(verdict.to_json())]


def refute(
    claim: Theorem | None = None,
    reading: str | None = None,
    budget: str = "small",
    *,
    seed: int = 0,
    jobs: int = 1,
    out: str | Path | None = None,
    plugins: Plugins = (),
    progress: search_for.Progress | None = None,
) -> Findings[Verdict]:
    """Search for a counterexample to a claim (all, if none is given) in each reading, confirmed in fractions.

    REFUTED carries the instance and both sides in ``data``; anything else the closest approach, which proves nothing.
    ``jobs``: processes; ``out``: a JSON file for the verdicts so far, and beside it until the end
    ``out`` + ".state", from which the same call goes on.

    >>> refute("rate")[0].detail
    'w_0 is a fixed point for every step size: the gap is 1/18 at every T'
    """
    path = None if out is None else Path(out)
    if path is not None:
        io.require_writable(path.parent)
    if budget not in BUDGETS:
        raise nearest("budget", budget, BUDGETS)
    whole("jobs", jobs, 1)
    search = {"budget": budget, "seed": whole("seed", seed)}
    extra = modules_from(plugins)
    todo = list(in_readings(claims_from(claim, extra), reading))
    for item, _ in todo:
        item.require_fedavg()
    verdicts: dict[str, Verdict] = {}
    computed, state = partial(in_order, jobs=jobs), None if path is None else path.with_name(f"{path.name}.state")
    for item, name in todo:
        each = computed if state is None else resumed(state, computed, item, name, budget, seed, extra)
        verdicts[f"{item.key}/{name}"] = search_for.refute(
            item, READINGS[name], BUDGETS[budget], seed, progress, each, extra=extra
        )
        if path is not None:
            documents = {place: verdict.to_json() for place, verdict in verdicts.items()}
            io.write_json(path, {"search": search, "verdicts": documents})
    if state is not None:
        state.unlink(missing_ok=True)
    return Findings(tuple(verdicts.values()), _of_verdict)


def sharpen(
    theorem: Theorem,
    reading: str | None = None,
    *,
    label: str | None = None,
    seconds: float = SHARPENING,
    plugins: Plugins = (),
    progress: Callable[[str], None] = lambda change: None,
) -> Sharpening:
    """The strongest statement of a claim's form that is proved, after about so many processor seconds.

    Of a claim without proof, of the smallest of some multiples of its right side that has one. ``label`` names the
    one claim of a file that has several; ``progress`` is told each change when it is kept. Raises InputError where
    the claim is no inequality.

    >>> sharpen("ratio-bound", seconds=1).of.key
    'ratio-bound'
    """
    claim, how = one_inequality(theorem, reading, label, seconds, plugins)
    best = Sharpening.within(seconds, claim, how, progress=progress)
    with contextlib.suppress(TimeSpent, KeyboardInterrupt), at_most(seconds * SHARE_OF_FRONT):
        best.front.extend(front(claim, how))
    with contextlib.suppress(TimeSpent, KeyboardInterrupt), at_most(seconds):
        best.sharper.extend(best.shipped.sharper(claim, how))
        if best.begin():
            best.improve()
            replace(best, changes=best.longer, progress=lambda change: None).longer_steps()  # of the claim as stated
        best.finished = not best.late
    return best


def one_inequality(
    theorem: Theorem, reading: str | None, label: str | None, seconds: float, plugins: Plugins
) -> tuple[Claim, Reading]:
    """The one claim to sharpen, and its reading. Raises InputError where the claim is no inequality.

    >>> one_inequality("ratio-bound", None, None, 1.0, ())[1].name
    'repaired'
    """
    every = theorems(theorem, plugins) if label is None else {label: theorem_of(theorem, label, plugins)}
    if len(every) > 1:
        raise reject("one claim is sharpened at a time", ", ".join(every), "name it with --theorem")
    (claim,) = every.values()
    claim, reading = checked(claim, reading, "small", 0, seconds)
    if claim.kind is not Kind.INEQUALITY:
        raise reject("only an inequality is sharpened", claim.key, "fedbounds referee judges it")
    return claim, READINGS[reading]
