"""Exact evidence: the evaluator against the simulator and by hand, and every shipped counterexample."""

import itertools
import json
from dataclasses import replace
from fractions import Fraction as F
from pathlib import Path

import numpy as np
import pytest
import sympy as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from proofs import proved

from fedbounds.engine.simulate import simulate
from fedbounds.errors import InputError
from fedbounds.evidence.assumption_checks import on_run
from fedbounds.evidence.exact.compare import examine
from fedbounds.evidence.exact.counterexamples import Counterexample, all_files, read
from fedbounds.evidence.exact.instance import Instance
from fedbounds.evidence.exact.instance_json import from_json, to_json
from fedbounds.evidence.exact.run import run
from fedbounds.evidence.measured_run import examine_run
from fedbounds.model.experiment import Experiment
from fedbounds.plugins import claim_named, weighting_named
from fedbounds.problems.quadratic import quadratic
from fedbounds.theory import symbols
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.assumptions import equal_steps
from fedbounds.theory.claim import Claim
from fedbounds.theory.reading import READINGS
from fedbounds.theory.verdict import Evidence, Status

FILES = {path.stem: path for path in all_files()}
# Both engines round a few hundred additions of numbers of order 1.
ROUNDING = 1e-10


def small(**changes):
    base = {"curvatures": [1, 2], "minima": [0, 1], "p": ["1/3", "2/3"], "w0": ["2"], "eta": ["1/8", "1/9"], "tau": 2}
    return from_json(base | changes)


@pytest.mark.parametrize("name", sorted(FILES))
def test_counterexample_is_verified_exactly(name):
    example = read(FILES[name])
    sides = example.verify()
    assert isinstance(sides.lhs, F) and isinstance(sides.rhs, F) and sides.lhs != sides.rhs
    assert example.document["title"] and example.document["why"]


def tampered(name, change):
    document = json.loads(FILES[name].read_text())
    change(document)
    return Counterexample(name, document)


@pytest.mark.parametrize(
    "name, change",
    [
        ("lemma-2", lambda d: d["instance"].update(eta=["1/4", "1/10"])),
        ("corollary-B", lambda d: d["instance"].update(p=["9/10", "1/10"])),
        ("induction-B", lambda d: d["data"].update(B="21/5")),
        ("induction-beta", lambda d: d["data"].update(B="2")),
        ("induction-D", lambda d: d["data"].update(D="0")),
        ("fedmax-gap", lambda d: d["data"]["instance"].update(w0=["3", "2"])),
        ("fedmax-skew", lambda d: d["data"].update(weights=[["1", "0"], ["1", "0"]])),
        ("error-free-iid", lambda d: d["data"]["instance"].update(curvatures=["1", "1"])),
        ("pi-alone", lambda d: d["data"]["second"].update(minima=["0", "1"])),
        ("fedmax-k-poc", lambda d: d["data"]["instance"].update(floor=["0", "0"])),
        ("softmax-limits", lambda d: d["data"].update(x="3/2")),
        ("softmax-rate", lambda d: d["data"].update(bracket=["3/10", "2/5"])),
        ("alpha-limit", lambda d: d["data"].update(lhs_above="1/8")),
        ("temperature-higher", lambda d: d["data"].update(slower="2")),
        ("temperature-lower", lambda d: d["data"].update(slower="1/2")),
        ("without-loss", lambda d: d["data"]["first"].update(weights=[["1/100", "99/100"]])),
        ("fedmax-speed", lambda d: d["data"]["second"].update(weights=[["0", "1"], ["0", "1"]])),
        ("tight", lambda d: d["data"].update(factor="1000")),
        ("fedmax-tie", lambda d: d["data"]["instance"].update(w0=["1/2"])),
        ("equation-2", lambda d: d["data"]["instance"].update(tau=1)),
        ("negative-alpha", lambda d: d["data"].update(alpha=["1", "0"])),
        ("seen-noise", lambda d: d["data"]["instance"].update(noise=["0", "0"])),
        ("softmax-bound", lambda d: d["data"].update(far=["1"])),
        ("softmax-bias", lambda d: d["data"].update(factor="8")),
        ("rate", lambda d: d["instance"].update(w0=["1/4"])),
        ("lemma-2", lambda d: d.update(lhs="1/17")),
        ("lemma-2", lambda d: d.update(reading="repaired")),
        ("corollary-B", lambda d: d.update(substitution="rho_bar")),
        ("lemma-2", lambda d: d.update(t=7)),
        ("lemma-2", lambda d: d.pop("reading")),
        ("lemma-2", lambda d: d["instance"].update(w0=[0.5])),
    ],
)
def test_a_tampered_file_is_rejected(name, change):
    with pytest.raises(InputError):
        tampered(name, change).verify()


