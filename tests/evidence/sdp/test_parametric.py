"""Certificates over an interval: what is shipped, and everything that must be refused."""

import json
from dataclasses import replace
from fractions import Fraction as F
from itertools import pairwise
from math import inf, prod
from pathlib import Path

import pytest
from click.testing import CliRunner
from flint import fmpq_poly
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbounds.cli.app import main
from fedbounds.errors import InputError
from fedbounds.evidence.sdp.functions_on_interval import LONGEST, Function, Interval, roots, variable
from fedbounds.evidence.sdp.one_step.certificate import Certificate, check, subject
from fedbounds.evidence.sdp.one_step.certificate import read as read_file
from fedbounds.evidence.sdp.one_step.coverage import coverage, round_settings
from fedbounds.evidence.sdp.one_step.fitted_multipliers import fitted
from fedbounds.evidence.sdp.one_step.program import build
from fedbounds.evidence.sdp.one_step.right_hand_side import coefficients
from fedbounds.evidence.sdp.one_step.verdict import certify, examination
from fedbounds.evidence.sdp.solver import worst_case
from fedbounds.io import convert, plain
from fedbounds.plugins import claim_named
from fedbounds.report.verdict_tables import evidence_cell
from fedbounds.study import ledger
from fedbounds.theory.claim import Claim
from fedbounds.theory.coverage import Coverage, Span
from fedbounds.theory.quantity import measured
from fedbounds.theory.symbols import Delta, Delta_next, L, drift, eta, gone_sq, mu, sigma_sq
from fedbounds.theory.symbols import L as smoothness
from fedbounds.theory.verdict import Evidence, Status

FILE = Path(__file__).resolve().parents[3] / "derivations" / "certificates" / "parametric.jsonl"
SHIPPED = {item.name.removeprefix("parametric-"): item for item in read_file(FILE)}
DRIFT, STAR, ROUND = (SHIPPED[name] for name in ("lemma-2-exact-tau3", "star-step-eta-skewed-k10", "local-descent-2"))


def changed(certificate, **fields):
    """The certificate as another file would have it."""
    return convert({**plain(certificate), **fields}, Certificate)


def at(data, point):
    """JSON in which every function is its value at a point."""
    if isinstance(data, dict):
        if data.keys() == {"num", "den"}:
            num, den = (sum(F(c) * point**k for k, c in enumerate(data[name])) for name in ("num", "den"))
            return str(F(num) / den)
        return {key: at(value, point) for key, value in data.items()}
    return [at(item, point) for item in data] if isinstance(data, list | tuple) else data


def places(data):
    """Every number of a document, as a path to it."""
    if isinstance(data, str):
        return [()]
    pairs = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list | tuple) else ()
    return [(key, *rest) for key, value in pairs for rest in places(value)]


def perturbed(data, path, by):
    """The document with ``by`` added to the number at a path."""
    if not path:
        return str(F(data) + by)
    key, *rest = path
    if isinstance(data, dict):
        return {**data, key: perturbed(data[key], rest, by)}
    return [perturbed(item, rest, by) if k == key else item for k, item in enumerate(data)]


def test_what_is_shipped_is_verified():
    assert len(SHIPPED) == 47
    for name, certificate in SHIPPED.items():
        assert check(certificate) == (True, "verified"), name
        over = certificate.interval
        assert (over.parameter == "eta_L") is ("eta" in name)
        assert over.parameter == "eta_L" or (over.low, over.high) == (1, None)


@pytest.mark.parametrize("point", [F(1, 3), F(99, 100)])
def test_at_a_point_it_is_an_ordinary_certificate(point):
    for name in ("fedavg-step-fedavg-tau3", "star-step-eta-skewed-k10", "lemma-2-exact-tau2", "local-descent-3"):
        one = SHIPPED[name]
        where = point if one.interval.parameter == "eta_L" else 1 + 1 / point**2
        there = convert({**at(plain(one), where), "interval": None}, Certificate)
        assert check(there) == (True, "verified")


