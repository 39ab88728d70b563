"""One round of the vision path beside other ways to it: `python -m validate.benchmarks --only vision`.

The paper's network on N = 50 clients of 200 made-up images, batches of 64, plain SGD, one local epoch, one thread.
The contestants take turns and medians are kept: other work on the machine slows all of them, so what counts are the
ratios to the plain loop (PyTorch's layers, autograd and torch.optim, one client after the other): of processor
time, and by the clock for Flower, which has processes of its own. The averaged models are checked to agree before
any time is printed; of FedJAX, which shuffles its own batches, the gradient is. Compiling is not timed.
"""

from __future__ import annotations

import argparse
import functools
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch

from fedbounds.model.problem import Array, Indices
from fedbounds.vision import network, reference, training
from fedbounds.vision.network import Params
from fedbounds.vision.training import Plan, Samples
from validate.benchmarks import frameworks, vision_flower, vision_rivals

PLAIN = "plain loop"
LR = 0.1
# Largest distance of two averaged models, relative to how far the plain loop moved: sums in another order, and
# products of operands rounded to 8 bits of mantissa.
SAME, ROUNDED = 1e-2, 0.3


@dataclass(frozen=True, eq=False)
class Work:
    """A round: the model it starts from, the data, who holds what, the batches, and the weights alpha."""

    start: Params
    samples: Samples
    parts: tuple[Indices, ...]
    orders: list[list[Indices]]
    alpha: Array
    plan: Plan


def workload(clients: int, samples: int, epochs: int = 1, batch: int = 64) -> Work:
    """FedAvg's round on uniform noise with uniform labels, equal clients."""
    rng = np.random.default_rng(0)
    total = clients * samples
    x = torch.from_numpy(rng.random((total, network.IMAGE, network.IMAGE), dtype=np.float32))
    y = torch.from_numpy(rng.integers(network.CLASSES, size=total))
    parts, plan = tuple(np.split(np.arange(total), clients)), Plan(epochs, batch, "sgd")
    orders = training.batches(0, 0, clients, parts, plan, 0)
    return Work(network.initial("flatten", rng), Samples(x, y), parts, orders, np.full(clients, 1 / clients), plan)


def first_client(work: Work) -> Work:
    """The same round where the first client has all the weight, as in FedMax."""
    return replace(work, alpha=np.eye(len(work.parts))[0])


def plain(work: Work) -> Params:
    """Client by client."""
    net = reference.build("flatten")
    return reference.train(net, work.start, work.samples, work.orders, work.alpha, work.plan, LR)


def ours(where: training.Machine, low: bool, work: Work) -> Params:
    """The package's own pass."""
    plan = replace(work.plan, low=low)
    return training.train(work.start, work.samples, work.orders, work.alpha, plan, LR, where)


def grouped(work: Work) -> Params:
    """One group of channels a client."""
    return vision_rivals.grouped(work.start, work.samples, work.orders, LR)


def contestants(compiled: bool) -> dict[str, Callable[[Work], Params]]:
    """Name -> one round."""
    found: dict[str, Callable[[Work], Params]] = {PLAIN: plain, "grouped convolution": grouped}
    for where in [training.machine("cpu")] + ([training.machine("cpu", compiled=True)] if compiled else []):
        for low in (False, True):
            name = f"fedbounds, {'compiled ' if where.compiled else ''}{'bfloat16' if low else 'float32'}"
            found[name] = functools.partial(ours, where, low)
    return found


def check(work: Work, rounds: dict[str, Callable[[Work], Params]]) -> dict[str, float]:
    """How far every contestant ends from the plain loop, relative to its path; an AssertionError if too far."""
    wanted = plain(work)
    moved = _distance(wanted, work.start)
    away = {name: _distance(run(work), wanted) / moved for name, run in rounds.items()}
    for name, far in away.items():
        if not far <= (ROUNDED if "bfloat16" in name else SAME):
            raise AssertionError(f"{name} ends {far:.2g} of the way from the plain loop")
    return away


def _distance(a: Params, b: Params) -> float:
    return float(sum(((x - y).double() ** 2).sum() for x, y in zip(a, b, strict=True)) ** 0.5)


def measure(
    clients: int = 50, samples: int = 200, epochs: int = 1, repeats: int = 3, compiled: bool = True
) -> dict[str, object]:
    """Median seconds of a round of every contestant, and the ratio of the plain loop's to its own."""
    sizes = (clients, samples, epochs)
    work, few = workload(*sizes), workload(2, samples, epochs)
    with training.one_thread_an_operation(), torch.no_grad():
        rounds = contestants(compiled)
        away = check(few, rounds)  # also compiles, with the shapes of the whole
        tasks: dict[str, Callable[[], object]] = {name: functools.partial(run, work) for name, run in rounds.items()}
        tasks["fedbounds, FedMax"] = functools.partial(ours, training.machine("cpu"), False, first_client(work))
        if frameworks.has("fedjax"):
            batch = work.plan.batch
            tasks["FedJAX"] = vision_rivals.fedjax_round(work.start, work.samples, work.parts, batch, epochs, LR)
            tasks["FedJAX"]()  # compiles
        rows = _ratios(_alternate(tasks, repeats))
    if frameworks.has("flwr"):
        by_clock = vision_flower.seconds(sizes, LR, repeats)
        rows["Flower"] = {"wall": by_clock, "plain loop over it": rows[PLAIN]["wall"] / by_clock}
    names = ("clients", "samples", "epochs")
    given = dict(zip(names, sizes, strict=True)) | {"batch": work.plan.batch, "repeats": repeats}
    return {"workload": given, "distance from the plain loop": away, "rounds": rows}


def _ratios(seconds: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    base = seconds[PLAIN]["processor"]
    return {name: {**spent, "plain loop over it": base / spent["processor"]} for name, spent in seconds.items()}


def _alternate(tasks: dict[str, Callable[[], object]], repeats: int) -> dict[str, dict[str, float]]:
    """Medians over runs that take turns."""
    spent: dict[str, list[tuple[float, float]]] = {name: [] for name in tasks}
    for _ in range(repeats):
        for name, task in tasks.items():
            begin = time.process_time(), time.perf_counter()
            task()
            spent[name].append((time.process_time() - begin[0], time.perf_counter() - begin[1]))
    medians = {name: np.median(own, axis=0) for name, own in spent.items()}
    return {name: {"processor": float(own[0]), "wall": float(own[1])} for name, own in medians.items()}


def table(found: dict[str, object]) -> str:
    """One line a contestant, the slowest first."""
    rows: dict[str, dict[str, float]] = found["rounds"]  # type: ignore[assignment]
    lines = [f"{'one round':<30}{'processor s':>12}{'clock s':>10}{'plain loop / it':>17}"]
    for name, row in sorted(rows.items(), key=lambda item: item[1]["plain loop over it"]):
        processor = f"{row['processor']:.3f}" if "processor" in row else "-"
        lines.append(f"{name:<30}{processor:>12}{row['wall']:>10.3f}{row['plain loop over it']:>17.2f}")
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="One round of the vision path beside other ways to it.")
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--no-compile", action="store_true", help="leave the compiled passes out")
    given = parser.parse_args()
    print(table(measure(given.clients, given.samples, given.epochs, given.repeats, not given.no_compile)))
