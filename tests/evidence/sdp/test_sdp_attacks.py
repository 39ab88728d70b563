"""Attacks on the sdp evidence: false claims, tampered files, and certificates that are not what they look like."""

import json
import os
import time
from dataclasses import asdict, replace
from fractions import Fraction as F
from functools import cache, lru_cache
from pathlib import Path

import clarabel
import numpy as np
import pytest
import sympy as sp
from click.testing import CliRunner
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fedbounds.cli.app import main
from fedbounds.errors import InputError
from fedbounds.evidence.sdp import solver
from fedbounds.evidence.sdp.one_step.certificate import (
    LARGEST,
    check,
    describe,
    read,
    save,
    subject,
    verified_certificates,
)
from fedbounds.evidence.sdp.one_step.coverage import coverage, own_step, setting_with_stated_steps
from fedbounds.evidence.sdp.one_step.parameters import Setting, round_setting
from fedbounds.evidence.sdp.one_step.right_hand_side import coefficients
from fedbounds.evidence.sdp.one_step.tight_constants import tight_value
from fedbounds.evidence.sdp.one_step.verdict import certify, examination, examine
from fedbounds.io import DIGITS
from fedbounds.plugins import claim_named, claims
from fedbounds.report.claim_text import sides
from fedbounds.theory import assumptions as a
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim import Claim, Kind, Repair
from fedbounds.theory.coverage import Coverage
from fedbounds.theory.points import norm_sq, w, w_star
from fedbounds.theory.quantity import measured
from fedbounds.theory.symbols import (
    QUANTITIES,
    C,
    Delta,
    Delta_0,
    Delta_next,
    G_sq,
    Gamma,
    L,
    N,
    drift,
    eta,
    eta_0,
    excess,
    gap,
    grad_sq,
    growth,
    mu,
    rho_bar,
    rho_tilde,
    sigma_sq,
    t,
    tau,
)
from fedbounds.theory.verdict import Status
from validate.second_checker import judge

ROOT = Path(__file__).resolve().parents[3]
KNOWN = claims()
HALF = F(1, 2)
UNEQUAL = {"alpha": (F(9, 10), F(1, 10)), "p": (F(9, 10), F(1, 10))}
SKEWED = {"alpha": (F(9, 10), F(1, 10)), "p": (HALF, HALF), "rho_bar": F(3, 2)}
DESCENT = {"contraction": (1 - eta * mu) ** 2 * Delta}
CLASS = (a.smooth, a.strongly_convex, a.bounded_variance)
# A false constant this little below the true one is still told apart by the solver.
BELOW = 0.995


@cache
def texts():
    """What the second checker knows of the shipped claims: their text alone."""
    return {key: {"sides": sides(item), "kind": str(item.kind), "scope": item.scope} for key, item in KNOWN.items()}


def claim(terms, *assumptions, **more):
    return Claim("mine", "", "", "step", Delta_next, terms, assumptions=(*CLASS, *assumptions), **more)


LONE = (F(1),)
ONE_STEP = Assumption("one-step", "tau = 1", sp.Eq(tau, 1))
OF_A_RUN = (*CLASS[:2], a.full_participation, a.unbiased, a.full_gradients, ONE_STEP)
STEPS = {"alpha": LONE, "p": LONE, "tau": 2, "mu": HALF}
FAST, SLOW = (Setting(**STEPS, eta=(size, size)) for size in (F(3), HALF))
TWO = Setting((HALF, HALF), (HALF, HALF), (F(1, 4),), 1, F(1, 10))


def run(**more):
    """Of gradient descent: the gap is at most L/2 times the distance at the start."""
    about = {"assumptions": OF_A_RUN, "eta": eta_0, "readings": ("repaired",), **more}
    return Claim("mine", "", "", "horizon", gap, {"start": L / 2 * Delta_0}, **about)


def repaired(**substitutions):
    put = {{"excess": excess, "Delta_0": Delta_0}[name]: value for name, value in substitutions.items()}
    return {"repair": Repair("", substitutions=put), "readings": ("repaired",)}


