"""The words that a quantity is written in: points, gradients and values of the clients' functions, and their means.

>>> slope_sq = measured("slope_sq", mean(norm_sq(grad(w))))
>>> dispersion = measured("dispersion", mean(norm_sq(w_i - mean(w_i))))

``w`` is the virtual iterate w_t, ``w_i`` the local models, ``w_star`` and ``w_i_star`` the minimisers of F and of
F_i, ``w_alpha`` that of sum_i alpha_i F_i. ``w_next`` and ``w_i_next`` are the iterate and the local models after
the step, the latter before they are averaged; ``w_round`` is the round's start and ``w_0`` the run's. ``v`` and
``u`` are any two further points, that no noise moves: what is said of them must hold of all. Every kind of evidence
takes a quantity's meaning from its one expression.
"""

import sympy as sp

from fedbounds.errors import reject
from fedbounds.theory.vector_normal_form import depends, normal
from fedbounds.theory.vectors import (
    WEIGHT_RATIO,
    Centre,
    Grad,
    Inner,
    Loss,
    Mean,
    Noise,
    Slack,
    Value,
    Vec,
    Weights,
    random,
)
from fedbounds.theory.vectors import norm_sq as norm_sq

# A client, and an earlier step of the round.
I, S = sp.Symbol("i"), sp.Symbol("s")
ALPHA, P = (Weights(sp.Symbol(name), I) for name in ("alpha_i", "p_i"))
w, w_next, w_star, w_alpha = (Vec(sp.Symbol(name)) for name in ("w", "w_next", "w_star", "w_alpha"))
# Proofs call the round's start w_0.
w_round, w_0 = (Vec(sp.Symbol(name)) for name in ("w_0", "w_start"))
w_i, w_i_star, w_i_next = (Vec(sp.Symbol(name), I) for name in ("x", "w_own", "x_after"))
v, u = ANY = tuple(Vec(sp.Symbol(name)) for name in ("v", "u"))
# p_i, and alpha_i/p_i.
p_i, weight_ratio = Slack(sp.Symbol("share"), I), WEIGHT_RATIO
F_i_star = Value(sp.Symbol("F_min"), I)
inner = Inner
POINTS = (w, w_next, w_star, w_alpha, w_round, w_0, w_i, w_i_star, w_i_next, *ANY)
WORDS = (ALPHA, P, *POINTS, p_i, weight_ratio, F_i_star)
# LaTeX of the names, means with their sums.
LATEX = {
    "alpha_i": r"\sum_i\alpha_t^i",
    "p_i": r"\sum_i p_i",
    "x": "w_t^i",
    "w": "w_t",
    "w_next": "w_{t+1}",
    "w_star": r"w^\star",
    "w_alpha": r"w_\alpha",
    "w_own": r"w_i^\star",
    "w_0": r"w_{t_0}",
    "w_start": "w_0",
    "x_after": "w_{t+1}^i",
    "F_min": r"F_i^\star",
    "share": "p_i",
    "kappa": r"\frac{\alpha_t^i}{p_i}",
}


def is_vector(expression: sp.Expr) -> bool:
    """Whether an expression is a vector, not a number.

    >>> is_vector(2 * w - w_i), is_vector(norm_sq(w))
    (True, False)
    """
    if isinstance(expression, Vec | Noise | Grad | Centre):
        return True
    return isinstance(expression, sp.Add | sp.Mul) and any(map(is_vector, expression.args))


def _place(point: sp.Expr) -> sp.Expr:
    """A point in the one form that all its spellings share."""
    return point if isinstance(point, Vec) else normal(point)


def F_i(point: sp.Expr) -> sp.Expr:
    """The value of a client's function at a point."""
    return Loss(_place(point), I)


def grad(point: sp.Expr) -> sp.Expr:
    """The gradient of a client's function at a point."""
    return Grad(_place(point), I)


def mean(of: sp.Expr) -> sp.Expr:
    """sum_i p_i x_i of numbers or of vectors.

    >>> mean(w_i)
    sum_i p_i (x[i])
    """
    return (Centre if is_vector(of) else Mean)(P, sp.sympify(of))


def mean_alpha(of: sp.Expr) -> sp.Expr:
    """sum_i alpha_i x_i of numbers or of vectors, with the weights of the round."""
    return (Centre if is_vector(of) else Mean)(ALPHA, sp.sympify(of))


