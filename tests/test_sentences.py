"""Sentences of the pages that carry a number: each number is computed again here, and must still stand there."""

import itertools
import json
import math
import re
from fractions import Fraction as Q
from pathlib import Path

import numpy as np
import pytest

from fedbounds.evidence.empirical.comparison import BAND_NEEDS
from fedbounds.evidence.exact.compare import compare, judge_assumptions
from fedbounds.evidence.exact.counterexamples import all_files, read
from fedbounds.evidence.exact.instance_json import from_json
from fedbounds.evidence.exact.run import run
from fedbounds.plugins import claim_named, claims, on_fedavg
from fedbounds.study.ledger import remarked
from fedbounds.theory.reading import READINGS
from fedbounds.theory.verdict import Status
from validate import calibration

ROOT = Path(__file__).resolve().parent.parent


def page(name):
    return re.sub(r"\s+", " ", (ROOT / name).read_text(encoding="utf-8"))


def drift_constant(kappa, tau):
    """The largest drift over eta_t^2 tau^2 G^2 at the last step of the first round, equal weights, full gradients.

    The corollary's steps have 1 - eta_s mu = (s + gamma - 1)/(s + gamma), so a local model of curvature mu moves by
    (G/mu)(tau - 1)/(tau - 2 + gamma), and two that part attain it.
    """
    gamma = 4 * Q(kappa)
    return (Q(tau - 1) / tau * (tau - 1 + gamma) / (tau - 2 + gamma)) ** 2


def test_how_much_too_large_the_constant_of_lemma_2_is():
    table = re.search(r"\| kappa \| tau = 2 .*?\n\n", (ROOT / "docs/sdp.md").read_text(), re.DOTALL)[0]
    for row in table.strip().splitlines()[2:]:
        kappa, *values = (float(cell) for cell in row.strip("| ").split("|"))
        for tau, value in zip((2, 3, 4, 6), values, strict=True):
            assert value == pytest.approx(float(drift_constant(int(kappa), tau)), abs=1e-3)
    assert round(16 / drift_constant(10**6, 2)) == 64 and round(16 / drift_constant(2, 12)) == 17
    assert round(16 / drift_constant(10, 10**6), 3) == 16
    factors = [16 / float(drift_constant(10, 2)), 16 / float(drift_constant(2, 12))]
    assert "{:.1f} at kappa = 10, tau = 2, {:.1f} at kappa = 2, tau = 12".format(*factors) in page("docs/sdp.md")
    assert "too large by a factor of 64 at tau = 2" in page("docs/findings.md")


def test_what_theorem_1_never_needs():
    drift = claim_named("theorem-1").terms["drift"]
    lemma = claim_named("lemma-2").terms["drift"]
    assert (drift / lemma) == 2  # 32 tau^2 against the proof's 16 tau^2 + 1: left over are 16 tau^2 - 1
    assert "(16 tau^2 - 1) G^2 of the 32 tau^2 G^2" in page("docs/findings.md")


def fails(n):
    """Whether the corollary, with rho_tilde >= rho_bar, fails after one step of two equal quadratics, p_2 = 1/n."""
    p, m, gamma = (1 - Q(1, n), Q(1, n)), (Q(0), Q(1)), Q(4)
    excess = lambda w: [(w - o) ** 2 / 2 for o in m]  # noqa: E731
    mean = lambda values: sum(a * b for a, b in zip(p, values, strict=True))  # noqa: E731
    star, w0 = p[1], Q(0)
    w1 = w0 - (w0 - m[1]) / gamma
    Gamma = mean(excess(star))
    values = {
        "L": 1, "mu": 1, "tau": 1, "sigma_sq": 0, "T": 1, "gamma": 4, "Gamma": Gamma, "Delta_0": (w0 - star) ** 2,
        "G_sq": max((w0 - o) ** 2 for o in m), "rho_bar": excess(w0)[1] / mean(excess(w0)),
    }  # fmt: skip
    values["rho_tilde"] = max(excess(star)[1] / Gamma, values["rho_bar"])
    terms = claim_named("corollary").sides(READINGS["literal"]).terms.values()
    bound = sum(term.subs({s: str(values[s.name]) for s in term.free_symbols}) for term in terms)
    return mean(excess(w1)) - Gamma > Q(int(bound.p), int(bound.q))


def test_where_the_corollary_fails_on_the_family_of_tiny_weights():
    assert not any(fails(n) for n in (2, 8, 9, 100, 306)) and all(fails(n) for n in (307, 308, 500))
    assert "from n = 307 on, not from n = 8" in page("docs/findings.md")


def test_how_far_the_sharper_error_term_can_be_improved():
    kappa, rho_bar = 10, 1
    assert Q(1 + rho_bar, 1 + kappa * rho_bar) == Q(2, 11)
    assert "2/11 of it at kappa = 10 and rho_bar = 1" in page("docs/counterexamples.md")


def test_words_in_quotation_marks_after_the_paper_are_the_paper_s():
    said = page("docs/counterexamples.md") + page("docs/ledger.md") + page("docs/findings.md")
    assert '"arbitrary large"' in said
    for never in ("may be arbitrarily large", "The error vanishes where", "V_min is reached"):
        assert never not in said


