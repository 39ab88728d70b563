"""What an exact run leaves behind, every number a fraction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from fedbounds.engine.reference import Step
from fedbounds.evidence.ball_arithmetic import ends
from fedbounds.evidence.exact.instance import Instance, Vector, array
from fedbounds.evidence.exact.measure import whole_paths
from fedbounds.evidence.quantity_values import Values, values
from fedbounds.theory.claim import Claim
from fedbounds.theory.coverage import weights_in_words
from fedbounds.theory.measurement import Measurement
from fedbounds.theory.quantity import Path
from fedbounds.theory.reading import Reading
from fedbounds.theory.symbols import Scope


@dataclass(frozen=True)
class ExactRun:
    """What the claims need of a run, every number a fraction.

    ``values`` the constant symbols but rho_bar, which is ``rho_sync`` or ``rho_all``. ``paths[virtual]``
    maps ``distance_sq``, ``gap`` and ``drift`` to expectations at t = 0 ... T. ``points`` are (t, client,
    ||grad F_i||^2, e_i) at the local models visited, ``alphas`` the weights visited, ``ratios`` their
    alpha_i/p_i over the clients present, and ``excesses`` the gaps e(w_t) visited. ``history`` the steps of the run
    and the probabilities of its outcomes. With ``bits`` the numbers are balls of so many bits, not fractions.
    """

    instance: Instance
    w_star: Vector
    values: Mapping[str, Fraction]
    rho_sync: Fraction
    rho_all: Fraction
    paths: Mapping[str, Mapping[str, Vector]]
    points: tuple[tuple[int, int, Fraction, Fraction], ...]
    alphas: frozenset[Vector]
    ratios: frozenset[Fraction]
    excesses: frozenset[Vector]
    history: tuple[list[Step], Any] | None = field(default=None, repr=False, compare=False)
    bits: int = 0
    # Of the claims that were evaluated on this run, their quantities by identity and virtual iterate.
    evaluated: dict[tuple[int, str], tuple[Claim, Values]] = field(default_factory=dict, repr=False, compare=False)

    def constants(self, skew: str) -> dict[str, Fraction]:
        """Symbol name -> value, with rho_bar over synchronisation times (``sync``) or every step."""
        return {**self.values, "rho_bar": self.rho_sync if skew == "sync" else self.rho_all}

    def place(self, reading: Reading, step: int | None = None) -> dict[str, object]:
        """The experiment on every axis of a `Coverage`; given a ``step``, that step alone, in its round."""
        instance, sizes = self.instance, tuple(size * self.instance.L for size in self.instance.eta)
        known: dict[str, object] = {
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
            "rho_bar": ends(self.constants(reading.skew)["rho_bar"]),
            "rho_tilde": self.values["rho_tilde"],
            "L": instance.L,
            "T": instance.total,
        }
        if step is None:
            return known
        start = step - step % instance.tau
        seen = sizes[start : step + 1]
        known["weights"] = tuple(weights_in_words(alpha, instance.p) for alpha in sorted(self.alphas))
        known |= {"local_step": step - start, "eta_L": seen[0] if len(set(seen)) == 1 else seen}
        return known

    def computed(self, claim: Claim, reading: Reading) -> Values:
        """The values of the claim's quantities in a reading; none where they need paths that were not enumerated."""
        if not claim.computed:
            return Values()
        losses, tau, eta = self.instance.losses, self.instance.tau, array(self.instance.eta)

        def paths() -> Iterator[tuple[Fraction, Path]]:
            if self.history is None:
                raise ValueError("too many paths of chance")
            yield from whole_paths(*self.history, tau, eta, losses, reading.virtual)

        key = (id(claim), reading.virtual)
        if key not in self.evaluated:
            self.evaluated[key] = (claim, values(claim, losses, Path(tau, eta), paths))
        return self.evaluated[key][1]

    def measurement(self, claim: Claim, reading: Reading) -> Measurement[Any]:
        """The run as a claim sees it in a reading; a place of the scope ``point`` is an entry of ``points``."""
        computed = self.computed(claim, reading)
        paths, steps = self.paths[reading.virtual], range(self.instance.total)
        fields: dict[str, Sequence[Any]] = {
            **paths,
            "next_mean": paths["distance_sq"][1:],
            "eta": self.instance.eta,
            "grad_sq": [point[2] for point in self.points],
            "local_excess": [point[3] for point in self.points],
        }
        times: dict[Scope, Sequence[int]] = {
            "constant": (0,),
            "point": [point[0] for point in self.points],
            "step": steps,
            "horizon": range(self.instance.total + 1),
        }
        return Measurement(
            {**self.constants(reading.skew), **computed.constants},
            times.__getitem__,
            lambda scope, name: [Fraction(t) for t in times[scope]] if name == "time" else fields[name],
            computed.fields,
        )
