"""Claims in symbols of one's own: refuted where false, not where true, and never passed over in silence."""

import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import sympy as sp

from fedbounds.engine.simulate import simulate
from fedbounds.errors import InputError
from fedbounds.evidence import expectation
from fedbounds.evidence.assumption_checks import with_quantities
from fedbounds.evidence.empirical import comparison as empirical
from fedbounds.evidence.exact.compare import examine
from fedbounds.evidence.exact.instance_json import from_json
from fedbounds.evidence.exact.run import run
from fedbounds.evidence.measured_run import examine_run
from fedbounds.evidence.prover import automatic
from fedbounds.evidence.sdp.one_step.parameters import applies
from fedbounds.plugins import claim_named, load_file
from fedbounds.referee import limit_cases, stages
from fedbounds.referee.implication import follows
from fedbounds.referee.regimes import REGIMES, Suite, experiment, quadratics
from fedbounds.referee.search.family import Shape, decode, dimension, families
from fedbounds.referee.search.populations import BUDGETS, computed
from fedbounds.referee.search.populations import simulate as simulate_population
from fedbounds.referee.stage_context import Case
from fedbounds.referee.trial import Outcome, try_claim
from fedbounds.theory import assumptions as a
from fedbounds.theory import quantity
from fedbounds.theory import symbols as s
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.assumptions import SHIPPED
from fedbounds.theory.claim import Claim, Repair
from fedbounds.theory.reading import READINGS
from fedbounds.theory.verdict import Evidence, Status

PLAIN = READINGS["plain"]
ONE = from_json({"curvatures": [1], "minima": [0], "p": [1], "w0": [1], "eta": ["1/4"]})
FEW = Suite(REGIMES[:4])


@pytest.fixture(autouse=True)
def few_instances(monkeypatch):
    monkeypatch.setitem(BUDGETS, "small", replace(BUDGETS["small"], shrink=2000))
    monkeypatch.setattr(limit_cases, "STEPS", ((1, 1), (2, 1), (5, 1)))
    monkeypatch.setitem(limit_cases.LENGTHS, "horizon", ((1, 1), (1, 4), (2, 3)))


NOISELESS = Assumption("noiseless", "full gradients", sp.Eq(s.sigma_sq, 0))
ONE_STEP = Assumption("one-step", "a round has one local step", sp.Eq(s.tau, 1))
DESCENT = (a.smooth, a.strongly_convex, a.full_participation, a.unbiased, NOISELESS)
BOUNDED = (a.bounded_gradient, a.steps_up_to_2_over_L_plus_mu, a.full_participation)
AFTER = sp.Max(s.T, 1)


def claim(key, scope, lhs, rhs, *assumptions, **others):
    return Claim(key, key, "a test", scope, lhs, {"bound": rhs}, assumptions=assumptions, **others)


def of_steps(key, lhs, rhs, **others):
    return claim(key, "horizon", lhs, rhs, *DESCENT, ONE_STEP, eta=1 / s.L, **others)


SPREAD = quantity.largest("spread", lambda path: (path.X - path.w[:-1, None]).max(axis=(1, 2)), units=(1, 0))
FARTHEST = quantity.measured("farthest", lambda path: path.losses.excess(path.w).max(axis=-1), units=(0, 1))
# (true, false by one slip) in a symbol each.
PAIRS = [
    (
        claim("zeta", "constant", s.zeta_star_sq, 2 * s.L * s.Gamma),
        claim("zeta-1", "constant", s.zeta_star_sq, s.L * s.Gamma / 2),
    ),
    (
        of_steps("average", s.average_gap, s.L * s.Delta_0 / AFTER),
        of_steps("average-1", s.average_gap, s.L * s.Delta_0 / AFTER**2 / 2),
    ),
    (of_steps("farthest", s.gap, FARTHEST), of_steps("farthest-1", FARTHEST, s.gap + s.Gamma)),
    (
        claim("start", "step", s.drift, s.tau**2 * s.eta_round**2 * s.G_sq, *BOUNDED),
        claim("start-1", "step", s.drift, (s.tau - 1) * s.eta_round**2 * s.G_sq / 2, *BOUNDED),
    ),
]


