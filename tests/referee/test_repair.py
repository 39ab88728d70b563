"""What would be true instead: statements near a false one that stand."""

import contextlib
import itertools
import json
import time
import warnings
from dataclasses import replace
from pathlib import Path

import pytest
import sympy as sp
from click.testing import CliRunner

from fedbounds import plugins
from fedbounds.cli.app import main
from fedbounds.errors import InputError
from fedbounds.evidence.ball_arithmetic import Undecided
from fedbounds.plugins import claim_named
from fedbounds.referee import implication, limit_cases, repair, repair_candidates, stage_context, theorems
from fedbounds.referee.screen import screen
from fedbounds.referee.stage_context import Stage, TimeSpent, at_most
from fedbounds.referee.trial import Outcome, Trial, try_claim
from fedbounds.theory import assumptions as a
from fedbounds.theory import symbols as s
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim import Claim
from fedbounds.theory.path_quantities import slope_sq
from fedbounds.theory.reading import READINGS
from fedbounds.theory.verdict import Status, Verdict

DIVERSITY = Claim(
    "diversity", "", "", "step", slope_sq, {"gap": 2 * s.L * s.gap_t, "optimum": s.zeta_star_sq},
    assumptions=(a.smooth, a.strongly_convex),
)  # fmt: skip


PLAIN = READINGS["plain"]