@pytest.mark.parametrize(
    "mine, setting",
    [
        pytest.param(run(), replace(FAST, local="any"), id="a run of any local models"),
        pytest.param(run(**repaired(Delta_0=Delta_0 - 1000 * Gamma / L)), SLOW, id="a repair without clients"),
        pytest.param(claim({"a": Delta_0}), replace(SLOW, eta=(HALF,)), id="the start of a run in a step"),
        pytest.param(claim({"a": Delta / (1 + growth)}), TWO, id="growth in a divisor"),
        pytest.param(claim({"a": Delta / (1 + sigma_sq)}), TWO, id="a variance in a divisor"),
        pytest.param(claim({"a": Delta, "b": sigma_sq}, kind=Kind.IDENTITY), TWO, id="an identity"),
        pytest.param(
            replace(claim({"a": G_sq}), scope="horizon", lhs=QUANTITIES["mean_slope_sq"]), TWO, id="the last gradient"
        ),
        pytest.param(claim({"a": Delta}, kind=Kind.RATE), TWO, id="a rate"),
        pytest.param(replace(run(), kind=Kind.IDENTITY), SLOW, id="an identity about a run"),
    ],
)
def test_what_the_model_does_not_say_of_every_client_and_run_is_refused(mine, setting):
    assert coefficients(run(), SLOW) == {"Delta_0": HALF}
    with pytest.raises(InputError):
        coefficients(mine, setting)


def test_a_quantity_with_a_form_s_name_is_not_taken_for_the_form():
    """On the left of rho_tilde Gamma, which the model has under the same name."""
    own = measured("Gamma_alpha", norm_sq(w - w_star))
    mine = replace(claim({"a": rho_tilde * Gamma}), lhs=own)
    with pytest.raises(InputError, match="needs a name that the model does not use, but received Gamma_alpha"):
        examine(mine, TWO)


def test_one_client_s_bound_rests_on_nothing_that_the_others_lack():
    """With all of the weight on the other, and the largest skew, this client is at its minimum."""
    mine = Claim("mine", "", "", "point", grad_sq, {"a": L * excess}, assumptions=CLASS, readings=("repaired",))
    there = Setting((F(0), F(1)), (HALF, HALF), (HALF,), 1, F(1, 10), rho_bar=F(2))
    result = certify(mine, there)
    assert result is None or "any client" in check(result, {"mine": mine})[1]
    assert certify(mine, replace(there, alpha=there.p, rho_bar=F(1))) is None


def test_a_repair_that_changes_the_unit_is_covered_at_its_L_only():
    terms = {"a": 2 * L * excess}
    mine = Claim("mine", "", "", "point", grad_sq, terms, assumptions=CLASS, **repaired(excess=L * excess))
    result = certify(mine, Setting(LONE, LONE, (HALF,), 1, F(1, 10)))
    assert coverage(mine, result.parameters).axes["L"] == {1} and ", L = 1" in describe(result, mine)


class TestTheClaimsOwnStep:
    FAST = claim(DESCENT, a.full_participation, eta=2 / L)

    def test_a_claim_for_2_over_L_is_not_certified_at_another_step(self):
        chosen = setting_with_stated_steps(self.FAST, round_setting(2, 1))
        assert chosen.eta == (F(2),) and own_step(self.FAST, chosen)
        assert examine(self.FAST, chosen).status is Status.REFUTED

    def test_steps_that_fall_are_matched_wherever_the_round_starts(self):
        falling = claim(DESCENT, eta=1 / (mu * (t + 4 * L / mu)))
        for start in (0, 12):
            chosen = setting_with_stated_steps(falling, round_setting(2, 3), start)
            assert chosen == round_setting(2, 3, start=start) and own_step(falling, chosen)
        assert not own_step(falling, round_setting(2, 2, eta=F(1, 4)))

    def test_the_command_takes_the_claims_step(self, tmp_path):
        (tmp_path / "mine.py").write_text(
            "from fedbounds.theory.claim import Claim\nfrom fedbounds.theory.symbols import *\n"
            "CLAIMS = (Claim('fast', '', '', 'step', Delta_next, {'c': (1 - eta*mu)**2 * Delta}, eta=2/L),)\n"
        )
        flags = ("--tau", "1", "--plugin", str(tmp_path / "mine.py"))
        told = CliRunner().invoke(main, ["certify", "fast", *flags])
        assert told.exit_code == 0 and "REFUTED" in told.stdout and "HOLDS" not in told.stdout
        asked = CliRunner().invoke(main, ["certify", "fast", *flags, "--eta", "1/4", "--out", str(tmp_path)])
        words = " ".join(asked.stdout.split())
        assert "HOLDS" in words and "not the claim's own step size" in words
        file = str(tmp_path / "fast.jsonl")
        assert CliRunner().invoke(main, ["verify-certificate", file]).exit_code == 1
        assert CliRunner().invoke(main, ["verify-certificate", file, *flags[2:]]).exit_code == 0


