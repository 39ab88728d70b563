"""Whether what a bound leaves is not negative: term by term, in the constants and in powers and products of time."""

from __future__ import annotations

from dataclasses import dataclass, replace

import sympy as sp

from fedbounds.evidence.prover.rationals import Letters
from fedbounds.evidence.prover.run_setting import PEAK, Setting, T, t
from fedbounds.evidence.symbolic import derivation as d
from fedbounds.evidence.symbolic.proof_objects import summand_of
from fedbounds.theory import symbols as sy

KEPT = sp.Symbol("kept_share", nonnegative=True)
# q^t <= 1, and q^T <= 1.
DECAYED = (d.Hypothesis("decays", "shown at t"), d.Earlier("decays"))
ATOMS = (
    sy.Delta,
    sy.gap_t,
    sy.drift,
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
    sy.eta_sum,
)


@dataclass(frozen=True)
class Rest:
    """What shows that a number is not negative, and the steps and conditions to be put before."""

    uses: tuple[d.Use, ...] = ()
    steps: tuple[d.Step, ...] = ()
    conditions: tuple[d.Condition, ...] = ()

    def after(self, other: Rest) -> Rest:
        """The same with what another needs before."""
        steps = (*other.steps, *(item for item in self.steps if item not in other.steps))
        conditions = (*other.conditions, *(item for item in self.conditions if item not in other.conditions))
        return Rest(self.uses, steps, conditions)


def termwise(setting: Setting, number: sp.Expr) -> Rest | None:
    """A sum over constants and powers in time that is not negative, each coefficient on sight; None if one is not.

    Of powers q^t with 0 <= q <= 1 it is enough that the sums of the coefficients from the lowest on are not negative.
    """
    expanded, positive = sp.expand(number), setting.letters.positive
    if expanded.has(PEAK):
        share = positive(expanded.coeff(PEAK))
        for argument in setting.abbreviations[PEAK].args if share is not None else ():
            below = termwise(setting, expanded.xreplace({PEAK: argument}))
            if below is not None:
                return replace(below, uses=((share, d.Extreme(PEAK, argument)), *below.uses))
        return None
    powers = {part for part in expanded.atoms(sp.Pow) if part.exp.has(t, T)}
    bases = {power.base for power in powers} or {sp.Integer(1)}
    times = {x for power in powers for x in power.exp.free_symbols} or {T}
    if len(bases) > 1 or len(times) > 1:
        return None
    (base,), (time,), Q = bases, times, sp.Dummy(nonnegative=True)
    put = {power: Q ** power.exp.coeff(time) * base ** power.exp.subs(time, 0) for power in powers}
    kept = positive(base)
    try:
        atoms = (*ATOMS, *sorted((x for x in expanded.free_symbols if summand_of(x) is not None), key=str))
        poly = sp.Poly(sp.expand(expanded.xreplace(put)), *atoms, Q)
    except sp.PolynomialError:
        return None
    by_atom: dict[sp.Expr, dict[int, sp.Expr]] = {}
    for (*monomial, k), coefficient in poly.terms():
        atom = sp.Mul(*(x**e for x, e in zip(atoms, monomial, strict=True)))
        by_atom.setdefault(atom, {})[k] = coefficient
    uses: list[d.Use] = []
    for atom, terms in by_atom.items() if kept is not None else ():
        part = _in_powers(setting.letters, terms, time)
        if part is None:
            return None
        uses += [(form * atom, fact) for form, fact in part if form != 0]
    decays = any(fact in DECAYED for _, fact in uses)
    less = positive(1 - base) if decays else sp.Integer(0)
    if kept is None or less is None:
        return None
    if not powers:
        return Rest(tuple(uses))
    line = d.step("kept", 0, "<=", base).by((kept, d.ONE))
    steps = (line, *_decay(base, kept, less)) if decays else (line,)
    return Rest(tuple(uses), steps, (d.Condition(KEPT, d.Earlier("kept")),))


def _decay(q: sp.Expr, kept: sp.Expr, less: sp.Expr) -> tuple[d.Step, ...]:
    """q^T <= 1, by induction."""
    return (
        d.step("base-decays", 1, "<=", 1),
        d.step("carry-decays", q ** (t + 1), "<=", 1).by((kept, d.Hypothesis("decays")), (less, d.ONE)),
        d.step("decays", q**T, "<=", 1).by(d.Induction("base-decays", "carry-decays")),
    )


def _in_powers(letters: Letters, terms: dict[int, sp.Expr], time: sp.Expr) -> list[d.Use] | None:
    """sum_k c_k Q^k for Q = q^time: each term, or the sums C_k of c_0 ... c_k times Q^k (1 - Q), and the last."""
    uses: list[d.Use] = []
    for k, c in terms.items():
        part = _in_whole_times(letters, c)
        if part is None:
            break
        uses += [(form * KEPT ** (k * time), fact) for form, fact in part]
    else:
        return uses
    uses.clear()
    total, last = sp.Integer(0), max(terms)
    for k in range(last + 1):
        total = sp.expand(total + terms.get(k, 0))
        form = letters.positive(total)
        if form is None:
            return None
        uses.append((form * KEPT ** (k * time), d.ONE if k == last else DECAYED[time == T]))
    return uses


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