@pytest.fixture(scope="module", autouse=True)
def small_battery():
    """Fewer exact instances: those that these tests need are among them."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(limit_cases, "MOST", 120)
        yield


@pytest.fixture(scope="module")
def trial():
    return try_claim(DIVERSITY)


@pytest.fixture(scope="module")
def search(trial):
    runs = screen(DIVERSITY, PLAIN, repair.instances_of(trial.refutation.data), 30.0)
    return repair.Repairs(PLAIN, runs, float("inf"), implication.Shipped(()))


def every(claim=DIVERSITY):
    groups = repair.candidates(claim, PLAIN, {})
    return dict(change for group in groups for ladder in group for change in ladder)


def test_the_number_of_a_sum_is_that_of_all_its_addends():
    claim = replace(DIVERSITY, lhs=s.p_min, scope="constant", terms={"bound": (3 - 3 * s.pi_min) / 1000})
    whole = repair_candidates.parts(claim)[0]
    assert 1 - s.pi_min in [changed().rhs for _, changed in repair_candidates._larger(claim, whole)]
    hundred = replace(DIVERSITY, terms={"gap": 100 * s.L * s.gap_t})
    assert all(len(ladder) for group in repair.candidates(hundred, PLAIN, {}) for ladder in group)


def test_long_steps_are_no_short_ones():
    long = Assumption("long", "eta >= 1/L", sp.Le(-s.eta * s.L, -1, evaluate=False))
    assert not implication.granted(a.small_steps, DIVERSITY, (long,))
    assert s.eta not in implication.conditions(replace(DIVERSITY, assumptions=(long,)), PLAIN)


def test_one_time_limit_inside_another_ends_no_later(monkeypatch):
    monkeypatch.setattr(stage_context, "ONE_PROOF", 0.15)

    def forever(claim, reading):
        for _ in itertools.count():
            pass

    begun = time.process_time()
    with contextlib.suppress(TimeSpent), at_most(0.2):
        while time.process_time() < begun + 5:
            stage_context.in_time(forever, DIVERSITY, PLAIN)
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
    runs = screen(claim, PLAIN, [], 30.0)
    limited = replace(claim, assumptions=(*claim.assumptions, a.small_steps))
    assert 0 < runs._shares(limited)[1].sum() < runs._shares(claim)[1].sum()


def test_what_nobody_would_state_is_not_shown(monkeypatch):
    monkeypatch.setattr(limit_cases, "MOST", 50)
    step = claim_named("cho-2020-step")
    how = READINGS["repaired"]
    runs = screen(step, how, [], 30.0)
    search = repair.Repairs(how, runs, float("inf"), implication.Shipped(()))
    name, term = "heterogeneity", sp.sympify(step.terms["heterogeneity"])
    other_way_round = replace(step, key="other", terms={**step.terms, name: term.subs(s.pi_min, s.pi_max)})
    assert runs.absurd(other_way_round) and not runs.absurd(step)
    grows = replace(step, key="grows", terms={**step.terms, "contraction": (1 + s.eta * s.mu) * s.Delta})
    assert runs.absurd(grows)
    whole = whole_run((1 - s.eta_0 * s.mu) ** (2 * s.T) * s.Delta_0, a.full_gradients, a.homogeneous)
    seen = screen(whole, PLAIN, [], 30.0)
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


def test_a_bound_below_by_0_says_something_and_0_below_0_nothing(search):
    below = replace(DIVERSITY, lhs=sp.Integer(0))
    assert not search.useless(below) and search.useless(replace(below, terms={"all": sp.Integer(0)}))


def test_of_the_numbers_of_a_ladder_1_is_asked_second(search):
    asked, numbers = [], [sp.Rational(1, 2), sp.Rational(2, 3), sp.Integer(1), sp.Integer(2), sp.Integer(3)]
    ladder = repair_candidates.Ladder(lambda x: (str(x), replace(DIVERSITY, key=str(x))), numbers)
    assert not search.prove(ladder[1:], [], lambda claim, reading: asked.append(claim.key))
    assert asked == ["2/3", "1", "3"]


def test_ratios_of_weights_are_1_where_clients_have_their_share():
    contraction = (1 - s.eta * s.mu * sp.Min(s.rho_bar, 1 / (s.eta * s.mu))) * s.Delta
    assert repair_candidates._with_fair_weights(contraction) == (1 - s.eta * s.mu) * s.Delta


def test_a_whole_run_without_steps_gets_those_of_theorems_about_the_same():
    corollary = claim_named("corollary")
    free = replace(corollary, key="free", eta=None)
    groups = repair.candidates(free, READINGS["repaired"], {"corollary": corollary})
    changed = dict(change for group in groups for ladder in group for change in ladder)
    assert changed[f"as stated, for eta_t = {corollary.eta}"]().steps == corollary.steps


def found(rhs, outcome, *more):
    claim = replace(DIVERSITY, terms={"all": rhs}, assumptions=(*DIVERSITY.assumptions, *more))
    return repair.Alternative(f"{rhs} {outcome}", claim, outcome, "")


def test_a_guess_is_looked_for_only_where_nothing_as_wide_is_proved(trial, search, monkeypatch):
    monkeypatch.setattr(repair, "screen", lambda *_: search.runs)
    asked, known = [], Verdict("", "", "symbolic", Status.HOLDS)
    wide = replace(DIVERSITY, key="wide", terms={"all": 4 * DIVERSITY.rhs})
    narrow = replace(DIVERSITY, key="narrow", terms=wide.terms, assumptions=(*DIVERSITY.assumptions, a.equal_p))
    monkeypatch.setattr(implication.Shipped, "proof", lambda self, claim, reading: known if claim.key else None)
    monkeypatch.setattr(repair.Repairs, "withstanding", lambda self, rest, *_: asked.append(len(rest)))
    for changed, guessed in ((wide, []), (narrow, [0])):
        monkeypatch.setattr(repair, "candidates", lambda *_, changed=changed: [[[(changed.key, lambda: changed)]]])
        assert [item.change for item in repair.alternatives(trial, seconds=20)] == [changed.key]
        assert asked == guessed


def test_a_changed_side_comes_before_a_condition_and_a_proof_before_a_guess():
    whole, twice = DIVERSITY.rhs, 2 * DIVERSITY.rhs
    under, guess = found(whole, Outcome.PROVED, a.equal_p), found(twice, Outcome.OPEN)
    stated = replace(DIVERSITY, terms={"all": whole})
    assert repair.chosen([under, guess], stated, 3) == (under, guess)
    proved = [found(number * whole, Outcome.PROVED) for number in (3, 4, 5)]
    assert repair.chosen([under, *proved], stated, 3) == (*proved[:2], under)


DRAFT = """
from fedbounds.theory import assumptions as a
from fedbounds.theory.claim import Claim
from fedbounds.theory.path_quantities import slope_sq
from fedbounds.theory.symbols import L, gap_t, zeta_star_sq

