"""Arrays of fractions and balls that an author's function may take roots, exponentials, logarithms and norms of."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from flint import arb, ctx

from fedbounds.evidence.ball_arithmetic import Ball, enclosed, in_bits

# Bits of what is no fraction, unless more are set: enough to compare short fractions with.
BITS = 512
IRRATIONAL = (np.sqrt, np.exp, np.log)


class Exact(np.ndarray):
    """Fractions and balls; what numpy calls a root is a fraction where it is one, and else a ball.

    >>> x = np.array([Fraction(9, 4)]).view(Exact)
    >>> np.sqrt(x)[0], np.linalg.norm(x), (x**0.5)[0], np.sqrt(x.astype(float))
    (Fraction(3, 2), Fraction(9, 4), Fraction(3, 2), array([1.5]))
    """

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **more: Any) -> Any:
        if ufunc is np.power and isinstance(inputs[1], float | Fraction) and inputs[1] == 0.5:
            ufunc, inputs = np.sqrt, inputs[:1]
        if ufunc in IRRATIONAL and method == "__call__" and inputs[0].dtype == object:
            result = np.frompyfunc(partial(_irrational, ufunc.__name__), 1, 1)(np.asarray(inputs[0]))
            return np.asarray(result, dtype=object).view(Exact)[()]
        if "out" in more:
            more["out"] = tuple(map(_plain, more["out"]))
        result = getattr(ufunc, method)(*map(_plain, inputs), **more)
        return result.view(Exact) if isinstance(result, np.ndarray) and result.dtype == object else result

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function is np.linalg.norm and len(args) == 1 and kwargs.keys() <= {"axis", "keepdims"}:
            return np.sqrt(np.asarray((args[0] ** 2).sum(**kwargs), dtype=object).view(Exact))
        return super().__array_function__(function, types, args, kwargs)


def _plain(item: Any) -> Any:
    return item.view(np.ndarray) if isinstance(item, Exact) else item


def _irrational(name: str, number: Any) -> Any:
    """The root, exponential or logarithm of a fraction or ball; of a ball around 0 the root of what is not below."""
    if name == "sqrt" and isinstance(number, Fraction | int) and number >= 0:
        root = Fraction(math.isqrt(number.numerator), math.isqrt(number.denominator))
        if root**2 == number:
            return root
    ball = enclosed(number)
    if name == "sqrt" and ball.contains(0):
        ball = ball.max(arb(0))
    result = getattr(ball, name)()
    if result.is_nan():
        raise ValueError(f"{name} of a number that has none")
    return Ball(result)


@contextmanager
def in_many_bits() -> Iterator[None]:
    """Intervals of enough bits to compare short fractions with."""
    with in_bits(max(ctx.prec, BITS)):
        yield
