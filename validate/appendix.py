"""The appendix's intermediate bounds A_1, A_3 and A_5 of Theorem 1's proof, as inequalities between forms.

    A_1 = -2 eta <w_t - w*, sum alpha_i grad F_i(w_t^i)>
        <= drift + 2 L eta^2 sum alpha_i e_i(w_t^i) - 2 eta sum alpha_i <w_t^i - w*, grad F_i(w_t^i)>
    A_3 = eta^2 ||sum alpha_i grad F_i(w_t^i)||^2 <= 2 L eta^2 sum alpha_i e_i(w_t^i)
    A_5 = 4 L eta^2 sum alpha_i e_i(w_t^i) - 2 eta sum alpha_i (F_i(w_t^i) - F_i(w*))
        <= eta^2 (16 tau^2 G^2 + 6 rho_bar L Gamma) - (3/8) eta mu rho_bar Delta + 2 eta Gamma (rho_tilde - rho_bar)

A_2 has mean zero and A_4 is the variance; neither is a statement about deterministic gradients.
"""

from __future__ import annotations

from fractions import Fraction

from fedbounds.errors import reject
from fedbounds.evidence.sdp.one_step.certificate import Certificate
from fedbounds.evidence.sdp.one_step.parameters import Setting
from fedbounds.evidence.sdp.one_step.right_hand_side import coefficients
from fedbounds.evidence.sdp.one_step.verdict import certify_form
from fedbounds.plugins import claim_named


def appendix_bound(name: str, setting: Setting) -> tuple[dict[str, Fraction], dict[str, Fraction]]:
    """(left, right) of A_1, A_3 or A_5 at a setting, as linear forms; InputError on another name.

    A_5 is what Theorem 1 adds to (1 - eta mu) Delta and Lemma 2.
    """
    eta, L, mu = setting.eta[-1], setting.L, setting.mu
    if name == "A_1":
        right = {"drift": Fraction(1), "local_excess": 2 * L * eta**2, "local_pull": -2 * eta}
        return {"pull": -2 * eta}, right
    if name == "A_3":
        return {"mean_slope_sq": eta**2}, {"local_excess": 2 * L * eta**2}
    if name == "A_5":
        theorem, lemma = (coefficients(claim_named(key), setting) for key in ("theorem-1", "lemma-2"))
        right = {**theorem, "G_sq": theorem["G_sq"] - lemma["G_sq"], "Delta": theorem["Delta"] - (1 - eta * mu)}
        return {"local_excess": 4 * L * eta**2, "local_gap": -2 * eta}, right
    raise reject("the appendix has A_1, A_3 and A_5", name, "A_2 has mean zero, A_4 is the variance")


def certify_appendix(name: str, setting: Setting) -> Certificate | None:
    """A certificate of one of the appendix's bounds at a setting, or None where none was found."""
    left, right = appendix_bound(name, setting)
    moved = {k: right.get(k, Fraction(0)) - left.get(k, Fraction(0)) for k in {**left, **right}}
    # Everything is moved to the right, so the left side is the form that is zero.
    return certify_form("zero", {k: v for k, v in moved.items() if v}, setting, note={"bound": name})
