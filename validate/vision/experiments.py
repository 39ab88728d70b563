"""The paper's experiments on MNIST, and the same on Fashion-MNIST: what is run, and the command that runs it.

    python -m validate.vision.experiments --data-dir DIR --repetitions 10                     (everything)
    python -m validate.vision.experiments --data-dir DIR --only mnist-niid --first-repetition 4 --repetitions 2

Trains what is missing and stores one compact record a run in validate/results/vision/NAME. It may be stopped at any
time: the same command goes on from the last finished round. Several commands may run at once on different names or
repetitions. ``--stop-after 0`` ends each run in the round that reaches 90%: it then counts for R_90 and for nothing
else. ``--collect DIR`` stores finished records of these experiments that were trained elsewhere. ``--list`` says
what is stored; ``--small`` trains tiny runs on scikit-learn's digits.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fedbounds.errors import reject
from fedbounds.files import read_json
from fedbounds.vision.images import Images
from fedbounds.vision.runs import PATTERN, from_json
from fedbounds.vision.settings import LOCAL, Settings
from validate.vision import _records

ROOT = Path(__file__).resolve().parent.parent.parent
RESULTS = ROOT / "validate" / "results" / "vision"
# Full records and checkpoints of runs that are not finished; ignored by git.
WORK = ROOT / "out" / "vision"

# The reading of what the paper leaves open, chosen on FedAvg alone with another seed (validate/vision/search.py).
READING = Settings(optimiser="sgd", lr=0.1, model="flatten", normalisation="unit", precision="bfloat16", seed=0)
# The paper states 200 samples a client for its non-IID data only; this is chosen in the same search.
IID_SAMPLES = 100

FRAMEWORKS = {"IID": "stratified", "NIID": "shards:60,unbalanced", "TNIID": "shards:100,unbalanced"}
BASELINE, SOFT = "fedavg", "fedsoftmax:0.2"
MAIN = (BASELINE, SOFT)
# The same T, with weights made from the losses of the clients' own models after their local steps.
SOFT_LOCAL = f"{SOFT}{LOCAL}"
# With SOFT the inverse temperatures 5, 10, 20 and 30.
TEMPERATURES = ("fedsoftmax:0.1", "fedsoftmax:0.05", "fedsoftmax:0.0333333")
# 1/T = 1, below the paper's range.
WARMER = "fedsoftmax:1"
MAXIMA = ("fedmax", "fedmax:10")
# Our own extra, shorter for want of time.
FASHION_ROUNDS = 15
# Repeats of NIID, part of no table but their own: in the other precision, and under readings that were not chosen.
NIID = "mnist-niid"
PRECISE = f"{NIID}-precision"
VARIANTS: Mapping[str, Mapping[str, Any]] = {
    f"{NIID}-smaller-step": {"lr": 0.05},
    f"{NIID}-larger-step": {"lr": 0.2},
    f"{NIID}-hidden": {"model": "hidden"},
    f"{NIID}-raw": {"lr": 1e-4, "normalisation": "raw"},
}
APART = (PRECISE, *VARIANTS)
MNIST, FASHION = "mnist", "fashion-mnist"
MNIST_FOLDERS = tuple(f"mnist-{f.lower()}{end}" for f in FRAMEWORKS for end in ("", "-local"))
WARMER_FOLDERS = ("mnist-niid-temperatures", "mnist-tniid-temperatures")
MAXIMA_FOLDERS = ("mnist-niid-fedmax", "mnist-tniid-fedmax")
FASHION_FOLDERS = tuple(f"fashion-{f.lower()}{end}" for f in FRAMEWORKS for end in ("", "-local"))
# Tiny runs: seconds on one core.
SMALL = Settings(data="digits", clients=4, samples=16, rounds=2, epochs=1, batch=16, optimiser="sgd", lr=0.2)
SMALL_FRAMEWORKS = {"IID": "stratified", "NIID": "shards:4,unbalanced", "TNIID": "shards:8,unbalanced"}
SMALL_REPETITIONS, SMALL_TEST = 1, 100


@dataclass(frozen=True)
class Experiment:
    """What a folder of records holds: a data set in one of the paper's frameworks, and the weightings run on it."""

    data: str
    framework: str
    settings: Settings
    weightings: tuple[str, ...]

    @property
    def recorded(self) -> tuple[str, ...]:
        """The weightings as their records name them."""
        return tuple(_records.recorded(self.settings, weighting) for weighting in self.weightings)


