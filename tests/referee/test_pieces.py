"""A trial of several processes, and one in which two kinds of evidence contradict each other."""

from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from fedbounds.cli.app import main
from fedbounds.cli.click_commands import CONTRADICTION
from fedbounds.plugins import claim_named, load_file
from fedbounds.referee import implication, stages
from fedbounds.referee.certificate_settings import Grid
from fedbounds.referee.regime import Suite
from fedbounds.referee.regimes import REGIMES
from fedbounds.referee.search.budget import Budget
from fedbounds.referee.trial import Outcome, try_claim
from fedbounds.report import trial_text as show
from fedbounds.theory.coverage import Coverage
from fedbounds.theory.reading import READINGS
from fedbounds.theory.symbols import mu
from fedbounds.theory.verdict import Evidence, Status, Verdict

FOLDER = Path(__file__).parent / "theorems"
OWN = """
from fedbounds.theory import quantity
from fedbounds.theory.claim import Claim
from fedbounds.theory.symbols import Gamma, L

def helper(losses):
    return losses.L

TWICE = quantity.constant("twice", lambda losses: 2 * helper(losses), nonnegative=True)
CLAIMS = (Claim("mine", "", "", "constant", TWICE, {"bound": 2 * L}),)
"""


def found_with(claim, **pieces):
    case = stages.Case(claim, READINGS["plain"], "small", 0, Suite(()), **pieces)
    result = [stages.certificates(replace(case, budget="few")), stages.search(replace(case, budget="few"))]
    return [(item.lines, [verdict.to_json() for verdict in item.verdicts]) for item in result]


def test_any_number_of_processes_finds_the_same_bits(monkeypatch, tmp_path):
    few = Budget("few", 3, 4, 1, (2,), (1,), 5, 1000, 30, rungs=2, seconds=1.0)
    monkeypatch.setitem(stages.BUDGETS, "few", few)
    monkeypatch.setitem(stages.GRIDS, "few", Grid((2, 10), (2,), (stages.GRIDS["small"].weights[0],), 1))
    path = tmp_path / "mine.py"
    path.write_text(OWN)
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=None) as cluster:
        tried = (load_file(FOLDER / "true.py").DRIFT, *load_file(path).CLAIMS)
        here = [found_with(claim) for claim in tried]
        for elsewhere in ({"jobs": 2}, {"scheduler": cluster.scheduler_address}):
            # One after the other, so that processes are started once.
            for claim, parts in zip(tried, here, strict=True):
                assert found_with(claim, **elsewhere) == parts


def planted(monkeypatch):
    """A proof of everything."""

    def proves(claim, reading):
        return Verdict(
            claim.key, reading.name, Evidence.SYMBOLIC, Status.HOLDS, detail="planted", coverage=Coverage()
        )

    monkeypatch.setattr(stages, "PROVERS", (proves,))


def test_a_refutation_of_what_is_proved_is_an_alarm(monkeypatch, tmp_path):
    planted(monkeypatch)
    false, junit = load_file(FOLDER / "false.py").GRADIENT, tmp_path / "junit.xml"
    results = try_claim(false, suite=Suite(REGIMES[:1]))
    assert results.outcome is Outcome.CONTRADICTION and len(results.alarms) == 1
    first, second, third = show.verdict(results)
    assert first == "2/L [plain]: CONTRADICTION."
    assert "PROVED (own checker)" in second and "REFUTED there by exact evidence" in second
    assert third.startswith("Trust neither") and "one of them is wrong" in second
    path = tmp_path / "one.py"
    path.write_text(
        f"from fedbounds.plugins import load_file\nCLAIMS = (load_file({str(FOLDER / 'false.py')!r}).GRADIENT,)\n"
    )
    result = CliRunner().invoke(main, ["referee", str(path), "--quiet", "--junit", str(junit)])
    assert result.exit_code == CONTRADICTION and "CONTRADICTION" in result.stdout
    assert "<error" in junit.read_text()


def test_a_proof_elsewhere_is_no_contradiction():
    false = load_file(FOLDER / "false.py").GRADIENT
    result = try_claim(false, suite=Suite(REGIMES[:1]))
    elsewhere = replace(
        Verdict(false.key, "plain", Evidence.SYMBOLIC, Status.HOLDS), coverage=Coverage({"kappa": frozenset({7})})
    )
    both = replace(result, stages=(*result.stages, replace(result.stages[0], verdicts=(elsewhere,))))
    assert both.outcome is Outcome.FALSE


def test_a_slip_that_still_followed_from_a_proved_claim_would_be_an_alarm(monkeypatch):
    known = claim_named("lemma-1")
    tighter = replace(known, key="mine", terms={name: term * mu / (2 * mu) for name, term in known.terms.items()})
    assert try_claim(tighter, suite=Suite(REGIMES[:1])).outcome is Outcome.FALSE
    monkeypatch.setattr(implication, "never_negative", lambda *ignored: True)
    assert try_claim(tighter, suite=Suite(REGIMES[:1])).outcome is Outcome.CONTRADICTION
