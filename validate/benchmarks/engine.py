"""Engines side by side on the reference workloads: `python -m validate.benchmarks --only engines`.

W is ridge least squares, L binary logistic regression: N = 50 clients, n = 200 samples each, d = 20, batches of 8
with replacement, tau = 5, 400 rounds, 32 replicates, float64. F and the distance are recorded every round, or, where
the row says so, everything that a claim needs at every step. Every engine draws from the same index stream, so their
curves are checked to agree before any time is printed. Times are the best of interleaved runs; the researcher's loop
is timed on a part and scaled.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numba
import numpy as np

from fedbounds.engine import rng
from fedbounds.engine.kernels import scalar_math as kernel_draws
from fedbounds.engine.loop import choose_engine
from fedbounds.engine.record import steps
from fedbounds.engine.simulate import simulate
from fedbounds.model.experiment import Experiment
from fedbounds.model.problem import LeastSquaresArrays, LogisticArrays, Problem
from fedbounds.model.schedule import InverseTime
from fedbounds.problems.least_squares import LeastSquaresProblem
from fedbounds.problems.logistic import LogisticProblem
from fedbounds.weightings.fedavg import FedAvg
from validate.benchmarks.clock import Times, turns

FLAGS = ["-O3", "-march=native", "-ffp-contract=fast", "-shared", "-fPIC"]
# Different orders of additions over some thousand steps, on gaps that are differences of losses of order 1.
AGREEMENT = 1e-9
BY_HAND, FULL = "C by hand", "fedbounds, full record"
Engine = Callable[[Experiment], np.ndarray]


def samples(problem: Problem) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """(X, y, offsets, reg) of a problem over samples."""
    data = problem.kernel_data()
    assert isinstance(data, LeastSquaresArrays | LogisticArrays)
    return data.X, data.y, data.offsets, data.reg


def workload(
    kind: str, rounds: int = 400, N: int = 50, n: int = 200, d: int = 20, replicates: int = 32
) -> Experiment:
    """Workload W or L, or one of other dimensions."""
    rng = np.random.default_rng(0)
    X = [rng.standard_normal((n, d)) for _ in range(N)]
    y = [x @ rng.standard_normal(d) + rng.standard_normal(n) for x in X]
    problem: Problem = (
        LeastSquaresProblem(X, y, 0.1) if kind == "W" else LogisticProblem(X, [np.sign(v) for v in y], 0.1)
    )
    eta = InverseTime(problem.mu, 4 * problem.L / problem.mu)
    return Experiment(problem, FedAvg(), eta, tau=5, rounds=rounds, replicates=replicates, batch_size=8)


def fedbounds(experiment: Experiment) -> np.ndarray:
    """The engine measured: gaps (R, rounds + 1)."""
    return simulate(experiment, record="distance").gap


def full_record(experiment: Experiment) -> np.ndarray:
    """The same run with everything recorded that a claim may be examined on: gaps (R, rounds + 1)."""
    return simulate(experiment).paths["alpha"].gap[:, :: experiment.tau]


def padded_rows(rows: np.ndarray, width: int = 24) -> np.ndarray:
    """Rows filled up with zeros to ``width`` columns."""
    home = np.zeros((len(rows), width))
    home[:, : rows.shape[1]] = rows
    return home


def researchers_loop(experiment: Experiment) -> np.ndarray:
    """The loops as a paper's authors write them: numpy on one minibatch at a time."""
    problem, logistic = experiment.problem, isinstance(experiment.problem, LogisticProblem)
    X, y, offsets, reg = samples(problem)
    data = [(X[a:b], y[a:b]) for a, b in itertools.pairwise(offsets)]
    keys = rng.client_keys(experiment.seed, range(experiment.replicates), problem.N)
    gaps = np.empty((experiment.replicates, experiment.rounds + 1))

    def slope(z: np.ndarray, t: np.ndarray) -> np.ndarray:
        return -t / (1 + np.exp(t * z)) if logistic else z - t

    def objective(w: np.ndarray) -> float:
        losses = [np.mean(np.log1p(np.exp(-t * (x @ w))) if logistic else (x @ w - t) ** 2 / 2) for x, t in data]
        return float(problem.p @ losses + reg / 2 * w @ w)

    for r in range(experiment.replicates):
        w = experiment.start
        gaps[r, 0] = objective(w) - problem.F_star
        for k in range(experiment.rounds):
            following = np.zeros_like(w)
            for i, (x, t) in enumerate(data):
                u = w.copy()
                for s in range(k * experiment.tau, (k + 1) * experiment.tau):
                    rows = rng.indices(rng.absorb(keys[r, i], s), np.array([len(x)]), 8)[0]
                    gradient = slope(x[rows] @ u, t[rows]) @ x[rows] / 8 + reg * u
                    u = u - experiment.eta(s) * gradient
                following += problem.p[i] * u
            w = following
            gaps[r, k + 1] = objective(w) - problem.F_star
    return gaps