@pytest.mark.parametrize(("true", "false"), PAIRS, ids=[true.key for true, _ in PAIRS])
def test_a_slip_is_refuted_in_fractions_and_on_a_run_and_the_true_one_is_not(true, false, monkeypatch):
    case = Case(true, PLAIN, "small", 0, FEW)
    with monkeypatch.context() as fewer:
        fewer.setattr(limit_cases, "MOST", 40)
        result = stages.sanity(case)
    assert all(verdict.status is Status.UNDECIDED for verdict in result.verdicts)
    assert any("no violation at" in line for line in result.lines), result
    (verdict,) = stages.regimes(case).verdicts
    assert verdict.status is not Status.REFUTED
    refuted = try_claim(false, suite=FEW)
    assert refuted.outcome is Outcome.FALSE and refuted.refutation.evidence is Evidence.EXACT
    again = examine(from_json(refuted.refutation.data["instance"]), false, PLAIN)
    assert again.status is Status.REFUTED and again.data["lhs"] == refuted.refutation.data["lhs"]
    names = {symbol.name for symbol in false.computed}
    assert names <= refuted.refutation.data["constants"].keys() | refuted.refutation.data["varying"].keys()


def test_fractions_floats_and_populations_agree():
    both = claim("all", "horizon", s.average_gap + FARTHEST, s.zeta_star_sq + SPREAD + s.dissimilarity(1))
    data = {"curvatures": [1, 4], "minima": [-1, 1], "p": ["1/2", "1/2"], "w0": [3], "eta": ["1/8"] * 4, "tau": 2}
    instance = from_json(data | {"weighting": "fedavg"})
    exact = run(instance).computed(both, PLAIN)
    planned = experiment(quadratics([1, 4], [-1, 1]), [3.0], eta=0.125, tau=2, rounds=2)
    seen = with_quantities(both, examine_run(simulate(planned), PLAIN)).quantities
    assert exact.lacking == seen.lacking == {}
    for name, value in exact.constants.items():
        assert isinstance(value, Fraction) and float(seen.constants[name]) == pytest.approx(float(value), rel=1e-12)
    for name, column in exact.fields.items():
        assert seen.fields[name][0] == pytest.approx(column.astype(float), rel=1e-12)
    shape = Shape("diagonal", 2, 1, 1, 2, "fedavg", "free", noise="additive")
    cube = np.full((3, dimension(shape, families()["diagonal"])), 0.4)
    result = simulate_population(decode(shape, families()["diagonal"], cube, both))
    gaps = claim("g", "horizon", quantity.measured("own_gap", lambda path: path.losses.gap(path.w)), s.gap)
    expected = result.paths["alpha"]["gap"]
    assert computed(result, gaps, PLAIN).fields["own_gap"] == pytest.approx(expected)


def test_the_largest_spread_of_the_gradients_is_that_at_the_farthest_iterate():
    """Curvatures 1 and 4 of equal weight differ by 3 x - 5 at x: a spread of ((3 x - 5)/2)^2."""
    data = {"curvatures": [1, 4], "minima": [-1, 1], "p": ["1/2", "1/2"], "w0": [3], "eta": ["1/8"] * 4, "tau": 2}
    largest = claim("all", "horizon", s.gap, s.zeta_sq)
    instance = from_json(data | {"weighting": "fedavg"})
    assert run(instance).computed(largest, PLAIN).constants["zeta_sq"] == 4
    twelve = instance.with_(noise=(Fraction(1),) * 2, eta=(Fraction(1, 8),) * 12)
    record = run(twelve)
    assert not record.points and "too many paths" in record.computed(largest, PLAIN).lacking["zeta_sq"]


