"""The search for a reading of what the paper leaves open, on FedAvg alone.

    python -m validate.vision.search                    (from the stored records)
    python -m validate.vision.search --collect DIR ...  (store finished FedAvg records of a search first)

A candidate is an optimiser, a learning rate, a normalisation, a model and a number of samples a client. The rule: the
smallest |log(R_90 / paper's mean)| summed over non-IID and very non-IID data; then, as the paper states 200 samples
for its non-IID data only, the samples of IID data in the same way, all else as chosen (more samples in a tie). A
run that never reached 90% bounds its term from below. A candidate that was not run on a partition counts there the
least that one run can have, as its R_90 is a whole number, and is excluded only if its sum is still larger than that
of the choice. The runs of the search are used for nothing else.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fedbounds import files
from fedbounds.errors import reject
from fedbounds.vision import measures, paper, runs
from fedbounds.vision.runs import Run
from validate.vision import _records
from validate.vision._common import Data, rounded
from validate.vision.experiments import BASELINE, IID_SAMPLES, READING, RESULTS

SEED = 1000  # of the search; runs with another seed must have a repetition from here on
KEYS = ("optimiser", "lr", "normalisation", "model", "samples")
NON_IID = ("NIID", "TNIID")
LITERAL = {"optimiser": "sgd", "lr": 1e-4}
RULE = (
    "smallest sum over NIID and TNIID of |log(R_90 / the paper's mean)|; then for IID data the samples a client "
    "with the smallest |log(R_90 / the paper's mean)|, all else as chosen, and the larger of two that tie"
)


@dataclass(frozen=True, eq=False)
class Term:
    """One candidate in one framework: its runs, and |log(R_90/paper)|, a lower bound of it if ``bound``."""

    runs: tuple[Run, ...]
    distance: float
    bound: bool

    def to_json(self) -> Data:
        """The term as JSON."""
        found = measures.speed(self.runs)
        return {
            "values": list(found.values),
            "mean": found.estimate.value if found.estimate.kind == "mean" else None,
            "rounds": max(run.rounds for run in self.runs),
            "last_accuracy": max(float(run.accuracy[-1]) for run in self.runs),
            "distance": self.distance,
            "lower_bound": self.bound,
            "seeds": sorted({run.seed for run in self.runs}),
            "repetitions": [run.repetition for run in self.runs],
        }


def term(group: Sequence[Run], framework: str) -> Term:
    """|log(mean R_90 / paper's mean)|; where a run never reached 90%, with its last round + 1 in place of R_90."""
    target = paper.R_90[framework, "FedAvg"].mean
    reached = [measures.rounds_to(run.accuracy) for run in group]
    least = [run.rounds + 1 if r is None else r for run, r in zip(group, reached, strict=True)]
    ratio = math.log(sum(least) / len(least) / target)
    censored = None in reached
    return Term(tuple(group), max(ratio, 0.0) if censored else abs(ratio), censored)


@dataclass(frozen=True, eq=False)
class Candidate:
    """Values of KEYS, and its term in each framework where it was run."""

    key: tuple[Any, ...]
    terms: dict[str, Term]

    @property
    def total(self) -> float:
        """The sum over NIID and TNIID, from below where a run is missing or never reached 90%."""
        return sum(self.terms[f].distance if f in self.terms else least(f) for f in NON_IID)

    @property
    def exact(self) -> bool:
        """Whether the sum is known and not only bounded from below."""
        return all(f in self.terms and not self.terms[f].bound for f in NON_IID)

    def to_json(self) -> Data:
        """The candidate as JSON."""
        found = {f: one.to_json() for f, one in self.terms.items()}
        return {**dict(zip(KEYS, self.key, strict=True)), "frameworks": found, "sum": self.total, "exact": self.exact}


def least(framework: str) -> float:
    """The smallest |log(R_90/paper's mean)| of one run, as its R_90 is a whole number."""
    mean = paper.R_90[framework, "FedAvg"].mean
    return min(abs(math.log(r / mean)) for r in (math.floor(mean), math.ceil(mean)))


def candidates(found: Sequence[Run]) -> list[Candidate]:
    """The candidates of the search, nearest first. Errors: InputError for a run that is not FedAvg's."""
    groups: dict[tuple[Any, ...], dict[str, list[Run]]] = {}
    for run in found:
        framework = paper.framework(run.data, run.partition)
        if run.weighting != BASELINE or (run.seed != SEED and run.repetition < SEED) or framework is None:
            what = f"{run.weighting} on {run.data} {run.partition}, seed {run.seed}, repetition {run.repetition}"
            raise reject("the search is on FedAvg and MNIST, with a seed of its own", what, "move this record")
        key = tuple(run.settings[name] for name in KEYS)
        groups.setdefault(key, {}).setdefault(framework, []).append(run)
    made = [Candidate(key, {f: term(group, f) for f, group in by.items()}) for key, by in groups.items()]
    return sorted(made, key=lambda one: (not one.exact, one.total, str(one.key)))


def measure(found: Sequence[Run]) -> Data:
    """The table, the choice, who is not excluded, the samples for IID data, and the literal reading."""
    every = candidates(found)
    table = [one for one in every if any(f in one.terms for f in NON_IID)]
    exact = [one for one in table if one.exact]
    best = exact[0] if exact else None
    unsure = [one for one in table if best is not None and not one.exact and one.total <= best.total]
    iid = [one for one in every if "IID" in one.terms and best is not None and one.key[:-1] == best.key[:-1]]
    iid.sort(key=lambda one: (one.terms["IID"].bound, one.terms["IID"].distance, -one.key[-1]))
    return {
        "study": "search",
        "rule": RULE,
        "seed": SEED,
        "paper": {f: paper.R_90[f, "FedAvg"].mean for f in ("IID", *NON_IID)},
        "candidates": [one.to_json() for one in table],
        "chosen": best and dict(zip(KEYS, best.key, strict=True)),
        "not_excluded": [dict(zip(KEYS, one.key, strict=True)) for one in unsure],
        "iid": [one.to_json() for one in iid],
        "iid_samples": iid[0].key[-1] if iid and not iid[0].terms["IID"].bound else None,
        "literal": [one.to_json() for one in every if _is_literal(one)],
        "used": {**{name: getattr(READING, name) for name in KEYS}, "iid_samples": IID_SAMPLES},
    }


def _is_literal(one: Candidate) -> bool:
    own = dict(zip(KEYS, one.key, strict=True))
    return all(own[name] == value for name, value in LITERAL.items())


def agrees(data: Data) -> bool:
    """Whether the experiments use what the rule chooses."""
    used = {key: value for key, value in data["used"].items() if key != "iid_samples"}
    return bool(data["chosen"] == used and data["iid_samples"] == data["used"]["iid_samples"])


def lines(data: Data) -> list[str]:
    """The table as lines."""
    found = []
    for one in data["candidates"]:
        parts = [f"{f} {row['values']} of {row['rounds']}" for f, row in one["frameworks"].items()]
        name = ", ".join(str(one[key]) for key in KEYS)
        found.append(f"{name}: {'; '.join(parts)}: sum {'' if one['exact'] else '>= '}{one['sum']:.3f}")
    for one in data["iid"]:
        row = one["frameworks"]["IID"]
        found.append(f"IID, {one['samples']} samples: {row['values']} of {row['rounds']}: {row['distance']:.3f}")
    chosen = f"chosen: {data['chosen']}, IID samples {data['iid_samples']}"
    return [*found, chosen, "the experiments use it" if agrees(data) else f"the experiments use {data['used']}"]


def collect(folders: Sequence[Path], results: Path) -> int:
    """Store the finished records of a search; of several with the same settings the longest. Returns how many."""
    longest: dict[Path, dict[str, Any]] = {}
    for path in sorted(path for folder in folders for path in folder.rglob(runs.PATTERN)):
        record = files.read_json(path)
        run = runs.from_json(record, path.name)
        if run.weighting != BASELINE or (run.seed != SEED and run.repetition < SEED):
            continue
        target = results / _slug(run) / runs.file_name(run.weighting, run.repetition)
        if target not in longest or run.rounds > len(longest[target]["alpha"]):
            longest[target] = record
    for target, record in longest.items():
        _records.store(record, target.parent)
    return len(longest)


def _slug(run: Run) -> str:
    """``mnist-shards-60-unbalanced-sgd-0.1-unit-flatten-200``."""
    return runs.slug("-".join(str(run.settings[name]) for name in ("data", "partition", *KEYS)))


def main(arguments: list[str] | None = None) -> Data:
    """Tabulate the search; with ``--collect`` store its records first."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--collect", nargs="+", type=Path, metavar="DIR", help="folders with the runs of a search")
    parser.add_argument("--records", type=Path, default=RESULTS / "search", help="stored records")
    parser.add_argument("--out", type=Path, help="write search.json here instead")
    chosen = parser.parse_args(arguments)
    if chosen.collect:
        print(f"stored {collect(chosen.collect, chosen.records)} records")
    data: Data = rounded(measure(runs.read(chosen.records)))
    files.write_json((chosen.out or RESULTS) / "search.json", data)
    print("\n".join(lines(data)))
    return data


if __name__ == "__main__":
    main()
