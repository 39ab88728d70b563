"""What a study found, as data: a `Result` is what `check` returns, what is saved, and what is read back.

    result = Result.from_json(read_json("out/result.json"))     # or store.read(out), with the arrays
    result.facts.L.value, result.facts.p                        # the problem: ProblemFacts
    result.settings.tau                                         # a Settings
    for run in result.runs:                                     # one a weighting
        run.weighting, run.rho_bar, run.constants["G_sq"].provenance
        for verdict in run.verdicts:                            # theory's Verdict: failed, coverage, status, ...

All of that is the same for a study that was just run and for one read from a file, so whoever prints or draws takes
nothing else. Only a fresh result also has ``result.problem``, ``result.claims`` and ``run.trajectory``; reading
one of them from a saved result raises InputError. A number that is not finite is None; an infinite constant keeps its
infinity (null in JSON).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from fedbounds.errors import reject
from fedbounds.files import Bounds, plain, shaped
from fedbounds.plugins import PluginFile
from fedbounds.study.settings import PROBLEM, Settings, section_of
from fedbounds.theory.coverage import Coverage
from fedbounds.theory.quantity import Constant, Provenance
from fedbounds.theory.verdict import Evidence, Failure, Status, Verdict

if TYPE_CHECKING:
    from fedbounds.model.problem import Problem
    from fedbounds.model.trajectory import Trajectory
    from fedbounds.theory.claim import Claim

# The layout of result.json; it changes when a reader of the old one would misunderstand the new one.
FORMAT = 2
# Results written before the layout had a number; what they lack has a default.
UNNUMBERED = 1
NAME = "result.json"
# Digits of a rational end of a coverage: certificates need a few dozen.
RATIONAL = r"^-?[0-9]{1,400}(/[0-9]{1,400})?$"
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class _ProblemNumbers:
    kind: str
    N: int
    d: int
    p: tuple[float, ...]
    sizes: tuple[int, ...]
    F_star: float
    F_i_star: tuple[float, ...]
    minima_excess_bound: float

    def __post_init__(self) -> None:
        if not len(self.p) == len(self.sizes) == len(self.F_i_star) == self.N:
            raise ValueError(f"p, sizes and F_i_star of {self.N} clients must have as many entries")


@dataclass(frozen=True, kw_only=True)
class ProblemFacts(_ProblemNumbers):
    """What a table says of a problem: kind, sizes, weights p, constants with provenance, accuracy of the minima."""

    L: Constant
    mu: Constant
    Gamma: Constant

    def to_json(self) -> dict[str, Any]:
        """The facts as a JSON object."""
        return plain(_held(self, _ProblemNumbers)) | {
            name: getattr(self, name).to_json() for name in ("L", "mu", "Gamma")
        }


@dataclass(frozen=True, kw_only=True)
class _RunNumbers:
    weighting: str
    rho_bar: float | None
    rho_bar_sync: float | None
    rho_tilde: float | None
    pi_min: float | None
    pi_max: float | None
    speed: float | None
    error: float | None
    engine: str


@dataclass(frozen=True, kw_only=True)
class WeightingRun(_RunNumbers):
    """One weighting on the problem: its skews, the two sides of the bound, its constants and the verdicts."""

    constants: Mapping[str, Constant]
    verdicts: tuple[Verdict, ...]
    simulated: Simulated | None = field(default=None, compare=False, repr=False)

    @property
    def trajectory(self) -> Trajectory:
        """The recorded run, of a fresh result only."""
        return _fresh(self.simulated, "the trajectory of a run").trajectory

    @property
    def companions(self) -> Mapping[str, Trajectory]:
        """Claim -> the run with its own step size that it was examined on, of a fresh result only."""
        return _fresh(self.simulated, "the trajectory of a run").companions

    def to_json(self) -> dict[str, Any]:
        """The run as a JSON object (without its trajectory)."""
        return _held(self, _RunNumbers) | {
            "constants": {name: constant.to_json() for name, constant in self.constants.items()},
            "verdicts": [verdict.to_json() for verdict in self.verdicts],
        }


@dataclass(frozen=True)
class Simulated:
    """What only the process that ran a study holds of a run."""

    trajectory: Trajectory
    companions: Mapping[str, Trajectory]


@dataclass(frozen=True)
class Examined:
    """What only the process that ran a study holds of its problem and claims."""

    problem: Problem
    claims: Mapping[str, Claim]


@dataclass(frozen=True)
class Result:
    """What a study found; ``to_json`` is the object that ``--format json`` prints and ``from_json`` reads.

    ``objects`` are the parts that were given as objects of Python ("problem", "weighting NAME", "claim KEY"), which
    the settings do not give again; ``plugin_files`` holds the plug-ins themselves, wherever their files are now.
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
        """The problem itself, of a fresh result only."""
        return _fresh(self.examined, "the problem of a result").problem

    @property
    def claims(self) -> Mapping[str, Claim]:
        """The claims that were examined, of a fresh result only."""
        return _fresh(self.examined, "the claims of a result").claims

    @property
    def verdicts(self) -> list[tuple[str, Verdict]]:
        """(weighting, verdict) of every examination."""
        return [(run.weighting, verdict) for run in self.runs for verdict in run.verdicts]

    @property
    def refuted(self) -> list[tuple[str, Verdict]]:
        """The refutations among the verdicts."""
        return [item for item in self.verdicts if item[1].status is Status.REFUTED]

    def to_json(self) -> dict[str, Any]:
        """Problem, runs, settings and versions as one JSON object."""
        return {
            "format": FORMAT,
            "problem": self.facts.to_json(),
            "runs": [run.to_json() for run in self.runs],
            "settings": self._settings_to_json(),
            "versions": dict(self.versions),
            "objects": list(self.objects),
            "plugin_files": [plain(file) for file in self.plugin_files],
        }

    def _settings_to_json(self) -> dict[str, Any]:
        """The settings, without those of a named problem where the study was about another one."""
        own = "problem" in self.objects
        values = self.settings.to_json()
        return {name: value for name, value in values.items() if not (own and section_of(name) == PROBLEM)}

    @staticmethod
    def from_json(value: Any) -> Result:
        """The result that `to_json` wrote; InputError for anything else."""
        version = value.get("format", UNNUMBERED) if isinstance(value, dict) else FORMAT
        if version not in (UNNUMBERED, FORMAT):
            raise reject(f"{NAME} must have format {FORMAT}", f"format {version}", "use the version that wrote it")
        stored = shaped(value, _Stored, NAME)
        try:
            return stored.opened()
        except (ValueError, ZeroDivisionError) as wrong:
            raise reject(f"{NAME} must be the result of a study", str(wrong), "save it again") from None

    def _repr_html_(self) -> str:
        # Only the package as a whole knows how things are shown.
        from fedbounds import to_html

        return to_html(self)