def gradients(verdict):
    return verdict.coverage.axes["gradients"] if verdict.status is Status.HOLDS else None


class TestNoiseAndParticipation:
    @pytest.mark.parametrize(
        "variance, weights, covered",
        [
            (eta**2 * sigma_sq, UNEQUAL, True),
            (0 * sigma_sq, UNEQUAL, False),  # no variance term
            (eta**2 * sigma_sq / N, UNEQUAL, False),  # false where the weights differ
            (eta**2 * sigma_sq / N, {}, True),  # true where they are equal
            (eta**2 * sigma_sq * sp.Rational(81, 100), UNEQUAL, False),  # sum alpha_i^2 = 82/100
            (eta**2 * sigma_sq * sp.Rational(82, 100), UNEQUAL, True),
        ],
    )
    def test_a_proof_covers_noise_only_where_the_variance_is_paid_for(self, variance, weights, covered):
        mine = claim({**DESCENT, "variance": variance}, a.full_participation)
        verdict = examine(mine, round_setting(2, 1, eta=HALF, **weights))
        assert verdict.status is Status.HOLDS
        assert gradients(verdict) == ({"full", "stochastic"} if covered else {"full"})
        assert ("the claim also speaks of stochastic gradients" in verdict.detail) is not covered

    @pytest.mark.parametrize("extra", [0, (1 - C) / C * eta**2 * sigma_sq])
    def test_participation_is_covered_at_one_only(self, extra):
        mine = claim({**DESCENT, "variance": eta**2 * sigma_sq + extra})
        verdict = examine(mine, round_setting(2, 1, eta=HALF))
        asked = {axis: min(region, key=str) for axis, region in verdict.coverage.axes.items()}
        assert verdict.status is Status.HOLDS and "the claim also speaks of partial participation" in verdict.detail
        assert verdict.coverage.contains(asked) and not verdict.coverage.contains({**asked, "participation": HALF})

    def test_earlier_noise_is_covered_by_arbitrary_local_models(self):
        for key in ("theorem-1", "star-step"):
            verdict, result = examination(claim_named(key), round_setting(2, 3, **SKEWED))
            assert gradients(verdict) == {"full", "stochastic"} and result.setting["local"] == "any"
            assert judge(asdict(result), texts()) is None


