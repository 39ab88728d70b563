"""Algorithm 1 on a small federated problem in exact rational arithmetic: no rounding, no sampling, no solver.

A long run may double the digits of its fractions with every step. It is then taken in ball arithmetic, as rigorously:
every number is enclosed, and a comparison that the enclosures do not decide is asked again in twice as many bits.

Every outcome of the noise and of who takes part is enumerated, so expectations are exact too. Where there are too
many, one round needs few of them, and so does a run that is linear in the noise (`Chance`).
"""

import contextlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, TypeVar

from flint import arb

from fedbounds.engine.reference import Step
from fedbounds.errors import InputError, reject
from fedbounds.evidence.ball_arithmetic import Ball, Undecided, enclosed, endpoints, in_bits
from fedbounds.evidence.exact.instance import Instance, Vector, array
from fedbounds.evidence.exact.population_measurement import Measured
from fedbounds.evidence.exact.random_outcomes import needs_every_outcome
from fedbounds.evidence.exact.run_arrays import grouped_by_outcomes
from fedbounds.evidence.quantity_values import Values
from fedbounds.theory.claim import Claim
from fedbounds.theory.coverage import weights_in_words
from fedbounds.theory.measurement import Measurement, OnDemand, first_of
from fedbounds.theory.reading import Reading
from fedbounds.theory.symbols import Scope

# Outcomes enumerated at most: 2^(N T) grows fast, and a larger tree is a simulation's job.
MAX_OUTCOMES = 2**15
# Long runs may double the digits of their numbers with every step: beyond this many bits they are taken in balls.
MAX_BITS = 2**13
# Bits of the balls: twice as many each time, to the last, which is enough for a contraction by half over 2000 steps.
BITS = (2**9, 2**10, 2**11, 2**12, 2**13)
# The constants that hang on no step of a run.
OF_THE_SETUP = (
    *("L", "mu", "Gamma", "tau", "N", "T_run", "p_min", "eta_0", "eta_s", "eta_ratio", "eta_growth"),
    *("sigma_0_sq", "growth"),
)

V = TypeVar("V")


@dataclass(frozen=True)
class ExactRun:
    """What the claims need of a run, every number a fraction, computed when it is first looked up.

    The outcomes were not all taken unless ``enumerable``. With ``bits`` the numbers are balls of so many bits.
    """

    instance: Instance
    measured: Measured = field(repr=False)
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
        return self._given(self.measured.constants)

    def constants(self, skew: str) -> Mapping[str, Fraction]:
        """Symbol name -> value, with rho_bar over synchronisation times (``sync``) or every step."""
        return self._given(self.measured.constants_in(skew), {"rho_bar"} if skew != "sync" else set())

    def _given(self, rows: Mapping[str, Any], beyond: Collection[str] = ()) -> Mapping[str, Fraction]:
        """The numbers of the one member, but those that the outcomes taken do not give."""
        few = not self.enumerable and self.instance.weighting != "fedavg"
        without = {"q"} - self.instance.selection.keys() | ({"rho_pairs", *beyond} if few else set())
        names = [name for name in rows if name not in without]
        return OnDemand({name: partial(self._number, rows, name) for name in names})

    def _number(self, rows: Mapping[str, Any], name: str) -> Fraction:
        return self.precisely(lambda: _fraction(rows[name][0]))

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

    def place(self, reading: Reading, step: int | None = None) -> dict[str, object]:
        """The experiment on every axis of a `Coverage` that is known; given a ``step``, it alone, in its round."""
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
            "L": instance.L,
            "T": instance.total,
        }
        with contextlib.suppress(Undecided):  # a gap that is 0, or a ball around 0
            axes["rho_tilde"] = self.values["rho_tilde"]
            axes["rho_bar"] = endpoints(self.rho_sync if reading.skew == "sync" else self.rho_all)
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
        key = (id(claim), reading.virtual)
        if key not in self.evaluated:
            beyond = self.beyond(claim, reading)
            unknown = [symbol for symbol in claim.computed if symbol.name in beyond]
            result = self.precisely(lambda: self.measured.member(claim, reading.virtual, 0, unknown))
            result.lacking.update({symbol.name: "too many paths of chance" for symbol in unknown})
            self.evaluated[key] = (claim, result)
        return self.evaluated[key][1]

    def measurement(self, claim: Claim, reading: Reading) -> Measurement[Any]:
        """The run as a claim sees it in a reading; a place of the scope ``point`` is an entry of ``points``."""
        computed = self.computed(claim, reading)
        whole = self.measured.measurement(reading, Values())

        def times(scope: Scope) -> Sequence[int]:
            return [point[0] for point in self.points] if scope == "point" else [*map(int, whole.times(scope))]

        def field(scope: Scope, name: str) -> Sequence[Any]:
            few = scope == "point" and not self.enumerable
            return () if few else self.precisely(lambda: tuple(whole.field(scope, name)[0]))

        constants: Any = first_of(computed.constants, self.constants(reading.skew))
        return Measurement(constants, times, field, computed.fields)


