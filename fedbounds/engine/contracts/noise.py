"""The stochastic gradient of a problem, tried: unbiased, its closed variance exact, its noise as smooth as stated."""

import numpy as np
from numpy.typing import NDArray

from fedbounds.engine.contracts.battery import ROUNDING, Probe, worst
from fedbounds.model.problem import Array

# A variance from all samples and a closed form agree to this, relatively.
VARIANCE_ROUNDING = 1e-9
# Points at which samples are enumerated, and doubles that one such enumeration may hold.
POINTS, ENTRIES = 4, 4e6
# Where not every sample can be: so many standard errors, a nominal rate of 1e-15 for the mean of a normal sample.
STANDARD_ERRORS = 8.0
BATCHES = (2, 5)
REMEDY, DRAWS = "mend client_variance or the stochastic gradient", "mend client_grads with draws"


def noise_facts(probe: Probe) -> None:
    """Unbiased gradients of batches, the variance and its fall with the batch, Lipschitz noise, smooth samples."""
    problem = probe.problem
    full = problem.client_variance(probe.x, None)
    worst("no variance of full gradients", np.abs(full), probe.x, REMEDY, "{:.3g}", full)
    x, noise, weight, exact = _enumerated(probe)
    size, grain = (probe.grads[: len(x)] ** 2).sum(-1), probe.grain[: len(x)]
    square = (noise**2).sum(-1)
    second = (weight[:, None, :] * square).sum(0)
    # A noise that is 0 comes out as the grain of a gradient, whatever the size of the gradient.
    slack = ROUNDING * size + grain**2
    single = problem.client_variance(x, 1)
    allowed = VARIANCE_ROUNDING * (single + second) + slack
    off = np.abs(second - single) - allowed
    if not exact:  # a rare large sample may be missing, so only a variance told too small can be found
        off = second - single - allowed - STANDARD_ERRORS * square.std(axis=0) / np.sqrt(len(square))
    text = "client_variance {:.9g} where the samples give {:.9g}"
    worst("the variance of the stochastic gradient", off, x, REMEDY, text, single, second)
    _batches(probe, x, single, slack)
    _lipschitz(probe)
    _linear(probe)
    if exact and problem.sampling == "indices":
        bias = np.linalg.norm((weight[:, None, :, None] * noise).sum(0), axis=-1)
        off = bias - VARIANCE_ROUNDING * np.sqrt(second + size) - grain
        worst("unbiased stochastic gradients", off, x, DRAWS, "a mean over all samples off by {:.3g}", bias)
    if exact and np.isfinite(problem.sample_smoothness):
        _smooth(probe, x, noise, weight)


def _enumerated(probe: Probe) -> tuple[Array, Array, Array, bool]:
    """Points (P, N, d), g - grad F_i of draws (J, P, N, d), the draws' weights (J, N), and whether they are all.

    Of samples, each is a draw; of Gaussian noise, linear in what is drawn, each unit vector is.
    """
    problem, N, d = probe.problem, probe.problem.N, probe.problem.d
    normal = problem.sampling == "normal"
    every = d if normal else int(problem.sizes.max())
    J = int(np.clip(ENTRIES / (N * d), 2, every))
    x, rng, exact = probe.x[: int(np.clip(ENTRIES / (N * d * J), 1, POINTS))], probe.rng(6), every == J
    weight, j = np.full((J, N), 1.0 if normal and exact else 1 / J), np.arange(J)[:, None]
    draws: NDArray
    if normal:
        units = np.eye(d) if exact else rng.standard_normal((J, d))
        draws = np.broadcast_to(units[:, None, :], (J, N, d))
    elif exact:
        draws, weight = (j % problem.sizes)[..., None], (j < problem.sizes) / problem.sizes
    else:
        draws = rng.integers(0, problem.sizes, (J, N))[..., None]
    return x, _noise(probe, x, draws), weight, exact


def _noise(probe: Probe, x: Array, draws: NDArray) -> Array:
    """g(x; draws) - grad F_i(x): (P, N, d) and (J, N, b) -> (J, P, N, d), with one leading axis as the engine has."""
    J, P = len(draws), len(x)
    points = np.broadcast_to(x, (J, *x.shape)).reshape(-1, *x.shape[1:])
    each = np.repeat(draws, P, axis=0)
    return probe.problem.client_grads(points, each).reshape(J, *x.shape) - probe.problem.client_grads(x)


