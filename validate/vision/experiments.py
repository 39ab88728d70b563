"""The paper's experiments on MNIST: what is run, and the command that runs it.

    python -m validate.vision.experiments --data-dir DIR --repetitions 6                     (the paper's, all)
    python -m validate.vision.experiments --data-dir DIR --only mnist-niid --first-repetition 4 --repetitions 2
    python -m validate.vision.experiments --data-dir DIR --map --steps 0.01 0.1 --temperatures 0.2 1 --repetitions 6

Trains what is missing and stores one compact record a run in validate/results/vision/NAME. It may be stopped at any
time: the same command goes on from the last finished round. Several commands may run at once on different names or
repetitions. ``--stop-after 0`` ends each run in the round that reaches 90%: it then counts for R_90 and for nothing
else. ``--map`` is FedAvg and FedSoftMax(T) over a grid of steps and temperatures, on NIID and TNIID data. ``--small``
trains tiny runs on scikit-learn's digits.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import product
from pathlib import Path

from fedbounds.errors import reject
from fedbounds.vision.settings import ImageSettings
from validate import runner
from validate.vision import storage

RESULTS = runner.RESULTS / "vision"
# Full records; ignored by git.
WORK = runner.ROOT / "out" / "vision"

# The reading of what the paper leaves open, chosen on FedAvg alone with another seed.
READING = ImageSettings(lr=0.1, precision="bfloat16")
# The paper states 200 samples a client for its non-IID data only; this is chosen in the same search.
IID_SAMPLES = 100
FRAMEWORKS = {"IID": "stratified", "NIID": "shards:60,unbalanced", "TNIID": "shards:100,unbalanced"}
BASELINE, SOFT = "fedavg", "fedsoftmax:0.2"
MAIN = (BASELINE, SOFT)
# With SOFT the inverse temperatures 5, 10, 20 and 30; and 1/T = 1, below the paper's range.
TEMPERATURES = ("fedsoftmax:0.1", "fedsoftmax:0.05", "fedsoftmax:0.0333333")
WARMER = "fedsoftmax:1"
MAXIMA = ("fedmax", "fedmax:10")
NIID = "mnist-niid"
# The map, fixed before it was run: steps, temperatures, rounds, and levels of accuracy at which rounds are counted.
MAP_STEPS = (0.003, 0.01, 0.03, 0.1)
MAP_TEMPERATURES = (0.1, 0.2, 0.5, 1.0, 4.0)
MAP_ROUNDS = 30
LEVELS = (0.6, 0.7, 0.8, 0.9)
# Tiny runs: seconds on one core.
SMALL = ImageSettings(data="digits", clients=4, samples=16, rounds=2, epochs=1, batch=16, lr=0.2)
SMALL_FRAMEWORKS = {"IID": "stratified", "NIID": "shards:4,unbalanced", "TNIID": "shards:8,unbalanced"}


@dataclass(frozen=True)
class Folder:
    """What a folder of records holds: one of the paper's frameworks, and the weightings run on it."""

    framework: str
    settings: ImageSettings
    weightings: tuple[str, ...]


def grid(small: bool = False) -> dict[str, Folder]:
    """Name -> folder. ``small``: tiny settings on digits."""
    result: dict[str, Folder] = {}
    for framework in FRAMEWORKS:
        settings, name = _settings(framework, small), f"mnist-{framework.lower()}"
        result[name] = Folder(framework, settings, MAIN)
        if framework != "IID":
            maxima = ("fedmax", "fedmax:2") if small else MAXIMA
            others = (WARMER, *TEMPERATURES) if framework == "NIID" else (WARMER,)
            result[f"{name}-fedmax"] = Folder(framework, settings, maxima)
            result[f"{name}-temperatures"] = Folder(framework, settings, others)
    return result


def map_of(steps: Sequence[float], temperatures: Sequence[float], small: bool = False) -> dict[str, Folder]:
    """Name -> folder of the map: a step on one framework, with FedAvg and every temperature."""
    weightings = (BASELINE, *(f"fedsoftmax:{T:g}" for T in temperatures))
    return {
        f"map/{framework.lower()}-lr-{lr:g}": Folder(
            framework, replace(chosen, lr=lr, rounds=min(chosen.rounds, MAP_ROUNDS)), weightings
        )
        for framework in ("NIID", "TNIID")
        for chosen in [_settings(framework, small)]
        for lr in steps
    }


def _settings(framework: str, small: bool) -> ImageSettings:
    if small:
        return replace(SMALL, partition=SMALL_FRAMEWORKS[framework])
    samples = IID_SAMPLES if framework == "IID" else READING.samples
    return replace(READING, partition=FRAMEWORKS[framework], samples=samples)


def train(folders: Mapping[str, Folder], chosen: argparse.Namespace) -> int:
    """Train and store the runs that are not stored yet; returns how many were trained.

    Repetition by repetition over all folders, so that whatever is stopped early has whole pairs.
    """
    from fedbounds import plugins
    from fedbounds.vision import images, run

    done, last = 0, chosen.first_repetition + chosen.repetitions
    load = cache(images.load)
    for repetition, (name, folder) in product(range(chosen.first_repetition, last), folders.items()):
        settings = replace(folder.settings, stop_after=chosen.stop_after)
        missing = storage.missing(chosen.results / name, settings, folder.weightings, repetition)
        if missing:
            rules = [plugins.weighting_named(weighting) for weighting in missing]
            # Runs that end early have records of their own.
            place = chosen.work / (name if chosen.stop_after is None else f"{name}-stop-{chosen.stop_after}")
            report = None if chosen.quiet else partial(_report, name)
            data = load(settings.data, chosen.data_dir)
            for record in run.run_all(settings, data, rules, [repetition], place, chosen.threads, report):
                storage.store(record, chosen.results / name)
                done += 1
    return done


def _report(name: str, run: str, done: int, total: int, said: str) -> None:
    print(f"{name}: {run}: round {done} of {total}, {said}", file=sys.stderr, flush=True)


def main(arguments: list[str] | None = None) -> int:
    """Train what is missing."""
    chosen = runner.options(
        __doc__,
        arguments,
        data_dir=Path,
        only={"nargs": "+", "metavar": "NAME"},
        map=False,
        steps=MAP_STEPS,
        temperatures=MAP_TEMPERATURES,
        first_repetition=0,
        repetitions=1,
        results=Path,
        work=Path,
        threads=1,
        stop_after=int,
        quiet=False,
        small=False,
    )
    if chosen.small and not (chosen.results and chosen.work):
        raise reject("small runs are no results", "no folder for them", "give --results and --work")
    chosen.results, chosen.work = chosen.results or RESULTS, chosen.work or WORK
    known = map_of(chosen.steps, chosen.temperatures, chosen.small) if chosen.map else grid(chosen.small)
    unknown = [name for name in chosen.only or () if name not in known]
    if unknown:
        raise reject("--only names experiments", ", ".join(unknown), f"use some of {', '.join(known)}")
    done = train({name: folder for name, folder in known.items() if name in (chosen.only or known)}, chosen)
    print(f"trained {done} runs; stored in {chosen.results}")
    return done


if __name__ == "__main__":
    main()