@pytest.mark.parametrize(
    ("certificate", "field"),
    [
        (DRIFT, "rhs"),
        (DRIFT, "scale"),
        (STAR, "multipliers"),
        (STAR, "setting"),
    ],
    ids=lambda one: getattr(one, "name", one),
)
def test_every_coefficient_matters(certificate, field):
    data = plain(certificate)[field]
    words = {"tau", "reading", "local", "gradients"}
    for k, path in enumerate(places({key: value for key, value in data.items() if key not in words})):
        by = (F(1, 10**9), F(-1, 10**9), F(1))[k % 3]
        assert not check(changed(certificate, **{field: perturbed(data, path, by)}))[0], path


@pytest.mark.parametrize(
    ("name", "interval"),
    [
        ("star-step-eta-skewed-k10", ("0", "1")),  # a pole at the end
        ("star-step-eta-skewed-k10", ("0", "3/2")),
        ("star-step-eta-skewed-k10", ("-1", "1/2")),
        ("fedavg-step-eta-k10", ("0", "1819/1000")),  # 20/11 is 1.81818...
        ("fedavg-step-eta-k10", ("0", None)),
        ("lemma-1", ("999/1000", None)),
        ("lemma-1", ("5", "5")),
        ("local-descent-2", ("1/2", "4")),
    ],
)
def test_an_interval_beyond_validity_is_refused(name, interval):
    given, (low, high) = plain(SHIPPED[name].interval), interval
    try:
        wider = changed(SHIPPED[name], interval={**given, "low": low, "high": high})
    except ValueError:
        assert low in ("-1", "5", "999/1000", "1/2")  # no interval of this parameter
    else:
        assert not check(wider)[0]


def test_true_on_a_part_is_not_proved_on_the_whole():
    """The exact constant of Lemma 2 falls with kappa: its value at 10 is enough from there on, and not before."""
    lemma, gamma = claim_named("lemma-2"), 40
    constant = (F(2, 3) * F(2 + gamma, 1 + gamma)) ** 2 / 16
    for interval, proved in (("10..inf", True), ("1..inf", False), ("99/10..inf", False), ("1..10", False)):
        (setting,) = round_settings(lemma, time=2, tau=3, kappa=interval)
        assert (certify(lemma, setting, {"drift": constant}) is not None) is proved


@pytest.mark.parametrize(
    ("den", "why"),
    [
        (["-5", "1"], "no pole"),
        (["25", "-10", "1"], "no pole"),
        (["0"], "no pole"),
        ([], "no pole"),
        (["-2", "0", "1"], "no pole"),
        (["1"] * (LONGEST + 1), "coefficients at most"),
        (["1/0"], "rational number"),
    ],
)
def test_poles_are_refused_even_where_they_cancel(den, why):
    """kappa = 5, a double pole, none but 0, none at all, the root of 2, and what is too long or no number."""
    label, num = next(iter(DRIFT.multipliers)), den if why == "no pole" else ["1"]
    valid, reason = check(changed(DRIFT, multipliers={**plain(DRIFT.multipliers), label: {"num": num, "den": den}}))
    assert not valid and why in reason


def test_the_parameter_is_what_it_is_called():
    data = plain(DRIFT)
    for setting in ({"mu": {"num": ["1"], "den": ["0", "2"]}}, {"mu": "1/10"}, {"L": {"num": ["1"], "den": ["1"]}}):
        assert not check(changed(DRIFT, setting={**data["setting"], **setting}, claim=None, scale={}))[0]
    assert not check(changed(STAR, setting={**plain(STAR)["setting"], "eta": ["1/2"]}, claim=None))[0]
    assert not check(changed(DRIFT, interval=None))[0]
    assert not check(changed(DRIFT, interval={**data["interval"], "parameter": "eta_L"}))[0]