def gathered_numpy(experiment: Experiment) -> np.ndarray:
    """All replicates and clients at once, their batches gathered into one array a step."""
    problem, logistic = experiment.problem, isinstance(experiment.problem, LogisticProblem)
    X, y, offsets, reg = samples(problem)
    keys = rng.client_keys(experiment.seed, range(experiment.replicates), problem.N)
    W = np.tile(experiment.start, (experiment.replicates, 1))
    gaps = [problem.gap(W)]
    for k in range(experiment.rounds):
        U = np.repeat(W[:, None], problem.N, axis=1)
        for s in range(k * experiment.tau, (k + 1) * experiment.tau):
            rows = offsets[:-1, None] + rng.indices(rng.absorb(keys, s), problem.sizes, 8)
            x, t = X[rows], y[rows]
            z = (x @ U[..., None])[..., 0]
            slopes = -t / (1 + np.exp(t * z)) if logistic else z - t
            U = U - experiment.eta(s) * ((slopes[..., None, :] @ x)[..., 0, :] / 8 + reg * U)
        W = np.einsum("i,rid->rd", problem.p, U)
        gaps.append(problem.gap(W))
    return np.stack(gaps, axis=1)


@numba.njit(fastmath=True)
def _plain_objective(X, y, offsets, reg, p, w, logistic):  # type: ignore[no-untyped-def]
    total = reg / 2 * np.sum(w * w)
    for i in range(len(p)):
        loss = 0.0
        for j in range(offsets[i], offsets[i + 1]):
            z = 0.0
            for c in range(len(w)):
                z += X[j, c] * w[c]
            loss += np.log1p(np.exp(-y[j] * z)) if logistic else (z - y[j]) ** 2 / 2
        total += p[i] * loss / (offsets[i + 1] - offsets[i])
    return total


@numba.njit(fastmath=True)
def _plain_steps(X, y, begin, n, reg, etas, key, t0, u, logistic):  # type: ignore[no-untyped-def]
    rows, g = np.empty(8, dtype=np.int64), np.empty(len(u))
    for s in range(len(etas)):
        kernel_draws.draw_indices(kernel_draws.absorb(key, t0 + s), n, True, rows)
        g[:] = 0.0
        for row in rows:
            j, z = begin + row, 0.0
            for c in range(len(u)):
                z += X[j, c] * u[c]
            slope = -y[j] / (1 + np.exp(y[j] * z)) if logistic else z - y[j]
            for c in range(len(u)):
                g[c] += slope * X[j, c]
        for c in range(len(u)):
            u[c] -= etas[s] * (g[c] / 8 + reg * u[c])


@numba.njit(nogil=True, fastmath=True)
def _plain_replicate(X, y, offsets, reg, etas, keys, p, start, logistic, values):  # type: ignore[no-untyped-def]
    w, following, u = start.copy(), np.empty(len(start)), np.empty(len(start))
    for k in range(len(etas)):
        values[k] = _plain_objective(X, y, offsets, reg, p, w, logistic)
        following[:] = 0.0
        for i in range(len(p)):
            u[:] = w
            n = offsets[i + 1] - offsets[i]
            _plain_steps(X, y, offsets[i], n, reg, etas[k], keys[i], k * etas.shape[1], u, logistic)
            following += p[i] * u
        w[:] = following
    values[len(etas)] = _plain_objective(X, y, offsets, reg, p, w, logistic)


def plain_numba(experiment: Experiment) -> np.ndarray:
    """The obvious fused kernel: scalar loops, replicates in threads, losses by their formula."""
    problem = experiment.problem
    X, y, offsets, reg = samples(problem)
    etas = steps(experiment.eta, experiment.total_steps).reshape(-1, experiment.tau)
    keys = rng.client_keys(experiment.seed, range(experiment.replicates), problem.N)
    logistic = isinstance(problem, LogisticProblem)
    values = np.empty((len(keys), experiment.rounds + 1))

    def replicate(r: int) -> None:
        _plain_replicate(X, y, offsets, reg, etas, keys[r], problem.p, experiment.start, logistic, values[r])

    with ThreadPoolExecutor(numba.get_num_threads()) as pool:
        list(pool.map(replicate, range(len(keys))))
    return values - problem.F_star


