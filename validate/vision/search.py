"""The search for a reading of what the paper leaves open, on FedAvg alone.

A candidate is an optimiser, a learning rate, a normalisation, a model and a number of samples a client. The rule: the
smallest |log(R_90 / paper's mean)| summed over non-IID and very non-IID data; then, as the paper states 200 samples
for its non-IID data only, the samples of IID data in the same way, all else as chosen (more samples in a tie). A
run that never reached 90% bounds its term from below. A candidate that was not run on a partition counts there the
least that one run can have, as its R_90 is a whole number, and is excluded only if its sum is still larger than that
of the choice. The runs of the search have a seed of their own and are used for nothing else:

    fedbounds vision run --seed 1000 --weighting fedavg ... --out validate/results/vision/search/NAME
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fedbounds.errors import reject
from fedbounds.vision.records import ImageRun, rounds_to
from validate.vision import paper
from validate.vision.experiments import BASELINE, IID_SAMPLES, READING

SEED = 1000  # of the search; runs with another seed must have a repetition from here on
KEYS = ("optimiser", "lr", "normalisation", "model", "samples")
NON_IID = ("NIID", "TNIID")
LITERAL = {"optimiser": "sgd", "lr": 1e-4}


@dataclass(frozen=True, eq=False)
class Candidate:
    """Values of KEYS, and its runs in each framework where it was run."""

    key: tuple[Any, ...]
    runs: dict[str, list[ImageRun]]

    def distance(self, framework: str) -> tuple[float, bool]:
        """|log(mean R_90 / paper's mean)|, and whether it is exact or a lower bound."""
        mean = paper.R_90[framework, "FedAvg"].mean
        if framework not in self.runs:  # R_90 is a whole number
            return min(abs(math.log(r / mean)) for r in (math.floor(mean), math.ceil(mean))), False
        reached = [rounds_to(run.accuracy, paper.LEVEL) for run in self.runs[framework]]
        least = [run.rounds + 1 if r is None else r for run, r in zip(self.runs[framework], reached, strict=True)]
        ratio = math.log(sum(least) / len(least) / mean)
        return (max(ratio, 0.0), False) if None in reached else (abs(ratio), True)

    @property
    def total(self) -> float:
        """The sum over the non-IID frameworks, or what it is at least."""
        return sum(self.distance(framework)[0] for framework in NON_IID)

    @property
    def exact(self) -> bool:
        """Whether the sum is known."""
        return all(self.distance(framework)[1] for framework in NON_IID)

    def said(self, framework: str) -> str:
        """R_90 of its runs in a framework: ``12``, ``> 20``, ``not run``."""
        found = [(rounds_to(run.accuracy, paper.LEVEL), run.rounds) for run in self.runs.get(framework, [])]
        return ", ".join(f"> {last}" if r is None else str(r) for r, last in found) or "not run"


def candidates(found: Sequence[ImageRun]) -> list[Candidate]:
    """The candidates of the search, nearest first. Errors: InputError for a run that is not FedAvg's."""
    groups: dict[tuple[Any, ...], dict[str, list[ImageRun]]] = {}
    for run in found:
        framework = paper.framework(run.data, run.partition)
        if run.weighting != BASELINE or (run.seed != SEED and run.repetition < SEED) or framework is None:
            what = f"{run.weighting} on {run.data} {run.partition}, seed {run.seed}, repetition {run.repetition}"
            raise reject("the search is on FedAvg and MNIST, with a seed of its own", what, "move this record")
        groups.setdefault(tuple(run.settings[name] for name in KEYS), {}).setdefault(framework, []).append(run)
    made = [Candidate(key, runs) for key, runs in groups.items()]
    return sorted(made, key=lambda one: (not one.exact, one.total, str(one.key)))


@dataclass(frozen=True)
class Choice:
    """What the rule chooses, the candidates by distance, those of IID data, and who is not excluded."""

    best: Candidate
    table: list[Candidate]
    iid: list[Candidate]
    not_excluded: list[Candidate]

    @property
    def used(self) -> bool:
        """Whether the experiments use what the rule chooses."""
        wanted = tuple(getattr(READING, name) for name in KEYS)
        return self.best.key == wanted and self.iid[0].key[-1] == IID_SAMPLES


def choose(found: Sequence[ImageRun]) -> Choice:
    """The rule. Errors: InputError where no candidate was run to 90% in both frameworks."""
    every = candidates(found)
    table = [one for one in every if set(NON_IID) & set(one.runs)]
    if not table or not table[0].exact:
        raise reject("the search needs a candidate with R_90 on NIID and TNIID", "none", "train one")
    best = table[0]
    iid = [one for one in every if "IID" in one.runs and one.key[:-1] == best.key[:-1]]
    iid.sort(key=lambda one: (not one.distance("IID")[1], one.distance("IID")[0], -one.key[-1]))
    unsure = [one for one in table if not one.exact and one.total <= best.total]
    return Choice(best, table, iid, unsure)


def literal(every: Sequence[Candidate]) -> list[Candidate]:
    """The candidates with the paper's optimiser and step."""
    return [one for one in every if all(one.key[KEYS.index(name)] == value for name, value in LITERAL.items())]
