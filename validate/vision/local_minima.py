"""How far from 0 is F_i*? It is unknown for a network and taken as 0, the infimum of a cross-entropy.

    python -m validate.vision.local_minima --data-dir DIR        (two or three minutes on one core)

A few clients are trained alone from w_0 with the step of the experiments, which gives an upper bound: 0 <= F_i* <=
the smallest loss seen. Taking 0 for an F_i* <= d changes exp((F_i - F_i*)/T) by a factor of at most exp(d/T), and so
each ratio alpha_i/alpha_j too. Writes validate/results/vision/local_minima.json.
"""

import argparse
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from fedbounds import io
from fedbounds.errors import reject
from fedbounds.vision import images, run, training
from validate.vision import measures, page
from validate.vision.experiments import RESULTS, SOFT, TEMPERATURES, Folder, grid

NAMES = ("mnist-iid", "mnist-niid", "mnist-tniid")
CLIENTS, EPOCHS, EVERY = 3, 100, 10
SMALL_CLIENTS, SMALL_EPOCHS = 1, 20
# Significant digits of stored numbers: what differs between machines is far below.
DIGITS = 8


def alone(folder: Folder, data: run.Prepared, client: int, epochs: int, where: training.Machine) -> Any:
    """The losses of one client of repetition 0 trained alone from w_0, every EVERY epochs, and the smallest."""
    settings = replace(folder.settings, epochs=EVERY)
    parts, net, losses = run.deal(settings, data.labels, 0), run.start(settings, 0), []
    with training.repeatable():
        for r in range(epochs // EVERY):
            order = training.batches(settings, 0, parts, r)[client]
            net = training.train(net, data.train, order, settings, settings.lr, where.device)
            values, _ = training.evaluate(net, data.train, parts[client], settings.precision, where)
            losses.append(float(f"{values.mean():.{DIGITS}g}"))
    return {"client": client, "samples": len(parts[client]), "losses": losses, "smallest": min(losses)}


def _spread(sizes: np.ndarray, count: int) -> list[int]:
    """``count`` clients from the smallest data set to the largest."""
    order = np.argsort(sizes, kind="stable")
    return [int(order[k]) for k in np.linspace(0, len(order) - 1, count).round().astype(int)]


def measure(data_dir: Path | None, small: bool) -> dict[str, Any]:
    """Bounds of every framework, and what they mean for the weights at each temperature."""
    where = training.machine("cpu")
    count, epochs = (SMALL_CLIENTS, SMALL_EPOCHS) if small else (CLIENTS, EPOCHS)
    chosen = {name: grid(small)[name] for name in NAMES}
    first = next(iter(chosen.values())).settings
    data = run.prepare(images.load(first.data, data_dir), first.normalisation, where)
    found: dict[str, Any] = {}
    for experiment in chosen.values():
        sizes = np.array([len(part) for part in run.deal(experiment.settings, data.labels, 0)])
        rows = [alone(experiment, data, i, epochs, where) for i in _spread(sizes, count)]
        found[experiment.framework] = {"settings": experiment.settings.to_json(), "clients": rows}
    largest = max(row["smallest"] for case in found.values() for row in case["clients"])
    factors = {name: math.exp(largest / T) for name in (SOFT, *TEMPERATURES) if (T := measures.temperature(name))}
    return {
        "study": "local_minima",
        "repetition": 0,
        "epochs": epochs,
        "data": found,
        "largest": largest,
        "factors": factors,
    }


def main(arguments: list[str] | None = None) -> Any:
    """Train, print and write; ``--small --out DIR`` is tiny, on digits."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=Path, help="folder of the IDX files; else they are downloaded")
    parser.add_argument("--out", type=Path, help="write the numbers here instead")
    parser.add_argument("--small", action="store_true", help="tiny, on digits; needs --out")
    chosen = parser.parse_args(arguments)
    if chosen.small and not chosen.out:
        raise reject("small runs are no results", "no folder for them", "give --out")
    data = measure(chosen.data_dir, chosen.small)
    io.write_json((chosen.out or RESULTS) / "local_minima.json", data)
    print(page.minima(chosen.out or RESULTS))
    return data


if __name__ == "__main__":
    main()
