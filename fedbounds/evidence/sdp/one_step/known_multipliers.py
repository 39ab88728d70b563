"""Multipliers read off derivations: functions of the setting, hence of kappa or of eta L over an interval of it.

They matter where a claim is tight, as its proofs then have no interior for a solver to find, and over an interval.
Like any other candidate they count only once verified exactly.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from fedbounds.errors import InputError
from fedbounds.evidence.sdp.one_step.parameters import Setting
from fedbounds.evidence.sdp.one_step.program import Model, build
from fedbounds.evidence.sdp.one_step.written import Expressions
from fedbounds.evidence.sdp.program import Expression, Symbol, exact
from fedbounds.evidence.sdp.verification import verify


def derived(
    lhs: str, rhs: Mapping[str, Any], setting: Setting, written: Expressions | None = None
) -> dict[str, Any] | None:
    """Multipliers read off a derivation that prove lhs <= sum_k rhs_k form_k at a setting; None where none do."""
    model = build(setting, exact, written=written)
    gap = model.sum(rhs) - model[lhs]
    for tried in candidates(setting):
        if tried.keys() <= set(model.labels):
            # An error says that a sign changes over the interval, or that a multiplier has a pole there.
            with contextlib.suppress(InputError, ZeroDivisionError):
                known = tried if setting.over is None else _paid(model, gap, tried)
                if verify(model, gap, known)[0]:
                    return known
    return None


def _paid(model: Model, gap: Expression, known: Mapping[str, Any]) -> dict[str, Any]:
    """The multipliers with what the claim has to spare of G^2, sigma^2, e_i(w*) and the variances spent too."""
    setting, result = model.setting, dict(known)
    rows = {constraint.label: constraint.expression for constraint in model.constraints}
    every = [Symbol("G_sq"), Symbol("sigma_sq"), *(Symbol(letter, i) for letter in "en" for i in range(setting.N))]
    for value in every:
        used = Expression.mean(map(exact, result.values()), [rows[label] for label in result])
        spare = (gap - used).terms.get((value,), 0)
        if spare == 0:
            continue
        shares = {"G_sq": "gradient {} x0", "sigma_sq": "variance {}"}.get(value.letter)
        if shares:
            more = {shares.format(i): spare * exact(a) for i, a in enumerate(setting.alpha)}
        else:
            more = {
                f"interpolation {value.client} star|own" if value.letter == "e" else f"noise {value.client}": spare
            }
        result |= {label: number + exact(result.get(label, Fraction(0))) for label, number in more.items()}
    return {label: number for label, number in result.items() if number != 0}


def candidates(setting: Setting) -> Iterator[dict[str, Fraction]]:
    """Label -> multiplier of each argument that is known: convexity and skews, the same with smoothness, monotone.

    For Lemma 1 and for drifts, those of steps that contract.
    """
    eta, mu = setting.eta[-1], setting.mu
    yield _contracting(setting)
    if setting.over is not None:
        yield {"interpolation 0 x0|own": 2 * setting.L}
        # Lemma 2 with noise, and the first argument with the drift paid by it.
        yield {"drift w0": Fraction(1)}
        spread = {"drift w0": eta * (setting.L - mu)}
        yield _with_noise(setting, _values(setting, 2 * eta) | spread, bounded=True)
    # Jensen: ||sum alpha g_i||^2 <= sum alpha ||g_i||^2 <= G^2.
    jensen = {f"gradient {i} x0": eta**2 * a for i, a in enumerate(setting.alpha)}
    yield _with_noise(setting, _values(setting, 2 * eta) | jensen, bounded=True)
    if _surely(eta * setting.L, 1):
        yield _with_noise(setting, _smooth_at_star(setting))
    if setting.alpha == setting.p:
        yield _with_noise(setting, _monotone(setting, 2 * eta * (1 - eta * mu)))


def _surely(left: Any, right: Any) -> bool:
    """Whether left < right at every point of an interval."""
    try:
        return bool(left < right)
    except InputError:
        return False


def _with_noise(setting: Setting, result: dict[str, Fraction], bounded: bool = False) -> dict[str, Fraction]:
    """The multipliers of the noises: eta^2 alpha_i^2 n_i <= eta^2 alpha_i n_i, which sigma^2 pays for.

    Where G^2 bounds the whole second moment (``bounded``), it pays for the noise too.
    """
    if setting.gradients == "stochastic":
        eta = setting.eta[-1]
        result = result | {f"noise {i}": eta**2 * (a - a**2) for i, a in enumerate(setting.alpha)}
        if not bounded:
            result |= {f"variance {i}": eta**2 * a for i, a in enumerate(setting.alpha)}
    return {label: value for label, value in result.items() if value}


def _smooth_at_star(setting: Setting) -> dict[str, Fraction]:
    """Convexity and skews, and Lemma 1 at w*: ||grad F_i(w*)||^2 <= 2 L e_i(w*), for weights alpha_i - pi p_i."""
    eta, mu, pi = setting.eta[-1], setting.mu, setting.ratios[0]
    result = _values(setting, 2 * eta * (1 - eta * mu))
    cost = eta**2 * (1 - eta * mu) / (1 - eta * setting.L) * 2 * setting.L * (1 - pi)
    for i, (a, p) in enumerate(zip(setting.alpha, setting.p, strict=True)):
        label = f"interpolation {i} star|own"
        result[label] = result.get(label, Fraction(0)) + cost * (a - pi * p)
    if setting.rho_tilde is not None:
        result["rho_tilde star"] = result.get("rho_tilde star", Fraction(0)) + cost
    return result


def _values(setting: Setting, weight: Fraction) -> dict[str, Fraction]:
    """Convexity at w_t^i towards w*, smoothness at w_t, the two skews, and F(w_t) - F* >= mu/2 Delta."""
    if setting.alpha == setting.p:
        # A rho_bar below 1 leaves (1 - rho_bar) Gamma over, which is not negative.
        over = {f"interpolation {i} star|own": weight * (1 - setting.rho_bar) * p for i, p in enumerate(setting.p)}
        return _monotone(setting, weight) | (over if setting.rho_tilde is None else {})
    result = {}
    for i, (a, p) in enumerate(zip(setting.alpha, setting.p, strict=True)):
        result[f"interpolation {i} star|x0"] = weight * a
        result[f"interpolation {i} x0|w0"] = weight * a
        result[f"interpolation {i} w0|star"] = weight * setting.rho_bar * p
    result["rho_bar w0"] = weight
    if setting.rho_tilde is not None:
        result["rho_tilde star"] = weight
    return result


def _contracting(setting: Setting) -> dict[str, Any]:
    """||w_t^i - w_t0|| <= D with D <- (1 - eta mu) D + eta, times a bound on the gradient at w_t0 (`drift-full`).

    Co-coercivity between the step's start and w_t0 contracts; ||u + v||^2 <= (1 + b/a) ||u||^2 + (1 + a/b) ||v||^2.
    """
    reach, result = None, dict[str, Any]()
    for k, eta in enumerate(setting.eta[:-1]):
        contraction = 1 - eta * setting.mu
        if reach is not None:
            share = contraction + eta / reach  # (1 + b/a) a for a = contraction * reach and b = eta, over reach
            pairs = dict.fromkeys((f"x{k}|x0", f"x0|x{k}"), 2 * eta * share)
            result = {way: value * contraction * share for way, value in result.items()} | pairs
        reach = eta if reach is None else contraction * reach + eta
    # What the variance costs: alpha_i each, or 2 a alpha_i where a client has a > 1/2, and 2 a (1 - a) for that one:
    # diag(cost - alpha) + alpha alpha^T then annihilates 1 - 2 e_h and has one negative entry on its diagonal.
    weights, most = list(enumerate(setting.alpha)), max(setting.alpha)
    if 2 * most > 1:
        weights = [(i, 2 * most * (a if a != most else 1 - a)) for i, a in weights]
    every = {f"interpolation {i} {way}": value * a for i, a in weights for way, value in result.items()}
    return every if reach is None else every | {f"gradient {i} x0": reach**2 * a for i, a in weights}


def _monotone(setting: Setting, weight: Fraction) -> dict[str, Fraction]:
    """Co-coercivity between w_t^i and w*, both ways: enough where alpha = p."""
    pairs = [(i, way) for i in range(setting.N) for way in ("star|x0", "x0|star")]
    return {f"interpolation {i} {way}": weight * setting.alpha[i] for i, way in pairs}
