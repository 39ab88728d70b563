"""Solve the performance-estimation problem: the only importer of cvxpy.

It is solved on the side of the proof: the smallest y with

    sum_k y_k against_k - objective = sum_j lambda_j constraint_j + <S, gram>,   lambda >= 0, S >= 0,

an identity of forms, so that every feasible (y, lambda, S) is a proof of objective <= sum_k y_k against_k
on the whole class; the Gram matrix of the worst case is the multiplier of S >= 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedbounds.evidence.sdp.forms import Form
from fedbounds.evidence.sdp.model import Model

# Tried in turn where a solve comes back inaccurate: other regularisations of the linear systems (which decide it
# at degenerate optima), shorter steps without scaling, then a first-order method.
ATTEMPTS: tuple[dict[str, object], ...] = (
    {"solver": "CLARABEL"},
    {"solver": "CLARABEL", "static_regularization_constant": 1e-7},
    {"solver": "CLARABEL", "static_regularization_proportional": 1e-12},
    {"solver": "CLARABEL", "equilibrate_enable": False, "max_step_fraction": 0.9, "max_iter": 400},
    {"solver": "SCS", "eps_abs": 1e-9, "eps_rel": 1e-9, "max_iters": 20_000},
)


class Solved(StrEnum):
    """What a solve established, in floating point: only OPTIMAL carries numbers."""

    OPTIMAL = "optimal"
    UNBOUNDED = "unbounded"
    EMPTY = "empty"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Solution:
    """``value`` = sum_k y_k, ``y`` (k,), ``multipliers`` (m,), and the worst case's ``gram`` (n, n), ``values``."""

    outcome: Solved
    value: float = float("nan")
    y: NDArray[Any] = field(default_factory=lambda: np.empty(0), repr=False)
    multipliers: NDArray[Any] = field(default_factory=lambda: np.empty(0), repr=False)
    gram: NDArray[Any] = field(default_factory=lambda: np.empty((0, 0)), repr=False)
    values: NDArray[Any] = field(default_factory=lambda: np.empty(0), repr=False)


@lru_cache(maxsize=32)
def compiled(n: int, m: int, q: int, count: int, nonneg: bool) -> tuple[Any, tuple[Any, ...], Any, Any]:
    """(programme, its parameters, y, lambda) of a shape, compiled once: curves solve it again with new numbers."""
    import cvxpy as cp

    k = n * (n + 1) // 2
    quad, lin = cp.Parameter((k, m)), cp.Parameter((q, m))
    right, right_lin = cp.Parameter((k, count)), cp.Parameter((q, count))
    left, left_lin, price = cp.Parameter(k), cp.Parameter(q), cp.Parameter(count, nonneg=True)
    y, multipliers = cp.Variable(count, nonneg=nonneg), cp.Variable(m, nonneg=True)
    S = cp.reshape(_unpacking(n) @ (right @ y - left - quad @ multipliers), (n, n), order="C")
    balance = right_lin @ y - left_lin - lin @ multipliers == 0
    problem = cp.Problem(cp.Minimize(price @ y), [S >> 0, balance])
    return problem, (quad, lin, right, right_lin, left, left_lin, price), y, multipliers


def worst_case(model: Model, objective: Form, against: Sequence[Form], sign: str = "free") -> Solution:
    """sup objective over the class with each form of ``against`` at most 1 (``sign`` nonneg) or equal to 1 (free).

    A status other than optimal is tried again in other settings, never accepted.
    """
    shape = model.quad.shape[1], *model.lin.shape
    problem, parameters, unknown, lagrange = compiled(*shape, len(against), sign == "nonneg")
    rows = _magnitude(model.quad, model.lin)
    top = float(_magnitude(objective.quad[None], objective.lin[None])[0])
    units = np.array([_magnitude(f.quad[None], f.lin[None])[0] for f in against])
    numbers = (
        (_packed(model.quad) / rows[:, None]).T,
        (model.lin / rows[:, None]).T,
        np.stack([_packed(f.quad) / u for f, u in zip(against, units, strict=True)], axis=1),
        np.stack([f.lin / u for f, u in zip(against, units, strict=True)], axis=1),
        _packed(objective.quad) / top,
        objective.lin / top,
        units.min() / units,
    )
    for parameter, value in zip(parameters, numbers, strict=True):
        parameter.value = value
    status = _attempt(problem)
    if status != "optimal":
        return Solution({"infeasible": Solved.UNBOUNDED, "unbounded": Solved.EMPTY}.get(status, Solved.UNDECIDED))
    gram, values = (c.dual_value / units.min() for c in problem.constraints)
    y, multipliers = np.array(unknown.value) * top / units, np.array(lagrange.value) * top / rows
    symmetric = (gram + gram.T) / 2
    return Solution(Solved.OPTIMAL, float(y.sum()), y, multipliers, symmetric, _signed(values, gram, model))


