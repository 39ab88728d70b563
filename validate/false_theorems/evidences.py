"""What every kind of evidence says of a perturbed claim, and whether a HOLDS covers an instance that refutes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction as Q
from functools import cache

import numpy as np
import sympy as sp

from fedbounds.engine.expectations import not_applicable, work
from fedbounds.engine.simulate import simulate
from fedbounds.errors import DivergedError, InputError
from fedbounds.evidence import expectation, kernel
from fedbounds.evidence.empirical import comparison
from fedbounds.evidence.exact.instance import Instance
from fedbounds.evidence.exact.instance_json import from_json
from fedbounds.evidence.exact.run import run
from fedbounds.evidence.measured_run import MeasuredRun, Policy, examine_run
from fedbounds.evidence.sdp.one_step import coverage
from fedbounds.evidence.sdp.one_step import verdict as sdp
from fedbounds.evidence.sdp.one_step.parameters import Setting, round_setting
from fedbounds.evidence.sdp.one_step.parameters import applies as has_model
from fedbounds.evidence.symbolic import checker as check
from fedbounds.evidence.symbolic import verified_proofs as symbolic
from fedbounds.evidence.symbolic.definitions import DEFINITIONS
from fedbounds.evidence.symbolic.derivation import ONE, Cited, Derivation, Earlier, Step, premise, step
from fedbounds.evidence.symbolic.proof_state import citations
from fedbounds.model.trajectory import Trajectory
from fedbounds.plugins import claims
from fedbounds.referee.implication import inherited
from fedbounds.referee.regimes import REGIMES, Regime, Suite
from fedbounds.referee.search.populations import BUDGETS
from fedbounds.referee.search.refute import refute
from fedbounds.study.ledger import experiment_of
from fedbounds.theory.claim import Claim
from fedbounds.theory.reading import Reading
from fedbounds.theory.verdict import Status, Verdict
from validate.false_theorems.shipped import of_instance
from validate.false_theorems.specimens import Pool, Specimen, halves, some

# Thousands of verdicts share one table, so each run decides far from a false alarm.
ERROR_RATE = 1e-6
# Settings drawn for a study, certificates asked for a specimen, and random instances of a class tried at each.
SETTINGS, CERTIFICATES, TRIES = 12, 2, 40
# Marks what an evidence says of a run of the counterexample itself.
SHOWN = " on the counterexample"
# A regime whose exact expectations cost more work than this is left to sampling.
WORK = 2e9


@dataclass
class Fate:
    """What the evidences said of a specimen, by kind; ``unsound`` names a HOLDS that contains a counterexample.

    ``narrower`` names the evidences that certify or prove the claim that it was made of, and not this truer one.
    """

    specimen: Specimen
    said: dict[str, list[str]] = field(default_factory=dict)
    unsound: list[str] = field(default_factory=list)
    narrower: list[str] = field(default_factory=list)

    @property
    def refuted_by(self) -> list[str]:
        """The evidences that refute it, none of which was shown the counterexample."""
        return sorted(kind for kind, words in self.said.items() if "REFUTED" in words and not kind.endswith(SHOWN))

    def note(self, kind: str, verdict: Verdict) -> None:
        """Remember a verdict; one that HOLDS where the specimen's own counterexample lies is unsound."""
        self.said.setdefault(kind, []).append(str(verdict.status))
        against = self.specimen.against
        if verdict.status is Status.HOLDS and against is not None and _contains(verdict, against):
            self.unsound.append(f"{kind} HOLDS ({verdict.detail}) against {against.data}")


def _contains(holds: Verdict, against: Verdict) -> bool:
    """Whether the coverage of a HOLDS contains an exact counterexample."""
    covered = holds.coverage
    return covered is not None and covered.contains(experiment_of(against, "local_step" in covered.axes))


