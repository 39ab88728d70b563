"""Synthetic federations with a heterogeneity dial, from identical clients (Gamma = 0) to extreme."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedbounds.errors import reject
from fedbounds.model.problem import Array, Indices, client_weights
from fedbounds.problems.data.dataset import ClientData

# Client sizes of the published generator: lognormal(4, 2) rounded down, plus 50.
SIZE_LOG_MEAN, SIZE_LOG_STD, SIZE_OFFSET = 4.0, 2.0, 50
SIGMA_DECAY = 1.2  # Sigma_jj = j^-1.2
# Beyond this, squared distances outgrow the curvature by more than double precision can hold together.
MAX_DIAL = 1e6
# 1000 clients at this power still have a positive smallest share (1e-300).
MAX_POWER = 100.0


@dataclass(frozen=True, eq=False)
class QuadraticIngredients:
    """Eigenvalues (N, d) and minima (N, d) of each client's quadratic, p (N,), gradient noise std (scalar)."""

    spectra: Array
    minima: Array
    p: Array
    noise_std: float


def federated_regression(
    clients: int,
    d: int,
    n: int,
    heterogeneity: float,
    rng: np.random.Generator,
    noise_std: float = 0.1,
) -> ClientData:
    """Linear data with ``n`` samples a client, between one common sample set and independent clients.

    With h = heterogeneity and c = 1 / sqrt(1 + h^2):
    X_i = c (X_0 + h (Z_i + 1 m_i^T)), w_i = w_0 + h u_i, y_i = X_i w_i + noise_std c (e_0 + h e_i), where all
    entries of X_0, Z_i, m_i, e_0, e_i are N(0, 1), and those of w_0, u_i are N(0, 1/d). At h = 0 all clients
    hold the same bits, so Gamma = 0 exactly; the draws do not depend on h, so one seed gives a path in h.
    """
    _check_sizes(clients=clients, d=d, n=n)
    h = _dial(heterogeneity, "heterogeneity")
    noise = _dial(noise_std, "noise_std")
    base, base_noise = rng.standard_normal((n, d)), rng.standard_normal(n)
    w0 = rng.standard_normal(d) / np.sqrt(d)
    client_part, shift = rng.standard_normal((clients, n, d)), rng.standard_normal((clients, 1, d))
    client_noise, tilt = rng.standard_normal((clients, n)), rng.standard_normal((clients, d)) / np.sqrt(d)
    scale = 1 / np.hypot(1.0, h)
    # h * scale tends to 1: the product never overflows, however extreme h is.
    features = scale * base + (h * scale) * (client_part + shift)
    noises = noise * (scale * base_noise + (h * scale) * client_noise)
    targets = np.einsum("ijk,ik->ij", features, w0 + h * tilt) + noises
    return ClientData(tuple(features), tuple(targets), np.full(clients, 1 / clients), f"regression(h={h:g})")


def synthetic(
    alpha: float,
    beta: float,
    clients: int,
    rng: np.random.Generator,
    *,
    d: int = 60,
    classes: int = 10,
    sizes: Sequence[int] | Indices | None = None,
) -> ClientData:
    """The synthetic(alpha, beta) classification data of the FedAvg literature; p_i = n_i / n.

    y = argmax(W_k^T x + b_k), entries of W_k (d, classes) and b_k ~ N(u_k, 1), u_k ~ N(0, alpha^2);
    x ~ N(v_k, Sigma), Sigma_jj = j^-1.2, entries of v_k ~ N(B_k, 1), B_k ~ N(0, beta^2). ``sizes`` default to
    50 + floor(lognormal(4, 2)). alpha and beta are standard deviations, as in the published code.

    Two properties of the generator as published: u_k is added to every class alike, so alpha changes no label
    (beta alone dials, through the inputs); and even synthetic(0, 0) has different models and inputs a client.
    Source: Li et al. (2020), "Federated optimization in heterogeneous networks", section 5.1.
    """
    _check_sizes(clients=clients, d=d)
    if classes < 2:
        raise reject("classes must be at least 2", str(classes), "give a larger number")
    alpha, beta = _dial(alpha, "alpha"), _dial(beta, "beta")
    if sizes is None:
        sizes = np.floor(rng.lognormal(SIZE_LOG_MEAN, SIZE_LOG_STD, clients)).astype(np.int64) + SIZE_OFFSET
    counts = np.asarray(sizes)
    u, B = alpha * rng.standard_normal(clients), beta * rng.standard_normal(clients)
    v = B[:, None] + rng.standard_normal((clients, d))
    W = u[:, None, None] + rng.standard_normal((clients, d, classes))
    b = u[:, None] + rng.standard_normal((clients, classes))
    std = np.arange(1, d + 1) ** (-SIGMA_DECAY / 2)
    features, targets = [], []
    for k in range(clients):
        x = v[k] + std * rng.standard_normal((int(counts[k]), d))
        features.append(x)
        targets.append(np.argmax(x @ W[k] + b[k], axis=1).astype(np.int64))
    name = f"synthetic({alpha:g}, {beta:g})"
    return ClientData(tuple(features), tuple(targets), counts / counts.sum(), name, tuple(range(classes)))


def quadratics(
    clients: int,
    d: int,
    mu: float,
    L: float,
    heterogeneity: float,
    rng: np.random.Generator,
    noise_std: float = 0.0,
    imbalance: float = 0.0,
    p: Array | None = None,
) -> QuadraticIngredients:
    """Spectra in [mu, L] and minima of N quadratics, equal for all clients at heterogeneity 0.

    With s = h / (1 + h): spectrum_i = base^(1 - s) * permuted_i^s, base geometric from mu to L (client 0 keeps
    it, so both ends are attained where d > 1); minima_i = m + h u_i, entries of m and u_i ~ N(0, 1/d).
    p_i is proportional to (i + 1)^-imbalance unless given.
    """
    _check_sizes(clients=clients, d=d)
    if not (0 < mu <= L < np.inf):
        raise reject(
            "the constants must satisfy 0 < mu <= L < inf", f"mu = {mu} and L = {L}", "add regularisation to raise mu"
        )
    h, noise = _dial(heterogeneity, "heterogeneity"), _dial(noise_std, "noise_std")
    base = np.geomspace(mu, L, d)
    client_spectra = np.stack([base] + [rng.permutation(base) for _ in range(clients - 1)])
    # The power is exactly 1 where h = 0 or own = base; clipping undoes rounding past the ends.
    spectra = np.clip(base * (client_spectra / base) ** (h / (1 + h)), mu, L)
    centre = rng.standard_normal(d) / np.sqrt(d)
    minima = centre + h * rng.standard_normal((clients, d)) / np.sqrt(d)
    weights = power_shares(clients, imbalance) if p is None else client_weights(p, clients)
    return QuadraticIngredients(spectra, minima, weights, noise)


def power_shares(clients: int, power: float) -> Array:
    """Shares (clients,) proportional to i^(-power), i = 1..clients, 0 <= power <= MAX_POWER."""
    if not 0 <= power <= MAX_POWER:
        raise reject(f"the power of the sizes must lie in [0, {MAX_POWER:g}]", str(power), "give for example 1.5")
    share = np.arange(1, clients + 1, dtype=float) ** -power
    return share / share.sum()


def _check_sizes(**sizes: int) -> None:
    for name, value in sizes.items():
        if value < 1:
            raise reject(f"{name} must be at least 1", str(value), "give a larger number")


def _dial(value: float, name: str) -> float:
    if not 0 <= value <= MAX_DIAL:
        raise reject(f"{name} must lie in [0, {MAX_DIAL:g}]", str(value), "choose a number in this range")
    return float(value)
