"""Are the records reproduced? A run beside its stored record, and beside itself from a w_0 that differs by rounding.

    python -m validate.vision.sensitivity --data-dir DIR --rounds 5         (some minutes on one core)

The NIID framework, repetition 0, in float32. The second start is w_0 with every number moved to the next float32:
what the order of a sum, another processor or another version of PyTorch does in every step. Writes
validate/results/vision/sensitivity.json after every weighting.
"""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from fedbounds import io, plugins
from fedbounds.engine.rng import HashedStream
from fedbounds.model.weighting import Weighting
from fedbounds.vision import images, records, run, training
from fedbounds.vision.network import Network
from fedbounds.vision.settings import ImageSettings
from validate.vision import page
from validate.vision.experiments import MAIN, NIID, RESULTS, grid

ROUNDS = 5


def nudged(net: Network) -> Network:
    """The network with every parameter replaced by the next larger float32; in place."""
    with torch.no_grad():
        for piece in net.parameters():
            piece.copy_(torch.nextafter(piece, torch.full_like(piece, torch.inf)))
    return net


def accuracies(
    settings: ImageSettings, data: run.Prepared, rule: Weighting, net: Network, where: training.Machine
) -> list[float]:
    """Test accuracy of w_0 = ``net`` and after each round of repetition 0, as ``run.run`` has it."""
    parts, found = run.deal(settings, data.labels, 0), []
    p = np.array([len(part) for part in parts]) / sum(map(len, parts))
    ends = np.cumsum([len(part) for part in parts])[:-1]
    with training.repeatable():
        for r in range(settings.rounds + 1):
            every = np.arange(len(data.test.y))
            found.append(float(training.evaluate(net, data.test, every, settings.precision, where)[1].mean()))
            if r == settings.rounds:
                return found
            losses, _ = training.evaluate(net, data.train, np.concatenate(parts), settings.precision, where)
            excess = np.array([own.mean() for own in np.split(losses, ends)])
            alpha = rule(p, excess[None], r, HashedStream(settings.seed, [0], r))[0]
            orders, sent = training.batches(settings, 0, parts, r), np.flatnonzero(alpha > 0)
            lr = settings.lr * settings.decay**r
            models = (training.train(net, data.train, orders[i], settings, lr, where.device) for i in sent)
            net = training.average(alpha[sent], models, net)
    return found


def measure(data_dir: Path | None, rounds: int, out: Path) -> dict[str, Any]:
    """Accuracies of the run, of its twin, and of the record, for FedAvg and FedSoftMax."""
    settings = replace(grid()[NIID].settings, precision="float32", rounds=rounds)
    where = training.machine("cpu")
    data = run.prepare(images.load(settings.data, data_dir), settings.normalisation, where)
    found: dict[str, Any] = {"settings": settings.to_json(), "torch": torch.__version__, "weightings": {}}
    for name in reversed(MAIN):
        stored = records.read(RESULTS / NIID / records.file_name(name, 0))[0]
        rule = plugins.weighting_named(name)
        starts = {"run": run.start(settings, 0), "nudged": nudged(run.start(settings, 0))}
        curves = {key: accuracies(settings, data, rule, net, where) for key, net in starts.items()}
        found["weightings"][name] = {**curves, "stored": stored.accuracy[: rounds + 1].tolist()}
        io.write_json(out / "sensitivity.json", found)
        print(page.sensitive(out), flush=True)
    return found


def main(arguments: list[str] | None = None) -> None:
    """Train, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=Path, help="folder of the IDX files; else they are downloaded")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--out", type=Path, default=RESULTS, help="write the numbers here instead")
    chosen = parser.parse_args(arguments)
    measure(chosen.data_dir, chosen.rounds, chosen.out)


if __name__ == "__main__":
    main()