def before_a_run(instance: Instance, claim: Claim) -> dict[str, Fraction]:
    """The constants that are known before a run, the claim's own of the problem too."""
    server_step = array([instance.server_step])
    with in_bits(BITS[0]):
        sizes = array([step_sizes(instance)])
        setup = Measured(instance.population, (), sizes, instance.tau, (), (), server_step=server_step)
        constants = {name: _fraction(setup.constants[name][0]) for name in OF_THE_SETUP}
    constants |= instance.selection
    constants |= {} if any(instance.growth) else {"sigma_sq": max(s**2 for s in instance.noise)}
    constants |= dict.fromkeys(("pi_min", "pi_max"), Fraction(1)) if instance.weighting == "fedavg" else {}
    later = [symbol for symbol in claim.computed if symbol.statistic != "constant"]
    computed = setup.member(claim, "alpha", 0, later).constants if len(later) < len(claim.computed) else {}
    return constants | computed


def step_sizes(instance: Instance) -> list[Any]:
    """The steps of an instance, of roots a ball each, in the bits that are set."""
    if not instance.radius:
        return list(instance.eta)
    around = Ball(arb(0, enclosed(instance.radius).upper()))
    balls = {size: size + around for size in instance.eta}
    return [balls[size] for size in instance.eta]


def _fraction(value: Any) -> Fraction:
    """A number as a fraction; a ball, which computes like one, as it is."""
    return value if isinstance(value, Ball) else Fraction(value)  # type: ignore[return-value]


class TooLong(InputError):
    """The fractions of a run have too many digits."""


def runs(instance: Instance, most: int = MAX_OUTCOMES) -> Iterator[ExactRun]:
    """The run in fractions; where these grow too long, the runs in balls of each of BITS.

    Raises InputError if there are too many outcomes, or too many digits for balls too.
    """
    too_long = reject("logistic losses and roots are taken in balls", "a run of fractions", "shorten it")
    try:
        if not (instance.widths or instance.radius):
            yield run(instance, most)
            return
    except TooLong as error:
        too_long = error
    result = False
    for bits in BITS:
        record = None
        with contextlib.suppress(Undecided, InputError):  # a weighting may have values in fractions alone
            record = run(instance, most, bits)
        if record is not None:
            result = True
            yield record
    if not result:
        raise too_long


def run(instance: Instance, most: int = MAX_OUTCOMES, bits: int = 0) -> ExactRun:
    """Run Algorithm 1 exactly: over every outcome, or beyond ``most`` of them over the few that are enough.

    In balls of so many ``bits``, unless 0. Raises InputError if there are too many outcomes, or too many digits, and
    Undecided where balls do not tell which client's loss is the largest.
    """
    bits = bits or (BITS[0] if instance.widths or instance.radius else 0)
    chance = instance.chance
    if chance.too_many(most):
        raise reject(
            "an exact run enumerates every outcome of the noise and of who takes part",
            f"{chance.count} outcomes: {instance.total} steps, {chance.selections} sets of clients a round",
            f"keep 2^(clients * steps) * sets^rounds at most {most}",
        )
    how = chance.taken(most)
    losses, w0 = replace(instance.population), array([instance.w0])  # what it caches is of these bits
    with in_bits(bits) if bits else nullcontext():
        sizes = array([step_sizes(instance)])
        run_with = array([[Ball(enclosed(size)) for size in sizes[0]]]) if bits else sizes
        server_step = None if instance.server_step == 1 else array([instance.server_step])
        steps, odds = chance.steps(losses, w0, run_with, instance.rule, how, _short, server_step)
        parts = tuple(grouped_by_outcomes(steps, odds))
        drawn = instance.draws, instance.q
        measured = Measured(losses, parts, sizes, instance.tau, steps, odds, *drawn, server_step)
    return ExactRun(instance, measured, how == "all", bits)


def _short(step: Step) -> None:
    """Raise TooLong where a global model in fractions has too many digits."""
    models = step.x[..., 0, :].flat if step.synchronised else ()
    if any(isinstance(x, Fraction) and x.denominator.bit_length() > MAX_BITS for x in models):
        what = f"an exact run has numbers of at most {MAX_BITS} bits"
        raise TooLong(str(reject(what, f"more at t = {step.t}", "shorten it")))