class TestWhatASettingCovers:
    def test_a_claim_without_units_is_covered_at_its_L_only(self):
        mine = claim({"contraction": (1 - eta * mu) ** 2 * Delta * L**3, "variance": eta**2 * sigma_sq})
        covered = examine(mine, round_setting(2, 1, eta=HALF)).coverage
        assert covered.axes["L"] == {1} and "L" not in examine(claim(DESCENT), round_setting(2, 1)).coverage.axes

    def test_a_step_from_an_interval_is_the_same_at_each_step(self, tmp_path):
        x, square, half = ({"num": num, "den": ["1"]} for num in (["0", "1"], ["0", "0", "1"], ["0", "0", "1/2"]))
        setting = round_setting(2, 2, eta=F(1)).to_json() | {"eta": [x, x], "rho_tilde": None}
        document = {
            "name": "same",
            "lhs": "drift",
            "rhs": {"G_sq": square},
            "claim": "same",
            "interval": {"parameter": "eta_L", "low": "0", "high": "1"},
            "setting": setting,
            "multipliers": {"gradient 0 x0": half, "gradient 1 x0": half},
        }
        (tmp_path / "same.jsonl").write_text(json.dumps(document))
        (one,) = read(tmp_path / "same.jsonl")
        same = Claim("same", "", "", "step", drift, {"a": (tau - 1) ** 2 * eta**2 * G_sq}, assumptions=CLASS)
        assert check(one, {"same": same})[0]
        axes = coverage(same, one.parameters).axes
        covered = Coverage({"eta_L": axes["eta_L"]})
        assert "the same at each" in covered.words() and Coverage.from_json(covered.to_json()) == covered
        assert covered.contains({"eta_L": (HALF, HALF)}) and not covered.contains({"eta_L": (F(9, 10), F(1, 10))})

    def test_rho_tilde_is_free_only_where_more_of_it_is_weaker(self):
        mine = claim({**DESCENT, "bias": -2 * eta * Gamma * rho_tilde, "rest": 4 * eta * Gamma})
        verdict = examine(mine, round_setting(2, 1, eta=HALF, **SKEWED))
        assert verdict.status is Status.UNDECIDED and "must not fall as rho_tilde grows" in verdict.detail
        assert (
            examine(mine, round_setting(2, 1, eta=HALF, rho_tilde=F(8, 5), **SKEWED)).status is not Status.UNDECIDED
        )

    def test_an_assumption_that_cannot_be_expressed_is_said_ours_or_not(self):
        unknown = Assumption("sorted", "the data are sorted", on_run=lambda run: (True, "they are"))
        nowhere = Assumption("blessed", "the day is a good one")
        terms = {"contraction": (1 - eta * mu) ** 3 * Delta}
        for item in (a.homogeneous, nowhere):
            verdict = examine(claim(terms, item), round_setting(2, 1, eta=HALF, **SKEWED))
            assert verdict.status is Status.UNDECIDED and f"cannot express {item.key}" in verdict.detail
        # What a run can check is checked on the rebuilt instance; what holds without an assumption holds with it.
        assert examine(claim(terms, unknown), round_setting(2, 1, eta=HALF)).status is Status.REFUTED
        assert examine(claim(DESCENT, nowhere), round_setting(2, 1, eta=HALF)).status is Status.HOLDS


@lru_cache
def truth(key, term, chosen):
    return tight_value(claim_named(key), chosen, term)


class TestFalseClaims:
    """A constant pushed past the true one: never HOLDS, whatever is claimed to be covered."""

    @settings(max_examples=8, deadline=None)
    @given(
        st.sampled_from(
            [("lemma-1", "gap"), ("lemma-2", "drift"), ("sharper-step", "gradient"), ("theorem-1", "contraction")]
        ),
        st.sampled_from([2, 7, 40]),
        st.sampled_from([2, 3]),
        st.booleans(),
        st.floats(0.2, BELOW),
    )
    def test_no_false_constant_is_certified(self, of, kappa, steps, skewed, share):
        key, term = of
        true, chosen = claim_named(key), round_setting(2, steps, kappa=kappa, **(SKEWED if skewed else {}))
        best = truth(key, term, chosen)
        assume(0 < best < 1e3)
        if term == "contraction":
            b = sp.Rational(F(best / share))
            terms = {**true.terms, term: (1 - eta * mu * (1 + b * rho_bar)) * Delta}
        else:
            leading = sp.sympify(true.terms[term]).as_coeff_Mul()[0]
            terms = {**true.terms, term: true.terms[term] * sp.Rational(F(best * share)) / leading}
        false = replace(true, key="false", terms=terms)
        assert examine(false, chosen).status is not Status.HOLDS


