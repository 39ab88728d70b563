"""The constants of a run, with provenance, and the values of a claim's own symbols on its paths."""

from dataclasses import replace

import numpy as np

from fedbounds.engine.expectations import ENGINE as EXPECTATIONS
from fedbounds.engine.iterates import replay
from fedbounds.evidence.measured_run import MeasuredRun, Policy, rho_bar, rho_tilde
from fedbounds.evidence.quantity_values import EXTREMES, Values, values
from fedbounds.model.trajectory import Trajectory
from fedbounds.theory.claim import Claim
from fedbounds.theory.constant import Constant, Provenance
from fedbounds.theory.quantity import Path
from fedbounds.theory.reading import Reading
from fedbounds.weightings.multinomial import Multinomial

# How the second moments were found.
GIVEN, TOTAL = "given by the user", "largest total expectation over t and i"
VISITED = "worst conditional expectation at the points visited, every step and replicate"


def second_moments(trajectory: Trajectory, policy: Policy) -> tuple[Constant, Constant, Constant]:
    """(sigma_sq, G_sq, sum_i p_i^2 sigma_i^2) as the policy takes them; Assumptions 3 and 4."""
    extremes, problem = trajectory.extremes, trajectory.experiment.problem
    p = problem.p
    if policy.given:
        per_client, most = np.full(len(p), policy.sigma_sq), policy.G_sq or 0
        provenance, note = Provenance.GIVEN, GIVEN
    else:
        per_client, most, provenance = extremes.sigma_i_sq.max(axis=0), extremes.G_sq.max(), Provenance.EXACT
        note = TOTAL if trajectory.engine == EXPECTATIONS else VISITED
    sigma_sq, G_sq, sigma_p_sq = (
        Constant(float(value), provenance, note) for value in (per_client.max(), most, p**2 @ per_client)
    )
    return sigma_sq, G_sq, sigma_p_sq


def examine_run(trajectory: Trajectory, reading: Reading, policy: Policy | None = None) -> MeasuredRun:
    """Collect every constant symbol's value on a trajectory, in one reading."""
    policy = policy or Policy()
    experiment, extremes = trajectory.experiment, trajectory.extremes
    problem = experiment.problem
    sigma_sq, G_sq, sigma_p_sq = second_moments(trajectory, policy)
    skew_bar, skew_tilde = rho_bar(trajectory, reading), rho_tilde(trajectory)
    start = problem.w_star - experiment.start
    exact = Provenance.EXACT
    over = "every step" if reading.skew == "all-steps" else "t = 0 mod tau"
    constants = {
        "L": problem.constants()["L"],
        "mu": problem.constants()["mu"],
        "Gamma": problem.Gamma,
        "tau": Constant(experiment.tau, exact),
        "N": Constant(problem.N, exact),
        "T_run": Constant(experiment.total_steps, exact),
        "Delta_0": Constant(float(start @ start), exact, "squared distance of w_0 to w*"),
        "sigma_sq": sigma_sq,
        "G_sq": G_sq,
        "sigma_p_sq": sigma_p_sq,
        **at_optimum(trajectory),
        "eta_0": Constant(float(trajectory.eta[0]), exact, "step size at t = 0"),
        "eta_s": Constant(1.0, exact, "server step size"),
        "rho_bar": Constant(float(skew_bar.min()), exact, f"smallest over replicates and {over}"),
        "rho_tilde": Constant(float(skew_tilde.max()), exact, "largest over replicates and steps"),
        "pi_min": Constant(float(extremes.pi_min.min()), exact, "smallest alpha_i/p_i of the run"),
        "pi_max": Constant(float(extremes.pi_max.max()), exact, "largest alpha_i/p_i of the run"),
        "p_min": Constant(float(problem.p.min()), exact),
        "m": Constant(number_selected(trajectory), exact, "clients sharing the weight equally; 0 if not equal"),
    }
    if experiment.everyone_present:
        constants["q"] = Constant(1.0, exact, "every client takes part")
    return MeasuredRun(trajectory, reading, policy, constants)


