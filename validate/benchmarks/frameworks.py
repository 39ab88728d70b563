"""The reference workloads in JAX and FedJAX, each used where it is installed.

JAX follows the same rounds as fedbounds on the same batches, which it is given ready (drawing them is
not timed), all replicates and clients at once, float64, on the CPU. FedJAX brings its own sampling (shuffled
batches) and runs one replicate at a time through its own `federated_averaging` with a constant step and float64
parameters; its curve is compared statistically, and its time on a part is scaled to the workload.
"""

from __future__ import annotations

import importlib.util
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from fedbounds.engine import rng
from fedbounds.engine.simulate import simulate
from fedbounds.model.experiment import Experiment
from fedbounds.model.problem import LeastSquaresArrays, LogisticArrays, Problem
from fedbounds.model.schedule import ConstantStep, steps
from fedbounds.problems.logistic import LogisticProblem
from validate.benchmarks.clock import turns

# Standard errors within which two engines' mean gaps must agree, over a few rounds.
SIGMAS = 5.0
# Replicates that FedJAX runs for the comparison, and those of fedbounds against them.
FEW, MANY = 4, 256


def samples(problem: Problem) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """(X, y, offsets, reg) of a problem over samples."""
    data = problem.kernel_data()
    assert isinstance(data, LeastSquaresArrays | LogisticArrays)
    return data.X, data.y, data.offsets, data.reg


def has(name: str) -> bool:
    """Whether a framework can be imported."""
    return importlib.util.find_spec(name) is not None


def available(experiment: Experiment) -> dict[str, Callable[[Experiment], np.ndarray]]:
    """JAX where it is installed, its data and batches ready for one experiment."""
    return {"JAX": jax_engine(experiment)} if has("jax") else {}


def batches(experiment: Experiment) -> np.ndarray:
    """The rows of every batch: (rounds, tau, R, N, batch) into the stacked data."""
    problem, size = experiment.problem, int(experiment.batch_size or 0)
    offsets = samples(problem)[2]
    keys = rng.client_keys(experiment.seed, range(experiment.replicates), problem.N)
    drawn = [
        offsets[:-1, None] + rng.indices(rng.absorb(keys, t), problem.sizes, size)
        for t in range(experiment.total_steps)
    ]
    return np.array(drawn, dtype=np.int32).reshape(experiment.rounds, experiment.tau, *drawn[0].shape)


def _data(experiment: Experiment) -> tuple[np.ndarray, np.ndarray, float, bool, np.ndarray]:
    """Features, targets, the ridge, whether logistic, and the step sizes (rounds, tau)."""
    problem = experiment.problem
    X, y, _, reg = samples(problem)
    etas = steps(experiment.eta, experiment.total_steps).reshape(-1, experiment.tau)
    return X, y, float(reg), isinstance(problem, LogisticProblem), etas


def _sample_weights(experiment: Experiment) -> np.ndarray:
    """p_i / n_i of every sample: F(w) is then one weighted sum over the data."""
    problem = experiment.problem
    return np.repeat(problem.p / problem.sizes, problem.sizes)