@dataclass(frozen=True)
class Bench:
    """What does not depend on the specimen: runs of the regimes, settings, and instances of their classes."""

    seed: int
    suite: Suite = field(default_factory=lambda: Suite(REGIMES))
    moments: dict[str, Trajectory | None] = field(default_factory=dict)
    expected: dict[tuple[str, str], MeasuredRun | None] = field(default_factory=dict)
    pools: dict[Setting, Pool] = field(default_factory=dict)
    steps: dict[object, Setting] = field(default_factory=dict)
    originals: dict[tuple[str, str, Setting], Status] = field(default_factory=dict)

    def pool(self, setting: Setting) -> Pool:
        """Random instances of the class at a setting, run exactly once."""
        if setting not in self.pools:
            rng = np.random.default_rng([self.seed, 3])
            self.pools[setting] = Pool(tuple(run(at(setting, rng)) for _ in range(TRIES)))
        return self.pools[setting]

    def own_setting(self, claim: Claim, setting: Setting) -> Setting:
        """The setting with the claim's own step size."""
        key = claim.steps, claim.assumptions_in(setting.how), setting
        if key not in self.steps:
            self.steps[key] = coverage.setting_with_stated_steps(claim, setting)
        return self.steps[key]

    def expectations(self, regime: Regime, reading: Reading) -> MeasuredRun | None:
        """The exact expectations of a regime in a reading, or None where they do not apply or cost much."""
        if regime.name not in self.moments:
            planned = regime.build()
            cheap = not_applicable(planned) is None and work(planned) <= WORK
            try:
                self.moments[regime.name] = simulate(planned, exact=True) if cheap else None
            except DivergedError:
                self.moments[regime.name] = None
        key, result = (regime.name, reading.name), self.moments[regime.name]
        if key not in self.expected:
            self.expected[key] = None if result is None else expectation.exact_run(result, reading, regime.policy)
        return self.expected[key]


def tried(specimen: Specimen, bench: Bench, k: int = 0, search: bool = True) -> Fate:
    """Every evidence asked about one specimen; a false one that survives is searched for too."""
    fate, rng = Fate(specimen), np.random.default_rng([bench.seed, 4, k])
    _on_regimes(fate, bench)
    if not specimen.true:
        _where_it_fails(fate)
    if has_model(specimen.claim):
        _certified(fate, bench, rng)
    _proved(fate)
    if search and not specimen.true and not fate.refuted_by:
        result = refute(specimen.claim, specimen.reading, BUDGETS["small"], seed=bench.seed)
        fate.said["exact"] = [str(result.status)]
    return fate


# ---- runs ---------------------------------------------------------------------------------------------------------


def _on_regimes(fate: Fate, bench: Bench) -> None:
    """The empirical and the expected word on each regime: of a false claim until one refutes, of a true one all.

    A HOLDS on a run says nothing of another run, so that a first refutation hides no unsound HOLDS.
    """
    claim, reading = fate.specimen.claim, fate.specimen.reading
    for kind, runs in (
        ("empirical", (bench.suite.run(regime, reading, claim) for regime in bench.suite.regimes)),
        ("expectation", (bench.expectations(regime, reading) for regime in bench.suite.regimes)),
    ):
        for seen in runs:
            if seen is not None:
                try:
                    fate.note(kind, _judged(kind, claim, seen))
                except InputError:
                    fate.said.setdefault(kind, []).append("refused")
                if not fate.specimen.true and fate.said[kind][-1] == "REFUTED":
                    break


def _judged(kind: str, claim: Claim, seen: MeasuredRun) -> Verdict:
    return comparison.examine(claim, seen, ERROR_RATE) if kind == "empirical" else expectation.examine(claim, seen)


def _where_it_fails(fate: Fate) -> None:
    """A run of the counterexample itself: no evidence may say HOLDS there."""
    claim, reading = fate.specimen.claim, fate.specimen.reading
    regime = of_instance("own", from_json(fate.specimen.against.data["instance"]))
    planned = None if regime is None else regime.build()
    for kind, exact in (("empirical", False), ("expectation", True)):
        if planned is None or (exact and not_applicable(planned) is not None):
            continue
        try:
            result = simulate(planned, exact=exact)
        except DivergedError:
            continue
        seen = expectation.exact_run(result, reading) if exact else examine_run(result, reading, Policy())
        try:
            verdict = _judged(kind, claim, seen)
        except InputError:
            continue
        fate.said.setdefault(f"{kind}{SHOWN}", []).append(str(verdict.status))
        if verdict.status is Status.HOLDS:
            fate.unsound.append(f"{kind} HOLDS on {fate.specimen.against.data}")


# ---- certificates -------------------------------------------------------------------------------------------------


@cache
def settings(seed: int) -> tuple[dict, ...]:
    """Random settings, as what `round_setting` takes."""
    rng = np.random.default_rng([seed, 5])
    return tuple(_drawn(rng) for _ in range(SETTINGS))


def _drawn(rng: np.random.Generator) -> dict:
    N, tau = (int(rng.choice([1, 2, 2, 3])), int(rng.choice([1, 1, 2, 2, 3])))
    p, alpha = ([Q(int(rng.integers(low, 6))) for _ in range(N)] for low in (1, 0))
    alpha[int(rng.integers(N))] += 1
    weights = tuple(x / sum(p) for x in p)
    return {
        "clients": N, "tau": tau, "step": int(rng.integers(tau)),
        "kappa": some(rng, [Q(3, 2), Q(2), Q(5), Q(10), Q(40)]),
        "p": weights, "alpha": weights if rng.random() < 0.4 else tuple(x / sum(alpha) for x in alpha),
        "eta": some(rng, [Q(1, 4), Q(1, 2), Q(1)]) if rng.random() < 0.4 else None,
    }  # fmt: skip