def test_a_file_must_have_the_form(tmp_path):
    good = json.loads(FILE.read_text().splitlines()[0])
    label = next(iter(good["multipliers"]))
    bad = [
        {"interval": {**good["interval"], "to": "3"}},
        {"interval": {**good["interval"], "parameter": "tau"}},
        {"interval": {"parameter": "kappa"}},
        {"interval": None},
        {"multipliers": {label: {"num": ["1"], "den": ["1"], "more": ["1"]}}},
        {"multipliers": {label: {"num": ["1"]}}},
        {"multipliers": {label: {"num": [1], "den": ["1"]}}},
        {"setting": {**good["setting"], "mu": {"num": ["1"], "den": ["0", "1"], "more": []}}},
        {"setting": {**good["setting"], "tau": {"num": ["1"], "den": ["1"]}}},
        *(
            {"setting": {**good["setting"], "mu": {"num": ["1"], "den": den}}}
            for den in (["-2", "1"], ["0"], [], None)
        ),
        {"setting": {**good["setting"], "mu": "0"}},
        {"setting": {**good["setting"], "alpha": [{"num": ["1"], "den": ["1"]}]}},
    ]
    for change in bad:
        (tmp_path / "c.jsonl").write_text(json.dumps({**good, **change}))
        run = CliRunner().invoke(main, ["verify-certificate", str(tmp_path / "c.jsonl")])
        assert run.exit_code in (1, 2) and "0 verified" in run.stdout + "0 verified" * (run.exit_code == 2), change


@pytest.mark.parametrize("alpha", ["9/10,1/10", "1,0"])
def test_drift_full_is_certified_for_all_weights_and_nothing_smaller(alpha):
    """For every kappa and at one, also where the solver finds no face; G^2 as stated is the worst case (solver)."""
    claim = claim_named("drift-full")
    for kappa in ("1..inf", 10):
        for setting in round_settings(claim, tau=3, kappa=kappa, alpha=alpha):
            assert examination(claim, setting)[0].status is Status.HOLDS
        less = certify(claim, setting, {"drift": 1 - F(1, 10**6)})
        assert less is None or alpha == "1,0"
    model = build(setting, float)
    worst, stated = worst_case(model, model["drift"], [model["G_sq"]]), coefficients(claim, setting)
    assert worst.value == pytest.approx(float(stated.get("G_sq", 0)), abs=1e-6)


def test_a_shipped_name_is_the_shipped_quantity():
    """Certificates read a claim by its names, so that another's `gone_sq` would be taken for ours."""
    claim = claim_named("drift-full")
    own = measured("gone_sq", lambda path: path.eta, nonnegative=True)
    with pytest.raises(InputError, match="gone_sq of claim drift-full must be the claims' own"):
        replace(claim, terms={"drift": claim.terms["drift"].subs(gone_sq, own)})


def test_what_is_undefined_at_a_point_does_not_hold_around_it():
    """Functions cancel (L^2 - 9 mu^2)/((L - 3 mu)(L + 3 mu)), which is 0/0 at kappa = 3; so too in a step size."""
    lemma, one = claim_named("lemma-2"), (L**2 - 9 * mu**2) / ((L - 3 * mu) * (L + 3 * mu))
    terms = replace(lemma, terms={"drift": lemma.terms["drift"] * one})
    for kappa, status in (("3..5", Status.HOLDS), ("2..5", Status.UNDECIDED), ("2..3", Status.UNDECIDED)):
        (_, last) = round_settings(terms, tau=2, kappa=kappa)
        assert examination(terms, last)[0].status is status
    with pytest.raises(InputError, match="no pole"):
        list(round_settings(replace(lemma, eta=one / (8 * L)), tau=2, kappa="2..5"))