def _batches(probe: Probe, x: Array, single: Array, slack: Array) -> None:
    """The variance of a batch from that of a single sample."""
    sizes, sampled = probe.problem.sizes, probe.problem.sampling == "indices"
    for b in BATCHES:
        for replacement in (True, False) if sampled and b <= sizes.min() else (True,):
            fall = 1.0 if replacement else np.where(sizes > 1, (sizes - b) / np.maximum(sizes - 1, 1), 1.0)
            wanted, value = single / b * fall, probe.problem.client_variance(x, b, replacement)
            fact = f"the variance of a batch of {b} {'with' if replacement else 'without'} replacement"
            off = np.abs(value - wanted) - VARIANCE_ROUNDING * wanted - slack
            worst(fact, off, x, REMEDY, "{:.9g} for {:.9g}", value, wanted)


def _linear(probe: Probe) -> None:
    """A batch is the mean of its samples; Gaussian noise is linear in what is drawn, so that z/sqrt(b) is a batch."""
    problem, x, rng = probe.problem, probe.x[:2], probe.rng(7)
    if problem.sampling == "normal":
        z = rng.standard_normal((2, problem.N, problem.d))
        a, b, both = (_noise(probe, x, draws[None])[0] for draws in (z[0], z[1], 2 * z[0] - z[1]))
        wanted = 2 * a - b
    else:
        draws = rng.integers(0, problem.sizes[:, None], (1, problem.N, 3))
        both = _noise(probe, x, draws)[0]
        wanted = sum(_noise(probe, x, draws[..., k : k + 1])[0] for k in range(3)) / 3
    size = np.linalg.norm(wanted, axis=-1) + np.linalg.norm(probe.grads[:2], axis=-1)
    off = np.linalg.norm(both - wanted, axis=-1)
    bad = off - VARIANCE_ROUNDING * size - probe.grain[:2]
    worst("gradients that are the mean of their batch", bad, x, DRAWS, "a difference of {:.3g}", off)


def _lipschitz(probe: Probe) -> None:
    first, second = np.triu_indices(len(probe.x), 1)
    deviation = np.sqrt(probe.problem.client_variance(probe.x, 1))
    apart = np.linalg.norm(probe.x[first] - probe.x[second], axis=-1)
    change = np.abs(deviation[first] - deviation[second])
    size = np.linalg.norm(probe.grads, axis=-1) + probe.grain
    # The root of a rounded variance near 0 is off by the root of its rounding.
    rounding = VARIANCE_ROUNDING * deviation + np.sqrt(ROUNDING) * size
    stated = np.asarray(probe.problem.noise_lipschitz)
    off = change - np.where(apart > 0, stated * apart, 0.0) - rounding[first] - rounding[second]
    text = "noise that changes by {:.6g} over {:.6g}, above {:.6g} times that,"
    remedy = "declare a larger noise_lipschitz, or infinity"
    worst("noise_lipschitz", off, probe.x[first], remedy, text, change, apart, stated)


def _smooth(probe: Probe, x: Array, noise: Array, weight: Array) -> None:
    """E||g_i(x) - g_i(y)||^2 <= 2 L_sample D_i(x, y) at every pair of the enumerated points."""
    L, (first, second) = probe.problem.sample_smoothness, (k.ravel() for k in np.mgrid[: len(x), : len(x)])
    grads, losses = probe.grads[: len(x)], probe.losses[: len(x)]
    change = ((grads[first] - grads[second]) ** 2).sum(-1)
    change = change + (weight[:, None, :] * ((noise[:, first] - noise[:, second]) ** 2).sum(-1)).sum(0)
    bregman = losses[first] - losses[second] - (grads[second] * (x[first] - x[second])).sum(-1)
    off = change - 2 * L * (bregman + probe.rounding[first] + probe.rounding[second]) - ROUNDING * change
    text = "samples whose gradients change by {:.6g}, above {:.6g},"
    remedy = "declare a larger sample_smoothness, or infinity"
    worst("sample_smoothness", off, x[first], remedy, text, change, 2 * L * bregman)
