"""Whether what a bound leaves is not negative: term by term, in the constants and in powers and products of time."""

from __future__ import annotations

import sympy as sp

from fedbounds.evidence.prover.rationals import Letters
from fedbounds.evidence.prover.run_setting import PEAK, Setting, T, t
from fedbounds.evidence.symbolic import derivation as d
from fedbounds.theory import symbols as sy

KEPT = sp.Symbol("kept_share", nonnegative=True)
ATOMS = (
    sy.Delta,
    sy.gap_t,
    sy.Delta_0,
    sy.gap_0,
    sy.rho_tilde,
    sy.sigma_sq,
    sy.sigma_p_sq,
    sy.G_sq,
    sy.Gamma,
    sy.zeta_star_sq,
    sy.p_sq,
    sy.zeta_sq,
)


def termwise(setting: Setting, number: sp.Expr) -> tuple[list[d.Use], list[tuple[d.Step, d.Condition]]] | None:
    """A sum over constants and powers in time that is not negative, each coefficient on sight; None if one is not."""
    expanded = sp.expand(number)
    if expanded.has(PEAK):
        share = setting.letters.positive(expanded.coeff(PEAK))
        for argument in setting.abbreviations[PEAK].args if share is not None else ():
            below = termwise(setting, expanded.xreplace({PEAK: argument}))
            if below is not None:
                return [(share, d.Extreme(PEAK, argument)), *below[0]], below[1]
        return None
    powers = {part: sp.Dummy(nonnegative=True) for part in expanded.atoms(sp.Pow) if part.exp.has(t, T)}
    names: dict[sp.Expr, sp.Expr] = {}
    shown: list[tuple[d.Step, d.Condition]] = []
    for power, dummy in powers.items():
        base = setting.letters.positive(power.base)
        if base is None or (shown and shown[0][0].rhs != power.base):
            return None
        if not shown:
            shown.append(
                (d.step("kept", 0, "<=", power.base).by((base, d.ONE)), d.Condition(KEPT, d.Earlier("kept")))
            )
        names[dummy] = KEPT**power.exp
    try:
        poly = sp.Poly(sp.expand(expanded.xreplace(powers)), *ATOMS, *powers.values())
    except sp.PolynomialError:
        return None
    uses: list[d.Use] = []
    for monomial, coefficient in poly.terms():
        parts = _in_whole_times(setting.letters, coefficient)
        if parts is None:
            return None
        atom = sp.Mul(*(x**e for x, e in zip(poly.gens, monomial, strict=True))).xreplace(names)
        uses += [(form * atom, fact) for form, fact in parts if form != 0]
    return uses, shown


def _in_whole_times(letters: Letters, number: sp.Expr) -> list[d.Use] | None:
    """The number as seen not negative, or as a sum of c_j t (t - 1) ... (t - j + 1) with such c_j, t being whole."""
    form = letters.positive(number)
    if form is not None:
        return [(form, d.ONE)]
    time = next((x for x in (t, T) if number.has(x)), None)
    if time is None or not number.is_polynomial(time):
        return None
    uses: list[d.Use] = []
    rest = sp.Poly(number, time)
    for j in range(rest.degree(), -1, -1):
        share = letters.positive(rest.coeff_monomial(time**j))
        if share is None:
            return None
        fact = d.premise("whole-time", time, sp.Integer(j)) if j > 1 else d.ONE
        uses.append((share * (time if j == 1 else 1), fact))
        rest -= sp.Poly(rest.coeff_monomial(time**j) * sp.expand(sp.ff(time, j), func=True), time)
    return uses