def at_optimum(trajectory: Trajectory) -> dict[str, Constant]:
    """Moments of the stochastic gradients at w*, and the smoothness of what they are gradients of.

    sigma_opt_sq = sum_i p_i^2 Var g_i(w*), sigma_dif_sq = sum_i p_i (Var g_i(w*) + ||grad F_i(w*)||^2), L_sample.
    """
    experiment = trajectory.experiment
    problem, b = experiment.problem, experiment.batch_size
    p, w_star = problem.p, problem.w_star
    variance = problem.client_variance(w_star[None, :], b, experiment.replacement)
    slopes = (problem.grads(w_star) ** 2).sum(axis=-1)
    smoothness = problem.L if b is None else problem.sample_smoothness
    return {
        "sigma_opt_sq": Constant(float(p**2 @ variance), Provenance.EXACT, "at w*"),
        "sigma_dif_sq": Constant(float(p @ (variance + slopes)), Provenance.EXACT, "at w*"),
        "L_sample": Constant(float(smoothness), Provenance.BOUND, "of the loss of one sample, on R^d"),
    }


def number_selected(trajectory: Trajectory) -> int:
    """m if every row of alpha gives 1/m to exactly m clients (the same m always), else 0; 0 if rounds are missing.

    Of draws with replacement their number.
    """
    rule = trajectory.experiment.rule
    if isinstance(rule, Multinomial):
        return rule.m
    if trajectory.experiment.stride > trajectory.experiment.tau:
        return 0
    count, top = (trajectory.alpha > 0).sum(axis=-1), trajectory.alpha.max(axis=-1)
    most = int(count.max())
    return most if count.min() == most and np.allclose(top * most, 1.0, rtol=0, atol=1e-12) else 0


# Iterates that are kept at once at most, in numbers (256 MB).
MOST_ENTRIES = 2**25


def with_quantities(claim: Claim, run: MeasuredRun) -> MeasuredRun:
    """The run with the values of the claim's own symbols, at the times of its scope."""
    wanted = frozenset(claim.computed)
    if run.evaluated == (wanted, claim.scope) or not (wanted or run.evaluated):
        return run
    if run.evaluated is not None:  # what another claim had measured, or lacked, is not this one's
        gone = {symbol.name for symbol in run.evaluated[0]}
        constants = {name: constant for name, constant in run.constants.items() if name not in gone}
        run = replace(run, constants=constants, quantities=Values(), evaluated=None)
    if not wanted:
        return run
    experiment, times = run.trajectory.experiment, run._times(claim.scope)
    losses, eta = experiment.problem, run.trajectory.eta
    unknown = {symbol for symbol in wanted if symbol.statistic in EXTREMES and run.trajectory.random}
    result = values(claim, losses, Path(experiment.tau, eta), lambda: _paths(run), unknown)
    for symbol in unknown:
        result.lacking[symbol.name] = (
            f"the {symbol.statistic} on any path is not known from the paths that were drawn"
        )
    constants = {
        symbol.name: Constant(float(result.constants[symbol.name]), Provenance.EXACT, symbol.meaning)
        for symbol in wanted
        if symbol.name in result.constants
    }
    fields = {name: np.asarray(rows, dtype=float)[..., times] for name, rows in result.fields.items()}
    quantities = replace(result, fields=fields)
    constants = {**run.constants, **constants}
    return replace(run, constants=constants, quantities=quantities, evaluated=(wanted, claim.scope))


def _paths(run: MeasuredRun) -> list[tuple[None, Path]]:
    """Every repetition's path. Raises ValueError where there is none."""
    experiment, eta = run.trajectory.experiment, run.trajectory.eta
    entries = experiment.replicates * len(eta) * experiment.problem.N * experiment.problem.d
    if run.trajectory.engine == EXPECTATIONS:
        raise ValueError("exact expectations have no paths")
    if entries > MOST_ENTRIES:
        raise ValueError("the iterates of this run are not kept: it is too large")
    models, *others = replay(experiment)
    rows = zip(models[run.reading.virtual], *others, strict=True)
    losses = experiment.problem
    return [(None, Path(experiment.tau, eta, losses, w, X, alpha, X_next=last)) for w, X, alpha, last in rows]
