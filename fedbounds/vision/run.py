"""Algorithm 1 on images: rounds of weights, local training and aggregation, recorded."""

import hashlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from fedbounds.engine.rng import HashedStream
from fedbounds.errors import DivergedError, reject
from fedbounds.io import read_json, write_json
from fedbounds.model import Progress
from fedbounds.model.problem import Array, Indices
from fedbounds.model.weighting import Rule, Weighting, as_weighting, check_simplex
from fedbounds.vision import images, records, training
from fedbounds.vision.images import Images
from fedbounds.vision.settings import ImageSettings, filled
from fedbounds.vision.training import Network, Samples

# Purposes of the generators of one repetition: equal for every weighting, so that weightings are compared in pairs.
PARTITION, INITIAL = 0, 1
# A mean cross-entropy beyond this is no model any more: a uniform guess has ln 10 = 2.3.
LARGEST_LOSS = 1e4
# What a record has one entry a round of.
SERIES = ("accuracy", "test_loss", "client_losses", "alpha", "trained", "seconds")
# Fingerprints of the data with what is said where they differ; differences that are named in one sentence.
DATA = {"images": "other images", "split": "other samples of the clients"}
NAMED = 3


@dataclass(frozen=True, eq=False)
class Prepared:
    """A data set, normalised, the labels a partition needs, and the fingerprint of the images."""

    train: Samples
    test: Samples
    labels: np.ndarray
    fingerprint: str


def prepare(pixels: Images) -> Prepared:
    """Pixels to [0, 1]."""

    def moved(x: np.ndarray, y: np.ndarray) -> Samples:
        scaled = torch.from_numpy(np.array(x)).to(torch.float32) / images.WHITE
        return Samples(scaled.unsqueeze(1), torch.from_numpy(np.array(y, dtype=np.int64)))

    train, test = moved(pixels.train, pixels.train_labels), moved(pixels.test, pixels.test_labels)
    return Prepared(train, test, pixels.train_labels, pixels.fingerprint())


def deal(settings: ImageSettings, labels: np.ndarray, repetition: int) -> tuple[Indices, ...]:
    """Each client's training images in one repetition, the same for every weighting (``images.client_indices``)."""
    rng = np.random.default_rng([settings.seed, repetition, PARTITION])
    return images.client_indices(labels, settings.partition, settings.clients, settings.samples, rng)


def start(settings: ImageSettings, repetition: int) -> Network:
    """w_0 of a repetition, the same for every weighting."""
    return training.initial(np.random.default_rng([settings.seed, repetition, INITIAL]))


def run(
    settings: ImageSettings,
    data: Prepared,
    weighting: Weighting | Rule,
    repetition: int,
    out: Path,
    threads: int,
    report: Progress | None = None,
) -> dict[str, Any]:
    """One run: its record, also written to ``out``; a finished run is read back unless more rounds are asked for.

    The record's keys are those of ``records.ImageRun``. Raises InputError where the folder holds a run of other
    settings or data, DivergedError where the model leaves the sensible numbers.
    """
    weighting = as_weighting(weighting)
    settings = replace(settings, partition=images.canonical(settings.partition))
    parts = deal(settings, data.labels, repetition)
    identity = {
        "settings": settings.to_json(),
        "weighting": weighting.name,
        "repetition": repetition,
        "images": data.fingerprint,
        "split": hashlib.sha256(repr([part.tolist() for part in parts]).encode()).hexdigest(),
    }
    path = out / records.file_name(weighting.name, repetition)
    if path.is_file():
        record = read_json(path)
        rounds = records.from_json(record, path.name).rounds
        require_same(path, record, identity)
        if filled(record["settings"])["rounds"] >= settings.rounds:
            _report(report, record, rounds)
            return record
    with training.repeatable():
        return _Run(settings, data, weighting, parts, threads, path, identity).complete(report)


def _report(report: Progress | None, record: dict[str, Any], total: int) -> None:
    if report is not None:
        name = f"{record['weighting']}, repetition {record['repetition']}"
        report(name, len(record["alpha"]), total, f"accuracy {record['accuracy'][-1]:.3f}")