def test_the_expectation_over_noise_and_absent_clients_is_exact():
    own_gap = quantity.measured("own_gap", lambda path: path.losses.gap(path.w))
    equal = claim("equal", "horizon", own_gap, s.gap)
    data = {"curvatures": [1, 2], "minima": [0, 1], "p": ["1/3", "2/3"], "w0": [1], "eta": ["1/4"] * 4, "tau": 2}
    for more in ({"noise": [1, 1]}, {"present": 1}):
        record = run(from_json(data | more | {"weighting": "fedavg"}))
        assert tuple(record.computed(equal, PLAIN).fields["own_gap"]) == record.paths["alpha"]["gap"]


def test_a_band_decides_over_noisy_repetitions():
    planned = experiment(quadratics([1, 1], [0, 0], noise=1), [1.0], eta=0.5, rounds=6, replicates=64)
    seen = examine_run(simulate(planned), PLAIN)
    assert empirical.examine(claim("n", "horizon", s.average_gap, s.gap + 1), seen).status is Status.HOLDS
    assert empirical.examine(claim("n", "horizon", s.average_gap + 1, s.gap), seen).status is Status.REFUTED
    curved = claim("n", "horizon", s.average_gap**2, s.gap)
    assert empirical.examine(curved, seen).detail == empirical.NOT_LINEAR
    most = claim("n", "horizon", s.gap, s.gap + s.dissimilarity(1))
    assert "not known from the paths that were drawn" in empirical.examine(most, seen).detail
    absent = examine_run(simulate(planned.with_(participation=0.5)), PLAIN)
    verdict = empirical.examine(claim("n", "horizon", s.average_gap, s.gap + 1), absent)
    assert verdict.status is Status.UNDECIDED and "average_gap is not known" in verdict.detail


def broken(**declared):
    return quantity.measured("broken", declared.pop("of"), **declared)


@pytest.mark.parametrize(
    ("symbol", "said"),
    [
        (broken(of=lambda path: path.nothing), "AttributeError"),
        (broken(of=lambda path: path.w.sort(axis=0)), "read-only"),
        (broken(of=lambda path: path.t[:2] * 0), "2 values where the claim has"),
        (broken(of=lambda path: path.t - 1, nonnegative=True), "not the sign that is declared"),
        (quantity.scheduled("broken", lambda path: path.w), "horizon|NoneType|values|fraction|finite"),
        (quantity.constant("broken", lambda losses: np.append(losses.p, 1)), "a constant is one number, not 3"),
    ],
)
def test_what_cannot_be_evaluated_makes_every_evidence_say_so(symbol, said):
    mine = claim("mine", "horizon", symbol, s.gap)
    exact = examine(
        from_json({"curvatures": [1, 1], "minima": [0, 1], "p": ["1/2", "1/2"], "w0": [1], "eta": ["1/4"] * 4}),
        mine,
        PLAIN,
    )
    seen = examine_run(simulate(experiment(quadratics([1, 1], [0, 1]), [1.0], eta=0.25)), PLAIN)
    verdict = empirical.examine(mine, seen)
    for item in (exact, verdict):
        assert item.status is Status.UNDECIDED and "cannot express broken (" in item.detail
    assert re.search(said, verdict.detail)
    case = Case(mine, PLAIN, "small", 0, FEW)
    assert "cannot express broken (" in stages.read_back(case).lines[1]
    assert stages.search(case).verdicts[0].status is Status.UNDECIDED
    assert try_claim(mine, suite=FEW).outcome is Outcome.NOT_TESTED


def test_what_varies_has_no_place_in_a_claim_about_constants_or_in_exact_expectations():
    with pytest.raises(InputError, match="varies over"):
        claim("mine", "constant", s.average_gap, s.Gamma)
    planned = experiment(quadratics([1, 1], [0, 1], noise=1), [1.0], eta=0.25)
    seen = expectation.exact_run(simulate(planned, exact=True), PLAIN)
    result = expectation.examine(claim("mine", "horizon", s.average_gap, s.gap + 1), seen)
    assert result.status is Status.UNDECIDED and "exact expectations have no paths" in result.detail
    assert expectation.examine(claim("z", "constant", s.zeta_star_sq, 2 * s.L * s.Gamma), seen).status is Status.HOLDS