def facts_of(problem: Problem) -> ProblemFacts:
    """What a table says of ``problem``."""
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
    )


def _fresh(held: T | None, what: str) -> T:
    if held is None:
        raise reject(
            f"{what} belongs to the process that ran the study", "a result read from a file", "run check again"
        )
    return held


def _held(record: object, base: type) -> dict[str, Any]:
    """The fields of ``base`` that a record has: the numbers and texts that a file holds as they are."""
    return {item.name: getattr(record, item.name) for item in fields(base)}


# What the file holds in another way than the classes above: an infinite constant as null, a coverage as a mapping.


@dataclass(frozen=True)
class _Constant:
    value: float | None
    provenance: Provenance
    note: str

    def opened(self) -> Constant:
        return Constant(math.inf if self.value is None else self.value, self.provenance, self.note)


@dataclass(frozen=True)
class _Rational:
    rational: Annotated[str, Bounds(pattern=RATIONAL)]


@dataclass(frozen=True)
class _Ends:
    low: int | float | _Rational | None
    high: int | float | _Rational | None


@dataclass(frozen=True)
class _Verdict:
    claim: str
    reading: str
    evidence: Evidence
    status: Status
    margin: float | None
    tightness: float | None
    worst_t: int | None
    error_rate: float
    detail: str
    data: Mapping[str, Any] = field(default_factory=dict)
    failed: tuple[Failure, ...] = ()
    coverage: Mapping[str, _Ends | list[int | float | str | _Rational]] | None = None

    def opened(self) -> Verdict:
        coverage = None if self.coverage is None else Coverage.from_json(plain(self.coverage))
        return Verdict(**_held(self, _Verdict) | {"coverage": coverage})


def verdicts_from(value: Any) -> list[Verdict]:
    """The verdicts of a list of their JSON objects; InputError where it is none."""
    return [stored.opened() for stored in shaped(value, list[_Verdict], "a list of verdicts")]


@dataclass(frozen=True, kw_only=True)
class _Problem(_ProblemNumbers):
    L: _Constant
    mu: _Constant
    Gamma: _Constant


@dataclass(frozen=True, kw_only=True)
class _Run(_RunNumbers):
    constants: Mapping[str, _Constant]
    verdicts: tuple[_Verdict, ...]

    def opened(self) -> WeightingRun:
        constants = {name: constant.opened() for name, constant in self.constants.items()}
        verdicts = tuple(verdict.opened() for verdict in self.verdicts)
        return WeightingRun(**_held(self, _RunNumbers), constants=constants, verdicts=verdicts)


@dataclass(frozen=True)
class _Stored:
    problem: _Problem
    runs: Annotated[tuple[_Run, ...], Bounds(min_length=1)]
    settings: Mapping[str, Any]
    versions: Mapping[str, str]
    objects: tuple[str, ...] = ()
    plugin_files: tuple[PluginFile, ...] = ()

    def opened(self) -> Result:
        problem = self.problem
        constants = {name: getattr(problem, name).opened() for name in ("L", "mu", "Gamma")}
        facts = ProblemFacts(**_held(problem, _ProblemNumbers), **constants)
        runs = tuple(run.opened() for run in self.runs)
        return Result(facts, Settings.of(self.settings), runs, self.versions, self.objects, self.plugin_files)