@dataclass(eq=False)
class _Run:
    """The state of one run: the model w_r and what was recorded up to round r."""

    settings: ImageSettings
    data: Prepared
    weighting: Weighting
    parts: tuple[Indices, ...]
    threads: int
    path: Path
    identity: dict[str, Any]

    def __post_init__(self) -> None:
        self.repetition = self.identity["repetition"]
        sizes = np.array([len(part) for part in self.parts])
        self.p: Array = sizes / sizes.sum()
        self.net = start(self.settings, self.repetition)
        series: dict[str, list[Any]] = {name: [] for name in SERIES}
        self.record = {
            **self.identity,
            "seed": self.settings.seed,
            "machine": {"torch": torch.__version__},
            "p": self.p.tolist(),
            **series,
        }

    def complete(self, report: Progress | None) -> dict[str, Any]:
        """Run the rounds and write the record."""
        self._measure()
        _report(report, self.record, self._total())
        while (r := len(self.record["alpha"])) < self._total():
            self._round(r)
            _report(report, self.record, self._total())
        write_json(self.path, self.record)
        return self.record

    def _total(self) -> int:
        """The rounds to run, as far as the accuracies so far decide it."""
        after, reached = self.settings.stop_after, records.rounds_to(self.record["accuracy"], self.settings.target)
        early = self.settings.rounds if after is None or reached is None else reached + after
        return min(early, self.settings.rounds)

    def _round(self, r: int) -> None:
        began, settings, record = time.perf_counter(), self.settings, self.record
        orders, lr = training.batches(settings, self.repetition, self.parts, r), settings.lr * settings.decay**r

        def train(i: int) -> Network:
            return training.train(self.net, self.data.train, orders[i], settings, lr)

        alpha = self._weights(r, record["client_losses"][-1])
        trained = np.flatnonzero(alpha > 0)  # a client without weight need not train
        models = training.side_by_side(train, trained.tolist(), self.threads)
        self.net = training.average(alpha[trained], models, self.net)
        record["alpha"].append(alpha.tolist())
        record["trained"].append(len(trained))
        self._measure()
        record["seconds"].append(round(time.perf_counter() - began, 3))
        self._require_finite(r, lr)

    def _require_finite(self, r: int, lr: float) -> None:
        # A finite model may have scores and losses that are not finite. A step that is far too long may switch off
        # every unit for good, which leaves all of them finite.
        losses = [self.record["test_loss"][-1], *(self.record["client_losses"][-1] or ())]
        finite = all(bool(torch.isfinite(values).all()) for values in self.net.parameters())
        if not (finite and max(losses) <= LARGEST_LOSS and np.isfinite(losses).all()):
            raise DivergedError(
                f"the model diverged in round {r + 1} (test loss {losses[0]:.3g}) with step size {lr:g}: "
                "lower the learning rate."
            )

    def _weights(self, r: int, losses: Sequence[float] | None) -> Array:
        """alpha of round r from F_i - F_i*, where F_i* is unknown and taken as its lower bound 0."""
        excess = np.zeros(len(self.p)) if losses is None else np.array(losses)
        stream = HashedStream(self.settings.seed, [self.repetition], r)
        alpha = self.weighting(self.p, excess[None], r, stream)
        return check_simplex(alpha, (1, len(self.p)), self.weighting.name)[0]

    def _measure(self) -> None:
        loss, right = self._evaluate(self.net, self.data.test, np.arange(len(self.data.test.y)))
        self.record["accuracy"].append(float(right.mean()))
        self.record["test_loss"].append(float(loss.mean()))
        self.record["client_losses"].append(self._losses() if self.weighting.depends_on_w else None)

    def _losses(self) -> list[float]:
        values, _ = self._evaluate(self.net, self.data.train, np.concatenate(self.parts))
        ends = np.cumsum([len(part) for part in self.parts])[:-1]
        return [float(losses.mean()) for losses in np.split(values, ends)]

    def _evaluate(self, net: Network, samples: Samples, index: Indices) -> tuple[Array, Array]:
        return training.evaluate(net, samples, index, self.settings.precision, self.threads)


def run_all(
    settings: ImageSettings,
    pixels: Images,
    weightings: Sequence[Weighting],
    repetitions: Sequence[int],
    out: Path,
    threads: int,
    report: Progress | None = None,
) -> list[dict[str, Any]]:
    """Every weighting on every repetition, each continued where it stopped."""
    data = prepare(pixels)
    # Repetition by repetition, so that an interrupted experiment still holds whole pairs.
    return [run(settings, data, rule, rep, out, threads, report) for rep in repetitions for rule in weightings]


def require_same(path: Path, record: dict[str, Any], wanted: dict[str, Any]) -> None:
    """Refuse a record that differs from ``wanted`` in its settings or in another of its keys. Errors: InputError.

    A record without the fingerprints of its data is taken at its word. One of fewer rounds may be continued.
    """
    here, there = (
        {**filled(part.get("settings") or {}), **{k: part.get(k) for k in wanted}} for part in (wanted, record)
    )
    del here["settings"], there["settings"]
    if (there.get("rounds") or 0) < here.get("rounds", 0):
        there["rounds"] = here["rounds"]
    unsaid = {key for key in DATA if there[key] is None}
    differing = sorted(key for key in (here.keys() | there.keys()) - unsaid if there.get(key) != here.get(key))
    if differing:
        words = (DATA.get(key) or f"{key} {there.get(key)} instead of {here.get(key)}" for key in differing[:NAMED])
        raise reject(f"{path.name} must belong to this experiment", ", ".join(words), "choose another --out folder")