def test_certificates_know_expressions_only_and_assumptions_may_be_made_of_them():
    small = Assumption("small", "little heterogeneity", sp.Le(s.zeta_star_sq, 1))
    mine = claim("mine", "constant", s.zeta_star_sq, sp.Integer(1), small)
    assert applies(claim("s", "step", s.drift, s.zeta_star_sq * s.eta**2))
    assert not applies(claim("s", "step", s.drift, s.zeta_sq * s.eta**2))
    near, far = (
        from_json({"curvatures": [1, 1], "minima": [0, x], "p": ["1/2", "1/2"], "w0": [1], "eta": ["1/4"]})
        for x in (1, 9)
    )
    assert examine(near, mine, PLAIN).status is Status.HOLDS
    assert examine(far, mine, PLAIN).status is Status.NOT_APPLICABLE
    along = Assumption("along", "varies", sp.Le(s.average_gap, 1))
    said = examine(near, claim("m", "constant", s.zeta_star_sq, s.L, along), PLAIN).detail
    assert "cannot express along" in said


def test_the_example_of_the_page_is_proved(tmp_path):
    page = (Path(__file__).parents[2] / "docs" / "referee.md").read_text(encoding="utf-8")
    (tmp_path / "mine.py").write_text(page.partition("```python\n")[2].partition("```")[0])
    (mine,) = load_file(tmp_path / "mine.py").CLAIMS
    verdict = automatic.examine(mine, READINGS["plain"])
    assert verdict is not None and verdict.status is Status.HOLDS and [q.name for q in mine.computed] == ["slope_sq"]


def test_names_and_definitions_are_guarded():
    with pytest.raises(InputError, match="a name that is free"):
        quantity.constant("Delta", lambda losses: 0)
    for name in ("pi", "sqrt", "maximum", "max"):
        with pytest.raises(InputError, match="free, also in numpy"):
            quantity.constant(name, lambda losses: 0)
    once, twice = quantity.constant("one_name", len), quantity.largest("one_name", len)
    assert once != twice
    with pytest.raises(InputError, match="names of their own"):
        examine(ONE, claim("mine", "constant", once, twice), PLAIN)
    fake = quantity.constant("zeta_star_sq", lambda losses: 0)
    for lhs, put, floor in ((fake, {}, s.L), (s.L, {s.mu: fake}, s.L), (s.L, {fake: s.mu}, s.L), (s.L, {}, fake)):
        with pytest.raises(InputError, match="zeta_star_sq of claim mine must be the claims' own"):
            repair = Repair("why", substitutions=put)
            Claim("mine", "mine", "here", "constant", lhs, {"all": s.mu}, repair=repair, floor=floor)
    for item in SHIPPED.values():
        with pytest.raises(InputError, match=f"{re.escape(item.key)} of claim mine must be the shipped one"):
            claim("mine", "constant", s.L, s.mu, Assumption(item.key, "Pi >= 1", sp.Ge(s.pi_max, 1)))
    with pytest.raises(InputError, match="may define constants only"):
        claim("mine", "constant", s.zeta_star_sq, s.L, definitions={s.zeta_star_sq: s.L})
    with pytest.raises(InputError, match="step size"):
        claim("mine", "constant", s.zeta_star_sq, s.L, eta=1 / s.zeta_star_sq)


def test_a_declared_sign_proves_nothing():
    known = claim_named("lemma-1")
    below = quantity.constant("below", lambda losses: -losses.L, nonnegative=True)
    mine = replace(known, key="mine", terms={**known.terms, "more": below})
    assert not follows(mine, PLAIN, known, PLAIN)
    assert follows(replace(mine, terms={**known.terms, "more": s.L}), PLAIN, known, PLAIN)


def noisy(tau=1, **others):
    return examine_run(
        simulate(
            experiment(quadratics([1], [0], noise=1), [0.0], eta=1.0, tau=tau, rounds=4, replicates=32, **others)
        ),
        PLAIN,
    )