DIVERSITY = Claim(
    "diversity", "", "", "step", slope_sq, {"gap": 2 * L * gap_t, "optimum": zeta_star_sq},
    assumptions=(a.smooth, a.strongly_convex),
)
CLAIMS = (DIVERSITY,)
"""


def test_the_answer_false_ends_with_the_nearest_statements(tmp_path, monkeypatch):
    monkeypatch.setattr(repair, "AT_ONCE", (60.0, 60.0))  # a busy machine finds them too
    monkeypatch.setattr(stage_context, "ONE_PROOF", 60.0)
    monkeypatch.setattr(repair_candidates, "COEFFICIENTS", [sp.Rational(3, 2), sp.Integer(2), sp.Integer(3)])
    few = {key: claim_named(key) for key in ("lemma-1", "fedavg-step")}
    monkeypatch.setattr(plugins, "claims", lambda extra=(): few)
    (tmp_path / "draft.py").write_text(DRAFT)
    answer = CliRunner().invoke(main, ["referee", str(tmp_path / "draft.py")])
    false, said, nearest = answer.stdout.partition("Nearest statements:\n")
    assert "The claim is false as stated." in false and said
    assert "Looked for: up to about 60 s of processor time." in answer.stderr and answer.exit_code == 0
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
    runs = screen(forgotten, READINGS["literal"], [], 30.0)
    assert not runs.violates(smooth) and any(not instance.convex for instance, _ in runs.runs)
    assert s.L * s.excess in repair_candidates._usual(forgotten)
    assert s.L * s.gap_t in repair_candidates._usual(DIVERSITY)


def test_nothing_is_looked_for_where_nothing_is_refuted():
    assert repair.alternatives(Trial(DIVERSITY, "plain", "small", 0)) == ()


def test_what_runs_do_not_decide_is_passed_over_without_a_warning(search):
    with warnings.catch_warnings(), search._passed_over():
        warnings.simplefilter("error")
        raise Undecided("a ball is wider than a float's rounding")


def test_a_change_that_makes_no_claim_is_passed_over(search):
    # eta L of a claim at every step, or a term in metres^2 beside joules
    refused = [("none", make) for make in every().values() if _refused(make)]
    assert refused and search.standing([[refused[:1]]]) == []


def _refused(make):
    try:
        make()
    except InputError:
        return True
    return False


def test_an_interruption_keeps_what_was_found_and_a_fault_of_one_candidate_stops_nothing(trial, search, monkeypatch):
    monkeypatch.setattr(repair, "screen", lambda *_: search.runs)

    def broken():
        raise ArithmeticError

    def proved(self, claim, reading):
        if claim.key == "interrupted":
            raise KeyboardInterrupt
        return Verdict("", "", "symbolic", Status.HOLDS)

    twice = replace(DIVERSITY, terms={name: 2 * term for name, term in DIVERSITY.terms.items()})
    other = replace(DIVERSITY, key="interrupted", terms={"a": 6 * s.L * s.gap_t, "b": 3 * s.zeta_star_sq / 2})
    ladders = [[("broken", broken)], [("twice", lambda: twice)], [("interrupted", lambda: other)]]
    monkeypatch.setattr(implication.Shipped, "proof", proved)
    monkeypatch.setattr(repair, "candidates", lambda *_: [ladders])
    monkeypatch.setattr(
        theorems, "theorems", lambda *_: {"false": DIVERSITY, "other": replace(DIVERSITY, key="other")}
    )
    monkeypatch.setattr(theorems, "try_claim", lambda *_, **__: trial)
    shown, repaired = [], []
    with pytest.warns(UserWarning, match="passed over: ArithmeticError"):
        (ended,) = theorems.referee("", repair=True, each=shown.append, each_followed=repaired.append).items
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
    sets = json.loads((root / "validate/results/repair.json").read_text())
    page = " ".join((root / "docs/referee.md").read_text().split())
    for rows, guessed in ((sets["hidden"]["theorems"], False), (sets["outside"]["theorems"], True)):
        shown = [item for row in rows for item in row["shown"]]
        guesses = f", {sum(item['outcome'] == 'OPEN' for item in shown)} of them guesses" * guessed
        assert f"came back in {sum(row['restored'] for row in rows)} of {len(rows)}" in page
        false = [item for item in shown if item["false"]]
        assert f"of {len(shown)} statements shown{guesses}{',' * guessed} the attack found {len(false)} false" in page
        assert all(item["outcome"] == "OPEN" for item in false)
    assert f"--seed {sets['hidden']['seed']} --seconds {sets['hidden']['seconds']:g} " in page


def test_the_page_says_how_near_constants_are_to_counterexamples():
    root = Path(__file__).resolve().parents[2]
    rows = json.loads((root / "validate/results/repair.json").read_text())["constants"]
    page = " ".join((root / "docs/sdp.md").read_text().split())
    assert all(row["distance"] <= max(row["certified"], 2e-3) * 1.001e-3 for row in rows)
    refuted = [row for row in rows if row["below"] == str(Status.REFUTED)]
    assert f"for all {len(rows)} needed terms" in page and f"for {len(refuted)} a run violates" in page