def jax_engine(experiment: Experiment) -> Callable[[Experiment], np.ndarray]:
    """One compiled scan over rounds, losses over all data at their ends (least squares: the quadratic form)."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    X, y, reg, logistic, etas = (jnp.asarray(v) if isinstance(v, np.ndarray) else v for v in _data(experiment))
    weights, p = jnp.asarray(_sample_weights(experiment)), jnp.asarray(experiment.problem.p)
    rows, H = jnp.asarray(batches(experiment)), _mean_hessian(experiment)

    def step(U: Any, drawn: Any) -> tuple[Any, None]:
        chosen, eta = drawn
        x, t = X[chosen], y[chosen]
        z = jnp.einsum("rnbd,rnd->rnb", x, U)
        slopes = -t / (1 + jnp.exp(t * z)) if logistic else z - t
        return U - eta * (jnp.einsum("rnb,rnbd->rnd", slopes, x) / x.shape[2] + reg * U), None

    def gap(W: Any) -> Any:
        if not logistic:
            away = W - experiment.problem.w_star
            return ((away @ H) * away).sum(-1) / 2
        loss = jnp.logaddexp(0.0, -y * (W @ X.T)) @ weights
        return loss + reg / 2 * (W * W).sum(-1) - experiment.problem.F_star

    def one_round(W: Any, drawn: Any) -> tuple[Any, Any]:
        U, _ = jax.lax.scan(step, jnp.repeat(W[:, None], len(p), axis=1), drawn)
        W = jnp.einsum("n,rnd->rd", p, U)
        return W, gap(W)

    @jax.jit
    def run(start: Any) -> Any:
        _, gaps = jax.lax.scan(one_round, start, (rows, etas))
        return jnp.concatenate([gap(start)[None], gaps]).T

    start = jnp.tile(jnp.asarray(experiment.start), (experiment.replicates, 1))
    return lambda _: np.asarray(run(start))


def _mean_hessian(experiment: Experiment) -> np.ndarray:
    """sum_i p_i H_i of least squares; not used for logistic losses."""
    if isinstance(experiment.problem, LogisticProblem):
        return np.eye(experiment.problem.d)
    data = experiment.problem.kernel_data()
    assert isinstance(data, LeastSquaresArrays)
    return np.tensordot(experiment.problem.p, data.H, 1)


def fedjax_times(experiment: Experiment, rounds: int) -> dict[str, float]:
    """Seconds of FedJAX on the workload, scaled from FEW replicates of some rounds."""
    constant = experiment.with_(eta=ConstantStep(experiment.eta(0)), rounds=rounds)
    run = _fedjax(constant)
    run(1, seed=0)  # compiles
    theirs: list[float] = []
    spent = turns({"FedJAX": lambda: theirs.extend(run(rounds, seed) for seed in range(FEW))}, 1)["FedJAX"]
    ours = simulate(constant.with_(replicates=MANY), record="distance").gap[:, -1]
    spread = ours.std(ddof=1) * np.sqrt(1 / FEW + 1 / MANY)
    if abs(np.mean(theirs) - ours.mean()) > SIGMAS * spread:
        raise AssertionError(f"FedJAX ends at {np.mean(theirs):.6g}, fedbounds at {ours.mean():.6g} +- {spread:.2g}")
    scale = experiment.rounds * experiment.replicates / (rounds * FEW)
    return {clock: seconds * scale for clock, seconds in spent.items()}


def _fedjax(experiment: Experiment) -> Callable[..., float]:
    """run(rounds, seed): the gap after some rounds of FedJAX's own federated averaging, loss taken every round."""
    import jax
    import jax.numpy as jnp

    if "tree_map" not in dir(jax):  # FedJAX 0.0.17 calls it by the name that later versions of JAX took away
        jax.tree_map = jax.tree_util.tree_map
    import fedjax

    jax.config.update("jax_enable_x64", True)
    problem = experiment.problem
    X, y, reg, logistic, _ = _data(experiment)
    offsets = samples(problem)[2]

    def loss(w: Any, batch: Any) -> Any:
        z = batch["x"] @ w
        each = jnp.logaddexp(0.0, -batch["y"] * z) if logistic else (z - batch["y"]) ** 2 / 2
        return each.mean() + reg / 2 * (w @ w)

    gradient = jax.grad(loss)
    algorithm = fedjax.algorithms.fed_avg.federated_averaging(
        lambda w, batch, rng: gradient(w, batch),
        fedjax.optimizers.sgd(learning_rate=experiment.eta(0)),
        fedjax.optimizers.sgd(learning_rate=1.0),
        fedjax.ShuffleRepeatBatchHParams(
            batch_size=int(experiment.batch_size or 0), num_epochs=None, num_steps=experiment.tau
        ),
    )
    parts = itertools.pairwise(offsets)
    data = [fedjax.ClientDataset({"x": np.array(X[a:b]), "y": np.array(y[a:b])}) for a, b in parts]

    def run(rounds: int, seed: int) -> float:
        state, gap = algorithm.init(jnp.asarray(experiment.start)), 0.0
        for r in range(rounds):
            keys = jax.random.split(jax.random.PRNGKey(1000 * seed + r), len(data))
            state, _ = algorithm.apply(state, [(str(i), data[i], keys[i]) for i in range(len(data))])
            gap = float(problem.gap(np.asarray(state.params)[None])[0])
        return gap

    return run
