"""What would be true instead: statements near a false one that stand."""

from dataclasses import replace

import pytest

from fedbounds.errors import InputError
from fedbounds.referee import repair, repair_candidates, theorems
from fedbounds.referee.screen import screen
from fedbounds.referee.trial import Outcome, Trial, try_claim
from fedbounds.theory import assumptions as a
from fedbounds.theory import symbols as s
from fedbounds.theory.claim import Claim
from fedbounds.theory.point_quantities import slope_sq
from fedbounds.theory.reading import READINGS
from fedbounds.theory.verdict import Status, Verdict

DIVERSITY = Claim(
    "diversity", "", "", "step", slope_sq, {"gap": 2 * s.L * s.gap_t, "optimum": s.zeta_star_sq},
    assumptions=(a.smooth, a.strongly_convex),
)  # fmt: skip


PLAIN = READINGS["plain"]


@pytest.fixture(scope="module")
def trial():
    return try_claim(DIVERSITY)


@pytest.fixture(scope="module")
def search(trial):
    runs = screen(DIVERSITY, PLAIN, repair.instances_of(trial.refutation.data), 5.0)
    return repair.Search(PLAIN, runs, float("inf"), shipped=())


def every(claim=DIVERSITY):
    groups = repair.candidates(claim, PLAIN, {})
    return dict(change for group in groups for ladder in group for change in ladder)


def test_the_constant_that_is_missing_is_found_and_proved(search):
    (ladder,) = search.standing([[repair_candidates._all_larger(DIVERSITY)]])
    proved = []
    assert search.prove(ladder, proved, repair.automatic.examine)
    (nearest,) = proved
    assert (nearest.change, nearest.outcome) == ("2 times the right side", Outcome.PROVED)
    assert nearest.claim.rhs.equals(2 * DIVERSITY.rhs)


def test_no_candidate_is_shown_that_an_exact_run_violates(search):
    made = every()
    assert search.runs.violates(DIVERSITY)
    assert search.runs.violates(made["3/2 times the right side"]())
    assert not search.runs.violates(made["2 times the right side"]())


def test_an_assumption_is_offered_once_and_not_where_it_is_made():
    groups = repair.candidates(DIVERSITY, PLAIN, {})
    offered = [change for group in groups for ladder in group for change, _ in ladder]
    assert sum("every client takes part" in change for change in offered) == 1
    assert not any("L-smooth" in change for change in offered)


def test_nothing_is_looked_for_where_nothing_is_refuted():
    assert repair.alternatives(Trial(DIVERSITY, "plain", "small", 0)) == ()


def test_a_change_that_makes_no_claim_is_passed_over(trial):
    # eta L of a claim at every step, or a term in metres^2 beside joules
    assert any(_refused(make) for make in every().values())
    assert repair.alternatives(trial, count=1, seconds=5) is not None


def _refused(make):
    try:
        make()
    except InputError:
        return True
    return False


def test_an_interruption_keeps_what_was_found_and_a_fault_of_one_candidate_stops_nothing(trial, monkeypatch):
    def broken():
        raise ArithmeticError

    def proved(self, claim, reading):
        if claim.key == "interrupted":
            raise KeyboardInterrupt
        return Verdict("", "", "symbolic", Status.HOLDS)

    twice = replace(DIVERSITY, terms={name: 2 * term for name, term in DIVERSITY.terms.items()})
    other = replace(DIVERSITY, key="interrupted", terms={"a": 6 * s.L * s.gap_t, "b": 3 * s.zeta_star_sq / 2})
    ladders = [[("broken", broken)], [("twice", lambda: twice)], [("interrupted", lambda: other)]]
    monkeypatch.setattr(repair.Search, "inherited", proved)
    monkeypatch.setattr(repair, "candidates", lambda *_: [ladders])
    monkeypatch.setattr(
        theorems, "theorems", lambda *_: {"false": DIVERSITY, "other": replace(DIVERSITY, key="other")}
    )
    monkeypatch.setattr(theorems, "try_claim", lambda *_, **__: trial)
    shown, repaired = [], []
    with pytest.warns(UserWarning, match="passed over: ArithmeticError"):
        (ended,) = theorems.referee("", repair=True, each=shown.append, each_repaired=repaired.append).items
    assert shown == [trial] and repaired == [ended] and not ended.finished
    assert [item.change for item in ended.alternatives] == ["twice"]


def test_a_claim_that_cannot_be_tried_does_not_stop_the_file(monkeypatch):
    tuned = replace(DIVERSITY, key="tuned", eta=1 / (s.L * s.T))
    monkeypatch.setattr(theorems, "theorems", lambda *_: {"tuned": tuned, "diversity": DIVERSITY})
    first, second = theorems.referee("").items
    assert (first.outcome, second.outcome) == (Outcome.NOT_TESTED, Outcome.FALSE)
    assert "depends on T" in first.fault
