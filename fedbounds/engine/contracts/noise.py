"""The stochastic gradient of a problem, tried: unbiased, its closed variance exact, its noise as smooth as stated."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from fedbounds.engine.contracts.finding import Finding, worst
from fedbounds.engine.contracts.probe_points import ROUNDING, Probe
from fedbounds.model.problem import Array

# A variance from all samples and a closed form agree to this, relatively.
VARIANCE_ROUNDING = 1e-9
# Points at which samples are enumerated, and doubles that one such enumeration may hold.
POINTS, ENTRIES = 4, 4e6
# Where not every sample can be: so many standard errors, a nominal rate of 1e-15 for the mean of a normal sample.
STANDARD_ERRORS = 8.0
BATCHES = (2, 5)
REMEDY = "mend client_variance or the stochastic gradient"


def noise_facts(probe: Probe) -> Iterator[Finding]:
    """Unbiased gradients of batches, the variance and its fall with the batch, Lipschitz noise, smooth samples."""
    problem = probe.problem
    full = problem.client_variance(probe.x, None)
    yield worst("no variance of full gradients", np.abs(full), probe.x, "{:.3g}", (full,), REMEDY)
    x, noise, weight, exact = _enumerated(probe)
    size, grain = (probe.grads[: len(x)] ** 2).sum(-1), probe.grain[: len(x)]
    square = (noise**2).sum(-1)
    second = (weight[:, None, :] * square).sum(0)
    # A noise that is 0 comes out as the grain of a gradient, whatever the size of the gradient.
    yield from _variances(probe, x, second, square, ROUNDING * size + grain**2, exact)
    yield _lipschitz(probe)
    yield from _linear(probe)
    if exact:
        bias = np.linalg.norm((weight[:, None, :, None] * noise).sum(0), axis=-1)
        if problem.sampling == "indices":
            yield worst(
                "unbiased stochastic gradients",
                bias - VARIANCE_ROUNDING * np.sqrt(second + size) - grain,
                x,
                "a mean over all samples off by {:.3g}",
                (bias,),
                "mend client_grads with draws",
                "all samples",
            )
        yield from _smooth(probe, x, noise, weight)


def _enumerated(probe: Probe) -> tuple[Array, Array, Array, bool]:
    """Points (P, N, d), g - grad F_i of draws (J, P, N, d), the draws' weights (J, N), and whether they are all.

    Of samples, each is a draw; of Gaussian noise, linear in what is drawn, each unit vector is.
    """
    problem = probe.problem
    normal = problem.sampling == "normal"
    every = problem.d if normal else int(problem.sizes.max())
    J = int(np.clip(ENTRIES / (problem.N * problem.d), 2, every))
    P = int(np.clip(ENTRIES / (problem.N * problem.d * J), 1, POINTS))
    x, rng, exact = probe.x[:P], probe.rng(6), every == J
    draws: NDArray
    if normal:
        units = np.eye(problem.d) if exact else rng.standard_normal((J, problem.d))
        draws = np.broadcast_to(units[:, None, :], (J, problem.N, problem.d))
        weight = np.full((J, problem.N), 1.0 if exact else 1 / J)
    elif exact:
        j = np.arange(J)[:, None]
        draws, weight = (j % problem.sizes)[..., None], (j < problem.sizes) / problem.sizes
    else:
        draws = rng.integers(0, problem.sizes, (J, problem.N))[..., None]
        weight = np.full((J, problem.N), 1 / J)
    return x, _noise(probe, x, draws), weight, exact


def _noise(probe: Probe, x: Array, draws: NDArray) -> Array:
    """g(x; draws) - grad F_i(x): (P, N, d) and (J, N, b) -> (J, P, N, d), with one leading axis as the engine has."""
    J, P = len(draws), len(x)
    points = np.broadcast_to(x, (J, *x.shape)).reshape(-1, *x.shape[1:])
    each = np.repeat(draws, P, axis=0)
    return probe.problem.client_grads(points, each).reshape(J, *x.shape) - probe.problem.client_grads(x)


def _variances(probe: Probe, x: Array, second: Array, square: Array, slack: Array, exact: bool) -> Iterator[Finding]:
    problem, single = probe.problem, probe.problem.client_variance(x, 1)
    allowed = VARIANCE_ROUNDING * (single + second) + slack
    off, resolution = np.abs(second - single) - allowed, "1e-9, every sample"
    if not exact:  # a rare large sample may be missing, so only a variance told too small can be found
        error = square.std(axis=0) / np.sqrt(len(square))
        off = second - single - allowed - STANDARD_ERRORS * error
        resolution = f"too small only: {STANDARD_ERRORS:g} standard errors of {len(square)} draws"
    yield worst(
        "the variance of the stochastic gradient",
        off,
        x,
        "client_variance {:.9g} where the samples give {:.9g}",
        (single, second),
        REMEDY,
        resolution,
    )
    for b in BATCHES:
        for replacement in (True, False):
            if not replacement and (problem.sampling != "indices" or b > problem.sizes.min()):
                continue
            n = np.maximum(problem.sizes, 2)
            wanted = single / b * (1 if replacement else np.where(problem.sizes > 1, (n - b) / (n - 1), 1.0))
            value = problem.client_variance(x, b, replacement)
            fact = f"the variance of a batch of {b} {'with' if replacement else 'without'} replacement"
            off = np.abs(value - wanted) - VARIANCE_ROUNDING * wanted - slack
            yield worst(fact, off, x, "{:.9g} for {:.9g}", (value, wanted), REMEDY, "1e-9")


def _linear(probe: Probe) -> Iterator[Finding]:
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
    yield worst(
        "gradients that are the mean of their batch",
        off - VARIANCE_ROUNDING * size - probe.grain[:2],
        x,
        "a difference of {:.3g}",
        (off,),
        "mend client_grads with draws",
        "1e-9",
    )


def _lipschitz(probe: Probe) -> Finding:
    first, second = np.triu_indices(len(probe.x), 1)
    deviation = np.sqrt(probe.problem.client_variance(probe.x, 1))
    apart = np.linalg.norm(probe.x[first] - probe.x[second], axis=-1)
    change = np.abs(deviation[first] - deviation[second])
    size = sum(np.linalg.norm(probe.grads[k], axis=-1) + probe.grain[k] for k in (first, second))
    stated = np.asarray(probe.problem.noise_lipschitz)
    # The root of a rounded variance near 0 is off by the root of its rounding.
    slack = VARIANCE_ROUNDING * (deviation[first] + deviation[second]) + np.sqrt(ROUNDING) * size
    return worst(
        "noise_lipschitz",
        change - np.where(apart > 0, stated * apart, 0.0) - slack,
        probe.x[first],
        "noise that changes by {:.6g} over {:.6g}, above {:.6g} times that,",
        (change, apart, stated),
        "declare a larger noise_lipschitz, or infinity",
        f"{len(first)} pairs of points a client",
    )


def _smooth(probe: Probe, x: Array, noise: Array, weight: Array) -> Iterator[Finding]:
    """E||g_i(x) - g_i(y)||^2 <= 2 L_sample D_i(x, y) at every pair of the enumerated points."""
    L = probe.problem.sample_smoothness
    if not np.isfinite(L):
        return
    first, second = (k.ravel() for k in np.mgrid[: len(x), : len(x)])
    grads, losses = probe.grads[: len(x)], probe.losses[: len(x)]
    change = ((grads[first] - grads[second]) ** 2).sum(-1)
    change = change + (weight[:, None, :] * ((noise[:, first] - noise[:, second]) ** 2).sum(-1)).sum(0)
    bregman = losses[first] - losses[second] - (grads[second] * (x[first] - x[second])).sum(-1)
    slack = 2 * L * (probe.rounding[first] + probe.rounding[second]) + ROUNDING * change
    yield worst(
        "sample_smoothness",
        change - 2 * L * bregman - slack,
        x[first],
        "samples whose gradients change by {:.6g}, above {:.6g},",
        (change, 2 * L * bregman),
        "declare a larger sample_smoothness, or infinity",
        f"{len(first)} pairs of points a client",
    )
