"""The status that follows from what a run showed, and the set of experiments that it speaks of."""

from __future__ import annotations

import numpy as np

from fedbounds.evidence.measured_run import Run
from fedbounds.model.weighting import as_weighting
from fedbounds.theory.claim import Claim
from fedbounds.theory.coverage import Coverage, only
from fedbounds.theory.verdict import Status


def concluded(
    claim: Claim, run: Run, refuted: np.ndarray, holds: np.ndarray, untested: np.ndarray
) -> tuple[Status, str]:
    """The status that follows from what was found at each tested time or point, and what to add to its detail."""
    if refuted.any():
        return Status.REFUTED, ""
    if untested.all():
        return Status.VACUOUS, "; both sides are 0 or below rounding wherever they were compared: nothing was tested"
    if not (holds | untested).all():
        return Status.UNDECIDED, ""
    if thinned(claim, run):
        return Status.UNDECIDED, (
            f"; one step in {run.trajectory.experiment.stride} was recorded: a thinned run can refute, not hold"
        )
    words = f"; {untested.sum()} of {untested.size} compare nothing above rounding"
    return Status.HOLDS, words if untested.any() else ""


def thinned(claim: Claim, run: Run) -> bool:
    """Whether steps that a claim speaks of were not recorded; constants are extremes over every step."""
    return claim.scope != "constant" and len(run.trajectory.times) <= len(run.trajectory.eta)


def this_run(run: Run) -> Coverage:
    """The set of experiments that evidence on a run speaks of: this problem and protocol."""
    experiment = run.trajectory.experiment
    problem = experiment.problem
    return Coverage(
        {
            "problem": only(f"{problem.kind} of this study"),
            "kappa": only(problem.L / problem.mu),
            "tau": only(experiment.tau),
            "gradients": only("full" if experiment.batch_size is None else "stochastic"),
            "participation": only(1.0 if experiment.everyone_present else experiment.participation),
            "N": only(problem.N),
            "weights": only(as_weighting(experiment.weighting).name),
            "T": only(experiment.total_steps),
        }
    )