def at(setting: Setting, rng: np.random.Generator) -> Instance:
    """A random instance of the class at a setting: the same kappa, weights, steps and number of clients."""
    d = int(rng.integers(1, 3))
    curvatures = tuple(
        tuple(some(rng, [setting.L, setting.mu, (setting.L + setting.mu) / 2]) for _ in range(d))
        for _ in range(setting.N)
    )
    same = halves(rng, d) if rng.random() < 0.2 else None
    few = setting.N * setting.tau <= 6
    made = Instance(
        curvatures=curvatures,
        minima=tuple(same or halves(rng, d) for _ in range(setting.N)),
        p=setting.p,
        w0=(Q(0),) * d,
        eta=(*setting.eta, *(setting.eta[-1],) * (setting.tau - len(setting.eta))),
        tau=setting.tau,
        weighting="fixed",
        weights=(setting.alpha,),
        noise=tuple(some(rng, [Q(0), Q(1)]) for _ in range(setting.N)) if few and rng.random() < 0.3 else (),
        L=setting.L,
        mu=setting.mu,
    )
    return made.with_(w0=made.argmin(setting.p) if rng.random() < 0.4 else halves(rng, d, 6))


def _certified(fate: Fate, bench: Bench, rng: np.random.Generator) -> None:
    """The SDP's word at the class of the counterexample itself, and at random settings."""
    specimen = fate.specimen
    own = None if specimen.true else class_of(specimen.claim, specimen.reading, specimen.against)
    if own is not None:
        fate.note("sdp", sdp.examine(specimen.claim, own))
    for k in rng.choice(SETTINGS, CERTIFICATES - (own is not None), replace=False):
        try:
            setting = round_setting(**settings(bench.seed)[k], reading=specimen.reading.name)
            own = bench.own_setting(specimen.claim, setting)
            _at_setting(fate, bench, setting, own, rng)
        except InputError:
            fate.said.setdefault("sdp", []).append("refused")


def _at_setting(fate: Fate, bench: Bench, setting: Setting, own: Setting, rng: np.random.Generator) -> None:
    """The word at a setting; where a random instance of that very class refutes, at its rho_bar."""
    claim, reading = fate.specimen.claim, fate.specimen.reading
    result = None
    if not fate.specimen.true:
        refuting = (item for item in bench.pool(own).against(claim, reading, rng) if item.data["t"] == own.step)
        result = next(refuting, None)
    if result is not None:
        record = run(from_json(result.data["instance"]))
        own = replace(own, rho_bar=record.constants(reading.skew)["rho_bar"])
    verdict = sdp.examine(claim, own)
    fate.note("sdp", verdict)
    if verdict.status is not Status.HOLDS:
        if fate.specimen.true and _original_holds(bench, fate.specimen, setting):
            fate.narrower.append(f"sdp: {verdict.status} at {own.to_json()}: {verdict.detail}")
    elif result is not None and _contains(verdict, result):
        fate.unsound.append(f"sdp at {coverage.in_words(claim, own)}: {result.data}")


def _original_holds(bench: Bench, specimen: Specimen, setting: Setting) -> bool:
    """Whether the claim that a specimen was made of is certified at a setting."""
    key = specimen.base.key, specimen.reading.name, setting
    if key not in bench.originals:
        bench.originals[key] = sdp.examine(specimen.base, bench.own_setting(specimen.base, setting)).status
    return bench.originals[key] is Status.HOLDS


def class_of(claim: Claim, reading: Reading, against: Verdict) -> Setting | None:
    """The setting of an exact counterexample, at its step; None where its weights change or nobody's class is it."""
    instance = from_json(against.data["instance"])
    record, t = run(instance), int(against.data["t"] or 0)
    if len(record.alphas) > 1:
        return None
    unit = instance.L if coverage.homogeneous(claim) else Q(1)
    start = t - t % instance.tau
    try:
        return Setting(
            alpha=next(iter(record.alphas)),
            p=instance.p,
            eta=tuple(size * unit for size in instance.eta[start : t + 1]),
            tau=instance.tau,
            mu=instance.mu / unit,
            L=instance.L / unit,
            rho_bar=record.constants(reading.skew)["rho_bar"],
            reading=reading.name,
        )
    except InputError:
        return None