def c_limit(folder: Path) -> Engine:
    """The C kernel of `limit.c`, compiled into a folder; its models are measured as fedbounds measures its own."""
    library = folder / "limit.so"
    source = Path(__file__).with_name("limit.c")
    subprocess.run(["cc", *FLAGS, "-DPADDED=24", "-o", str(library), str(source)], check=True)
    limit = ctypes.CDLL(str(library)).limit_rounds
    whole, real, pointer = ctypes.c_int64, ctypes.c_double, ctypes.c_void_p
    limit.argtypes = [pointer, pointer, pointer, whole, real, pointer, whole, whole, pointer, whole] + [pointer] * 3

    def engine(experiment: Experiment) -> np.ndarray:
        problem = experiment.problem
        X, y, offsets, reg = samples(problem)
        data = padded_rows(X)
        etas = steps(experiment.eta, experiment.total_steps).reshape(-1, experiment.tau)
        measure = choose_engine(experiment).gap

        def part(replicates: range) -> np.ndarray:
            keys = np.ascontiguousarray(rng.client_keys(experiment.seed, replicates, problem.N))
            W = padded_rows(np.tile(experiment.start, (len(replicates), 1)))
            ends = np.empty((experiment.rounds + 1, len(replicates), 24))
            ends[0] = W
            sizes = (experiment.rounds, experiment.tau, keys.ctypes.data, len(replicates))
            failed = limit(
                data.ctypes.data, y.ctypes.data, offsets.ctypes.data, problem.N, reg, etas.ctypes.data, *sizes,
                problem.p.ctypes.data, W.ctypes.data, ends[1:].ctypes.data,
            )  # fmt: skip
            assert not failed
            models = np.ascontiguousarray(ends[..., : problem.d]).reshape(-1, problem.d)
            return measure(models).reshape(experiment.rounds + 1, -1).T

        half = -(-experiment.replicates // 2)
        blocks = [block for block in (range(half), range(half, experiment.replicates)) if len(block)]
        with ThreadPoolExecutor(2) as pool:
            return np.concatenate(list(pool.map(part, blocks)))

    return engine


def timings(engines: dict[str, Engine], experiment: Experiment, repeats: int) -> Times:
    """The times of each engine, once all curves agree."""
    curves = {name: engine(experiment) for name, engine in engines.items()}  # also compiles
    for name, curve in curves.items():
        np.testing.assert_allclose(curve, curves["fedbounds"], rtol=0, atol=AGREEMENT, err_msg=name)
    return turns({name: functools.partial(engine, experiment) for name, engine in engines.items()}, repeats)


def side_by_side(kind: str, rounds: int, replicates: int, repeats: int, folder: Path) -> Times:
    """The times of every engine on a workload."""
    experiment = workload(kind, rounds, replicates=replicates)
    engines: dict[str, Engine] = {"fedbounds": fedbounds, FULL: full_record, "plain numba kernel": plain_numba}
    if kind == "W" and shutil.which("cc"):
        engines[BY_HAND] = c_limit(folder)
    times = timings(engines, experiment, repeats)
    slower = {"fedbounds": fedbounds, "gathered numpy": gathered_numpy}
    times |= timings(slower, experiment, max(repeats // 3, 1)) | times
    part = experiment.with_(rounds=max(rounds // 40, 1), replicates=1)
    slow = timings({"fedbounds": fedbounds, "researcher's loop": researchers_loop}, part, 1)["researcher's loop"]
    scale = replicates * rounds / part.rounds
    times["researcher's loop"] = {clock: seconds * scale for clock, seconds in slow.items()}
    return times


def measure(rounds: int, replicates: int, repeats: int) -> dict[str, Times]:
    """The times on W and L, the quickest first, and two ratios: by the clock to fedbounds, the processor to C.

    The second can be compared between machines and between days; it needs a C compiler.
    """
    result, limit = {}, None
    for kind in ("W", "L"):
        with tempfile.TemporaryDirectory() as folder:
            times = side_by_side(kind, rounds, replicates, repeats, Path(folder))
        own, limit = times["fedbounds"]["wall"], times.get(BY_HAND, {}).get("processor", limit)
        ordered = sorted(times.items(), key=lambda item: item[1]["wall"])
        result[kind] = {
            name: {**spent, "over fedbounds": spent["wall"] / own, **over_c(spent, limit)} for name, spent in ordered
        }
    return result


def over_c(spent: dict[str, float], limit: float | None) -> dict[str, float]:
    """The processor's seconds over those of the C kernel, where it was timed."""
    return {} if limit is None else {"over C": spent["processor"] / limit}


def table(found: dict[str, Times]) -> str:
    """Rows: engines; columns: seconds, processor seconds and both ratios on each workload."""
    names = dict.fromkeys(name for rows in found.values() for name in rows)
    head = "".join(f"| {kind + ': s':>10} {'cpu s':>10} {'ratio':>9} {'over C':>9} " for kind in found)
    lines = [f"{'engine':<28}{head}"]
    for name in sorted(names, key=lambda n: next(rows[n]["wall"] for rows in found.values() if n in rows)):
        rows = [found[kind].get(name) for kind in found]
        numbers = [[f"{value:.3f}" for value in row.values()] if row else [] for row in rows]
        numbers = [[*row, *["-"] * (4 - len(row))] for row in numbers]
        lines.append(f"{name:<28}" + "".join("| {:>10} {:>10} {:>9} {:>9} ".format(*row) for row in numbers))
    return "\n".join(lines)