STORED = [item for path in sorted((ROOT / "derivations" / "certificates").glob("*.jsonl")) for item in read(path)]
SHORT = sorted(
    (item for item in STORED if item.claim and item.interval is None), key=lambda one: len(one.multipliers)
)[:20]
WORDS = "0 1 -1 2/4 1/0 1e9 1e99999999 NaN Infinity 0x1 theorem-1 any stochastic sync x0"
ODD = [*WORDS.split(), "", " 1", "١", 1, -1, 0.5, None, True, [], {}, ["1"], "9" * DIGITS, "9" * (DIGITS + 1)]


def places(value, at=()):
    yield at
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield from places(value[key], (*at, key))


def changed(document, at, new):
    if not at:
        return new
    copy = dict(document) if isinstance(document, dict) else list(document)
    copy[at[0]] = changed(copy[at[0]], at[1:], new)
    return copy


def outcome(path):
    """(accepted, document) of a file with one certificate; a traceback is a failure of the test."""
    try:
        ((item, wrong),) = verified_certificates([path], KNOWN)
    except InputError as said:
        assert "\n" not in str(said) and len(str(said)) < 400
        return False, None
    assert len(wrong) < 400
    return wrong == "", asdict(item)


class TestTampering:
    @settings(max_examples=40, deadline=None)
    @given(data=st.data())
    def test_a_changed_file_proves_what_it_says_or_is_rejected(self, data, tmp_path_factory):
        one = data.draw(st.sampled_from(SHORT))
        document = asdict(one)
        for _ in range(data.draw(st.integers(1, 3))):
            at = data.draw(st.sampled_from(list(places(document))[1:]))
            document = changed(document, at, data.draw(st.sampled_from(ODD)))
            assume(isinstance(document, dict))
        path = tmp_path_factory.mktemp("tampered") / "c.jsonl"
        path.write_text(json.dumps(document) + "\n")
        accepted, result = outcome(path)
        if accepted:
            assert judge(result, texts()) is None

    @settings(max_examples=40, deadline=None)
    @given(one=st.sampled_from(SHORT), data=st.data())
    def test_both_checkers_agree_on_changed_numbers(self, one, data):
        part = data.draw(st.sampled_from(["rhs", "multipliers", "alpha", "eta", "mu", "rho_bar"]))
        by = data.draw(st.sampled_from([F(0), F(1, 2), F(2), F(99, 100), F(101, 100)]))
        free = replace(one, claim=None, scale={})
        if part in ("rhs", "multipliers"):
            label = data.draw(st.sampled_from(sorted(getattr(one, part))))
            free = replace(free, **{part: {**getattr(one, part), label: str(F(getattr(one, part)[label]) * by)}})
        else:
            old = one.setting[part]
            new = [str(F(v) * by) for v in old] if isinstance(old, list) else str(F(old) * by)
            free = replace(free, setting={**one.setting, part: new})
        assert check(free, KNOWN)[0] is (judge(asdict(free), texts()) is None)


def call(*files):
    begun = time.process_time()
    result = CliRunner().invoke(main, ["verify-certificate", *map(str, files)])
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result, time.process_time() - begun


class TestHostileFiles:
    BASE = json.dumps(asdict(SHORT[0]))

    @pytest.mark.parametrize(
        "text",
        [
            "", "[]", "null", "{", '{"lhs": 1}', "[" * 10**6, '{"a":' * 10**5, "x" * 2 * 10**6, BASE + BASE,
            BASE.replace('"lhs"', '"lhs": "Delta", "lhs"', 1),
            BASE.replace('"note": {', '"note": {"x": Infinity, '), BASE.replace('"note": {', '"note": {"x": NaN, '),
            BASE.replace('"note": {', '"note": {"x": 1e99999999, '),
            BASE.replace('"note": {', '"note": {"x": ' + "9" * 10**5 + ", "),
            json.dumps({**json.loads(BASE), "rhs": {"excess": "1e99999999"}}),
            json.dumps({**json.loads(BASE), "rhs": {"excess": "1" * 5000}}),
            json.dumps({**json.loads(BASE), "extra": 1}),
            json.dumps({**json.loads(BASE), "multipliers": ["1"]}),
        ],
        ids=range(18),
    )  # fmt: skip
    def test_what_is_no_certificate_is_one_sentence_quickly(self, text, tmp_path):
        (tmp_path / "c.json").write_text(text)
        result, seconds = call(tmp_path / "c.json")
        assert result.exit_code == 2 and result.stdout == "" and seconds < 5
        assert len(result.stderr.strip().splitlines()) == 1 and len(result.stderr) < 400

    @pytest.mark.parametrize("clients, steps", [(1000, 1), (2, 2000)])
    def test_what_is_too_large_is_refused_quickly(self, clients, steps, tmp_path):
        even = [str(F(1, clients))] * clients
        setting = {**asdict(SHORT[0])["setting"], "alpha": even, "p": even, "tau": steps, "eta": ["1/4"] * steps}
        setting["rho_bar"] = "1"
        save(tmp_path / "c.jsonl", [replace(SHORT[0], claim=None, scale={}, setting=setting)])
        result, seconds = call(tmp_path / "c.jsonl")
        assert result.exit_code == 1 and f"{LARGEST} are checked at most" in result.stdout and seconds < 5


