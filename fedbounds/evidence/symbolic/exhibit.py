"""An experiment known in closed form, on which a false claim is refuted: quadratics of curvature 1 on the line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import sympy as sp

from fedbounds.theory import symbols as sy


@final
@dataclass(frozen=True)
class UnitQuadratics:
    """F_i(w) = (w - m_i)^2/2 with weights p_i, full gradients, alpha_i at every round, started at ``start``.

    The virtual iterate moves by w_{t+1} = w_t - eta_t (w_t - sum_i alpha_i m_i) at every step, whatever tau is and
    however large eta_t: started at sum_i alpha_i m_i, it stays there. ``minima``, ``p`` and ``alpha`` are numbers,
    or expressions in positive symbols.
    """

    minima: tuple[sp.Expr, ...]
    p: tuple[sp.Expr, ...]
    alpha: tuple[sp.Expr, ...]
    start: sp.Expr

    def faults(self) -> str:
        """Why this is no such experiment, or an empty string."""
        if not len(self.minima) == len(self.p) == len(self.alpha) > 0:
            return "the exhibit needs one minimum and two weights a client"
        for weights, name, shown in ((self.p, "p", "is_positive"), (self.alpha, "alpha", "is_nonnegative")):
            if sp.cancel(sum(weights) - 1) != 0 or not all(getattr(sp.sympify(v), shown) for v in weights):
                return f"the exhibit's {name} is not shown to lie on the simplex"
        if sp.cancel(self.start - _mean(self.alpha, self.minima)) != 0:
            return "the exhibit does not start where it stays"
        return ""

    @property
    def gap(self) -> sp.Expr:
        """F(w_T) - F(w*) = (start - w*)^2/2, with w* = sum_i p_i m_i."""
        return (self.start - _mean(self.p, self.minima)) ** 2 / 2

    def values(self) -> dict[sp.Symbol, sp.Expr]:
        """Exact values of the run's constants at tau = 1, where every gradient is start - m_i."""
        w_star = _mean(self.p, self.minima)
        ratios = [a / p for a, p in zip(self.alpha, self.p, strict=True)]
        return {
            sy.L: sp.Integer(1),
            sy.mu: sp.Integer(1),
            sy.tau: sp.Integer(1),
            sy.sigma_sq: sp.Integer(0),
            sy.N: sp.Integer(len(self.p)),
            sy.p_min: sp.Min(*self.p),
            sy.pi_min: sp.Min(*ratios),
            sy.pi_max: sp.Max(*ratios),
            sy.G_sq: sp.Max(*((self.start - m) ** 2 for m in self.minima)),
            sy.Gamma: _mean(self.p, [(w_star - m) ** 2 / 2 for m in self.minima]),
            sy.Delta_0: (self.start - w_star) ** 2,
            sy.C: sp.Integer(1),
        }


def _mean(weights: tuple[sp.Expr, ...], values: tuple[sp.Expr, ...] | list[sp.Expr]) -> sp.Expr:
    return sp.Add(*(w * v for w, v in zip(weights, values, strict=True)))
