"""The conformance oracle on trial: implementations by hand, right or with a slip, and what it says of them.

    python -m validate.conformance [--seeds 2] [--right 10]

The implementations are plain loops over clients and samples that share no code with `fedbounds.algorithms`; a slip is
named by the words of the oracle's message, so that a row says whether the slip was found, and whether it was named.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np

from fedbounds.plugins import algorithm_named
from fedbounds.testing.round_conformance import conforms
from fedbounds.testing.slips import slips as known_slips
from fedbounds.testing.small_rounds import Task
from validate.runner import DOCS, Study

# The algorithms by hand. No parameter is 0, 1/2 or 1, where it may be its square, its complement or left out unseen;
# FedExP's epsilon is about as large as the clients' mean move squared, so that its step is now 1, now more.
WRITTEN = (
    "fedavg:server_step=0.7",
    "fedavgm:momentum=0.9,server_step=0.7",
    "fedprox:strength=0.3,server_step=0.7",
    "scaffold:option=2,server_step=0.7",
    "scaffold:option=1,server_step=0.7",
    "scaffnew:q=0.3",
    "fednova",
    "fedexp:epsilon=0.01",
    "minibatch",
    "sgd",
    "local-rr",
)
RENORMALISED = "the weights are not renormalised over the clients present"
BY_N = "the sum is divided by N, not by the number present"
OF_MOVES, MOVES_BY_N = f"{RENORMALISED}, moves being averaged", f"{BY_N}, moves being averaged"
EQUALLY = "clients are weighted equally, not by p"
ALL = "every client takes part, whoever was drawn"
FEW, MANY = "one local step too few", "one local step too many"
SUMMED = "gradients are summed over the batch, not averaged"
SUMMED_DRAWN = "gradients are summed over a drawn batch, but averaged over all samples"
DISTINCT = "a batch is drawn without replacement, and afresh at each step"
FIRST = "every local step uses the first batch"
MOVE, SUBTRACTED = "the mean move is taken for the model", "the mean move is subtracted"
OLD = "the server's old model is averaged in as one more client"
RELAYED = "a client starts from where the last one ended"
SCALED = "clients are weighted equally and the move is multiplied by N over the number present"
FORGOTTEN = "the server's step is forgotten"
SIGN = "the control variates have the wrong sign"
# Slips of the package's list that no implementation by hand makes; that without replacement is FedAvg's alone.
NOT_BY_HAND = {
    "the server's step is doubled",
    "each client takes part by a coin of its own, not a fixed number of them",
    "the proximal gradient is normalised, strength (x - w)/||x - w||",
    "the control variates are frozen: neither c nor c_i moves",
}
WITHOUT = "samples are drawn without replacement"
# Slips of SCAFFOLD's second option.
OPTION_2 = {
    "c is left out of the new c_i",
    "c_i is not divided by the number of steps",
    "c_i is not divided by the step size",
    "the change of c_i has the wrong sign",
    "c_i is measured from the new model",
}
# Slips that are none there: clients of equal weight, or all of them, a round of one's own, no batch to stay with.
NONE = {
    "scaffold": {EQUALLY},
    "fednova": {OF_MOVES, MOVES_BY_N},
    "fedexp": {OF_MOVES, MOVES_BY_N},
    "scaffnew": {RENORMALISED, BY_N, OF_MOVES, MOVES_BY_N, EQUALLY, ALL, FEW, MANY, MOVE, SUBTRACTED, OLD, RELAYED},
    "local-rr": {MANY},
    "sgd": {OF_MOVES, MOVES_BY_N, RELAYED},
}


def slips(text: str) -> list[str]:
    """The slips that the implementation by hand of an algorithm can make."""
    key = text.partition(":")[0]
    others = NOT_BY_HAND | NONE.get(key, set()) | ({WITHOUT} if key != "fedavg" else set())
    others |= OPTION_2 if "option=1" in text else set()
    return [words for words in known_slips(algorithm_named(text)) if words not in others]


def by_hand(slip: str = "") -> Callable:
    """One round of whichever algorithm the task names, with the slip."""
    return lambda state, task, rng: _ROUNDS.get(task.algorithm.key, _averaging)(state, task, rng, slip)


def _gradient(task: Task, i: int, x: np.ndarray, rows: np.ndarray | None, slip: str) -> np.ndarray:
    g = task.gradient(i, x, rows)
    if slip == SUMMED_DRAWN:
        return g if rows is None else g * len(rows)
    return g * (len(task.targets[i]) if rows is None else len(rows)) if slip == SUMMED else g


def _batches(task: Task, i: int, steps: int, rng: np.random.Generator, slip: str) -> list:
    """The rows of every local step of client i."""
    size, n = task.batch_size, len(task.targets[i])
    if size is None:
        return [None] * steps
    if slip == DISTINCT:
        return [rng.permutation(n)[:size] for _ in range(steps)]
    once = (task.algorithm.key == "local-rr") != (
        slip in {f"samples are drawn {w} replacement" for w in ("with", "without")}
    )
    rows = rng.permutation(n)[: steps * size].reshape(steps, size) if once else rng.integers(0, n, (steps, size))
    drawn = list(rows)
    return [drawn[0]] * steps if slip == FIRST else drawn


def _weights(task: Task, chosen: list[int], slip: str) -> dict[int, float]:
    n = [len(y) for y in task.targets]
    share = {i: n[i] / sum(n) for i in range(len(n))}
    if slip in (RENORMALISED, OF_MOVES):
        return {i: share[i] for i in chosen}
    if slip in (BY_N, MOVES_BY_N):
        return {i: 1 / len(n) for i in chosen}
    if slip in (EQUALLY, SCALED):
        return {i: 1 / len(chosen) for i in chosen}
    total = sum(share[i] for i in chosen)
    return {i: share[i] / total for i in chosen}


def _chosen(task: Task, rng: np.random.Generator, slip: str) -> list[int]:
    N = len(task.targets)
    picked = sorted(rng.choice(N, task.participants, replace=False).tolist())
    return list(range(N)) if slip == ALL else picked


def _steps(task: Task, slip: str) -> int:
    """The number of local steps; one at least, as some methods divide by it."""
    return max(1, task.tau + {FEW: -1, MANY: 1}.get(slip, 0))


def _lost(weight: dict[int, float], w: np.ndarray, key: str, slip: str) -> np.ndarray:
    """What weights that do not sum to 1 take away from w where models are averaged, not moves."""
    models = slip in (RENORMALISED, BY_N) and key not in ("fednova", "fedexp")
    return (1 - sum(weight.values())) * w if models else 0 * w


def _apply(w: np.ndarray, move: np.ndarray, count: int, slip: str, server: float = 1.0) -> np.ndarray:
    """The server's update of its model."""
    step = (1.0 if slip == FORGOTTEN else server) * move
    if slip == MOVE:
        return step
    if slip == SUBTRACTED:
        return w - step
    return w + step * (count / (count + 1) if slip == OLD else 1.0)


