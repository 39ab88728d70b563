"""Statements that are shown without a proof: none that an attack refutes, none weaker than another one."""

import time
from dataclasses import replace
from types import SimpleNamespace

import pytest
import sympy as sp

from fedbounds.evidence.exact.compare import examine
from fedbounds.evidence.exact.instance_json import from_json
from fedbounds.plugins import claim_named
from fedbounds.referee import limit_cases, repair
from fedbounds.referee.implication import Shipped
from fedbounds.referee.repair_candidates import Ladder
from fedbounds.referee.screen import Screen, screen, variations
from fedbounds.referee.stage_context import Stage
from fedbounds.referee.trial import Outcome, Trial
from fedbounds.report import trial_text
from fedbounds.theory import assumptions as a
from fedbounds.theory import symbols as s
from fedbounds.theory.claim import Claim
from fedbounds.theory.reading import READINGS
from fedbounds.theory.verdict import Evidence, Status, Verdict

HOW = READINGS["literal"]
RATIO = replace(claim_named("pi-max"), key="ratio", terms={"bound": s.pi_max / 2})
# FedAvg without drift ends nearer than this only where noise is left out.
FLOOR = Claim(
    "floor", "", "", "horizon", s.Delta_T,
    {"start": (1 - s.eta_0 * s.mu) ** (2 * s.T) * s.Delta_0, "noise": s.eta_0 * s.sigma_sq / (s.mu * s.N)},
    assumptions=(*a.PAPER, a.equal_selection, a.unbiased, a.equal_p, a.identical), eta=sp.Min(s.eta_0, 1 / s.L),
)  # fmt: skip
ONE_OF_TWO = {
    "curvatures": ["1", "1"], "minima": ["0", "0"], "p": ["1/2", "1/2"], "w0": ["0"], "eta": ["1"], "tau": 1,
    "weighting": "fedavg", "present": 1, "noise": ["1", "1"],
}  # fmt: skip


def times(number):
    return replace(RATIO, key=f"{number} times", terms={"bound": sp.Rational(number) * s.pi_max})


LITERAL = repair.Repairs(HOW, Screen(RATIO, HOW, []), float("inf"), Shipped(()))


@pytest.fixture(scope="module")
def search():
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(limit_cases, "MOST", 60)
        return repair.Repairs(HOW, screen(RATIO, HOW, [], 30.0), float("inf"), Shipped(()))


@pytest.fixture
def attacks(monkeypatch):
    """The claims that were attacked, of which those of a right side below 1 fall; nothing is proved."""
    asked = []

    def attack(claim, trial, seconds):
        asked.append(claim.key)
        falls = claim.rhs.subs(s.pi_max, 1) < 1
        verdict = Verdict("", "", Evidence.EXACT, Status.UNDECIDED, margin=1.0, data={"searched": []})
        if falls:
            verdict = Verdict("", "", Evidence.EXACT, Status.REFUTED)
        return Trial(claim, "literal", "small", 0, (Stage("search", 1.0, (), (verdict,)),), finished=True)

    monkeypatch.setattr(repair, "_attacked", attack)
    monkeypatch.setattr(repair.automatic, "examine", lambda claim, reading: None)
    return asked


def ladder(*numbers):
    return Ladder(lambda number: (str(number), times(number)), numbers)


def shown(search, *ladders, seconds=1e3):
    search.runs.violates = lambda claim: False  # no run that is known violates them
    found, end = [], time.process_time() + seconds
    search.withstanding(ladders, Trial(RATIO, "literal", "small", 0), found, 3, end)
    assert all(item.outcome is Outcome.OPEN for item in found)
    return [item.change for item in found]


def test_of_two_statements_the_stronger_is_attacked_first_and_the_weaker_is_not_shown(search, attacks):
    assert shown(search, ladder(3), ladder(2)) == ["2"] and attacks == ["2 times"]
    attacks.clear()
    assert shown(search, ladder(3), ladder("1/3")) == ["3"]
    assert attacks == ["1/3 times", "3 times"]  # what fell hides nothing


def test_what_nobody_would_state_is_left_out_before_any_is_chosen(search, attacks, monkeypatch):
    monkeypatch.setattr(Screen, "absurd", lambda self, claim: claim.key in ("9 times", "1/4 times"))
    assert shown(search, ladder(9), ladder(2), ladder("1/4")) == ["2"] and attacks == ["2 times"]


