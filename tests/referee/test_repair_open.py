"""Statements that are shown without a proof: none that an attack refutes, none weaker than another one."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
import sympy as sp

from fedbounds.evidence.exact.compare import examine
from fedbounds.evidence.exact.instance_json import from_json
from fedbounds.plugins import claim_named
from fedbounds.referee import repair, repair_search
from fedbounds.referee.screen import Screen, screen, variations
from fedbounds.referee.trial import Outcome, Trial
from fedbounds.report import trial_text
from fedbounds.theory import assumptions as a
from fedbounds.theory import symbols as s
from fedbounds.theory.claim import Claim
from fedbounds.theory.reading import READINGS
from fedbounds.theory.verdict import Status, Verdict

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


LITERAL = repair_search.Search(HOW, Screen(RATIO, HOW, []), float("inf"), shipped=())


@pytest.fixture(scope="module")
def search():
    return repair_search.Search(HOW, screen(RATIO, HOW, [], 1.0), float("inf"), shipped=())


@pytest.fixture
def attacks(monkeypatch):
    """The claims that were attacked, of which those of a right side below 1 fall."""
    asked = []

    def attack(claim, *_, **options):
        asked.append(claim.key)
        assert {stage.name for stage in options["stages"]}.isdisjoint({"proof", "strength", "neighbours"})
        falls = claim.rhs.subs(s.pi_max, 1) < 1
        outcome = Outcome.FALSE if falls else Outcome.OPEN
        return SimpleNamespace(
            claim=claim, finished=True, fault="", outcome=outcome, certified=(), violation_in_floats=None,
            refutation=None, whole_proof=None,
        )  # fmt: skip

    monkeypatch.setattr(repair, "try_claim", attack)
    return asked


def shown(search, ladders, count=3, proved=()):
    # no run that is known violates them
    search.runs.violates = lambda claim: False
    trial = Trial(RATIO, "literal", "small", 0)
    return [item.change for item in repair.not_refuted(search, ladders, trial, count, float("inf"), proved)]


def test_of_two_statements_the_stronger_is_attacked_first_and_the_weaker_is_not_shown(search, attacks):
    ladders = [[("3", times(3))], [("2", times(2))]]
    assert shown(search, ladders) == ["2"] and attacks == ["2 times"]
    attacks.clear()
    assert shown(search, [[("3", times(3))], [("1/3", times("1/3"))]]) == ["3"]
    assert attacks == ["1/3 times", "3 times"]  # what fell hides nothing


def test_what_nobody_would_state_is_left_out_before_any_is_chosen(search, attacks, monkeypatch):
    monkeypatch.setattr(
        repair_search.Search, "implausible", lambda self, claim: claim.key in ("9 times", "1/4 times")
    )
    assert shown(search, [[("9", times(9))], [("2", times(2))]]) == ["2"]
    assert shown(search, [[("1/4", times("1/4")), ("3", times(3))]]) == ["3"] and "1/4 times" not in attacks


def test_a_constant_that_grows_under_attacks_is_given_up(search, attacks):
    ladder = [(number, times(number)) for number in ("1/5", "1/4", "1/3", "2")]
    assert shown(search, [ladder]) == [] and attacks == ["1/5 times", "1/4 times"]


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
