"""What a study found, as data: a `Result` is what `check` returns, what is saved, and what is read back.

``result.facts`` is the problem, ``result.settings`` the study, and each of ``result.runs`` a weighting with its
constants and verdicts. These are the same for a study that was just run and for one read from a file. Only a fresh
result also has ``result.problem``, ``result.claims`` and ``run.trajectory``; reading one of them from a saved result
raises InputError. A number that is not finite is None; an infinite constant keeps its infinity (null in JSON).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, make_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypedDict, TypeVar, get_type_hints

import numpy as np

from fedbounds.errors import quoted, reject
from fedbounds.evidence.empirical.decay import Decay
from fedbounds.io import Bounds, Rational, convert, plain, shaped
from fedbounds.plugins import PluginFile, nearest
from fedbounds.study.result_table import SUFFIXES, Tabled, flat, shown
from fedbounds.study.settings import PROBLEM, Settings, section_of
from fedbounds.theory.constant import Constant
from fedbounds.theory.coverage import Coverage
from fedbounds.theory.reading import READINGS
from fedbounds.theory.verdict import Status, Verdict

if TYPE_CHECKING:
    from fedbounds.model.experiment import Experiment
    from fedbounds.model.problem import Problem
    from fedbounds.model.trajectory import Trajectory
    from fedbounds.theory.claim import Claim

# The layout of result.json; it changes when a reader of the old one would misunderstand the new one.
FORMAT = 2
UNNUMBERED, NAME = 1, "result.json"  # 1: written before the layout had a number; what it lacks has a default
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class ProblemFacts:
    """Kind, sizes, weights p, minima and constants of a problem; zeta_*^2 = sum_i p_i ||grad F_i(w*)||^2."""

    kind: str
    N: int
    d: int
    p: tuple[float, ...]
    sizes: tuple[int, ...]
    F_star: float
    F_i_star: tuple[float, ...]
    minima_excess_bound: float
    L: Constant
    mu: Constant
    Gamma: Constant
    w_star: tuple[float, ...] | None = None
    zeta_star: float | None = None

    def __post_init__(self) -> None:
        if not len(self.p) == len(self.sizes) == len(self.F_i_star) == self.N:
            raise ValueError(f"p, sizes and F_i_star of {self.N} clients must have as many entries")


@dataclass(frozen=True, kw_only=True)
class WeightingRun:
    """One weighting on the problem: skews, both parts of the bound, constants, decay of the gap, and verdicts."""

    weighting: str
    rho_bar: float | None
    rho_bar_sync: float | None
    rho_tilde: float | None
    pi_min: float | None
    pi_max: float | None
    speed: float | None
    error: float | None
    engine: str
    constants: Mapping[str, Constant]
    verdicts: tuple[Verdict, ...]
    decay: Decay | None = None
    simulated: Simulated | None = field(default=None, compare=False, repr=False)

    @property
    def trajectory(self) -> Trajectory:
        return _fresh(self.simulated, "the trajectory of a run").trajectory


@dataclass(frozen=True)
class Simulated:
    """What only the process that ran a study holds of a run."""

    trajectory: Trajectory
    companions: Mapping[str, Experiment]  # claim -> the run with its own step size; records of all would fill memory
    compared: Mapping[tuple[str, str], tuple[Any, ...]]  # `fedbounds.evidence.empirical.bands.ComparedBands`


@dataclass(frozen=True)
class Examined:
    """What only the process that ran a study holds of its problem and claims."""

    problem: Problem
    claims: Mapping[str, Claim]


@dataclass(frozen=True, repr=False)
class Result(Tabled):
    """What a study found; ``to_json`` is the object that ``--format json`` prints and ``from_json`` reads.

    ``objects`` are the parts that were given as Python objects; ``plugin_files`` holds the plug-ins themselves.
    """

    facts: ProblemFacts
    settings: Settings
    runs: tuple[WeightingRun, ...]
    versions: Mapping[str, str]
    objects: tuple[str, ...] = ()
    plugin_files: tuple[PluginFile, ...] = ()
    examined: Examined | None = field(default=None, compare=False, repr=False)

    @property
    def problem(self) -> Problem:
        return _fresh(self.examined, "the problem of a result").problem

    @property
    def claims(self) -> Mapping[str, Claim]:
        return _fresh(self.examined, "the claims of a result").claims

    @property
    def verdicts(self) -> list[tuple[str, Verdict]]:
        """(weighting, verdict) of every examination."""
        return [(run.weighting, verdict) for run in self.runs for verdict in run.verdicts]

    @property
    def refuted(self) -> list[tuple[str, Verdict]]:
        return [item for item in self.verdicts if item[1].status is Status.REFUTED]

    def rows(self) -> list[dict[str, Any]]:
        return [{"weighting": where, **flat(verdict.to_json())} for where, verdict in self.verdicts]

    def __getitem__(self, key: str | tuple[str, str]) -> Result:
        """The part about a claim, ``result["lemma-1"]``, or about a claim under a weighting."""
        claim, weighting = part_of(key)
        runs = [run for run in self.runs if weighting in (None, run.weighting)]
        if not runs:
            raise nearest("weighting", str(weighting), [run.weighting for run in self.runs])
        result = tuple(replace(run, verdicts=tuple(v for v in run.verdicts if v.claim == claim)) for run in runs)
        if not any(run.verdicts for run in result):
            raise nearest("what was examined", claim, {verdict.claim for _, verdict in self.verdicts})
        return replace(self, runs=result)

    def save(self, path: str | Path) -> Path:
        """Write the study with its arrays into a folder, or as `Tabled.save` into a file; return the path."""
        return super().save(path) if Path(path).suffix in SUFFIXES else shown("save", self, path)

    def to_json(self) -> dict[str, Any]:
        """Problem, runs, settings and versions as one JSON object."""
        return {
            "format": FORMAT,
            "problem": _stored(self.facts),
            "runs": [_stored(run) for run in self.runs],
            "settings": self._settings_to_json(),
            "versions": dict(self.versions),
            "objects": list(self.objects),
            "plugin_files": [plain(file) for file in self.plugin_files],
        }

    def _settings_to_json(self) -> dict[str, Any]:
        """The settings, without those of a named problem where the study was about another one."""
        hidden = PROBLEM if "problem" in self.objects else None
        return {name: value for name, value in self.settings.to_json().items() if section_of(name) != hidden}

    @staticmethod
    def from_json(value: Any) -> Result:
        """The result that `to_json` wrote; InputError for anything else."""
        version = value.get("format", UNNUMBERED) if isinstance(value, dict) else FORMAT
        if version not in (UNNUMBERED, FORMAT):
            raise reject(f"{NAME} must have format {FORMAT}", f"format {version}", "use the version that wrote it")
        stored = shaped(value, _Stored, NAME)
        with _made(NAME):
            stored_facts: Mapping[str, Any] = vars(stored.problem)
            facts = ProblemFacts(**{**stored_facts, **{name: _constant(stored_facts[name]) for name in CONSTANTS}})
            runs, settings = tuple(map(_run, stored.runs)), Settings.of(stored.settings)
            return Result(facts, settings, runs, stored.versions, stored.objects, stored.plugin_files)


def part_of(key: Any) -> tuple[str, str | None]:
    """The claim and the weighting that a key of a result names; InputError where it is no such key."""
    parts = (key,) if isinstance(key, str) else key
    if not isinstance(parts, tuple) or not 1 <= len(parts) <= 2 or not all(isinstance(part, str) for part in parts):
        remedy = 'write result["lemma-1"] or result["lemma-1", "fedavg"]'
        raise reject("a part of a result is named by a claim, or by a claim and a weighting", quoted(key), remedy)
    return parts[0], parts[1] if len(parts) == 2 else None


def facts_of(problem: Problem) -> ProblemFacts:
    constants = problem.constants()
    return ProblemFacts(
        kind=problem.kind,
        N=problem.N,
        d=problem.d,
        p=tuple(problem.p.tolist()),
        sizes=tuple(problem.sizes.tolist()),
        F_star=float(problem.F_star),
        F_i_star=tuple(problem.F_i_star.tolist()),
        minima_excess_bound=float(max(o.excess_bound for o in (problem.optimum, *problem.client_optima))),
        L=constants["L"],
        mu=constants["mu"],
        Gamma=problem.Gamma,
        w_star=tuple(problem.w_star.tolist()),
        zeta_star=float(np.sqrt(problem.p @ (problem.grads(problem.w_star) ** 2).sum(-1))),
    )


def _fresh(held: T | None, what: str) -> T:
    if held is None:
        where = f"{what} belongs to the process that ran the study"
        raise reject(where, "a result read from a file", "run check again")
    return held


def _stored(value: Any) -> Any:
    """``value`` as the file holds it, without what only a fresh result has."""
    if hasattr(value, "to_json"):
        return value.to_json()
    if is_dataclass(value):
        value = {item.name: getattr(value, item.name) for item in fields(value) if item.compare}
    if isinstance(value, Mapping):
        return {name: _stored(part) for name, part in value.items()}
    return [_stored(part) for part in value] if isinstance(value, tuple) else value


# The classes as the file holds them: an infinite constant is null there, and a coverage a mapping.
CONSTANTS = ("L", "mu", "Gamma")


@dataclass(frozen=True)
class _Number:
    rational: Rational | None = None
    sequence: list[int | float | _Number] | None = None

    def __post_init__(self) -> None:
        if (self.rational is None) == (self.sequence is None):
            raise ValueError("a rational or a sequence")


@dataclass(frozen=True)
class _Ends:
    low: int | float | _Number | None
    high: int | float | _Number | None
    above: bool = False
    of: str | None = None
    quotients: tuple[_Number, ...] = ()


def _held(kind: type, **otherwise: Any) -> Any:
    """A class like ``kind``, with some fields held ``otherwise`` and none that only a fresh result has."""
    types = get_type_hints(kind) | otherwise
    kept_fields = [
        (item.name, types[item.name], field(default=item.default, default_factory=item.default_factory))
        for item in fields(kind)
        if item.compare
    ]
    return make_dataclass(f"_{kind.__name__}", kept_fields, kw_only=True)


_Constant = _held(Constant, value=float | None)
_Verdict = _held(Verdict, coverage=Mapping[str, _Ends | list[int | float | str | _Number]] | None)
_OfRun = _held(_Verdict, reading=Literal[tuple(READINGS)])
_Run = _held(WeightingRun, constants=Mapping[str, _Constant], verdicts=tuple[_OfRun, ...])  # type: ignore[valid-type]
_Problem = _held(ProblemFacts, **dict.fromkeys(CONSTANTS, _Constant))


@dataclass(frozen=True)
class _Stored:
    problem: _Problem  # type: ignore[valid-type]
    runs: Annotated[tuple[_Run, ...], Bounds(min_length=1)]  # type: ignore[valid-type]
    settings: Mapping[str, Any]
    versions: Mapping[str, str]
    objects: tuple[str, ...] = ()
    plugin_files: tuple[PluginFile, ...] = ()


def _constant(stored: Any) -> Constant:
    return Constant(float("inf") if stored.value is None else stored.value, stored.provenance, stored.note)


class _Data(TypedDict, total=False):
    """What is shown of a verdict's data, piece by piece."""

    instance: dict[str, Any]
    constants: dict[str, Any]
    varying: dict[str, Any]
    terms: dict[str, Any]
    setting: dict[str, Any]


def _verdict(stored: Any) -> Verdict:
    convert(stored.data, _Data)
    coverage = None if stored.coverage is None else Coverage.from_json(plain(stored.coverage))
    return Verdict(**vars(stored) | {"coverage": coverage})


def _run(stored: Any) -> WeightingRun:
    constants = {name: _constant(constant) for name, constant in stored.constants.items()}
    return WeightingRun(**vars(stored) | {"constants": constants, "verdicts": tuple(map(_verdict, stored.verdicts))})


def verdicts_from(value: Any) -> list[Verdict]:
    """The verdicts of a list of their JSON objects; InputError where it is none."""
    with _made("a list of verdicts"):
        return [_verdict(stored) for stored in shaped(value, list[_Verdict], "a list of verdicts")]  # type: ignore[valid-type]


@contextlib.contextmanager
def _made(name: str) -> Iterator[None]:
    """Turn what a value of the right form but no sense raises into one sentence about ``name``."""
    try:
        yield
    except (ValueError, TypeError, ZeroDivisionError) as wrong:
        raise reject(f"{name} must be as fedbounds writes it", wrong, "save it again") from None
