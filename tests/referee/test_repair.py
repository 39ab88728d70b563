"""What would be true instead: statements near a false one that stand."""

import contextlib
import itertools
import json
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import sympy as sp
from click.testing import CliRunner

from fedbounds.cli.app import main
from fedbounds.errors import InputError
from fedbounds.evidence.ball_arithmetic import Undecided
from fedbounds.plugins import claim_named
from fedbounds.referee import implication, repair, repair_candidates, repair_search, theorems
from fedbounds.referee.screen import _falls_behind, screen
from fedbounds.referee.stage_context import Stage, TimeSpent, at_most
from fedbounds.referee.trial import Outcome, Trial, try_claim
from fedbounds.theory import assumptions as a
from fedbounds.theory import symbols as s
from fedbounds.theory.assumption import Assumption
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
    return repair_search.Search(PLAIN, runs, float("inf"), shipped=())


def every(claim=DIVERSITY):
    groups = repair.candidates(claim, PLAIN, {})
    return dict(change for group in groups for ladder in group for change in ladder)


def test_the_constant_that_is_missing_is_found_and_proved(search, monkeypatch):
    monkeypatch.setattr(repair_search, "ONE_PROOF", 60.0)  # one proof takes as long as it does on a busy machine
    (ladder,) = search.standing([[repair_candidates._all_larger(DIVERSITY)]])
    proved = []
    assert search.prove(ladder, proved, repair.automatic.examine)
    (nearest,) = proved
    assert (nearest.change, nearest.outcome) == ("2 times the right side", Outcome.PROVED)
    assert nearest.claim.rhs.equals(2 * DIVERSITY.rhs)


def test_long_steps_are_no_short_ones():
    long = Assumption("long", "eta >= 1/L", sp.Le(-s.eta * s.L, -1, evaluate=False))
    assert not implication.granted(a.small_steps, DIVERSITY, (long,))
    assert s.eta not in implication.conditions(replace(DIVERSITY, assumptions=(long,)), PLAIN)


def test_one_time_limit_inside_another_ends_no_later(monkeypatch):
    monkeypatch.setattr(repair_search, "ONE_PROOF", 0.15)

    def forever(claim, reading):
        for _ in itertools.count():
            pass

    begun = time.process_time()
    with contextlib.suppress(TimeSpent), at_most(0.2):
        while time.process_time() < begun + 5:
            repair_search.in_time(forever, DIVERSITY, PLAIN)
    assert time.process_time() < begun + 4


def test_no_candidate_is_shown_that_an_exact_run_violates(search):
    made = every()
    assert search.runs.violates(DIVERSITY)
    assert search.runs.violates(made["3/2 times the right side"]())
    assert not search.runs.violates(made["2 times the right side"]())


def whole_run(rhs, *assumed):
    return Claim("whole", "", "", "horizon", s.Delta_T, {"bound": rhs}, assumptions=(*a.PAPER, *assumed), eta=s.eta_0)


def test_a_limit_on_steps_counts_where_a_claim_is_about_whole_runs():
    claim = whole_run(s.Delta_0, a.full_gradients, a.full_participation, a.unbiased, a.homogeneous)
    runs = screen(claim, PLAIN, [], 0.6)
    limited = replace(claim, assumptions=(*claim.assumptions, a.small_steps))
    assert 0 < runs._shares(limited)[1].sum() < runs._shares(claim)[1].sum()


def test_a_left_side_that_stays_is_compared_with_where_the_right_side_ends():
    times, lhs = np.arange(33.0), np.full(33, 0.12)
    behind = [_falls_behind(lhs, rhs, lhs / rhs) for rhs in (40 / (times + 10) + 0.5, 40 / (times + 10))]
    assert behind == [False, True]


def test_what_nobody_would_state_is_not_shown():
    step = claim_named("cho-2020-step")
    how = READINGS["repaired"]
    runs = screen(step, how, [], 0.6)
    search = repair_search.Search(how, runs, float("inf"), shipped=())
    name, term = "heterogeneity", sp.sympify(step.terms["heterogeneity"])
    other_way_round = replace(step, key="other", terms={**step.terms, name: term.subs(s.pi_min, s.pi_max)})
    assert search.implausible(other_way_round) and not search.implausible(step)
    grows = replace(step, key="grows", terms={**step.terms, "contraction": (1 + s.eta * s.mu) * s.Delta})
    assert search.implausible(grows)
    whole = whole_run((1 - s.eta_0 * s.mu) ** (2 * s.T) * s.Delta_0, a.full_gradients, a.homogeneous)
    seen = screen(whole, PLAIN, [], 0.4)
    growing, slower = (
        replace(whole, terms={"bound": x ** (2 * s.T) * s.Delta_0})
        for x in (1 + s.eta_0 * s.mu, 1 - s.eta_0 * s.mu / 3)
    )
    assert seen.absurd(growing) and not seen.absurd(slower)
    assert search.useless(replace(step, key="next", terms={"bound": s.Delta_next}))
    # a sign is in doubt where the sum is negative in some run
    changes = dict(
        change for group in repair.candidates(step, how, {}, runs.negative) for one in group for change in one
    )
    assert not any(change.startswith("contraction") and "sign" in change for change in changes)