Grid = Mapping[str, Experiment]


def grid(small: bool = False) -> Grid:
    """Folder -> experiment. ``small``: most of the names with tiny settings on digits, whatever the data set."""
    found: dict[str, Experiment] = {}
    for data, short in ((MNIST, "mnist"), (FASHION, "fashion")):
        for framework in FRAMEWORKS:
            if small and data == FASHION and framework != "NIID":
                continue
            settings = _settings(data, framework, small)
            name = f"{short}-{framework.lower()}"
            found[name] = Experiment(data, framework, settings, MAIN)
            local = replace(settings, losses="local")
            found[f"{name}-local"] = Experiment(data, framework, local, (SOFT,))
            if data == MNIST and framework == "TNIID":
                found[f"{name}-temperatures"] = Experiment(data, framework, settings, (WARMER,))
            if data == MNIST and framework == "NIID":
                found[f"{name}-temperatures"] = Experiment(data, framework, settings, (WARMER, *TEMPERATURES))
                found[f"{name}-temperatures-local"] = Experiment(data, framework, local, TEMPERATURES)
                found[PRECISE] = Experiment(data, framework, _other_precision(settings), MAIN)
                for folder, change in VARIANTS.items():
                    found[folder] = Experiment(data, framework, replace(settings, **change), MAIN)
            if data == MNIST and framework != "IID":
                found[f"{name}-fedmax"] = Experiment(data, framework, settings, _maxima(small))
    return found


def _settings(data: str, framework: str, small: bool) -> Settings:
    if small:
        return replace(SMALL, partition=SMALL_FRAMEWORKS[framework])
    samples = IID_SAMPLES if framework == "IID" else READING.samples
    rounds = READING.rounds if data == MNIST else FASHION_ROUNDS
    return replace(READING, data=data, partition=FRAMEWORKS[framework], samples=samples, rounds=rounds)


def _other_precision(settings: Settings) -> Settings:
    return replace(settings, precision="float32" if settings.precision == "bfloat16" else "bfloat16")


def _maxima(small: bool) -> tuple[str, ...]:
    return ("fedmax", "fedmax:2") if small else MAXIMA


def train(
    names: Sequence[str],
    repetitions: Sequence[int],
    *,
    small: bool = False,
    stop_after: int | None = None,
    data_dir: Path | None = None,
    results: Path = RESULTS,
    work: Path = WORK,
    device: str = "cpu",
    threads: int = 1,
    together: int | None = None,
    compiled: bool = False,
    quiet: bool = False,
) -> int:
    """Train and store the runs of ``names`` that are not stored yet; returns how many were trained.

    Repetition by repetition over all names, so that whatever is stopped early has whole pairs.
    """
    from fedbounds import plugins
    from fedbounds.vision import federated, images, training

    chosen, done = grid(small), 0
    where = training.machine(device, together, threads, compiled)
    loaded: dict[str, Images] = {}
    for repetition in repetitions:
        for name in names:
            experiment = chosen[name]
            settings = replace(experiment.settings, stop_after=stop_after)
            missing = _records.missing(results / name, settings, experiment.weightings, repetition)
            if not missing:
                continue
            data = settings.data
            if data not in loaded:
                found = images.load(data, data_dir)
                loaded[data] = _cut(found) if small else found
            rules = [plugins.weighting_named(weighting) for weighting in missing]
            report = None if quiet else _line(name)
            # Runs that end early have checkpoints of their own.
            place = work / (name if stop_after is None else f"{name}-stop-{stop_after}")
            records = federated.run_all(settings, loaded[data], rules, [repetition], place, where, report)
            for record in records:
                _records.store(record, results / name)
            done += len(records)
    return done


