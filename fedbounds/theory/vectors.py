"""What proofs are written in: formal vectors, inner products and weighted means, and what is known when.

A vector is a sympy expression linear in ``Vec`` and ``Centre`` atoms; an inner product is ``Inner(u, v)``;
``Mean(weights, x)`` is sum_i weights_i x(i) and ``Centre(weights, v)`` the vector sum_i weights_i v(i), with
weights that sum to 1.
Scalars that contain vectors stand for expectations given the past. Every vector is known from some moment on, and
noise has mean zero given all that was known when it was drawn: from that alone follows what it is orthogonal to.
"""

from typing import Any

import sympy as sp

# Moments from which a vector is known: the round's start, this step, the next one, and some unrelated time.
ROUND, NOW, NEXT, LATER = range(4)
KNOWN = {
    **dict.fromkeys(("w_star", "w_own", "w_plus", "w_alpha", "w_0", "w_start", "v", "u", "noise_0-drawn"), ROUND),
    **dict.fromkeys(("x", "w", "x_s", "g", "noise-drawn"), NOW),
    # At the round's first step noise_0 is the noise of this step.
    **dict.fromkeys(("w_next", "noise", "noise_0"), NEXT),
}
# Points that no randomness moves.
FIXED = ("w_star", "w_own", "w_plus")
# Weights chosen at the round's start or earlier, so independent of all noise drawn after.
WEIGHTS = ("alpha_i", "p_i", "lambda_i", "u_s", "others", "fedmax")


class _Real(sp.Function):
    """An uninterpreted real quantity."""

    def _eval_is_real(self) -> bool:
        return True

    def _eval_is_finite(self) -> bool:
        return True

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        body = self._body(printer)
        return rf"\left({body}\right)^{{{exp}}}" if exp else body

    def _body(self, printer: Any) -> str:
        """Its LaTeX, to no power."""
        return str(printer._print(self.args[0]))

    def _sympystr(self, printer: Any) -> str:
        name = printer._print(self.args[0])
        return name if len(self.args) == 1 else f"{name}[{', '.join(map(printer._print, self.args[1:]))}]"


class FunctionAt(_Real):
    """A function of the client at a point, ``(point, i)``: one for each point, which is its argument."""

    def _body(self, printer: Any) -> str:
        return rf"{self.latex_name}\left({printer._print(self.args[0])}\right)"

    def _sympystr(self, printer: Any) -> str:
        return f"{self.name}({printer._print(self.args[0])})"


class Vec(_Real):
    """A vector: ``Vec(name)``, or one a client ``Vec(name, i)``, or one a client and step ``Vec(name, i, s)``."""


class Noise(_Real):
    """A random vector of mean zero given what was known when it was drawn."""


class Grad(FunctionAt):
    """grad F_i at a point."""

    name, latex_name = "grad", r"\nabla F_i"


class Loss(FunctionAt):
    """F_i at a point."""

    name, latex_name = "F", "F_i"


class Value(_Real):
    """A scalar a client (and step) that is no random variable, such as F_i*."""


class Slack(Value):
    """A non-negative scalar a client (or step): the slack of a condition that holds for each."""

    def _eval_is_nonnegative(self) -> bool:
        return True


class Ratio(Slack):
    """alpha_i / p_i where a skew is taken."""


# That of this time, which is known from the round's start on, as the weights are.
WEIGHT_RATIO = Ratio(sp.Symbol("kappa"), sp.Symbol("i"))


class Excess(Slack):
    """e_i where a skew is taken."""


class Positive(Value):
    """A positive scalar a client (or step), such as a step size eta_s."""

    def _eval_is_positive(self) -> bool:
        return True


class Weights(sp.Function):
    """Non-negative weights that sum to 1 over an index: ``Weights(name, i)``."""

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        return str(printer._print(self.args[0]))

    def _sympystr(self, printer: Any) -> str:
        return str(printer._print(self.args[0]))