def test_statements_left_open_are_looked_for_where_only_narrower_ones_are_proved():
    narrower = replace(DIVERSITY, key="narrower", assumptions=(*DIVERSITY.assumptions, a.equal_p))
    assert not repair.as_wide(narrower, DIVERSITY, PLAIN) and repair.as_wide(DIVERSITY, narrower, PLAIN)
    assert [repair.lacking(found, False, 3) for found in (0, 1, 5)] == [3, 2, 1] and repair.lacking(1, False, 1) == 0
    assert [repair.lacking(found, True, 3) for found in (1, 2, 3, 5)] == [1, 1, 0, 0]


def test_beside_a_proof_as_wide_only_a_guess_that_says_more_is_looked_for(trial, monkeypatch):
    times = {k: replace(DIVERSITY, key=k, terms={"all": int(k) * DIVERSITY.rhs}) for k in ("5", "4", "3")}
    known, asked = Verdict("", "", "symbolic", Status.HOLDS), []
    monkeypatch.setattr(
        repair_search.Search, "inherited", lambda self, claim, reading: known if claim.key == "4" else None
    )
    monkeypatch.setattr(repair.automatic, "examine", lambda claim, reading: None)
    ladders = [[(key, lambda key=key: times[key])] for key in times]
    monkeypatch.setattr(repair, "candidates", lambda *_: [ladders])
    monkeypatch.setattr(repair, "not_refuted", lambda search, rest, *_: asked.extend(rest) or [])
    assert [item.change for item in repair.alternatives(trial, seconds=20)] == ["4"]
    assert [ladder[0][0] for ladder in asked] == ["3"]


def test_a_changed_side_comes_before_a_condition_and_a_proof_before_a_guess(trial, monkeypatch):
    under = replace(DIVERSITY, key="under", assumptions=(*DIVERSITY.assumptions, a.equal_p))
    changed = replace(DIVERSITY, key="changed", terms={"all": 4 * s.L * s.gap_t + 2 * s.zeta_star_sq})
    found = [(under, Outcome.OPEN), (changed, Outcome.OPEN), (under, Outcome.PROVED)]
    shown = [repair.Alternative("", claim, outcome, "") for claim, outcome in found]
    monkeypatch.setattr(repair, "candidates", lambda *_: [])
    monkeypatch.setattr(repair, "not_refuted", lambda *_: shown)
    assert repair.alternatives(trial, seconds=2) == (shown[2], shown[1], shown[0])


DRAFT = """
from fedbounds.theory import assumptions as a
from fedbounds.theory.claim import Claim
from fedbounds.theory.point_quantities import slope_sq
from fedbounds.theory.symbols import L, gap_t, zeta_star_sq

DIVERSITY = Claim(
    "diversity", "", "", "step", slope_sq, {"gap": 2 * L * gap_t, "optimum": zeta_star_sq},
    assumptions=(a.smooth, a.strongly_convex),
)
CLAIMS = (DIVERSITY,)
"""


def test_the_answer_false_ends_with_the_nearest_statements(tmp_path, monkeypatch):
    monkeypatch.setattr(repair, "AT_ONCE", (20.0, 20.0))  # a busy machine finds them too
    monkeypatch.setattr(repair_search, "ONE_PROOF", 60.0)
    (tmp_path / "draft.py").write_text(DRAFT)
    answer = CliRunner().invoke(main, ["referee", str(tmp_path / "draft.py")])
    false, said, nearest = answer.stdout.partition("Nearest statements:\n")
    assert "The claim is false as stated." in false and said
    assert "Looked for: up to about 20 s." in answer.stderr and answer.exit_code == 0
    first, whole, *_, last = nearest.splitlines()
    assert first.startswith("  1. PROVED: 2 times the right side (proved under these assumptions: ")
    assert whole == "     E[Σᵢpᵢ‖∇Fᵢ(wₜ)‖²] <= 4·L·(E[F(wₜ)]-F*) + 2·ζ*²" and last == "--repair looks for longer."
    page = (Path(__file__).resolve().parents[2] / "docs/referee.md").read_text()
    assert f"Nearest statements:\n{first}\n{whole}\n" in page