def _cut(found: Images) -> Images:
    return replace(found, test=found.test[:SMALL_TEST], test_labels=found.test_labels[:SMALL_TEST])


def _line(name: str) -> Callable[[str, int, int, float], None]:
    def line(run: str, done: int, total: int, accuracy: float) -> None:
        print(f"{name}: {run}: round {done} of {total}, accuracy {accuracy:.4f}", file=sys.stderr, flush=True)

    return line


def collect(folder: Path, results: Path) -> int:
    """Store every finished record below ``folder`` that belongs to the grid; returns how many.

    One that ended early never replaces one that went on.
    """
    done = 0
    for path in sorted(folder.rglob(PATTERN)):
        record = read_json(path)
        run = from_json(record, path.name)
        for name, experiment in grid().items():
            if run.weighting in experiment.recorded and not _records.differing(run, experiment.settings):
                done += _records.store_longer(record, results / name)
    return done


def listing(results: Path, small: bool = False) -> list[str]:
    """A line a folder: which repetitions of each weighting are stored."""
    lines = []
    for name, experiment in grid(small).items():
        stored = {w: _records.repetitions(results / name, w) for w in experiment.recorded}
        lines.append(f"{name}: " + "; ".join(f"{w} {_spans(found)}" for w, found in stored.items()))
    return lines


def _spans(numbers: Sequence[int]) -> str:
    return f"{len(numbers)} ({numbers[0]}..{numbers[-1]})" if numbers else "none"


def main(arguments: list[str] | None = None) -> int:
    """Train what is missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=Path, help="folder of the IDX files; else they are downloaded")
    parser.add_argument("--only", nargs="+", metavar="NAME", help=f"of {', '.join(grid())}")
    parser.add_argument("--first-repetition", type=int, default=0)
    parser.add_argument("--repetitions", type=int, help="how many (default: 1)")
    parser.add_argument("--results", type=Path, help=f"where records go (default: {RESULTS.relative_to(ROOT)})")
    parser.add_argument("--work", type=Path, help=f"checkpoints and full records (default: {WORK.relative_to(ROOT)})")
    parser.add_argument("--device", default="cpu", help="cpu, cuda or auto")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--client-batch", type=int, help="clients in one call")
    parser.add_argument("--compile", dest="compiled", action="store_true", help="compile the step first")
    parser.add_argument("--stop-after", type=int, help="end a run this many rounds after it reached 90%%")
    parser.add_argument("--collect", type=Path, metavar="DIR", help="store what was trained elsewhere, and stop")
    parser.add_argument("--quiet", action="store_true")
    parser.add_argument("--list", dest="listed", action="store_true", help="say what is stored and stop")
    parser.add_argument("--small", action="store_true", help="tiny runs on digits; needs --results and --work")
    chosen = parser.parse_args(arguments)
    if chosen.small and not (chosen.results and chosen.work):
        raise reject("small runs are no results", "no folder for them", "give --results and --work")
    results, known = chosen.results or RESULTS, list(grid(chosen.small))
    names = chosen.only or known
    unknown = [name for name in names if name not in known]
    if unknown:
        raise reject("--only names experiments", ", ".join(unknown), f"use some of {', '.join(known)}")
    if chosen.listed:
        print("\n".join(listing(results, chosen.small)))
        return 0
    if chosen.collect:
        found = collect(chosen.collect, results)
        print(f"stored {found} records in {results}")
        return found
    count = chosen.repetitions or (SMALL_REPETITIONS if chosen.small else 1)
    done = train(
        names,
        range(chosen.first_repetition, chosen.first_repetition + count),
        small=chosen.small,
        stop_after=chosen.stop_after,
        data_dir=chosen.data_dir,
        results=results,
        work=chosen.work or WORK,
        device=chosen.device,
        threads=chosen.threads,
        together=chosen.client_batch,
        compiled=chosen.compiled,
        quiet=chosen.quiet,
    )
    print(f"trained {done} runs; stored in {results}")
    return done


if __name__ == "__main__":
    main()