def _averaging(state: dict, task: Task, rng: np.random.Generator, slip: str) -> dict:
    """FedAvg and what only changes its local step or its server."""
    method, w = task.algorithm, state["w"]
    key, chosen = method.key, _chosen(task, rng, slip)
    weight, moves, start, taken = _weights(task, chosen, slip), {}, w, {}
    longest = _steps(task, slip)
    for i in chosen:
        taken[i] = longest
        if key == "fednova":
            sizes = [len(y) for y in task.targets]
            taken[i] = max(1, round(longest * sizes[i] / max(sizes)))
        x = start.copy()
        for rows in _batches(task, i, taken[i], rng, slip):
            at = w if key == "minibatch" and "moving" not in slip else x
            g = _gradient(task, i, at, rows, slip)
            if key == "minibatch" and "tau gradients are summed" not in slip:
                g = g / longest
            if key == "fedprox":
                g = g + _pull(method.strength, x, w, slip)
            x = x - task.eta * g
        moves[i] = x - w
        start = x if slip == RELAYED else w
    move = sum(weight[i] * moves[i] for i in chosen) - _lost(weight, w, key, slip)
    if key == "fednova" and "without dividing" not in slip:
        mean = sum(weight[i] * taken[i] for i in chosen)
        mean = 1.0 if "not multiplied" in slip else longest if "largest" in slip else mean
        move = mean * sum(weight[i] * moves[i] / taken[i] for i in chosen)
    if slip == SCALED:
        move = len(task.targets) / len(chosen) * move
    if key == "fedexp" and "not used" not in slip:
        epsilon = 0.0 if "epsilon is" in slip else method.epsilon
        apart = sum(weight[i] * moves[i] @ moves[i] for i in chosen)
        ratio = apart / ((1 if "2 of the denominator" in slip else 2) * (move @ move + epsilon))
        move = (ratio if "may fall" in slip or "2 of the" in slip else max(1.0, ratio)) * move
    server = getattr(method, "server_step", 1.0)
    if key != "fedavgm":
        return {"w": _apply(w, move, len(chosen), slip, server)}
    beta = 0.0 if "momentum is forgotten" in slip else method.momentum
    if slip.startswith("1 - momentum"):
        beta = 1 - beta
    m = beta * state["m"] + (1 - beta if "damped" in slip else 1.0) * move
    used = method.momentum * m + move if "Nesterov" in slip else m
    return {"w": _apply(w, used, len(chosen), slip, server), "m": m}