def as_experiment(instance):
    floats, eta = (lambda rows: np.array(rows, dtype=float)), [float(x) for x in instance.eta]
    problem = quadratic(*map(floats, (instance.curvatures, instance.minima, instance.p)))
    protocol = {"tau": instance.tau, "rounds": instance.rounds, "replicates": 1, "batch_size": None}
    protocol |= {"w0": floats(instance.w0), "engine": "reference"}
    return Experiment(problem, weighting_named(instance.weighting), lambda t: eta[t], **protocol)


fractions = st.fractions(min_value=F(-2), max_value=2, max_denominator=6)
positive = st.fractions(min_value=F(1, 4), max_value=4, max_denominator=6)


@st.composite
def instances(draw, weightings=("fedavg", "fedmax", "fedmax:2")):
    N, d, tau, rounds = (draw(st.integers(*bounds)) for bounds in ((2, 3), (1, 2), (1, 3), (1, 2)))
    curvatures = draw(st.lists(st.tuples(*[positive] * d), min_size=N, max_size=N))
    raw = draw(st.lists(positive, min_size=N, max_size=N))
    L = max(c for row in curvatures for c in row)
    eta = draw(st.lists(st.fractions(F(1, 20), 1, max_denominator=20), min_size=tau * rounds, max_size=tau * rounds))
    return Instance(
        curvatures=tuple(curvatures),
        minima=tuple(draw(st.lists(st.tuples(*[fractions] * d), min_size=N, max_size=N))),
        p=tuple(x / sum(raw) for x in raw),
        w0=draw(st.tuples(*[fractions] * d)),
        eta=tuple(x / L for x in eta),
        tau=tau,
        weighting=draw(st.sampled_from(weightings)),
    )


@settings(max_examples=15, deadline=None)
@given(instances())
def test_agrees_with_the_simulator(instance):
    record = run(instance)
    # Ties are decided by rounding in floating point, exactly here.
    seen_gaps = [*map(tuple, record.measured.excesses[:, 0])]
    gaps = [sorted(e) for e in seen_gaps]
    tied = any(b - a < F(1, 10**6) for e in gaps for a, b in itertools.pairwise(e))
    assume(instance.weighting == "fedavg" or not tied)
    trajectory = simulate(as_experiment(instance))
    for name, path in trajectory.paths.items():
        for field in ("distance_sq", "gap", "drift"):
            exact = np.array(record.paths[name][field], dtype=float)
            assert np.allclose(getattr(path, field)[0], exact, rtol=ROUNDING, atol=ROUNDING)
    for reading in READINGS.values():
        seen, exact_values = examine_run(trajectory, reading).values(), record.constants(reading.skew)
        for symbol in ("L", "mu", "Gamma", "G_sq", "pi_min", "pi_max", "Delta_0", "p_min", "N", "tau", "sigma_sq"):
            assert float(exact_values[symbol]) == pytest.approx(seen[symbol], rel=ROUNDING, abs=ROUNDING)
        if exact_values["Gamma"] > F(1, 10**6):
            assert float(exact_values["rho_tilde"]) == pytest.approx(seen["rho_tilde"], rel=1e-8)
        lowest = min(sum(a * e for a, e in zip(instance.p, x, strict=True)) for x in seen_gaps)
        if lowest > F(1, 10**6):
            assert float(exact_values["rho_bar"]) == pytest.approx(seen["rho_bar"], rel=1e-8)


@settings(max_examples=12, deadline=None)
@given(instances(weightings=("fedavg", "fedmax")))
def test_true_claims_are_never_refuted(instance):
    for claim, name in proved():
        assert examine(instance, claim, READINGS[name]).status is not Status.REFUTED, (claim.key, name)


def test_two_point_noise_is_enumerated():
    """One client, one step from its minimum: w_1 = -/+ eta s, so E||w_1||^2 = eta^2 s^2 and G^2 = sigma^2 = s^2."""
    equal = {"curvatures": [1, 1], "minima": [0, 0], "p": ["1/2", "1/2"], "w0": ["0"], "eta": ["1/4"], "tau": 1}
    record = run(small(**equal, noise=["3", "0"], weighting="fixed", weights=[["1", "0"]]))
    assert record.paths["alpha"]["distance_sq"] == (0, F(9, 16))
    assert record.values["sigma_sq"] == record.values["G_sq"] == 9
    # Independent noises of equal size average: half the variance.
    both = run(small(**equal, noise=["3", "3"], weighting="fedavg"))
    assert both.paths["alpha"]["distance_sq"][1] == F(9, 32)


def test_too_much_noise_is_refused():
    with pytest.raises(InputError, match="every outcome"):
        run(small(eta=["1/8"] * 12, tau=2, noise=["1", "1"]))


