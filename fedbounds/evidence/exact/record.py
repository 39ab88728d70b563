"""What an exact run leaves behind, every number a fraction."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, TypeVar

from fedbounds.engine.reference import Step
from fedbounds.evidence.ball_arithmetic import Ball, ends, in_bits
from fedbounds.evidence.exact.few_paths import needs_every_outcome
from fedbounds.evidence.exact.instance import Instance, Vector, array
from fedbounds.evidence.exact.measure import Measured, whole_paths
from fedbounds.evidence.quantity_values import Values, values
from fedbounds.theory.claim import Claim
from fedbounds.theory.coverage import weights_in_words
from fedbounds.theory.measurement import Measurement, OnDemand, first_of
from fedbounds.theory.quantity import Path
from fedbounds.theory.reading import Reading
from fedbounds.theory.symbols import Scope

V = TypeVar("V")


@dataclass(frozen=True)
class ExactRun:
    """What the claims need of a run, every number a fraction, computed when it is first looked up.

    ``history``: the steps of the run and the weights of its outcomes, which were not all taken unless ``enumerable``.
    With ``bits`` the numbers are balls of so many bits, not fractions.
    """

    instance: Instance
    measured: Measured = field(repr=False)
    history: tuple[list[Step], Any] = field(repr=False)
    enumerable: bool = True
    bits: int = 0
    # Of the claims that were evaluated on this run, their quantities by identity and virtual iterate.
    evaluated: dict[tuple[int, str], tuple[Claim, Values]] = field(default_factory=dict, repr=False)

    def precisely(self, compute: Callable[[], V]) -> V:
        """What is computed, in the bits of this run."""
        with in_bits(self.bits) if self.bits else nullcontext():
            return compute()

    @cached_property
    def values(self) -> Mapping[str, Fraction]:
        """The constant symbols but rho_bar, which is ``rho_sync`` or ``rho_all``."""
        given = self.enumerable or self.instance.weighting == "fedavg"
        names = [name for name in self.measured.constants if given or name != "rho_pairs"]
        return OnDemand({name: partial(self._constant, name) for name in names})

    @cached_property
    def rho_sync(self) -> Fraction:
        """The smallest rho at the starts of rounds."""
        return self.precisely(lambda: _fraction(self.measured.rho_sync[0]))

    @cached_property
    def rho_all(self) -> Fraction:
        """The smallest rho at any step."""
        return self.precisely(lambda: _fraction(self.measured.rho_all[0]))

    @cached_property
    def paths(self) -> Mapping[str, Mapping[str, Vector]]:
        """``paths[virtual]`` maps ``distance_sq``, ``gap`` and ``drift`` to expectations at t = 0 ... T."""
        every = self.measured.paths.items()
        return {name: OnDemand({field: partial(self._path, name, field) for field in part}) for name, part in every}

    def _constant(self, name: str) -> Fraction:
        return self.precisely(lambda: _fraction(self.measured.constants[name][0]))

    def _path(self, virtual: str, name: str) -> Vector:
        return self.precisely(lambda: tuple(self.measured.paths[virtual][name][0]))

    @cached_property
    def points(self) -> tuple[tuple[int, int, Fraction, Fraction], ...]:
        """(t, client, ||grad F_i||^2, e_i) at the local models visited, where outcomes were enumerated."""
        if not self.enumerable:
            return ()
        seen = self.measured
        grad_sq, excess = self.precisely(lambda: (seen.grad_sq[0], seen.excess[0]))
        return tuple(zip(seen.times.tolist(), seen.clients.tolist(), grad_sq, excess, strict=True))

    @cached_property
    def alphas(self) -> frozenset[Vector]:
        """The weights visited."""
        return frozenset(map(tuple, self.measured.alphas[:, 0]))

    @cached_property
    def ratios(self) -> frozenset[Fraction]:
        """alpha_i/p_i over the clients present, of the weights visited."""
        return frozenset(Fraction(x) for x in self.measured.ratios.flat if x >= 0)

    def constants(self, skew: str) -> Mapping[str, Fraction]:
        """Symbol name -> value, with rho_bar over synchronisation times (``sync``) or every step."""
        rho_bar = {"rho_bar": lambda: self.rho_sync if skew == "sync" else self.rho_all}
        given = self.enumerable or skew == "sync" or self.instance.weighting == "fedavg"
        drawn = {"m": Fraction(self.instance.draws)} if self.instance.draws else {}
        return first_of(OnDemand(rho_bar if given else {}), drawn, self.values)

    def place(self, reading: Reading, step: int | None = None) -> dict[str, object]:
        """The experiment on every axis of a `Coverage`; given a ``step``, that step alone, in its round."""
        instance, sizes = self.instance, tuple(size * self.instance.L for size in self.instance.eta)
        axes: dict[str, object] = {
            "problem": "the quadratic in fractions of this counterexample",
            "kappa": instance.L / instance.mu,
            "tau": instance.tau,
            "local_step": tuple(range(instance.tau)),
            "eta_L": sizes,
            "gradients": "stochastic" if instance.stochastic else "full",
            "participation": self.values["C"],
            "N": instance.N,
            "weights": instance.weighting,
            "weight_ratio": tuple(sorted(self.ratios)),
            "rho_bar": ends(self.rho_sync if reading.skew == "sync" else self.rho_all),
            "rho_tilde": self.values["rho_tilde"],
            "L": instance.L,
            "T": instance.total,
        }
        if step is None:
            return axes
        start = step - step % instance.tau
        seen = sizes[start : step + 1]
        axes["weights"] = tuple(weights_in_words(alpha, instance.p) for alpha in sorted(self.alphas))
        axes |= {"local_step": step - start, "eta_L": seen[0] if len(set(seen)) == 1 else seen}
        return axes

    def beyond(self, claim: Claim, reading: Reading) -> tuple[str, ...]:
        """The symbols of a claim that the outcomes taken do not give."""
        if self.enumerable:
            return ()
        bent, biased = bool(self.instance.kinks), self.instance.weighting != "fedavg"
        return needs_every_outcome(claim, reading, bent, biased)

    def computed(self, claim: Claim, reading: Reading) -> Values:
        """The values of the claim's quantities in a reading; none where they need paths that were not enumerated."""
        if not claim.computed:
            return Values()
        losses, tau, eta = self.instance.losses, self.instance.tau, array(self.instance.eta)

        beyond = self.beyond(claim, reading)
        unknown = [symbol for symbol in claim.computed if symbol.name in beyond]

        def paths() -> Iterator[tuple[Fraction, Path]]:
            yield from whole_paths(*self.history, reading.virtual).of(0, tau, eta, losses)

        key = (id(claim), reading.virtual)
        if key not in self.evaluated:
            result = self.precisely(lambda: values(claim, losses, Path(tau, eta), paths, unknown))
            result.lacking.update({symbol.name: "too many paths of chance" for symbol in unknown})
            self.evaluated[key] = (claim, result)
        return self.evaluated[key][1]

    def measurement(self, claim: Claim, reading: Reading) -> Measurement[Any]:
        """The run as a claim sees it in a reading; a place of the scope ``point`` is an entry of ``points``."""
        computed = self.computed(claim, reading)
        paths, steps = self.paths[reading.virtual], range(self.instance.total)
        fields: dict[str, Callable[[], Sequence[Any]]] = {
            "next_mean": lambda: paths["distance_sq"][1:],
            "eta": lambda: self.instance.eta,
            "grad_sq": lambda: [point[2] for point in self.points],
            "local_excess": lambda: [point[3] for point in self.points],
        }

        def times(scope: Scope) -> Sequence[int]:
            if scope == "point":
                return [point[0] for point in self.points]
            return {"constant": (0,), "step": steps}.get(scope, range(self.instance.total + 1))

        def values_of(scope: Scope, name: str) -> Sequence[Any]:
            if name == "time":
                return [Fraction(t) for t in times(scope)]
            return fields[name]() if name in fields else paths[name]

        constants: Any = first_of(computed.constants, self.constants(reading.skew))
        return Measurement(constants, times, values_of, computed.fields)


def constants_of(instance: Instance, claim: Claim) -> dict[str, Fraction]:
    """The claim's own constants of the problem, which need no run."""
    later = [symbol for symbol in claim.computed if symbol.statistic != "constant"]
    if len(later) == len(claim.computed):
        return {}
    protocol = Path(instance.tau, array(instance.eta))
    return values(claim, instance.losses, protocol, lambda: (), unknown=later).constants


def _fraction(value: Any) -> Fraction:
    """A number as a fraction; a ball, which computes like one, as it is."""
    return value if isinstance(value, Ball) else Fraction(value)  # type: ignore[return-value]