def test_what_is_said_at_once_takes_about_as_long_as_the_verdict(trial, monkeypatch):
    least, most = 6.0, 12.0
    monkeypatch.setattr(repair, "AT_ONCE", (least, most))
    for taken, wanted in ((0.0, least), (7.0, 7.0), (90.0, most)):
        told = replace(trial, stages=(Stage("sanity", taken, ()),))
        assert repair.limit(told, None, None) == wanted
        assert (repair.limit(told, True, None), repair.limit(told, False, None)) == (repair.SECONDS, 0)
        assert repair.limit(told, None, 1.0) == 1.0


def test_an_instance_of_a_solver_is_no_instance_in_fractions():
    assert repair.instances_of({"instance": {"clients": [], "start": []}}) == []


def test_a_bound_at_a_point_gets_the_terms_that_such_bounds_have():
    smooth = claim_named("lemma-1")
    forgotten = replace(smooth, key="forgotten", terms={"gap": sp.Integer(0)})
    (nearest, *_) = repair.alternatives(try_claim(forgotten, "literal"), seconds=20)
    assert (nearest.change.startswith("2*L*excess in place of 0"), nearest.outcome) == (True, Outcome.PROVED)
    # an F_i that is concave has no minimum: bounds on gaps say nothing of it
    runs = screen(forgotten, READINGS["literal"], [], 3.0)
    assert not runs.violates(smooth) and any(not instance.convex for instance, _ in runs.runs)
    assert s.L * s.excess in repair_candidates._usual(forgotten)
    assert s.L * s.gap_t in repair_candidates._usual(DIVERSITY)


def test_nothing_is_looked_for_where_nothing_is_refuted():
    assert repair.alternatives(Trial(DIVERSITY, "plain", "small", 0)) == ()


def test_what_runs_do_not_decide_is_passed_over_without_a_warning(search):
    with search._passed_over():
        raise Undecided("a ball is wider than a float's rounding")
    assert not search.faulty


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
    monkeypatch.setattr(repair_search.Search, "inherited", proved)
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
    tuned = replace(DIVERSITY, key="tuned", eta=s.rho_bar / s.L)
    monkeypatch.setattr(theorems, "theorems", lambda *_: {"tuned": tuned, "diversity": DIVERSITY})
    first, second = theorems.referee("").items
    assert (first.outcome, second.outcome) == (Outcome.NOT_TESTED, Outcome.FALSE)
    assert "depends on rho_bar" in first.fault


def test_the_page_says_how_many_slips_are_undone():
    root = Path(__file__).resolve().parents[2]
    hidden = json.loads((root / "validate/results/repair.json").read_text())["hidden"]
    rows, page = hidden["theorems"], (root / "docs/referee.md").read_text()
    shown = [item for row in rows for item in row["shown"]]
    false = sum(item["false"] for item in shown)
    assert f"came back in {sum(row['restored'] for row in rows)} of {len(rows)} " in page
    assert f"--count {len(rows)}\n--seed {hidden['seed']} --seconds {hidden['seconds']:g} " in page
    assert f"before); of {len(shown)} statements shown the attack found {false} false, both guesses." in page
    assert false == 2 == sum(item["false"] and item["outcome"] == "OPEN" for item in shown)


def test_the_page_says_what_comes_back_of_theorems_from_outside():
    root = Path(__file__).resolve().parents[2]
    rows = json.loads((root / "validate/results/repair.json").read_text())["outside"]["theorems"]
    page = " ".join((root / "docs/referee.md").read_text().split())
    shown = [item for row in rows for item in row["shown"]]
    false = [item for item in shown if item["false"]]
    assert f"came back in {sum(row['restored'] for row in rows)} of {len(rows)}; of {len(shown)} statements" in page
    assert f"found {len(false)} false" in page
    assert all(item["outcome"] == "OPEN" for item in false)


def test_the_page_says_how_near_constants_are_to_counterexamples():
    root = Path(__file__).resolve().parents[2]
    rows = json.loads((root / "validate/results/repair.json").read_text())["constants"]
    page = " ".join((root / "docs/sdp.md").read_text().split())
    refuted = [row for row in rows if row["below"] == str(Status.REFUTED) and row["distance"] == 1 / 1000]
    assert f"In {len(refuted)} of {len(rows)} claims a run violates one 1/1000 smaller" in page
