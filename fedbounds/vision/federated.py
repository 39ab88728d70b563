"""Algorithm 1 on images: rounds of weights, local training and aggregation, recorded and resumable."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from fedbounds.engine.streams import HashedRound
from fedbounds.errors import DivergedError, reject
from fedbounds.files import read_json, write_json
from fedbounds.model.problem import Array, Indices
from fedbounds.model.weighting import Rule, Weighting, as_weighting, check_simplex
from fedbounds.vision import checkpoint, network, runs, split, training
from fedbounds.vision.images import Images
from fedbounds.vision.network import Params
from fedbounds.vision.settings import LOCAL, Settings
from fedbounds.vision.training import Machine, Plan, Samples

# Purposes of the generators of one repetition: equal for every weighting, so that weightings are compared in pairs.
PARTITION, INITIAL = 0, 1
# A mean cross-entropy beyond this is no model any more: a uniform guess has ln 10 = 2.3.
LARGEST_LOSS = 1e4
# Called with the run's name, the rounds done, the rounds in all (those done, once it has ended), and the accuracy.
Report = Callable[[str, int, int, float], None]


@dataclass(frozen=True, eq=False)
class Prepared:
    """A data set on a device, normalised, the labels a partition needs, and the fingerprint of the images."""

    train: Samples
    test: Samples
    labels: np.ndarray
    fingerprint: str


def prepare(images: Images, normalisation: str, where: Machine) -> Prepared:
    """Pixels to [0, 1] (``unit``), to mean 0 and deviation 1 over all training pixels (``standard``), or ``raw``."""
    shift, scale = 0.0, 1.0 if normalisation == "raw" else 255.0
    if normalisation == "standard":
        shift, scale = float(images.train.mean(dtype=float)), float(images.train.std(dtype=float))

    def moved(x: np.ndarray, y: np.ndarray) -> Samples:
        pixels = (torch.from_numpy(np.array(x)).to(where.device, torch.float32) - shift) / scale
        return Samples(pixels, torch.from_numpy(np.array(y, dtype=np.int64)).to(where.device))

    with _memory_suffices(where):
        train, test = moved(images.train, images.train_labels), moved(images.test, images.test_labels)
    return Prepared(train, test, images.train_labels, images.fingerprint())


def deal(settings: Settings, labels: np.ndarray, repetition: int) -> tuple[Indices, ...]:
    """The clients' training images (see ``split.client_indices``) in one repetition, the same for every weighting."""
    rng = np.random.default_rng([settings.seed, repetition, PARTITION])
    return split.client_indices(labels, settings.partition, settings.clients, settings.samples, rng)


def run(
    settings: Settings,
    data: Prepared,
    weighting: Weighting | Rule,
    repetition: int,
    out: Path,
    where: Machine,
    report: Report | None = None,
) -> dict[str, Any]:
    """One run, from its checkpoint if there is one: its record, also written to ``out``.

    A finished run is read back. The record's keys are those of ``runs.Run``. Raises InputError where the folder
    holds a run of other settings or data or the memory does not suffice, DivergedError where the model leaves the
    sensible numbers; its checkpoint is then deleted, since the same steps would diverge again.
    """
    weighting = as_weighting(weighting)
    settings = replace(settings, partition=split.canonical(settings.partition))
    name, parts = title_of(settings, weighting), deal(settings, data.labels, repetition)
    identity = {
        "settings": settings.to_json(),
        "weighting": name,
        "repetition": repetition,
        "images": data.fingerprint,
        "split": hashlib.sha256(repr([part.tolist() for part in parts]).encode()).hexdigest(),
    }
    path = out / runs.file_name(name, repetition)
    if path.is_file():
        known = read_json(path)
        done = runs.from_json(known, path.name).rounds
        checkpoint.require_same(path, known, identity)
        if report is not None:
            report(title(name, repetition), done, done, known["accuracy"][-1])
        return known
    with training.one_thread_an_operation(), torch.no_grad(), _memory_suffices(where):
        return _Run(settings, data, weighting, parts, repetition, where, path, identity).go(report)


def title_of(settings: Settings, weighting: Weighting) -> str:
    """The weighting's name, with ``@local`` where it sees the losses of local models."""
    local = settings.losses == "local" and weighting.depends_on_w
    return weighting.name + (LOCAL if local else "")


def title(weighting: str, repetition: int) -> str:
    """What progress calls a run."""
    return f"{weighting}, repetition {repetition}"


@contextmanager
def _memory_suffices(where: Machine) -> Iterator[None]:
    """Turn every way of running out of memory into one sentence."""
    try:
        yield
    except (RuntimeError, MemoryError) as wrong:
        said = str(wrong).lower()  # a processor's allocator and cuBLAS raise plain RuntimeErrors
        if not isinstance(wrong, torch.OutOfMemoryError | MemoryError) and not (
            "alloc" in said and ("memory" in said or "cublas" in said)
        ):
            raise
        raise reject(
            "the device's memory must hold the data and the clients that train together",
            f"out of memory on {where.device} with at most {where.together} clients a call",
            "lower --client-batch, --batch or --threads, or choose the model flatten",
        ) from wrong