class Inner(_Real):
    """The inner product of two vectors; of a vector with itself, its squared norm."""

    @classmethod
    def eval(cls, left: sp.Expr, right: sp.Expr) -> sp.Expr | None:
        if left == 0 or right == 0:
            return sp.Integer(0)
        if sp.default_sort_key(left) > sp.default_sort_key(right):
            return cls(right, left)
        return None

    def _eval_is_nonnegative(self) -> bool | None:
        return True if self.args[0] == self.args[1] else None

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        left, right = (printer._print(argument) for argument in self.args)
        if left == right:
            return rf"\left\Vert {left}\right\Vert^2"
        return rf"\left\langle {left},\, {right}\right\rangle"

    def _sympystr(self, printer: Any) -> str:
        left, right = (printer._print(argument) for argument in self.args)
        return f"||{left}||^2" if left == right else f"<{left}, {right}>"


class _Averaged(_Real):
    """Weights, then what is averaged."""

    def _body(self, printer: Any) -> str:
        weights, inside = (printer._print(argument) for argument in self.args)
        return rf"{weights} \left({inside}\right)" if self.args[1].is_Add else f"{weights} {inside}"

    def _sympystr(self, printer: Any) -> str:
        weights, inside = (printer._print(argument) for argument in self.args)
        return f"sum_{self.args[0].args[1]} {weights} ({inside})"


class Mean(_Averaged):
    """The weighted mean of a scalar."""

    def _eval_derivative(self, symbol: sp.Symbol) -> sp.Expr:
        return Mean(self.args[0], sp.diff(self.args[1], symbol))


class Centre(_Averaged):
    """The weighted mean of a vector."""


def norm_sq(vector: sp.Expr) -> sp.Expr:
    """||v||^2."""
    return Inner(vector, vector)


def known_from(expression: sp.Basic) -> int:
    """The moment from which everything in an expression is known."""
    if isinstance(expression, Vec | Noise):
        return KNOWN.get(expression.args[0].name, LATER)
    if isinstance(expression, Weights):
        return ROUND if expression.args[0].name in WEIGHTS else LATER
    if isinstance(expression, sp.Symbol):
        return LATER if _measured(expression) else ROUND
    return max((known_from(argument) for argument in expression.args), default=ROUND)


def drawn(atom: sp.Expr) -> int | None:
    """The moment at which a vector of mean zero was drawn, or None where it is not noise alone."""
    if isinstance(atom, Centre):
        terms = [sp.Mul.make_args(term) for term in sp.Add.make_args(atom.args[1])]
        moments = [drawn(factor) for term in terms for factor in term if random(factor)]
        before = [moment for moment in moments if moment is not None and known_from(atom.args[0]) <= moment]
        return min(before) if before and len(before) == len(moments) else None
    return KNOWN.get(f"{atom.args[0].name}-drawn") if isinstance(atom, Noise) else None


def orthogonal(u: sp.Expr, v: sp.Expr) -> bool:
    """Whether one of two vectors is noise drawn when the other was known."""
    first, second = drawn(u), drawn(v)
    return (first is not None and known_from(v) <= first) or (second is not None and known_from(u) <= second)


def random(expression: sp.Basic) -> bool:
    """Whether an expression varies with the run's randomness."""
    if isinstance(expression, Vec | Noise):
        return expression.args[0].name not in FIXED
    if isinstance(expression, Weights):
        return bool(expression.args[0].name not in ("p_i", "lambda_i", "u_s"))
    if isinstance(expression, Value):
        return expression == WEIGHT_RATIO
    if isinstance(expression, sp.Symbol):
        return _measured(expression)
    return any(random(argument) for argument in expression.args)


def _measured(symbol: sp.Symbol) -> bool:
    """Whether a symbol is a quantity that is measured along a run."""
    return getattr(symbol, "statistic", "") == "measured"