@pytest.mark.parametrize("level", [1000])
def test_what_no_repetition_met_is_not_known_for_certain(level):
    far = quantity.measured("far", lambda path: (path.w[:, 0] > level).astype(int), nonnegative=True)
    clipped = quantity.measured("clipped", lambda path: np.maximum(path.w[:, 0], level))
    for symbol, bound in (
        (far, sp.Rational(1, 10**6)),
        (1 - far, 1 - sp.Min(s.T, 1) / 10**4),
        (clipped, s.L * level),
    ):
        verdict = empirical.examine(claim("tail", "horizon", symbol, bound), noisy())
        assert verdict.status is Status.UNDECIDED and "no sampling error" not in verdict.detail


def test_presence_is_random_also_at_the_start():
    here = quantity.measured("here", lambda path: (path.alpha[:, 0] > 0).astype(int))
    planned = experiment(quadratics([1, 1], [0, 1]), [1.0], eta=0.25, rounds=4, replicates=32, participation=0.5)
    everywhere = empirical.examine(
        claim("here", "step", here, sp.Rational(9, 10)), examine_run(simulate(planned), PLAIN)
    )
    assert everywhere.status in (Status.HOLDS, Status.UNDECIDED) and "no sampling error" not in everywhere.detail


def test_a_function_with_dice_or_a_memory_of_its_own_decides_nothing():
    rng = np.random.default_rng(1)
    dice = quantity.measured("dice", lambda path: rng.random(len(path.w)))
    assert "called again" in empirical.examine(claim("dice", "horizon", dice, s.gap), noisy()).detail
    seen = {}

    def first_only(path):
        return np.full(len(path.w), seen.setdefault(id(path), len(seen)) == 0)

    planned = experiment(quadratics([1], [0]), [1.0], eta=0.25, replicates=8)
    memory = claim("memory", "horizon", quantity.measured("memory", first_only), s.gap)
    verdict = empirical.examine(memory, examine_run(simulate(planned), PLAIN))
    assert verdict.status is Status.UNDECIDED and verdict.detail == empirical.UNSTEADY


@pytest.mark.parametrize("name", ["w_star"])
def test_a_function_cannot_change_what_others_see(name):
    def spoils(losses):
        array = getattr(losses, name)
        array *= 2
        return 1

    spoiler = claim("spoiler", "constant", quantity.constant("spoiler", spoils), s.L)
    planned = experiment(quadratics([1, 3], [1, 2]), [3.0], eta=0.25)
    before = getattr(planned.problem, name).copy()
    verdict = empirical.examine(spoiler, examine_run(simulate(planned), PLAIN))
    assert verdict.status is Status.UNDECIDED and "read-only" in verdict.detail
    assert (getattr(planned.problem, name) == before).all()
    instance = from_json({"curvatures": [1, 3], "minima": [1, 2], "p": ["1/2", "1/2"], "w0": [3], "eta": ["1/4"]})
    assert "read-only" in run(instance).computed(spoiler, PLAIN).lacking["spoiler"]
    nested = quantity.constant("nested", lambda losses: losses.kernel_data().H.fill(0))
    result = empirical.examine(claim("nested", "constant", nested, s.L), examine_run(simulate(planned), PLAIN))
    assert "read-only" in result.detail


@pytest.mark.parametrize(
    ("value", "declared", "admitted"),
    [(1.5, "negative", False), (3.0, "even", False), (0, "nonpositive", True), (2.5, "real", True)],
)
def test_every_sign_that_is_declared_is_checked(value, declared, admitted):
    symbol = quantity.constant("k", lambda losses: value, **{declared: True})
    instance = from_json({"curvatures": [1], "minima": [0], "p": [1], "w0": [1], "eta": ["1/4"]})
    assert symbol.admits(np.array([value])) is admitted
    assert symbol.admits(np.array([value, value])) is admitted
    if not isinstance(value, float):
        result = run(instance).computed(claim("k", "constant", symbol, s.L), PLAIN)
        assert ("k" in result.lacking) is not admitted
