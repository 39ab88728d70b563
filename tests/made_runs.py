"""Made-up records of runs: by hand where a test knows the answer, and plausible ones for pictures and tables."""

import math

import numpy as np

from fedbounds.vision.records import from_json

N, R = 20, 50
# A run that never reaches 0.9.
NEVER = None


def record(accuracy, weighting="fedavg", repetition=0, data="mnist", partition="shards:60,unbalanced", **other):
    """A record with these accuracies; alpha = p = 1/4 on four clients unless ``other`` says more."""
    rounds = len(accuracy) - 1
    p = [0.25] * 4
    settings = {"data": data, "partition": partition, "rounds": rounds, **other.pop("settings", {})}
    made = {
        "settings": settings,
        "weighting": weighting,
        "repetition": repetition,
        "seed": 100 + repetition,
        "p": p,
        "accuracy": list(accuracy),
        "test_loss": [2.3] * (rounds + 1),
        "client_losses": [None] * (rounds + 1),
        "alpha": [p] * rounds,
        "trained": [4] * rounds,
        "seconds": [0.5] * rounds,
    }
    return made | other


def reaching(round_reached, rounds=20, **other):
    """A run whose accuracy first reaches 0.9 in ``round_reached`` (None: never)."""
    rise = rounds + 1 if round_reached is None else round_reached
    accuracy = [0.1] + [0.5 + 0.3 * r / rise if r < rise else 0.95 for r in range(1, rounds + 1)]
    return from_json(record(accuracy, **other), "made")


def runs_reaching(*values, weighting="fedavg", **other):
    """Repetitions 0, 1, ... that first reach 0.9 in these rounds."""
    return [reaching(v, weighting=weighting, repetition=k, **other) for k, v in enumerate(values)]


def plausible(weighting, repetition, partition="shards:60,unbalanced", speed=1.0, data="mnist", **settings):
    """A record like those of real runs: noisy learning curves, alpha drawn towards p, seeded by its arguments."""
    rng = np.random.default_rng([repetition, len(partition)])
    r = np.arange(R + 1)
    inverse = {"fedavg": 0.0, "fedmax": math.inf}.get(weighting, math.nan)
    inverse = 1 / float(weighting.split(":")[1]) if math.isnan(inverse) else inverse
    rate = speed * (1 + 0.04 * min(inverse, 12))
    own = np.random.default_rng([repetition, len(partition), int(10 * min(inverse, 1e3))])
    noise = own.normal(0, 0.012, R + 1) / (1 + 0.1 * r) * (r > 0)
    accuracy = np.clip(0.975 - 0.865 * np.exp(-((rate * r / 5) ** 0.8)) + noise, 0, 1)
    p = rng.dirichlet(np.full(N, 4.0))
    hardness = rng.lognormal(0, 0.35, N)
    losses = (
        2.3
        / (1 + 0.4 * rate * r[:, None] * rng.lognormal(0, 0.15, (R + 1, N)))
        * np.where(r[:, None] > 0, hardness, 1)
    )
    alpha = _softmax(p, losses[:-1], inverse)
    return record(
        accuracy.round(4).tolist(),
        weighting,
        repetition,
        data,
        partition,
        settings={"clients": N, "lr": 0.05, "epochs": 2, **settings},
        p=p.tolist(),
        test_loss=(2.3 * np.exp(-((rate * r / 5) ** 0.7)) + 0.1 + np.abs(noise)).tolist(),
        client_losses=losses.tolist() if inverse else [None] * (R + 1),
        alpha=alpha.tolist(),
        trained=[1 if inverse == math.inf else N] * R,
    )


def _softmax(p, losses, inverse):
    if inverse == math.inf:
        return np.eye(N)[losses.argmax(axis=1)]
    weights = p * np.exp(inverse * (losses - losses.max(axis=1, keepdims=True)))
    return weights / weights.sum(axis=1, keepdims=True)


def climbing(reached, rounds=50, last=0.95):
    """Accuracies that first have 90% in round ``reached``."""
    return [0.1] + [0.5 if r < reached else last for r in range(1, rounds + 1)]