class _Run:
    """The state of one run: the model w_r and what was recorded up to round r."""

    def __init__(
        self,
        settings: Settings,
        data: Prepared,
        weighting: Weighting,
        parts: tuple[Indices, ...],
        repetition: int,
        where: Machine,
        path: Path,
        identity: dict[str, Any],
    ) -> None:
        self.settings, self.data, self.weighting, self.where = settings, data, weighting, where
        self.repetition, self.path, self.checkpoint = repetition, path, path.with_suffix(".partial.npz")
        self.parts = parts
        sizes = np.array([len(part) for part in parts])
        self.p: Array = sizes / sizes.sum()
        self.identity = identity
        self.plan = Plan(settings.epochs, settings.batch, settings.optimiser, settings.precision == "bfloat16")
        start = network.initial(settings.model, np.random.default_rng([settings.seed, repetition, INITIAL]))
        self.params: Params = tuple(piece.to(where.device) for piece in start)
        self.record: dict[str, Any] = {
            **identity,
            "seed": settings.seed,
            "machine": {
                "device": where.device.type,
                "together": min(where.together, settings.clients),
                "compiled": where.compiled,
            },
            "p": self.p.tolist(),
            "accuracy": [],
            "test_loss": [],
            "client_losses": [],
            "local_losses": [],
            "alpha": [],
            "trained": [],
            "seconds": [],
        }
        self._resume()

    @property
    def done(self) -> int:
        """Rounds finished."""
        return len(self.record["alpha"])

    def go(self, report: Report | None) -> dict[str, Any]:
        """Finish the run and write its record."""
        if not self.record["accuracy"]:
            self._measure()
        self._tell(report)
        while not self._ended():
            try:
                self._round()
            except DivergedError:
                self.checkpoint.unlink(missing_ok=True)
                raise
            checkpoint.save(self.checkpoint, self.record, self.params)
            self._tell(report)
        write_json(self.path, self.record)
        self.checkpoint.unlink(missing_ok=True)
        return self.record

    def _tell(self, report: Report | None) -> None:
        if report is not None:
            total = self.done if self._ended() else self.settings.rounds
            report(title(self.identity["weighting"], self.repetition), self.done, total, self.record["accuracy"][-1])

    def _round(self) -> None:
        start, settings, r = time.perf_counter(), self.settings, self.done
        orders = training.batches(settings.seed, self.repetition, settings.clients, self.parts, self.plan, r)
        lr = settings.lr * settings.decay**r
        common = (self.plan, lr, self.where)
        if self._local:
            average, local = training.train_everyone(self.params, self.data.train, orders, self.parts, *common)
            alpha = self._weights(r, local)
            self.params = average(alpha)
            self.record["local_losses"].append(local.tolist())
        else:
            alpha = self._weights(r, self.record["client_losses"][-1])
            self.params = training.train(self.params, self.data.train, orders, alpha, *common)
        self.record["alpha"].append(alpha.tolist())
        self.record["trained"].append(len(alpha) if self._local else int((alpha > 0).sum()))
        self._measure()
        self.record["seconds"].append(round(time.perf_counter() - start, 3))
        # A finite model may still have scores, and so losses, that are not; and a step that is far too long may
        # switch every unit off for good, which leaves all of them finite.
        losses = [self.record["test_loss"][-1], *(self.record["client_losses"][-1] or ())]
        finite = all(bool(torch.isfinite(piece).all()) for piece in self.params)
        if not (finite and max(losses) <= LARGEST_LOSS and np.isfinite(losses).all()):
            raise DivergedError(
                f"the model diverged in round {r + 1} (test loss {losses[0]:.3g}) with step size {lr:g}: "
                "lower the learning rate."
            )

    @property
    def _local(self) -> bool:
        return self.settings.losses == "local" and self.weighting.depends_on_w

    def _weights(self, r: int, losses: Sequence[float] | Array | None) -> Array:
        """alpha of round r from F_i(w_r) - F_i*, or with ``losses`` local F_i(w_r^i) - F_i*.

        F_i* = 0, its lower bound, as it is unknown.
        """
        excess = np.zeros(len(self.p)) if losses is None else np.array(losses)
        stream = HashedRound(self.settings.seed, [self.repetition], r)
        alpha = self.weighting(self.p, excess[None], r, stream)
        return check_simplex(alpha, (1, len(self.p)), self.weighting.name)[0]

    def _measure(self) -> None:
        low, everything = self.plan.low, np.arange(len(self.data.test.y))
        loss, right = training.evaluate(self.params, self.data.test, everything, self.where, low)
        self.record["accuracy"].append(float(right.mean()))
        self.record["test_loss"].append(float(loss.mean()))
        self.record["client_losses"].append(self._client_losses())

    def _client_losses(self) -> list[float] | None:
        if (not self.weighting.depends_on_w or self._local) and not self.settings.client_losses:
            return None
        index: Indices = np.concatenate(self.parts)
        values, _ = training.evaluate(self.params, self.data.train, index, self.where, self.plan.low)
        ends = np.cumsum([len(part) for part in self.parts])[:-1]
        return [float(own.mean()) for own in np.split(values, ends)]

    def _ended(self) -> bool:
        after, accuracy = self.settings.stop_after, self.record["accuracy"]
        if self.done >= self.settings.rounds or after is None:
            return self.done >= self.settings.rounds
        reached = next((r for r in range(1, len(accuracy)) if accuracy[r] >= self.settings.target), None)
        return reached is not None and self.done >= reached + after

    def _resume(self) -> None:
        if not self.checkpoint.is_file():
            return
        record, self.params = checkpoint.load(self.checkpoint, self.params)
        checkpoint.require_same(self.checkpoint, record, self.identity)
        self.record = record


def run_all(
    settings: Settings,
    images: Images,
    weightings: Sequence[Weighting],
    repetitions: Sequence[int],
    out: Path,
    where: Machine,
    report: Report | None = None,
) -> list[dict[str, Any]]:
    """Every weighting on every repetition, each continued where it stopped."""
    data = prepare(images, settings.normalisation, where)
    # Repetition by repetition, so that an interrupted experiment still holds whole pairs.
    return [run(settings, data, rule, rep, out, where, report) for rep in repetitions for rule in weightings]