def test_what_a_negative_D_needs():
    path = next(path for path in all_files() if path.stem == "corollary-D")
    example = read(path)
    instance = from_json(example.document["instance"])
    assert (instance.L / instance.mu, instance.total) == (400, 1)
    longer = {
        "curvatures": [["1", "1", "75"]] * 3, "minima": [["0", "1", "0"], ["-1/10", "0", "0"], ["0", "-1", "0"]],
        "p": ["999/2000", "1/1000", "999/2000"], "w0": ["1", "0", "0"],
        "eta": {"mu": "1", "gamma": "300", "steps": 450},
    }  # fmt: skip
    record = run(from_json(example.document["instance"] | longer))
    claim, reading = example.claim(), READINGS["literal"]
    assert not any(judge_assumptions(claim, record, reading))
    sides = next(s for s in compare(claim, record, reading, 450))
    assert sides.rhs < sides.lhs and record.values["rho_tilde"] < record.rho_sync
    said = "L/mu = 400 and one step; with 450 steps, 3/2 gamma of them, L/mu = 75 is enough"
    assert said in page("docs/counterexamples.md")
    assert 74.40 < least_condition() < 74.41 and "no smaller than 74.4" in page("docs/counterexamples.md")


def least_condition():
    """The smallest L/mu at which the family of corollary-D fails by D < 0, over its start, length and third client.

    With mu = 1, minimisers at distance 1 from w* and one client of vanishing p at distance x from it, to whose
    minimum the run goes from distance R: after T steps s R remains, s = gamma/(T + gamma) for large gamma.
    """
    s, R, x = np.meshgrid(np.linspace(0.36, 0.4, 41), np.linspace(1.15, 1.22, 36), np.linspace(0.09, 0.12, 31))
    rho = (s * R) ** 2 / ((s * R - x) ** 2 + 1)
    G_sq = 1 + (R - x) ** 2
    needs = 32 * s * G_sq / (3 * rho) - (s * R - x) ** 2 / 2
    return (needs / (4 / 3 * (1 - x**2 / rho) - s - s * (R - x) ** 2 / 2)).min()


def rows(name, after, head):
    """The cells of a page's table whose first line begins with ``head``, the first such after a title."""
    lines = (ROOT / name).read_text(encoding="utf-8").partition(after)[2].splitlines()
    begin = next(k for k, line in enumerate(lines) if line.startswith(head))
    table = list(itertools.takewhile(lambda line: line.startswith("|"), lines[begin:]))
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in table[2:]]


def test_the_ledger_s_page_has_every_claim_and_every_counterexample():
    shown = rows("docs/ledger.md", "table: begin", "| claim |")
    result = {(row[0], reading): row[-1] for row in shown for reading in row[1].split(", ")}
    known = on_fedavg(claims())
    assert {(key, reading) for key, claim in known.items() for reading in claim.readings} <= result.keys()
    assert {key for key, _ in result} == known.keys()
    refuted = {key for (key, _), sides in result.items() if ">" in sides}
    assert refuted == {read(path).document["claim"] for path in all_files() if "claim" in read(path).document}


def test_the_ledger_s_page_has_every_remark():
    result, items = rows("docs/ledger.md", "remarks: begin", "| remark |"), remarked()
    assert [row[0] for row in result] == [item.remark.key for item in items]
    refuted = [item.verdicts[0].status is Status.REFUTED for item in items]
    assert [row[-1] == "FALSE" for row in result] == refuted and (len(items), sum(refuted)) == (20, 19)
    assert "Of the 20 remarks that state no formula to prove, 19 fail" in page("docs/ledger.md")
    # The convention: at the Gamma = 0 of the row both the numerator and the denominator of rho(t, w*) are 0.
    document = read(next(path for path in all_files() if path.stem == "error-free-iid")).document
    instance = from_json(document["data"]["instance"])
    assert (instance.curvatures, set(instance.excess(instance.argmin(instance.p)))) == (((1,), (2,)), {0})


def test_the_rates_of_the_calibration_page_are_those_recorded():
    records = json.loads((ROOT / "validate/results/calibration.json").read_text())
    for record in records:
        for side in ("above", "below", "above_decided", "below_decided"):
            assert record[f"{side}_interval"] == pytest.approx(
                calibration.clopper_pearson(record[side], record["trials"])
            )
    table = calibration.table(records, 1e-3).splitlines()[2:]
    text = (ROOT / "docs/calibration.md").read_text()
    shown = [line for line in text.splitlines() if line.count("|") == 14][2:]
    assert len(table) == 60 and len(shown) > 5 and set(shown) <= set(table)
    said = {name: worst(records, name) for name in ("lognormal", "chi-square product")}
    assert f"up to {said['lognormal']} was measured on lognormal data" in BAND_NEEDS
    assert f"{said['chi-square product']} on products of two chi-square variables" in BAND_NEEDS
    for name, rate in said.items():
        assert f"{rate} on {name}" in page("docs/calibration.md")


def worst(records, process):
    """The largest rate of wrong verdicts on either side at a nominal 0.1%, in percent."""
    own = [r for r in records if (r["process"], r["band"], r["error_rate"]) == (process, "ours", 1e-3)]
    return f"{100 * max(max(r['above_decided'], r['below_decided']) / r['trials'] for r in own):.2g}%"


def test_what_a_run_has_not_met():
    assert f"{math.log(1 / 1e-3) / 64:.0%} at 64 replicates and 0.1%" in page("docs/why.md")
