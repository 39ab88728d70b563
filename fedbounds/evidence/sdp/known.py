"""Multipliers read off derivations: arguments for a step, at every parameter at once.

They are tried on every claim, and matter where it is tight, as its proofs then have no interior for a solver to
find. Like any other candidate they count only once verified exactly. Labels: the model with ``local`` any.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from fedbounds.evidence.sdp.setting import Setting


def candidates(setting: Setting) -> Iterator[dict[str, Fraction]]:
    """Label -> multiplier of each argument that is known: convexity and skews, the same with smoothness, monotone."""
    eta, mu = setting.eta[-1], setting.mu
    # Jensen: ||sum alpha g_i||^2 <= sum alpha ||g_i||^2 <= G^2.
    jensen = {f"gradient {i} x0": eta**2 * a for i, a in enumerate(setting.alpha)}
    yield _with_noise(setting, _values(setting, 2 * eta) | jensen, bounded=True)
    if eta * setting.L < 1 and eta * mu <= 1:
        yield _with_noise(setting, _smooth_at_star(setting))
    if setting.alpha == setting.p:
        yield _with_noise(setting, _monotone(setting, 2 * eta * (1 - eta * mu)))


def _with_noise(setting: Setting, found: dict[str, Fraction], bounded: bool = False) -> dict[str, Fraction]:
    """The multipliers of the noises: eta^2 alpha_i^2 n_i <= eta^2 alpha_i n_i, which sigma^2 pays for.

    Where G^2 bounds the whole second moment (``bounded``), it pays for the noise too.
    """
    if setting.gradients == "stochastic":
        eta = setting.eta[-1]
        found = found | {f"noise {i}": eta**2 * (a - a**2) for i, a in enumerate(setting.alpha)}
        if not bounded:
            found |= {f"variance {i}": eta**2 * a for i, a in enumerate(setting.alpha)}
    return {label: value for label, value in found.items() if value}


def _smooth_at_star(setting: Setting) -> dict[str, Fraction]:
    """Convexity and skews, and Lemma 1 at w*: ||grad F_i(w*)||^2 <= 2 L e_i(w*), for weights alpha_i - pi p_i."""
    eta, mu, pi = setting.eta[-1], setting.mu, setting.ratios[0]
    found = _values(setting, 2 * eta * (1 - eta * mu))
    cost = eta**2 * (1 - eta * mu) / (1 - eta * setting.L) * 2 * setting.L * (1 - pi)
    for i, (a, p) in enumerate(zip(setting.alpha, setting.p, strict=True)):
        label = f"interpolation {i} star|own"
        found[label] = found.get(label, Fraction(0)) + cost * (a - pi * p)
    if setting.rho_tilde is not None:
        found["rho_tilde star"] = found.get("rho_tilde star", Fraction(0)) + cost
    return found


def _values(setting: Setting, weight: Fraction) -> dict[str, Fraction]:
    """Convexity at w_t^i towards w*, smoothness at w_t, the two skews, and F(w_t) - F* >= mu/2 Delta."""
    if setting.alpha == setting.p:
        # A rho_bar below 1 leaves (1 - rho_bar) Gamma over, which is not negative.
        over = {f"interpolation {i} star|own": weight * (1 - setting.rho_bar) * p for i, p in enumerate(setting.p)}
        return _monotone(setting, weight) | (over if setting.rho_tilde is None else {})
    found = {}
    for i, (a, p) in enumerate(zip(setting.alpha, setting.p, strict=True)):
        found[f"interpolation {i} star|x0"] = weight * a
        found[f"interpolation {i} x0|w0"] = weight * a
        found[f"interpolation {i} w0|star"] = weight * setting.rho_bar * p
    found["rho_bar w0"] = weight
    if setting.rho_tilde is not None:
        found["rho_tilde star"] = weight
    return found


def _monotone(setting: Setting, weight: Fraction) -> dict[str, Fraction]:
    """Co-coercivity between w_t^i and w*, both ways: enough where alpha = p."""
    pairs = [(i, way) for i in range(setting.N) for way in ("star|x0", "x0|star")]
    return {f"interpolation {i} {way}": weight * setting.alpha[i] for i, way in pairs}