# ---- proofs -------------------------------------------------------------------------------------------------------


def _proved(fate: Fate) -> None:
    """The proof checkers on the stored proofs, on what an author would write of them, and on what inherits one."""
    specimen = fate.specimen
    claim, reading = specimen.claim, specimen.reading
    same_name = replace(claim, key=specimen.base.key)
    words = [("symbolic", symbolic.examine(same_name, reading)), ("kernel", kernel.examine(same_name, reading))]
    words += [("symbolic", verdict) for verdict in written(specimen)]
    words += [("symbolic", verdict) for other in claims().values() for verdict in inherited(claim, reading, other)]
    for kind, verdict in words:
        if verdict is not None:
            fate.note(kind, verdict)
            if verdict.status is Status.HOLDS and not specimen.true:
                fate.unsound.append(f"{kind}: {verdict.detail}")
    if specimen.true and "HOLDS" not in fate.said.get("symbolic", ()):
        details = [verdict.detail for kind, verdict in words if verdict is not None and kind == "symbolic"]
        fate.narrower.append(f"symbolic: {details}")


def written(specimen: Specimen) -> Iterator[Verdict]:
    """The verdicts on the derivations that an author would write who has a proof of the claim it was made of.

    One has the changed right side as its last line; one adds a line to the proof, or cites it where the assumptions
    are others: right of a claim that says less, and not to be accepted of one that is false.
    """
    claim, reading = specimen.claim, specimen.reading
    right, before = _right(claim, reading), _right(specimen.base, reading)
    small, discharged = _discharged(specimen)
    for base in symbolic.installed().values():
        if base.claim != specimen.base.key or reading.name not in base.readings:
            continue
        own, last = replace(base, key="of-an-author", claim=claim.key), base.steps[-1]
        added = step("author", claim.lhs, last.relation, right).by(Earlier(last.label), (right - before, ONE))
        cited = step("author", claim.lhs, last.relation, right).by(Cited(base.key, discharged), (right - before, ONE))
        if claim.assumptions_in(reading) != specimen.base.assumptions_in(reading):
            bare = replace(own, conditions=(), abbreviations={}, sequences={}, steps=(*small, cited))
            yield _checked(bare, specimen)
        else:
            yield _rechecked(replace(own, steps=(*base.steps[:-1], replace(last, rhs=right))), base, specimen)
            yield _rechecked(replace(own, steps=(*base.steps, added)), base, specimen)


def _known(specimen: Specimen) -> Mapping[str, Claim]:
    return {**claims(), specimen.claim.key: specimen.claim}


def _rechecked(derivation: Derivation, base: Derivation, specimen: Specimen) -> Verdict:
    """The word on a proof that differs from a stored one in its last line, the lines before as they were found."""
    result = symbolic.checked_named(base.key, specimen.reading)
    as_if = replace(result, derivation=derivation, claim=specimen.claim)
    last = derivation.steps[-1]
    outcome = check.recheck(as_if, last, symbolic.shelf(symbolic.installed()), _known(specimen))
    assumed = result.assumptions | (outcome.grounds.keys - DEFINITIONS.keys())
    whole = replace(
        as_if,
        outcomes={**result.outcomes, last.label: outcome},
        assumptions=assumed,
        fault=result.fault or outcome.message,
    )
    return symbolic.judge(whole, specimen.claim, specimen.reading)


def _checked(derivation: Derivation, specimen: Specimen) -> Verdict:
    """The word on a proof that cites stored ones, whose checks are kept."""
    shelf = symbolic.shelf({**symbolic.installed(), derivation.key: derivation}, _known(specimen))
    for key in citations(derivation):
        shelf.checked[key, specimen.reading.name] = symbolic.checked_named(key, specimen.reading)
    return symbolic.judge(symbolic.check(derivation.key, shelf, specimen.reading), specimen.claim, specimen.reading)


def _right(claim: Claim, reading: Reading) -> sp.Expr:
    return sp.Add(*claim.stated(reading.repaired).values())


def _discharged(specimen: Specimen) -> tuple[tuple[Step, ...], dict[str, str]]:
    """A step that shows the base's bound from the claim's smaller one, where that is what was changed."""
    stated = {a.key: a for a in specimen.claim.assumptions_in(specimen.reading)}
    for before in specimen.base.assumptions_in(specimen.reading):
        after = stated.get(f"{before.key}-changed")
        if after is not None:
            (left, sign, right), room = before.parts[0], before.parts[0].right - after.parts[0].right
            return (step("small", left, sign, right).by(premise(after.key), (room, ONE)),), {before.key: "small"}
    return (), {}