class TestCoverage:
    def of(self, name):
        one = SHIPPED[name]
        return coverage(claim_named(one.claim), one.parameters)

    def test_a_step_that_depends_on_kappa(self):
        covered = self.of("fedavg-step-fedavg-tau3")
        assert covered.axes["kappa"] == Span(1, inf, above=True)
        assert "kappa = L/mu > 1" in covered.words()
        assert "eta L at every step = (1/4, kappa/(4*kappa + 1), kappa/(4*kappa + 2))" in covered.words()
        rest = {axis: next(iter(region)) for axis, region in covered.axes.items() if isinstance(region, frozenset)}
        steps = (F(1, 4), F(7, 29), F(7, 30))
        assert covered.contains({**rest, "kappa": F(7), "eta_L": steps})
        assert covered.contains({**rest, "kappa": (F(7),), "eta_L": (steps,)})
        rounded = {"kappa": 7.0, "eta_L": tuple(map(float, steps))}
        assert rounded["eta_L"] != steps and covered.contains({**rest, **rounded})
        off = ({"kappa": 7.1, "eta_L": rounded["eta_L"]}, {"eta_L": (0.25, 7 / 29, 0.2333)}, {"kappa": inf})
        for instance in ({"kappa": F(8)}, {"kappa": F(1)}, {"eta_L": F(1, 4)}, {"tau": 2}, *off):
            assert not covered.contains({**rest, "kappa": F(7), "eta_L": steps, **instance})
        assert Coverage.from_json(json.loads(json.dumps(covered.to_json()))) == covered

    def test_the_ledger_says_for_every_kappa(self):
        result = ledger._certificates(frozenset(["theorem-1"]))
        whole = [v for v in result if isinstance(v.coverage.axes["kappa"], Span)]
        assert len(whole) == 4 and all(v.status is Status.HOLDS and "kernel" in v.data for v in whole)
        line = ledger.Line(claim_named("theorem-1"), "repaired", tuple(("", v) for v in whole))
        assert all("CERTIFIED for kappa = L/mu > 1, tau = 3" in line.grounds(v) for v in whole)
        cell = str(evidence_cell(line, Evidence.SDP))
        assert cell == "certified 4 4 over an interval, 4 with noise, 4 checked by Rocq"

    def test_the_same_over_another_interval_is_another_subject(self):
        part = changed(DRIFT, interval={"parameter": "kappa", "low": "1", "high": "9"}, scale={})
        assert subject(part) != subject(changed(DRIFT, scale={})) and subject(DRIFT) is None


class TestCommand:
    def run(self, *flags):
        return CliRunner().invoke(main, ["certify", *flags])

    def test_holds_for_every_kappa(self, tmp_path):
        told = self.run("star-step", "--kappa", "1..1000", "--tau", "1", "--out", str(tmp_path))
        words = " ".join(told.stdout.split())
        assert told.exit_code == 0 and "HOLDS" in words and "in (1, 1000]" in words
        checked = CliRunner().invoke(main, ["verify-certificate", str(tmp_path / "star-step.jsonl")])
        assert checked.exit_code == 0 and "star-step as stated" in checked.stdout and "(1, 1000]" in checked.stdout

    @pytest.mark.parametrize(("kappa", "status"), [("4..6", Status.UNDECIDED), ("5..6", Status.HOLDS)])
    def test_a_claim_that_is_undefined_somewhere(self, kappa, status):
        """Beside kappa = 5 it is true; there its bound divides by 0."""
        lemma = claim_named("lemma-2")
        terms = {"drift": lemma.terms["drift"] / (L / mu - 5) ** 2 + lemma.terms["drift"]}
        verdict, result = examination(replace(lemma, terms=terms), *round_settings(lemma, 1, tau=2, kappa=kappa))
        assert verdict.status is status and (result is not None) is (status is Status.HOLDS)

    @pytest.mark.parametrize(
        "flags", [("--kappa", "0..5"), ("--kappa", "5..2"), ("--kappa", "2..x"), ("--kappa", "1..9", "--eta", "0..1")]
    )
    def test_no_interval_of_this_kind(self, flags):
        told = self.run("star-step", *flags)
        assert told.exit_code == 2 and "Traceback" not in told.output


