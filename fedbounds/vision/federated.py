"""Algorithm 1 on images: rounds of weights, local training and aggregation, recorded and resumable."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from fedbounds.engine.streams import HashedRound
from fedbounds.errors import DivergedError, InputError, reject
from fedbounds.files import read_json, write, write_json
from fedbounds.problem import Array, Indices
from fedbounds.vision import network, split, training
from fedbounds.vision.images import Images
from fedbounds.vision.network import Params
from fedbounds.vision.settings import Settings
from fedbounds.vision.training import Machine, Plan, Samples
from fedbounds.weighting import Weighting, check_simplex, is_constant, name_of

# Purposes of the generators of one repetition: equal for every weighting, so that weightings are compared in pairs.
PARTITION, INITIAL = 0, 1
# Called with the run's name, the rounds done, the rounds in all, and the test accuracy.
Report = Callable[[str, int, int, float], None]


@dataclass(frozen=True, eq=False)
class Prepared:
    """A data set on a device, normalised, and the labels a partition needs."""

    train: Samples
    test: Samples
    labels: np.ndarray


def prepare(images: Images, normalisation: str, where: Machine) -> Prepared:
    """Pixels to [0, 1] (``unit``), then to mean 0 and deviation 1 over all training pixels (``standard``)."""
    shift, scale = 0.0, 255.0
    if normalisation == "standard":
        shift, scale = float(images.train.mean(dtype=float)), float(images.train.std(dtype=float))

    def moved(x: np.ndarray, y: np.ndarray) -> Samples:
        pixels = (torch.from_numpy(np.array(x)).to(where.device, torch.float32) - shift) / scale
        return Samples(pixels, torch.from_numpy(np.array(y, dtype=np.int64)).to(where.device))

    return Prepared(
        moved(images.train, images.train_labels), moved(images.test, images.test_labels), images.train_labels
    )


def file_name(weighting: str, repetition: int) -> str:
    """``run-fedsoftmax-0.2-003.json``."""
    slug = "".join(mark if mark.isalnum() or mark in ".-" else "-" for mark in weighting)
    return f"run-{slug}-{repetition:03d}.json"


def run(
    settings: Settings,
    data: Prepared,
    weighting: Weighting,
    repetition: int,
    out: Path,
    where: Machine,
    report: Report | None = None,
) -> dict[str, Any]:
    """One run, from its checkpoint if there is one: its record, also written to ``out``.

    A finished run is read back. The record's keys are those of ``measures.Run``. Raises InputError where the folder
    holds a run of other settings or the memory does not suffice, DivergedError where the model leaves the numbers.
    """
    path = out / file_name(name_of(weighting), repetition)
    identity = {"settings": settings.to_json(), "weighting": name_of(weighting), "repetition": repetition}
    if path.is_file():
        known = read_json(path)
        _require_same(path, {key: known.get(key) for key in identity}, identity)
        return known
    with training.one_thread_an_operation(), torch.no_grad():
        try:
            return _Run(settings, data, weighting, repetition, where, path, identity).go(report)
        except (torch.OutOfMemoryError, MemoryError) as wrong:
            raise _no_memory(where) from wrong
        except RuntimeError as wrong:
            if "alloc" in str(wrong) and "memory" in str(wrong):
                raise _no_memory(where) from wrong
            raise


def _no_memory(where: Machine) -> InputError:
    return reject(
        "the device's memory must hold the clients that train together",
        f"out of memory on {where.device} with at most {where.together} clients a call",
        "lower --client-batch, --batch or --threads, or choose the model flatten",
    )


def _require_same(path: Path, found: dict[str, Any], wanted: dict[str, Any]) -> None:
    if found == wanted:
        return
    own, other = wanted["settings"], found.get("settings") or {}
    differing = sorted(key for key in own if other.get(key) != own[key]) or ["weighting"]
    shown = ", ".join(f"{key} {other.get(key)} instead of {own.get(key)}" for key in differing[:3])
    raise reject(f"{path.name} must belong to this experiment", shown, "choose another --out folder")


class _Run:
    """The state of one run: the model w_r and what was recorded up to round r."""

    def __init__(
        self,
        settings: Settings,
        data: Prepared,
        weighting: Weighting,
        repetition: int,
        where: Machine,
        path: Path,
        identity: dict[str, Any],
    ) -> None:
        self.settings, self.data, self.weighting, self.where = settings, data, weighting, where
        self.repetition, self.path, self.checkpoint = repetition, path, path.with_suffix(".partial.npz")
        rng = np.random.default_rng([settings.seed, repetition, PARTITION])
        self.parts = split.client_indices(data.labels, settings.partition, settings.clients, settings.samples, rng)
        sizes = np.array([len(part) for part in self.parts])
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
        while self.done < self.settings.rounds and not self._stopped():
            self._round()
            self._save()
            self._tell(report)
        write_json(self.path, self.record)
        self.checkpoint.unlink(missing_ok=True)
        return self.record

    def _tell(self, report: Report | None) -> None:
        if report is not None:
            name = f"{name_of(self.weighting)}, repetition {self.repetition}"
            report(name, self.done, self.settings.rounds, self.record["accuracy"][-1])

    def _round(self) -> None:
        start, settings, r = time.perf_counter(), self.settings, self.done
        alpha = self._weights(r)
        orders = training.batches(settings.seed, self.repetition, settings.clients, self.parts, self.plan, r)
        lr = settings.lr * settings.decay**r
        self.params = training.train(self.params, self.data.train, orders, alpha, self.plan, lr, self.where)
        if not all(bool(torch.isfinite(piece).all()) for piece in self.params):
            raise DivergedError(
                f"the model left the finite numbers in round {r + 1} with step size {lr:g}: lower the learning rate."
            )
        self.record["alpha"].append(alpha.tolist())
        self.record["trained"].append(int((alpha > 0).sum()))
        self._measure()
        self.record["seconds"].append(round(time.perf_counter() - start, 3))

    def _weights(self, r: int) -> Array:
        """alpha of round r from F_i(w_r) - F_i*, with F_i* = 0 as it is unknown."""
        losses = self.record["client_losses"][-1]
        excess = np.zeros(len(self.p)) if losses is None else np.array(losses)
        stream = HashedRound(self.settings.seed, [self.repetition], r)
        alpha = self.weighting(self.p, excess[None], r, stream)
        return check_simplex(alpha, (1, len(self.p)), name_of(self.weighting))[0]

    def _measure(self) -> None:
        low, everything = self.plan.low, np.arange(len(self.data.test.y))
        loss, right = training.evaluate(self.params, self.data.test, everything, self.where, low)
        self.record["accuracy"].append(float(right.mean()))
        self.record["test_loss"].append(float(loss.mean()))
        self.record["client_losses"].append(self._client_losses())

    def _client_losses(self) -> list[float] | None:
        if is_constant(self.weighting) and not self.settings.client_losses:
            return None
        index: Indices = np.concatenate(self.parts)
        values, _ = training.evaluate(self.params, self.data.train, index, self.where, self.plan.low)
        ends = np.cumsum([len(part) for part in self.parts])[:-1]
        return [float(own.mean()) for own in np.split(values, ends)]

    def _stopped(self) -> bool:
        after, accuracy = self.settings.stop_after, self.record["accuracy"]
        if after is None:
            return False
        reached = next((r for r in range(1, len(accuracy)) if accuracy[r] >= self.settings.target), None)
        return reached is not None and self.done >= reached + after

    def _save(self) -> None:
        arrays = {f"w{k}": piece.cpu().numpy() for k, piece in enumerate(self.params)}
        record = np.frombuffer(json.dumps(self.record).encode(), dtype=np.uint8)
        write(self.checkpoint, lambda file: np.savez(file, record=record, **arrays))  # type: ignore[arg-type]

    def _resume(self) -> None:
        if not self.checkpoint.is_file():
            return
        try:
            with np.load(io.BytesIO(self.checkpoint.read_bytes()), allow_pickle=False) as arrays:
                record = json.loads(arrays["record"].tobytes().decode())
                params = tuple(torch.from_numpy(arrays[f"w{k}"]) for k in range(len(self.params)))
        except (OSError, ValueError, KeyError) as wrong:
            raise reject(
                f"{self.checkpoint.name} must be a checkpoint", f"{type(wrong).__name__}", "delete it to start anew"
            ) from None
        _require_same(self.checkpoint, {key: record.get(key) for key in self.identity}, self.identity)
        self.record, self.params = record, tuple(piece.to(self.where.device) for piece in params)


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
