"""Rebuild a worst case from its Gram matrix as explicit functions, and run it in the simulator."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedbounds.engine.simulate import simulate
from fedbounds.errors import reject
from fedbounds.evidence.assumption_checks import judged_on
from fedbounds.evidence.evaluate import evaluate
from fedbounds.evidence.measured_run import Policy
from fedbounds.evidence.run_constants import examine_run
from fedbounds.evidence.sdp.one_step.interpolating_functions import Interpolant, InterpolatedProblem
from fedbounds.evidence.sdp.one_step.parameters import Setting
from fedbounds.evidence.sdp.one_step.program import Model
from fedbounds.evidence.sdp.solver import Solution
from fedbounds.model.experiment import Experiment
from fedbounds.model.problem import Array
from fedbounds.theory.claim import OWN_STEPS, Claim
from fedbounds.theory.verdict import Failure

# Directions in which the worst case extends less than this part of its largest are the solver's rounding.
FLAT = 1e-9


@dataclass(frozen=True)
class Replay:
    """A worst case run in the simulator: the claim's two sides there, with the run's own constants.

    ``predicted`` and ``measured`` hold the left side, Delta and drift of the solver's worst case and of the
    run; ``failed`` are the claim's assumptions that the run breaks, ``unknown`` those that cannot be checked on it.
    """

    problem: InterpolatedProblem
    start: Array
    lhs: float
    rhs: float
    predicted: dict[str, float]
    measured: dict[str, float]
    failed: tuple[Failure, ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def violated(self) -> bool:
        """Whether the run itself breaks the claim, by more than its reconstruction can be off."""
        return self.lhs - self.rhs > 10 * FLAT * max(abs(self.lhs), abs(self.rhs))

    def to_json(self) -> dict[str, object]:
        """The instance's data as JSON: per client the points, gradients and values it interpolates."""
        return {
            "start": self.start.tolist(),
            "clients": [{"x": c.x.tolist(), "g": c.g.tolist(), "f": c.f.tolist()} for c in self.problem.clients],
            "lhs": self.lhs,
            "rhs": self.rhs,
        }


def rebuild(model: Model, result: Solution) -> tuple[InterpolatedProblem, Array]:
    """(problem, w_t0): functions in R^r, r the rank of the Gram matrix, that interpolate the worst case."""
    eigenvalues, vectors = np.linalg.eigh(result.gram)
    kept = eigenvalues > FLAT * eigenvalues[-1]
    frame = vectors[:, kept] * np.sqrt(eigenvalues[kept])
    setting = model.setting
    mu, L = float(setting.mu), float(setting.L)
    clients, own, values = [], [], []
    for points in model.points:
        x = np.stack([model.coordinates(q.x) for q in points]) @ frame
        g = np.stack([model.coordinates(q.g) for q in points]) @ frame
        f = np.array([model.form(q.f).lin @ result.values for q in points])
        clients.append(Interpolant(x, g, f, mu, L))
        own.append(x[-1])
        values.append(f[-1])
    problem = InterpolatedProblem(
        tuple(clients), np.array([float(v) for v in setting.p]), np.stack(own), np.array(values)
    )
    return problem, frame[model.basis.index("w0")]


def replay(claim: Claim, model: Model, result: Solution) -> Replay:
    """Run the worst case for one round in the simulator and evaluate the claim's two sides at its step."""
    setting = model.setting
    if setting.local == "any":
        raise reject("a worst case is replayed as gradient steps", "local models of any kind", "use local steps")
    problem, start = rebuild(model, result)
    alpha = np.array([float(v) for v in setting.alpha])
    trajectory = simulate(_experiment(setting, problem, alpha, start))
    run = examine_run(trajectory, setting.how, Policy())
    path = trajectory.paths[setting.how.virtual]
    s = setting.step
    measured = {
        "Delta": float(path.distance_sq[0, s]),
        "Delta_next": float(path.next_mean[0, s]),
        "drift": float(path.drift[0, s]),
        "grad_sq": float(trajectory.grad_sq[0, s, 0]),
        "excess": float(trajectory.local_excess[0, s, 0]),
    }
    predicted = {
        name: float((model.forms[name].quad * result.gram).sum() + model.forms[name].lin @ result.values)
        for name in measured
    }
    values = {**run.values(claim.symbols), **measured, "eta": float(setting.eta[-1])}
    rhs = sum(float(np.min(evaluate(term, values))) for term in claim.sides(setting.how).terms.values())
    # The experiment takes the setting's step sizes, which are the claim's own or those that were asked for.
    failed, unknown = judged_on(claim, run)
    failed = tuple(failure for failure in failed if failure.key != OWN_STEPS)
    return Replay(problem, start, measured[str(claim.lhs)], rhs, predicted, measured, failed, unknown)


def _experiment(setting: Setting, problem: InterpolatedProblem, alpha: Array, start: Array) -> Experiment:
    """One round with the setting's step sizes and fixed weights; later steps of the round repeat the last size."""
    sizes = [float(v) for v in setting.eta]

    def weighting(p: Array, excess: Array, round: int, stream: object) -> Array:
        return np.broadcast_to(alpha, excess.shape).copy()

    return Experiment(
        problem,
        weighting,
        lambda t: sizes[min(t, len(sizes) - 1)],
        tau=setting.tau,
        rounds=1,
        replicates=1,
        batch_size=None,
        w0=start,
    )