class TestFunctions:
    @settings(max_examples=30, deadline=None)
    @given(st.lists(st.fractions(-3, 9, max_denominator=6), max_size=5), st.sampled_from([F(5), F(7, 2), None]))
    def test_roots_are_counted(self, given_roots, high):
        distinct = set(given_roots)
        p = prod((fmpq_poly([-r.numerator, r.denominator]) for r in distinct), start=fmpq_poly([3]))
        inside = [r for r in distinct if r > 1 and (high is None or r <= high)]
        assert roots(p, Interval("kappa", F(1), high)) == len(inside)

    @settings(max_examples=30, deadline=None)
    @given(st.lists(st.fractions(0, 6, max_denominator=4), max_size=4), st.integers(-1, 1), st.booleans())
    def test_a_relation_has_one_answer_or_none(self, given_roots, sign, half_open):
        over = Interval("kappa", F(1), F(5) if half_open else None)
        f = prod((variable(over) - r for r in given_roots), start=Function(fmpq_poly([sign]), fmpq_poly([1]), over))
        cuts = sorted({F(1), F(5), F(9), *given_roots})
        points = [*cuts, *((a + b) / 2 for a, b in pairwise(cuts))]
        values = [f.at(x) for x in points if x > 1 and (x <= 5 or not half_open)]
        for told, answers in (
            (lambda: f > 0, {v > 0 for v in values}),
            (lambda: f >= 0, {v >= 0 for v in values}),
            (lambda: f < 0, {v < 0 for v in values}),
            (lambda: f <= 0, {v <= 0 for v in values}),
        ):
            if len(answers) == 1:
                assert told() is answers.pop()
            else:
                with pytest.raises(InputError, match="one answer"):
                    told()


def test_refuted_where_a_number_refutes_and_nothing_holds_on_the_whole():
    """A false claim has no certificate over an interval that contains a counterexample."""
    false = claim_named("fedavg-step")
    false = replace(false, key="false", terms={**false.terms, "drift": false.terms["drift"] / 2})
    for kappa in ("1..inf", "9..11"):
        (setting,) = round_settings(false, time=2, tau=3, kappa=kappa)
        assert examination(false, setting)[0].status is Status.UNDECIDED


FOUND = (
    *("lemma-1", "fedavg-step-eta-k10", "star-step-eta-skewed-k10", "lemma-2-exact-tau6"),
    "theorem-1-fedavg-tau3",
)


def again(certificate):
    """The certificate with multipliers that are found."""
    multipliers = fitted(certificate.lhs, certificate.numbers(certificate.rhs), certificate.parameters)
    return convert({**plain(certificate), "multipliers": plain(multipliers)}, Certificate)


@pytest.mark.parametrize("name", FOUND)
def test_shipped_certificates_are_found_again(name):
    result = again(SHIPPED[name])
    assert check(result) == (True, "verified")
    assert len(result.multipliers) <= len(SHIPPED[name].multipliers)


def test_a_claim_without_known_multipliers_is_certified_over_an_interval():
    """One step towards w* with half of the gap to spare, in no derivation's multipliers."""
    bound = (1 - eta * mu) ** 2 * Delta + 2 * (1 - eta * mu) * eta * smoothness * drift + 2 * eta**2 * sigma_sq
    terms = dict(zip(("contraction", "drift", "noise"), bound.args, strict=True))
    own = Claim("own", "", "", "step", Delta_next, terms, assumptions=claim_named("fedavg-step").assumptions)
    (setting,) = round_settings(own, time=1, tau=2, kappa="1..inf", eta="1/2")
    verdict, certificate = examination(own, setting)
    assert verdict.status is Status.HOLDS and certificate is not None
    assert check(certificate, {"own": own}) == (True, "verified")
