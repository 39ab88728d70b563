"""What a study found, as data: a `Result` is what `check` returns and what ``check --out`` writes.

``result.facts`` is the problem, ``result.settings`` the study, and each of ``result.runs`` a weighting with its
constants and verdicts. A number that is not finite is None; an infinite constant keeps its infinity (null in JSON).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, make_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, get_type_hints

import numpy as np

from fedbounds.errors import quoted, reject
from fedbounds.evidence.empirical.decay import Decay
from fedbounds.io import Rational, convert, plain, shaped
from fedbounds.plugins import nearest
from fedbounds.study.result_table import SUFFIXES, Tabled, flat, shown
from fedbounds.study.settings import PROBLEM, Settings
from fedbounds.theory.constant import Constant
from fedbounds.theory.coverage import Coverage
from fedbounds.theory.verdict import Status, Verdict

if TYPE_CHECKING:
    from fedbounds.model.problem import Problem
    from fedbounds.model.trajectory import Trajectory
    from fedbounds.theory.claim import Claim

# The layout of result.json; it changes when a reader of the old one would misunderstand the new one.
FORMAT = 2


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
        assert self.simulated is not None, "a condensed run has no arrays"
        return self.simulated.trajectory


@dataclass(frozen=True)
class Simulated:
    """The arrays of a run, which no file holds."""

    trajectory: Trajectory
    compared: Mapping[tuple[str, str], tuple[Any, ...]]  # `fedbounds.evidence.empirical.bands.ComparedBands`


@dataclass(frozen=True, repr=False)
class Result(Tabled):
    """What a study found; ``to_json`` is the object that ``--format json`` prints.

    ``objects`` are the parts that were given as Python objects.
    """

    facts: ProblemFacts
    settings: Settings
    runs: tuple[WeightingRun, ...]
    versions: Mapping[str, str]
    problem: Problem = field(compare=False)
    claims: Mapping[str, Claim] = field(compare=False)
    objects: tuple[str, ...] = ()

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
        }

    def _settings_to_json(self) -> dict[str, Any]:
        """The settings, without those of a named problem where the study was about another one."""
        hidden = PROBLEM if "problem" in self.objects else ()
        return {name: value for name, value in self.settings.to_json().items() if name not in hidden}


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


def _stored(value: Any) -> Any:
    """``value`` as the file holds it, without what only a fresh result has."""
    if hasattr(value, "to_json"):
        return value.to_json()
    if is_dataclass(value):
        value = {item.name: getattr(value, item.name) for item in fields(value) if item.compare}
    if isinstance(value, Mapping):
        return {name: _stored(part) for name, part in value.items()}
    return [_stored(part) for part in value] if isinstance(value, tuple) else value


# Verdicts as files hold them: a coverage is a mapping there.


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


_TYPES = get_type_hints(Verdict) | {"coverage": Mapping[str, _Ends | list[int | float | str | _Number]] | None}
_Verdict: Any = make_dataclass(
    "_Verdict",
    [
        (item.name, _TYPES[item.name], field(default=item.default, default_factory=item.default_factory))
        for item in fields(Verdict)
    ],
    kw_only=True,
)


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


def verdicts_from(value: Any) -> list[Verdict]:
    """The verdicts of a list of their JSON objects; InputError where it is none."""
    what = "a list of verdicts"
    try:
        return [_verdict(stored) for stored in shaped(value, list[_Verdict], what)]
    except (ValueError, TypeError, ZeroDivisionError) as wrong:
        raise reject(f"{what} must be as fedbounds writes it", wrong, "save it again") from None