def _pull(strength: float, x: np.ndarray, w: np.ndarray, slip: str) -> np.ndarray:
    if "wrong sign" in slip:
        return -strength * (x - w)
    if "term is forgotten" in slip:
        return 0 * x
    if "squared" in slip:
        strength = strength**2
    return (2 if "half" in slip else 1) * strength * (x if "origin" in slip else x - w)


def _together(state: dict, task: Task, rng: np.random.Generator, slip: str) -> dict:
    """SGD on one machine."""
    if "only at the end" in slip:
        return _averaging(state, task, rng, slip)
    chosen = _chosen(task, rng, slip)
    weight, x, steps = _weights(task, chosen, slip), state["w"].copy(), _steps(task, slip)
    rows = {i: _batches(task, i, steps, rng, slip) for i in chosen}
    for k in range(steps):
        x = x - task.eta * sum(weight[i] * _gradient(task, i, x, rows[i][k], slip) for i in chosen)
    w = state["w"]
    move = sum(weight.values()) * (x - w) - _lost(weight, w, "sgd", slip)
    return {"w": _apply(w, move, len(chosen), slip)}


def _scaffold(state: dict, task: Task, rng: np.random.Generator, slip: str) -> dict:
    w, c, c_i = state["w"], state["c"], state["c_i"]
    chosen, N = _chosen(task, rng, slip), len(task.targets)
    weight, steps, start = _weights(task, chosen, slip), _steps(task, slip), w
    option = int(slip[-1]) if slip.startswith("c_i is renewed") else task.algorithm.option
    ended, variate = {}, {}
    for i in range(N) if slip.startswith("c_i moves for absent") else chosen:
        x = start.copy()
        for rows in _batches(task, i, steps, rng, slip):
            correction = c - c_i[i]
            if slip == SIGN:
                correction = -correction
            elif "are not used" in slip:
                correction = 0 * c
            elif "left out of the step" in slip:
                correction = -c_i[i]
            x = x - task.eta * (_gradient(task, i, x, rows, slip) + correction)
        ended[i] = x
        start = x if slip == RELAYED else w
        variate[i] = task.gradient(i, w) if option == 1 else _second(w, x, c, c_i[i], steps, task.eta, slip)
    move = sum(weight[i] * (ended[i] - w) for i in chosen) - _lost(weight, w, "scaffold", slip)
    after = _apply(w, move, len(chosen), slip, task.algorithm.server_step)
    if "measured from the new model" in slip:
        variate = {i: c_i[i] - c + (after - x) / (steps * task.eta) for i, x in ended.items()}
    new, change = c_i.copy(), {i: v - c_i[i] for i, v in variate.items()}
    for i, moved in change.items():
        new[i] = c_i[i] if slip == "c_i never moves" else c_i[i] + moved
    present = sum(task.problem.p[i] for i in change) if "those present, not over" in slip else 1.0
    shared = c + sum(task.problem.p[i] * moved for i, moved in change.items()) / present
    return {"w": after, "c": c if "stale" in slip else shared, "c_i": new}