def F(point: sp.Expr) -> sp.Expr:
    """sum_i p_i F_i at a point of all clients; its gradient is ``mean(grad(point))``."""
    if depends(point, I):
        raise reject("F is taken at one point", point, "mean(F_i(w_i)) has each client's function at its own")
    return mean(F_i(point))


F_star = F(w_star)


def fault(expression: sp.Expr, constant: bool = False) -> str:
    """Why an expression is no quantity, or no ``constant`` one, and the remedy; empty where it is one."""
    strange = _strange(expression)
    if strange is not None:
        return f"{strange} is no word of fedbounds.theory.points, L, mu, N or eta"
    if is_vector(expression):
        return "it is a vector: take norm_sq or inner"
    if depends(expression, I):
        return "it differs from client to client: take mean"
    if not _shift_free(expression):
        return "it changes if a number is added to an F_i: subtract F_star or F_i_star"
    if constant and (random(expression) or any(getattr(symbol, "scopes", ()) for symbol in expression.free_symbols)):
        return "it varies along a run: use measured, largest or smallest"
    return ""


def _strange(expression: sp.Basic) -> sp.Basic | None:
    """The first part of an expression that is no word of this language."""
    kind = type(expression)
    if (
        expression in WORDS
        or expression.is_Rational
        or getattr(expression, "statistic", "") in ("constant", "scheduled")
    ):
        return None
    inside = expression.args[:1] if kind in (Loss, Grad) else expression.args
    root = kind is sp.Pow and not expression.exp.is_Integer
    if root or kind not in (sp.Add, sp.Mul, sp.Pow, Inner, Mean, Centre, Loss, Grad):
        return expression
    return next((part for part in map(_strange, inside) if part is not None), None)


def never_negative(expression: sp.Expr) -> bool:
    """Whether an expression is at least 0 on sight: made of squares, weights and constants that are.

    >>> never_negative(mean(norm_sq(w_i - w))), never_negative(F(w) - F_star)
    (True, False)
    """
    if isinstance(expression, Mean):
        return never_negative(expression.args[1])
    if isinstance(expression, sp.Add | sp.Mul):
        return all(map(never_negative, expression.args))
    if isinstance(expression, sp.Pow):
        return bool(expression.exp.is_Integer and (expression.exp % 2 == 0 or never_negative(expression.base)))
    return bool(expression.is_nonnegative)


def _shift_free(expression: sp.Expr) -> bool:
    """Whether an expression stays as it is where each F_i is shifted by a number of its own."""
    if not expression.has(Loss, F_i_star):
        return True
    if isinstance(expression, sp.Mul | sp.Pow):
        return all(map(_shift_free, expression.args))
    by = Value(sp.Symbol("shift"), I)
    shifted = {value: value + by for value in expression.atoms(Loss) | {F_i_star}}
    return bool(normal(expression.xreplace(shifted) - expression) == 0)


# What a printed expression calls the vectors and numbers of a client.
NAMES = {
    "x[i]": "w_i",
    "w_own[i]": "w_i_star",
    "x_after[i]": "w_i_next",
    "w_0": "w_round",
    "w_start": "w_0",
    "F_min[i]": "F_i_star",
    "kappa[i]": "weight_ratio",
    "share[i]": "p_i",
    "F(": "F_i(",
}


def words(expression: sp.Expr) -> str:
    """An expression of points on one line.

    >>> words(mean(norm_sq(grad(w_i))))
    'sum_i p_i (||grad(w_i)||^2)'
    """
    text = str(expression)
    for printed, name in NAMES.items():
        text = text.replace(printed, name)
    return text


def latex(expression: sp.Expr) -> str:
    """LaTeX of an expression of points.

    >>> latex(mean(norm_sq(grad(w))))
    '\\\\sum_i p_i \\\\left\\\\Vert \\\\nabla F_i\\\\left(w_t\\\\right)\\\\right\\\\Vert^2'
    """
    names = {s: LATEX[s.name] for s in expression.atoms(sp.Symbol) if s.name in LATEX}
    names |= {s: s.latex for s in expression.free_symbols if hasattr(s, "statistic")}
    return str(sp.latex(expression, symbol_names=names))
