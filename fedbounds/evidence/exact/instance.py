"""Small federated quadratics with every number a fraction, read from and written to JSON.

F_i(w) = F_i* + sum_k c_ik (w_k - m_ik)^2 / 2, and stochastic gradients that add +s_i or -s_i with
probability 1/2 to the first coordinate. In each round a subset of ``present`` clients, drawn uniformly, takes part.
Numbers are written "p/q"; floats are refused.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from fedbounds.errors import InputError, reject
from fedbounds.io import as_fraction

Vector = tuple[Fraction, ...]
# What reading a value of another type or length raises.
MALFORMED = (KeyError, TypeError, ValueError, IndexError, ArithmeticError, AttributeError)
# Ten times the steps of the longest instance that is shipped.
MOST = 1000
Rows = tuple[Vector, ...]


@dataclass(frozen=True)
class Instance:
    """One problem, start, schedule and weighting, all in fractions.

    ``curvatures`` and ``minima`` (N, d); ``p`` (N,) positive; ``w0`` (d,); ``eta`` (T,), T = tau * rounds.
    ``weighting`` is ``fedavg``, ``fedmax``, ``fedmax:k`` or ``fixed`` with ``weights`` (1, N) or
    (rounds, N). ``noise`` (N,) are the s_i and ``floor`` (N,) the F_i*; ``present`` clients take part in a round, all
    by default. L and mu are the extreme curvatures unless wider ones are given. Raises InputError on anything else.
    """

    curvatures: Rows
    minima: Rows
    p: Vector
    w0: Vector
    eta: Vector
    tau: int = 1
    weighting: str = "fedmax"
    weights: Rows = ()
    noise: Vector = ()
    floor: Vector = ()
    present: int = 0
    L: Fraction = field(default=Fraction(0))
    mu: Fraction = field(default=Fraction(0))

    def __post_init__(self) -> None:
        zeros = (Fraction(0),) * self.N
        spectrum = [c for row in self.curvatures for c in row]
        defaults = {
            "noise": self.noise or zeros,
            "floor": self.floor or zeros,
            "present": self.present or self.N,
            "L": self.L or max(spectrum),
            "mu": self.mu or min(spectrum),
        }
        for name, value in defaults.items():
            object.__setattr__(self, name, value)
        _check(self)

    @property
    def N(self) -> int:
        return len(self.p)

    @property
    def d(self) -> int:
        return len(self.w0)

    @property
    def total(self) -> int:
        """T, the number of local steps."""
        return len(self.eta)

    @property
    def rounds(self) -> int:
        return self.total // self.tau

    def with_(self, **changes: Any) -> Instance:
        """The same instance with some fields changed; L and mu follow new curvatures unless given."""
        if "curvatures" in changes:
            changes = {"L": Fraction(0), "mu": Fraction(0)} | changes
        return replace(self, **changes)

    def excess(self, w: Vector) -> Vector:
        """e_i(w) = F_i(w) - F_i* (N,)."""
        return tuple(self.client_excess(i, w) for i in range(self.N))

    def client_excess(self, i: int, w: Vector) -> Fraction:
        """e_i(w) for one client."""
        terms = zip(self.curvatures[i], w, self.minima[i], strict=True)
        return sum((c * (x - m) ** 2 for c, x, m in terms), Fraction(0)) / 2

    def grad(self, i: int, w: Vector) -> Vector:
        """grad F_i(w) (d,)."""
        return tuple(c * (x - m) for c, x, m in zip(self.curvatures[i], w, self.minima[i], strict=True))

    def argmin(self, weights: Vector) -> Vector:
        """The minimiser of sum_i weights_i F_i."""
        return tuple(
            sum((a * c[k] * m[k] for a, c, m in zip(weights, self.curvatures, self.minima, strict=True)), Fraction(0))
            / sum((a * c[k] for a, c in zip(weights, self.curvatures, strict=True)), Fraction(0))
            for k in range(self.d)
        )

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """The sets of clients that may take part in a round, equally likely."""
        return tuple(itertools.combinations(range(self.N), self.present))

    def round_weights(self, round: int, excess: Vector, group: Sequence[int] = ()) -> tuple[Vector, Vector]:
        """(p, alpha) of a round whose global model has these gaps: 0 for those outside the group, by default none."""
        group = group or range(self.N)
        p = _restricted(self.p, group, self.p)
        if self.weighting == "fedavg":
            return p, p
        if self.weighting == "fixed":
            return p, _restricted(self.weights[min(round, len(self.weights) - 1)], group, p)
        k = min(int(self.weighting.partition(":")[2] or 1), len(group))
        chosen = dict(zip(group, largest(tuple(excess[i] for i in group), k), strict=True))
        return p, tuple(chosen.get(i, Fraction(0)) for i in range(self.N))


def _restricted(weights: Vector, group: Sequence[int], otherwise: Vector) -> Vector:
    """Weights with 0 for clients outside a group, renormalised; ``otherwise`` if nothing is left."""
    total = sum(weights[i] for i in group)
    return tuple(a / total if i in group else Fraction(0) for i, a in enumerate(weights)) if total else otherwise


def largest(scores: Vector, k: int) -> Vector:
    """1/k on the k largest scores; those tied at the k-th place share what is left equally."""
    threshold = sorted(scores)[len(scores) - k]
    above = sum(s > threshold for s in scores)
    tied = sum(s == threshold for s in scores)
    share = Fraction(k - above, tied)
    return tuple((Fraction(1) if s > threshold else share if s == threshold else Fraction(0)) / k for s in scores)


def fraction(text: object) -> Fraction:
    """A fraction from "p/q" or a whole number; floats are refused, being rounded already."""
    if isinstance(text, Fraction):
        return text
    if isinstance(text, bool) or not isinstance(text, int | str):
        raise reject("numbers must be written as fractions", repr(text), 'write "p/q" in quotes, or a whole number')
    return as_fraction(text)


def whole(number: object) -> int:
    """A count of a document: more than `MOST` would keep exact arithmetic busy for ever."""
    found = fraction(number)
    if found.denominator > 1 or not 0 <= found <= MOST:
        raise reject(f"a count must be a whole number from 0 to {MOST}", repr(number), "mend the file")
    return int(found)


def vector(numbers: object) -> Vector:
    """A tuple of fractions from a list, or from a single number."""
    if isinstance(numbers, Sequence) and not isinstance(numbers, str):
        return tuple(fraction(x) for x in numbers)
    return (fraction(numbers),)


def rows(numbers: Sequence[object]) -> Rows:
    """A tuple of vectors; in one dimension a row may be a bare number."""
    return tuple(vector(row) for row in numbers)


def from_json(data: Mapping[str, Any]) -> Instance:
    """An instance from its JSON object; unknown or missing keys raise InputError.

    ``eta`` is a list, or {"mu", "gamma", "steps"} for eta_t = 1/(mu (t + gamma)).
    """
    readers: dict[str, Any] = {
        **dict.fromkeys(("curvatures", "minima", "weights"), rows),
        **dict.fromkeys(("p", "w0", "noise", "floor"), vector),
        "eta": _steps,
        **dict.fromkeys(("L", "mu"), fraction),
        **dict.fromkeys(("tau", "present"), whole),
        "weighting": str,
    }
    try:
        unknown = sorted(set(data) - set(readers))
        missing = sorted({"curvatures", "minima", "p", "w0", "eta"} - set(data))
        if unknown or missing:
            given = f"unknown {unknown}, missing {missing}"
            raise reject("an instance has fixed keys", given, f"use {sorted(readers)}")
        return Instance(**{name: readers[name](value) for name, value in data.items()})
    except InputError:
        raise
    except MALFORMED as wrong:
        raise reject("an instance must be an object of fractions", repr(wrong), "mend the file") from None


def to_json(instance: Instance) -> dict[str, Any]:
    """The JSON object of an instance, without what has its default."""
    flat = instance.d == 1
    result: dict[str, Any] = {
        "curvatures": _written(instance.curvatures, flat),
        "minima": _written(instance.minima, flat),
        "p": [str(x) for x in instance.p],
        "w0": [str(x) for x in instance.w0],
        "eta": [str(x) for x in instance.eta],
        "tau": instance.tau,
        "weighting": instance.weighting,
    }
    if instance.weights:
        result["weights"] = _written(instance.weights, False)
    result |= {name: [str(x) for x in v] for name in ("noise", "floor") if any(v := getattr(instance, name))}
    if instance.present < instance.N:
        result["present"] = instance.present
    spectrum = [c for row in instance.curvatures for c in row]
    given = {"L": (instance.L, max(spectrum)), "mu": (instance.mu, min(spectrum))}
    return result | {name: str(value) for name, (value, default) in given.items() if value != default}


def _steps(given: Any) -> Vector:
    if not isinstance(given, Mapping):
        return vector(given)
    mu, gamma = fraction(given["mu"]), fraction(given["gamma"])
    return tuple(1 / (mu * (t + gamma)) for t in range(whole(given["steps"])))


def _written(table: Rows, flat: bool) -> list[Any]:
    return [str(row[0]) if flat else [str(x) for x in row] for row in table]


def _check(instance: Instance) -> None:
    """Reject an instance that is not one: shapes, signs, sums and names."""
    N, d = instance.N, instance.d
    shapes = {"curvatures": instance.curvatures, "minima": instance.minima}
    for name, rows in shapes.items():
        if len(rows) != N or any(len(row) != d for row in rows):
            raise reject(f"{name} needs one row of {d} numbers a client", rows, f"give {N} rows")
    if any(len(v) != N for v in (instance.noise, instance.floor)):
        raise reject("noise and floor need one number a client", (instance.noise, instance.floor), f"give {N}")
    _check_positive("curvatures", [c for row in instance.curvatures for c in row])
    _check_positive("p", instance.p)
    _check_positive("eta", instance.eta)
    if sum(instance.p) != 1:
        raise reject("p must sum to 1", sum(instance.p), "divide p by its sum")
    if instance.tau < 1 or instance.total % instance.tau or not instance.total:
        raise reject("tau must divide the number of steps", f"tau = {instance.tau}, T = {instance.total}", "fix eta")
    if not 1 <= instance.present <= N:
        raise reject("a round needs at least one client present, and at most all", instance.present, f"use 1 to {N}")
    spectrum = [c for row in instance.curvatures for c in row]
    if max(spectrum) > instance.L or instance.mu > min(spectrum):
        raise reject("L and mu must enclose every curvature", f"L = {instance.L}, mu = {instance.mu}", "widen them")
    _check_weighting(instance)


def _check_positive(name: str, numbers: Iterable[Fraction]) -> None:
    if any(x <= 0 for x in numbers):
        raise reject(f"{name} must be positive", [str(x) for x in numbers], "use fractions above 0")


def _check_weighting(instance: Instance) -> None:
    key, _, k = instance.weighting.partition(":")
    known = instance.weighting in ("fedavg", "fedmax", "fixed") or (key == "fedmax" and k.isdigit())
    if not known or (k and not 1 <= int(k) <= instance.N):
        raise reject("weighting must be known", instance.weighting, "use fedavg, fedmax, fedmax:k or fixed")
    if (instance.weighting == "fixed") != bool(instance.weights):
        raise reject("weights go with the weighting fixed", instance.weighting, "give both or neither")
    if instance.weights and len(instance.weights) not in (1, instance.rounds):
        raise reject("weights need one row, or one a round", len(instance.weights), f"give {instance.rounds} rows")
    for row in instance.weights:
        if len(row) != instance.N or min(row) < 0 or sum(row) != 1:
            raise reject("a row of weights must lie on the simplex", [str(a) for a in row], "normalise it")