def test_a_bound_that_falls_with_T_however_short_the_steps_is_no_guess():
    free = replace(FLOOR, key="2 times", eta=None, terms={"start": s.Delta_0 / (s.T + 1)})
    assert not LITERAL._sensible(free)
    for other in (
        replace(free, eta=s.eta_0),
        replace(free, terms=FLOOR.terms),
        replace(free, terms={"a": s.Delta_0}),
    ):
        assert LITERAL._sensible(other)


def test_a_number_that_was_fitted_is_not_shown_without_a_proof(search, attacks):
    assert shown(search, ladder(3, 2)[1:]) == [] and attacks == []
    assert shown(search, ladder(3, 1)[1:]) == ["1"] and attacks == ["1 times"]  # 1 is no number of a fit


def test_nothing_is_shown_after_a_short_attack(search, attacks):
    assert shown(search, ladder(2), seconds=repair.LEAST / 2) == [] and attacks == []


def test_an_attack_that_compared_nothing_leaves_nothing_standing():
    def of(**verdict):
        stage = Stage("search", 1.0, (), (Verdict("", "", Evidence.EXACT, Status.UNDECIDED, **verdict),))
        return Trial(RATIO, "literal", "small", 0, (stage,), finished=True)

    seen = {"margin": 1.0, "data": {"searched": []}}
    assert repair.withstood(of(**seen)) and not repair.withstood(of(margin=1.0))
    assert not repair.withstood(of(margin=-1.0, data={"searched": [], "unconfirmed": {}}))
    assert not repair.withstood(replace(of(**seen), finished=False))
    early = Stage("sanity", 1.0, (), (Verdict("", "", Evidence.EXACT, Status.REFUTED),))
    assert not repair.withstood(replace(of(**seen), stages=(early,)))  # no search was needed


def test_an_attack_tries_more_clients_and_longer_runs_than_the_small_budget(monkeypatch):
    asked = []
    monkeypatch.setattr(repair, "search", lambda case, budget: asked.append(budget))
    repair.thorough(SimpleNamespace(end=None))
    assert asked[0].clients == (2, 3, 4) and asked[0].longest == 2000 and asked[0].seconds == repair.MOST
    names = [stage.name for stage in repair.ATTACKS]
    assert names[-1] == "search" and {"proof", "neighbours"}.isdisjoint(names)


def test_longer_steps_say_more():
    shorter = [replace(FLOOR, key=f"{k}", eta=sp.Min(s.eta_0, 1 / (k * s.L))) for k in (2, 4)]
    half, quarter = shorter
    assert LITERAL.says_more(half, quarter) and not LITERAL.says_more(quarter, half)
    assert LITERAL.says_more(replace(FLOOR, eta=sp.Min(s.eta_0, 1 / s.L)), half)
    assert not LITERAL.says_more(replace(half, terms={"start": s.Delta_0}), quarter)
    known, proved = Verdict("", "", "symbolic", Status.HOLDS), []
    for claim in (quarter, half, quarter):
        assert LITERAL.prove([("", claim)], proved, lambda *_: known)
    assert [item.claim for item in proved] == [half]


def test_what_refutes_a_claim_refutes_it_for_shorter_steps_over_more_rounds():
    known = from_json(ONE_OF_TWO)
    assert examine(known, FLOOR, READINGS["plain"]).status is Status.REFUTED
    short = replace(FLOOR, eta=sp.Min(s.eta_0, 1 / (2 * s.L)))
    found = [item for item in variations(short, [known]) if item.rounds > 1]
    assert any(examine(item, short, READINGS["plain"]).status is Status.REFUTED for item in found)


def test_what_is_not_proved_is_called_not_refuted():
    alternative = repair.Alternative("2 times", times(2), Outcome.OPEN, "no violation was found")
    lines = trial_text.nearest_statements(Trial(RATIO, "literal", "small", 0, alternatives=(alternative,)))
    assert lines[1:] == [
        "  1. NOT REFUTED (a guess, no proof): 2 times (no violation was found)",
        "     minᵢpᵢ·Π <= 2·Π",
    ]