@settings(max_examples=10, deadline=None)
@given(instances(weightings=("fedavg",)), st.tuples(*[st.sampled_from([F(0), F(1, 2), F(-3)])] * 3))
def test_moments_say_what_the_enumerated_outcomes_say(instance, noise):
    noisy = instance.with_(noise=noise[: instance.N])
    assume(any(noisy.noise) and instance.N * instance.total <= 8)
    all_of_them, moments = run(noisy), run(noisy, most=1)
    assert not moments.points, "the outcomes were not enumerated"
    for field in ("values", "paths", "rho_sync", "rho_all", "alphas", "ratios"):
        assert getattr(moments, field) == getattr(all_of_them, field), field


LEMMA = claim_named("lemma-2")
BREAKS_IT = from_json(read(FILES["lemma-2"]).document["instance"])


def test_unknown_assumptions_are_never_taken_for_granted():
    # The same false claim with a condition of the user's, which has no exact check.
    mine = Assumption("mine", "something else", on_run=lambda run: (True, ""))
    claim = Claim("mine", "", "", "step", LEMMA.lhs, LEMMA.terms, assumptions=(mine,))
    verdict = examine(BREAKS_IT, claim, READINGS["literal"])
    assert verdict.status is Status.UNDECIDED and "cannot express mine" in verdict.detail


def test_an_assumption_of_a_users_own_is_checked_exactly_and_named_where_it_fails():
    largest_step = max(BREAKS_IT.eta) * BREAKS_IT.L
    for bound, status in ((largest_step, Status.REFUTED), (largest_step / 2, Status.NOT_APPLICABLE)):
        steps = symbols.eta * symbols.L <= sp.Rational(bound.numerator, bound.denominator)
        claim = replace(LEMMA, assumptions=(Assumption("mine", "short steps", steps),))
        verdict = examine(BREAKS_IT, claim, READINGS["literal"])
        assert verdict.status is status
        assert [failure.key for failure in verdict.failed] == ["mine"] * (status is Status.NOT_APPLICABLE)


def test_the_verdict_carries_both_sides_as_fractions():
    verdict = examine(BREAKS_IT, LEMMA, READINGS["literal"])
    assert verdict.evidence is Evidence.EXACT and verdict.status is Status.REFUTED and verdict.worst_t == 1
    assert (verdict.data["lhs"], verdict.data["rhs"]) == ("1/16", "4/625")
    assert examine(from_json(verdict.data["instance"]), LEMMA, READINGS["literal"]).data == verdict.data


@settings(max_examples=10, deadline=None)
@given(instances())
def test_json_round_trip(instance):
    assert from_json(json.loads(json.dumps(to_json(instance)))) == instance


@pytest.mark.parametrize(
    "changes, named",
    [
        ({"p": ["1/3", "1/3"]}, "sum to 1"),
        ({"p": ["1", "0"]}, "positive"),
        ({"eta": ["1/8"]}, "tau must divide"),
        ({"curvatures": [1]}, "curvatures"),
        ({"L": "1"}, "enclose"),
        ({"weighting": "fedmax:5"}, "weighting"),
        ({"weighting": "fixed"}, "weights"),
        ({"weighting": "fixed", "weights": [["2", "-1"]]}, "simplex"),
        ({"surprise": 1}, "surprise"),
        ({"w0": [0.5]}, "fractions"),
        ({"w0": ["1/0"]}, "rational"),
        ({"present": 3}, "client present"),
    ],
)
def test_bad_instances_are_one_sentence(changes, named):
    with pytest.raises(InputError, match=named):
        small(**changes)


def test_the_documentation_lists_every_file_with_its_sides():
    """So that no statement loses its file: what the page lists is what is shipped."""
    text = (Path(__file__).parents[3] / "docs" / "counterexamples.md").read_text()
    rows = {line.split("`")[1]: line for line in text.splitlines() if line.startswith("| `")}
    assert set(FILES) == set(rows)
    for name, path in FILES.items():
        document = read(path).document
        assert document["title"] in rows[name]
        assert all(document[side] in rows[name] or "exact in the file" in rows[name] for side in ("lhs", "rhs"))


@pytest.mark.parametrize(("eta", "equal"), [(("1/8", "1/8"), True), (("1/8", "1/9"), False), (("1/9", "1/8"), False)])
def test_step_sizes_that_grow_inside_a_round_are_not_equal(eta, equal):
    instance = from_json({"curvatures": [1], "minima": [0], "p": [1], "w0": [1], "eta": eta, "tau": 2})
    claim = Claim("a", "", "", "horizon", symbols.Delta_T, {"start": symbols.Delta_0}, assumptions=(equal_steps,))
    verdict = examine(instance, claim, READINGS["plain"])
    assert verdict.status is (Status.HOLDS if equal else Status.NOT_APPLICABLE)
    seen = examine_run(simulate(as_experiment(instance)), READINGS["plain"])
    assert on_run(equal_steps, seen).holds is equal
