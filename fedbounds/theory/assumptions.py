"""The assumptions claims are made under, each with a check that executes on a run."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fedbounds.evidence.constants import Run, every_round_recorded, with_pairs
from fedbounds.theory.claim import Assumption

# Ratios alpha_i / p_i equal to 1 up to rounding of the weights.
EQUAL_WEIGHTS = 1e-12
# Gamma below this fraction of the largest e_i(w_0), or of what an error of this relative size in w* would
# make of coinciding minima, is rounding.
ZERO_GAMMA = 1e-14
MINIMISER_ROUNDING = 1e-12
# Gradients of one function computed for two clients differ by rounding of the data's sums, far below this.
SAME_GRADIENT = 1e-10


def _smooth(run: Run) -> tuple[bool, str]:
    constant = run.constants["L"]
    return True, f"L = {constant.value:.6g} ({constant.provenance}) on R^d"


def _strongly_convex(run: Run) -> tuple[bool, str]:
    if not run.trajectory.experiment.problem.convex:
        return False, "the problem is not convex"
    constant = run.constants["mu"]
    return constant.value > 0, f"mu = {constant.value:.6g} ({constant.provenance}) on R^d"


def _moment(symbol: str, visited: Callable[[Run], float]) -> Callable[[Run], tuple[bool, str]]:
    """A bound on a moment: checked at the points visited, or on the certified ball."""

    def check(run: Run) -> tuple[bool, str]:
        bound, seen = run.constants[symbol].value, visited(run)
        policy = run.policy
        if policy.source == "ball":
            radius, reached = float(policy.radius or 0), float(run.trajectory.extremes.radius.max())
            inside = reached <= radius
            return inside, f"checked on ||w - w*|| <= {radius:g}; the run reached {reached:.4g}"
        if policy.source == "given":
            return seen <= bound, f"{symbol} = {bound:.6g} given; the run needs {seen:.6g}"
        return True, f"{symbol} = {bound:.6g}, checked at the points visited (not on R^d)"

    return check


def _largest(name: str) -> Callable[[Run], float]:
    return lambda run: float(np.max(getattr(run.trajectory.extremes, name)))


smooth = Assumption("smooth", "every F_i is L-smooth (Assumption 1)", _smooth)
strongly_convex = Assumption("strongly-convex", "every F_i is mu-strongly convex (Assumption 2)", _strongly_convex)
bounded_variance = Assumption(
    "bounded-variance", "E||g_i - grad F_i||^2 <= sigma^2 (Assumption 3)", _moment("sigma_sq", _largest("sigma_i_sq"))
)
bounded_gradient = Assumption(
    "bounded-gradient", "E||g_i||^2 <= G^2 (Assumption 4)", _moment("G_sq", _largest("G_sq"))
)
PAPER = (smooth, strongly_convex, bounded_variance, bounded_gradient)


def _full_participation(run: Run) -> tuple[bool, str]:
    experiment = run.trajectory.experiment
    return experiment.everyone_present, f"C = {experiment.participation:g}"


full_participation = Assumption("full-participation", "every client takes part (C = 1)", _full_participation)


def _unbiased(run: Run) -> tuple[bool, str]:
    low, high = run.constants["pi_min"].value, run.constants["pi_max"].value
    return max(abs(low - 1), abs(high - 1)) <= EQUAL_WEIGHTS, f"alpha_i/p_i in [{low:.4g}, {high:.4g}]"


unbiased = Assumption("unbiased", "alpha_t^i = p_i (FedAvg)", _unbiased)


def _equal_selection(run: Run) -> tuple[bool, str]:
    m = int(run.constants["m"].value)
    if every_round_recorded(run.trajectory):
        return m > 0, f"m = {m}" if m else "the weights are not 1/m on m clients"
    return False, "the recording stride left rounds out, so m is not known (use stride 1)"


equal_selection = Assumption("equal-selection", "m clients a round share the weight equally", _equal_selection)


def _positive(symbol: str, label: str) -> Assumption:
    def check(run: Run) -> tuple[bool, str]:
        value = float(np.min(run.values()[symbol]))
        return value > 0, f"{label} = {value:.4g}"

    return Assumption(f"positive-{symbol}", f"{label} > 0", check)


positive_rho_bar = _positive("rho_bar", "rho_bar")
positive_pi = _positive("pi_min", "pi")
positive_p = _positive("p_min", "min p_i")


def _positive_pairs(run: Run) -> tuple[bool, str]:
    value = with_pairs(run)["rho_pairs"].value
    return value > 0, f"the smallest skew over visited pairs is {value:.4g}"


positive_rho_pairs = Assumption("positive-rho-pairs", "rho_bar > 0 over all pairs", _positive_pairs)


def _homogeneous(run: Run) -> tuple[bool, str]:
    # Not Gamma itself: a client of tiny p_i makes it tiny although its minimum lies elsewhere.
    problem = run.trajectory.experiment.problem
    rounding = run.constants["L"].value * float(MINIMISER_ROUNDING**2 * (problem.w_star @ problem.w_star))
    farthest, Gamma = float(problem.star_excess.max()), run.constants["Gamma"].value
    return farthest <= max(ZERO_GAMMA * float(run.trajectory.excess[:, 0].max()), rounding), f"Gamma = {Gamma:.4g}"


homogeneous = Assumption("homogeneous", "Gamma = 0", _homogeneous)


def _small_steps(run: Run) -> tuple[bool, str]:
    product = float(run.trajectory.eta.max() * run.constants["L"].value)
    return product <= 1 + EQUAL_WEIGHTS, f"max_t eta_t L = {product:.4g}"


small_steps = Assumption("small-steps", "eta_t <= 1/L", _small_steps)


def _slow_decay(run: Run) -> tuple[bool, str]:
    ratio = run.trajectory.extremes.eta_ratio
    return ratio <= 4, f"the largest eta_s/eta_t inside a round is {ratio:.4g}"


slow_decay = Assumption("slow-decay", "inside a round every earlier step size is at most 4 eta_t", _slow_decay)


def _equal_p(run: Run) -> tuple[bool, str]:
    p = run.trajectory.experiment.problem.p
    return bool(np.ptp(p) <= EQUAL_WEIGHTS), f"p_i in [{p.min():.4g}, {p.max():.4g}]"


equal_p = Assumption("equal-p", "every client has weight p_i = 1/N", _equal_p)


def _identical(run: Run) -> tuple[bool, str]:
    """Gradients compared at w_0, w* and d + 1 points around them: for quadratics that decides it."""
    experiment = run.trajectory.experiment
    problem = experiment.problem
    reach = 1 + np.linalg.norm(experiment.start - problem.w_star)
    around = np.random.default_rng(0).standard_normal((problem.d + 1, problem.d)) * reach
    points = np.concatenate([[experiment.start, problem.w_star], problem.w_star + around])
    grads = problem.grads(points)
    apart = float(np.abs(grads - grads[:, :1]).max() / max(np.abs(grads).max(), np.finfo(float).tiny))
    return apart <= SAME_GRADIENT, f"client gradients at {len(points)} points differ by {apart:.2g} of the largest"


identical = Assumption("identical", "F_i is the same function for every client", _identical)


def _sample_smooth(run: Run) -> tuple[bool, str]:
    constant = run.constants["L_sample"]
    return bool(np.isfinite(constant.value)), f"L_sample = {constant.value:.6g} ({constant.provenance})"


sample_smooth = Assumption("sample-smooth", "the loss of every sample is convex and L_sample-smooth", _sample_smooth)
