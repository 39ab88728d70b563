"""The paper's symbols: the one source of notation for formulas, numbers, LaTeX and plots.

Every right-hand side in the package is a sympy expression in these symbols, and nowhere else is it said which
measured field fills a symbol in which scope: adding a symbol touches this file and the engines that measure it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Literal

import sympy as sp

Axis = Literal["constant", "time", "random"]
# What a claim ranges over: every point and client visited, every step t -> t+1, every horizon T, or constants alone.
Scope = Literal["point", "step", "horizon", "constant"]
# Fields of the protocol rather than of the random path.
KNOWN_FIELDS = ("time", "eta")


@dataclass(frozen=True)
class Notation:
    """One symbol: its name in code, its LaTeX, its meaning, and scope -> the measured field that fills it there.

    A symbol that no scope measures is a constant, which has a value in every scope.
    """

    name: str
    latex: str
    meaning: str
    measured: Mapping[Scope, str] = field(default_factory=dict)

    @property
    def axis(self) -> Axis:
        """How a run fills it: one value, one a step, or one a (replicate, step) that stands for an expectation."""
        if not self.measured:
            return "constant"
        return "time" if set(self.measured.values()) <= set(KNOWN_FIELDS) else "random"


NOTATION: dict[str, Notation] = {}


def _declare(
    name: str, latex: str, meaning: str, measured: Mapping[Scope, str] | None = None, **assumptions: bool
) -> sp.Symbol:
    NOTATION[name] = Notation(name, latex, meaning, measured or {})
    return sp.Symbol(name, **(assumptions or {"nonnegative": True}))


L = _declare("L", "L", "smoothness constant of every F_i (Assumption 1)", positive=True)
mu = _declare("mu", r"\mu", "strong-convexity constant of every F_i (Assumption 2)", positive=True)
Gamma = _declare("Gamma", r"\Gamma", "heterogeneity F* - sum_i p_i F_i*")
gamma = _declare("gamma", r"\gamma", "offset of the step size", positive=True)
tau = _declare("tau", r"\tau", "local steps a round", positive=True)
N = _declare("N", "N", "number of clients", positive=True)
G_sq = _declare("G_sq", "G^2", "bound on the second moment of stochastic gradients (Assumption 4)")
sigma_sq = _declare("sigma_sq", r"\sigma^2", "bound on the variance of stochastic gradients (Assumption 3)")
sigma_0_sq = _declare("sigma_0_sq", r"\sigma_0^2", "variance of stochastic gradients where grad F_i = 0")
growth = _declare("growth", "c", "growth of the variance with ||grad F_i||^2")
sigma_p_sq = _declare("sigma_p_sq", r"\sum_i p_i^2\sigma_i^2", "variance of the p-weighted stochastic gradient")
sigma_opt_sq = _declare(
    "sigma_opt_sq", r"\sum_i p_i^2\sigma_{i,\star}^2", "variance of the p-weighted stochastic gradient at w*"
)
sigma_dif_sq = _declare(
    "sigma_dif_sq", r"\sigma_{\mathrm{dif}}^2", "sum_i p_i E||g_i(w*)||^2, second moment of the gradients at w*"
)
L_sample = _declare("L_sample", r"L_{\xi}", "smoothness constant of the loss of every single sample", positive=True)
rho_bar = _declare("rho_bar", r"\overline{\rho}", "smallest weighting skew rho(t, w_t)")
rho_tilde = _declare("rho_tilde", r"\tilde{\rho}", "largest weighting skew rho(t, w*)")
rho_pairs = _declare("rho_pairs", r"\overline{\rho}_{\times}", "smallest skew over pairs of visited points")
pi_min = _declare("pi_min", r"\pi", "smallest ratio alpha_t^i / p_i")
pi_max = _declare("pi_max", r"\Pi", "largest ratio alpha_t^i / p_i")
p_min = _declare("p_min", r"\min_i p_i", "smallest client weight", positive=True)
m = _declare("m", "m", "number of clients selected a round", positive=True)
Delta_0 = _declare("Delta_0", r"\Vert w_0-w^\star\Vert^2", "squared distance of the start to w*")
C = _declare("C", "C", "share of the clients that take part in a round", positive=True)
eta_ratio = _declare(
    "eta_ratio",
    r"\left(\max_{s\leq t}\eta_s/\eta_t\right)",
    "largest ratio of two step sizes of one round",
    positive=True,
)
eta_0 = _declare("eta_0", r"\eta_0", "step size of the first step", positive=True)
turn = _declare("turn", "h", "what a step of a local model turns by, over what it contracts by")
reach = _declare("reach", "y", "local steps whose deviations gain most in a round, less one")
push = _declare("push", "b", "largest way of the mean in a round from w*, over the root of sigma_dif^2")
skew = _declare("skew", "r", "smallest weighting skew, as far as a contraction may use it")
kept = _declare("kept", "q", "what a step at a constant size keeps of the squared distance")

t = _declare("t", "t", "local step", {"step": "time"})
T = _declare("T", "T", "number of local steps taken", {"horizon": "time"})
eta = _declare("eta", r"\eta_t", "step size", {"step": "eta"}, positive=True)

Delta = _declare("Delta", r"\mathbb{E}\Vert w_t-w^\star\Vert^2", "squared distance to w*", {"step": "distance_sq"})
Delta_next = _declare(
    "Delta_next",
    r"\mathbb{E}\Vert w_{t+1}-w^\star\Vert^2",
    "squared distance to w* one step later",
    {"step": "next_mean"},
)
drift = _declare(
    "drift",
    r"\mathbb{E}\sum_i\alpha_t^i\Vert w_t-w_t^i\Vert^2",
    "discrepancy of the local models from the virtual iterate",
    {"step": "drift"},
)
gap = _declare("gap", r"\mathbb{E}[F(w_T)]-F^\star", "suboptimality of the global model", {"horizon": "gap"})
Delta_T = _declare(
    "Delta_T", r"\mathbb{E}\Vert w_T-w^\star\Vert^2", "squared distance of w_T to w*", {"horizon": "distance_sq"}
)
gap_t = _declare("gap_t", r"\left(\mathbb{E}[F(w_t)]-F^\star\right)", "suboptimality at a step", {"step": "gap"})
grad_sq = _declare("grad_sq", r"\Vert\nabla F_i(w)\Vert^2", "squared gradient norm of a client", {"point": "grad_sq"})
excess = _declare("excess", r"\left(F_i(w)-F_i^\star\right)", "gap of a client", {"point": "local_excess"})

# Powers of (metre, joule) where w is measured in metres and F in joules; a symbol that is not named is a pure number.
UNITS = {
    **dict.fromkeys(("Gamma", "gap", "gap_t", "excess"), (0, 1)),
    **dict.fromkeys(("Delta_0", "Delta", "Delta_next", "Delta_T", "drift"), (2, 0)),
    **dict.fromkeys(("L", "mu", "L_sample"), (-2, 1)),
    **dict.fromkeys(("eta", "eta_0", "push"), (2, -1)),
    **dict.fromkeys(("G_sq", "grad_sq", "sigma_sq", "sigma_0_sq", "sigma_p_sq"), (-2, 2)),
    **dict.fromkeys(("sigma_opt_sq", "sigma_dif_sq"), (-2, 2)),
}


@cache
def in_scope(scope: Scope) -> Mapping[str, str]:
    """The symbols that vary over a scope -> the measured field that fills each.

    >>> in_scope("step")["Delta"], "L" in in_scope("step")
    ('distance_sq', False)
    """
    return {name: notation.measured[scope] for name, notation in NOTATION.items() if scope in notation.measured}


@cache
def fields(axis: Axis) -> Mapping[str, str]:
    """The symbols of an axis -> the field behind each, whatever the scope.

    >>> sorted(set(fields("time").values()))
    ['eta', 'time']
    """
    chosen = (notation for notation in NOTATION.values() if notation.axis == axis)
    return {notation.name: source for notation in chosen for source in notation.measured.values()}


def latex(expression: sp.Expr) -> str:
    """LaTeX of an expression in the paper's notation.

    >>> latex(eta**2 * sigma_sq)
    '\\\\eta_t^{2} \\\\sigma^2'
    """
    known = ((symbol, NOTATION.get(symbol.name, symbol)) for symbol in expression.free_symbols)
    names = {symbol: notation.latex for symbol, notation in known if hasattr(notation, "latex")}
    return str(sp.latex(expression, symbol_names=names))