def interior(
    model: Model, gap: Form, keep: NDArray[Any] | None = None, kernel: NDArray[Any] | None = None
) -> tuple[float, NDArray[Any]]:
    """The multipliers furthest inside the proofs of gap >= 0: largest delta with lambda >= delta, S >= delta I.

    On a face of the proofs, ``keep`` (m,) says which multipliers may differ from 0 and S vanishes on the
    columns of ``kernel`` (n, r). Returns (delta, lambda); delta is -inf where no solver was accurate. It is
    at most 1, as only its sign matters.
    """
    import cvxpy as cp
    import scipy.sparse as sparse

    n, m = model.quad.shape[1], model.quad.shape[0]
    keep = np.ones(m, dtype=bool) if keep is None else keep
    rows = _magnitude(model.quad, model.lin)[keep]
    top = float(_magnitude(gap.quad[None], gap.lin[None])[0])
    multipliers, delta = cp.Variable(int(keep.sum())), cp.Variable()
    packed = sparse.csr_array((_packed(model.quad[keep]) / rows[:, None]).T)
    S = cp.reshape(_unpacking(n) @ (_packed(gap.quad) / top - packed @ multipliers), (n, n), order="C")
    constraints = [
        multipliers >= delta,
        delta <= 1,
        sparse.csr_array((model.lin[keep] / rows[:, None]).T) @ multipliers == gap.lin / top,
    ]
    if kernel is None:
        constraints.append(S - delta * np.eye(n) >> 0)
    else:
        rest = np.linalg.qr(kernel, mode="complete")[0][:, kernel.shape[1] :]
        # On the kernel S is zero by the exact repair; the rest must be positive definite.
        constraints += [rest.T @ S @ rest - delta * np.eye(rest.shape[1]) >> 0, S @ kernel == 0]
    status = _attempt(cp.Problem(cp.Maximize(delta), constraints), inaccurate=True)
    if status not in ("optimal", "optimal_inaccurate"):
        return float("-inf"), np.empty(0)
    found = np.zeros(m)
    found[keep] = np.array(multipliers.value) * top / rows
    return float(np.array(delta.value)), found


def _attempt(problem: Any, inaccurate: bool = False) -> str:
    """The status of the first conclusive attempt; ``inaccurate`` is for numbers that are checked exactly."""
    import warnings

    import cvxpy as cp

    status = "solver_error"
    for options in ATTEMPTS:
        with warnings.catch_warnings():
            # The status says it, and an inaccurate one is never accepted.
            warnings.filterwarnings("ignore", message="Solution may be inaccurate")
            try:
                # A solver that is kept keeps the settings of the attempt before.
                problem.solve(warm_start=False, **options)
            except BaseException as wrong:
                # Clarabel's panics are no Exception, and have no name that could be imported.
                if isinstance(wrong, cp.error.SolverError) or type(wrong).__name__ == "PanicException":
                    continue
                raise
        status = problem.status
        if status in ("optimal", "infeasible", "unbounded") or (inaccurate and status == "optimal_inaccurate"):
            break
    return str(status)


def _signed(values: NDArray[Any], gram: NDArray[Any], model: Model) -> NDArray[Any]:
    """The function values from the balance's multipliers, whose sign is a convention of the solver's interface.

    The right sign is the one under which the worst case satisfies its constraints.
    """
    slack = [float((np.einsum("mij,ij->m", model.quad, gram) + model.lin @ (s * values)).min()) for s in (1, -1)]
    return values if slack[0] >= slack[1] else -values


def _magnitude(quad: NDArray[Any], lin: NDArray[Any]) -> NDArray[Any]:
    """The largest coefficient of each form (m,): rows are divided by it, as solvers like numbers near 1."""
    largest = np.maximum(np.abs(quad).max(axis=(1, 2)), np.abs(lin).max(axis=1, initial=0.0))
    return np.where(largest > 0, largest, 1.0)


def _packed(quad: NDArray[Any]) -> NDArray[Any]:
    """The upper triangle of symmetric matrices: (..., n, n) -> (..., n (n + 1) / 2)."""
    rows, columns = np.triu_indices(quad.shape[-1])
    return quad[..., rows, columns]


def _unpacking(n: int) -> Any:
    """The sparse matrix from an upper triangle to the full symmetric matrix, row by row."""
    import scipy.sparse as sparse

    rows, columns = np.triu_indices(n)
    place = np.arange(len(rows))
    off = rows != columns
    where = np.concatenate([rows * n + columns, (columns * n + rows)[off]])
    return sparse.csr_array(
        (np.ones(len(where)), (where, np.concatenate([place, place[off]]))), shape=(n * n, len(rows))
    )