class TestWhatACertificateLooksLike:
    def test_a_certificate_says_its_claim_reading_setting_and_scale(self, tmp_path):
        theorem, alone = claim_named("theorem-1"), round_setting(1, 1)
        scaled = certify(theorem, round_setting(2, 2, **SKEWED), dict.fromkeys(theorem.terms, F(100)))
        save(tmp_path / "c.jsonl", [replace(certify(theorem, alone), name="a"), replace(scaled, name="b")])
        result, _ = call(tmp_path / "c.jsonl")
        one, many, last = result.stdout.strip().splitlines()
        assert "theorem-1 as stated; reading repaired" in one and "N = 1, weights alpha = (1), p = (1)" in one
        assert "NOT theorem-1 itself, but with" in many and "contraction x 100, drift x 100" in many
        assert last == "2 verified, 0 rejected; 1 different (claim, setting) pairs proved as stated"

    def test_copies_and_rewritings_are_one_statement(self):
        one = next(c for c in STORED if c.name.startswith("stated-theorem-1"))
        doubled = {
            **one.setting,
            "alpha": [f"{2 * F(v).numerator}/{2 * F(v).denominator}" for v in one.setting["alpha"]],
        }
        swapped = {name: list(reversed(one.setting[name])) for name in ("alpha", "p")}
        again = [
            replace(one, name="copy"),
            replace(one, setting=doubled),
            replace(one, setting={**one.setting, **swapped}),
        ]
        assert {subject(c) for c in (one, *again)} == {subject(one)}
        assert subject(replace(one, claim=None)) is None and subject(replace(one, scale={"drift": "2"})) is None
        assert subject(replace(one, scale={"drift": "2/2"})) == subject(one)

    def test_a_file_is_read_a_certificate_at_a_time(self, tmp_path):
        path = save(tmp_path / "c.jsonl", SHORT[:2])
        path.write_text(path.read_text() + "no certificate\n")
        result = read(path)
        assert [next(result), next(result)] == SHORT[:2]
        with pytest.raises(InputError, match="line 3"):
            next(result)

    def test_a_family_keeps_what_it_has(self, tmp_path):
        path = save(tmp_path / "c.jsonl", SHORT[:2])
        save(path, [replace(SHORT[0], note={"new": 1}), SHORT[2]])
        assert [(item.name, item.note) for item in read(path)] == [
            (SHORT[0].name, {"new": 1}), *((item.name, item.note) for item in SHORT[1:3])
        ]  # fmt: skip


def test_a_panic_of_the_solver_is_no_answer_and_prints_nothing(monkeypatch, capfd):
    PanicException = type("PanicException", (BaseException,), {})

    def panic(*_):
        os.write(2, b"thread panicked: Eigval error")
        raise PanicException

    monkeypatch.setattr(clarabel, "DefaultSolver", panic)
    empty = np.zeros((0, 1)), np.zeros(0)
    assert solver.conic(np.ones(1), empty, empty, (np.ones((1, 1)), np.ones(1)), (1,)) is None
    os.write(2, b"printed again")
    assert capfd.readouterr().err == "printed again"