def _second(w, x, c, c_i, steps: int, eta: float, slip: str) -> np.ndarray:
    mean = (w - x) / (steps * eta)
    if "number of steps" in slip:
        mean = mean * steps
    elif "step size" in slip:
        mean = mean * eta
    elif "change of c_i" in slip:
        mean = -mean
    return c_i + mean if "left out of the new" in slip else c_i - c + mean


def _scaffnew(state: dict, task: Task, rng: np.random.Generator, slip: str) -> dict:
    x, h, q = state["x_i"].copy(), state["h_i"].copy(), task.algorithm.q
    if slip.endswith("1 - q"):
        q = 1 - q
    N = len(x)
    rows = [_batches(task, i, task.tau, rng, slip) for i in range(N)]
    for k in range(task.tau):
        for i in range(N):
            x[i] = x[i] - task.eta * (_gradient(task, i, x[i], rows[i][k], slip) + (1 if slip == SIGN else -1) * h[i])
        used = 1.0 if "after every step" in slip else q
        if rng.random() < used:
            met = np.mean(x - task.eta / used * h, axis=0)
            change = (1 if "1/eta" in slip else used) / task.eta * (met - x)
            h = h + (0.0 if "never move" in slip else -1.0 if "change of h_i" in slip else 1.0) * change
            x[:] = met
    return {"w": x.mean(axis=0), "x_i": x, "h_i": h}


_ROUNDS = {"sgd": _together, "scaffold": _scaffold, "scaffnew": _scaffnew}


def trial(text: str, slip: str, seeds: int) -> dict:
    """What the oracle says of the implementation by hand, over the seeds."""
    said = [conforms(by_hand(slip), algorithm_named(text), samples=1000, seed=seed) for seed in range(seeds)]
    return {
        "algorithm": text,
        "slip": slip,
        "tried": seeds,
        "refused": sum(not item for item in said),
        "named": sum(slip in item.slips for item in said),
        "alone": sum(item.slips == (slip,) for item in said),
        "words": dict(Counter(" / ".join(item.slips) or "none" for item in said if not item)),
        "message": str(said[0]),
    }


def compute(seeds: int = 2, right: int = 10) -> list[dict]:
    """Every implementation, right and with each of its slips."""
    return [trial(text, slip, seeds if slip else right) for text in WRITTEN for slip in ("", *slips(text))]


def counts(rows: list[dict]) -> str:
    """How often slips and right implementations were refused, in a sentence."""
    good, wrong = ([row for row in rows if bool(row["slip"]) is bad] for bad in (False, True))
    tried, refused, named, alone = (sum(row[of] for row in wrong) for of in ("tried", "refused", "named", "alone"))
    said = f"{len(wrong)} slips of {len(good)} implementations: refused {refused} times of {tried}, "
    said += f"named {named} times, and alone {alone} times; the right implementations were refused "
    return f"{said}{sum(row['refused'] for row in good)} times of {sum(row['tried'] for row in good)}."


STUDY = Study(__doc__, "conformance", compute, counts, page=DOCS / "zoo.md", blocks={"slips": counts})

if __name__ == "__main__":
    STUDY.main()
