"""An open claim says with which further assumptions it is proved, and not covered is only what it speaks of."""

from dataclasses import replace

import pytest
import sympy as sp

from fedbounds.evidence.prover import automatic
from fedbounds.evidence.symbolic import verified_proofs
from fedbounds.referee import stages as stage
from fedbounds.referee.regimes import Suite
from fedbounds.referee.sharpen import NEAR, Sharpening
from fedbounds.referee.stage_context import Case, Stage
from fedbounds.referee.stages import neighbours
from fedbounds.referee.trial import Trial
from fedbounds.report import trial_text
from fedbounds.theory import assumptions as a
from fedbounds.theory import symbols as s
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim import Claim
from fedbounds.theory.coverage import Coverage, Span, only
from fedbounds.theory.path_quantities import mean_slope_sq
from fedbounds.theory.reading import READINGS
from fedbounds.theory.verdict import Evidence, Status, Verdict

PLAIN = READINGS["plain"]
GIVEN = (a.smooth, a.strongly_convex, a.full_gradients, a.steps_up_to_2_over_L_plus_mu)
NESTEROV = {"start": (1 - 2 * s.eta * s.mu * s.L / (s.L + s.mu)) * s.Delta}


def step(terms, *more):
    return Claim("draft", "", "", "step", s.Delta_next, terms, assumptions=(*GIVEN, *more))


def open_lines(claim, near=()):
    """The headline of a claim that a search did not refute, and what stands below it."""
    axes = {"N": only(2, 3), "tau": only(1, 10), "T": Span(1, 10), "kappa": Span(1, 10**6), "eta_L": Span(0, 2)}
    axes |= {"gradients": only("full"), "participation": Span(0, 1), "weights": only("fedavg")}
    data = {"searched": [Coverage(axes).to_json()], "approach": "x"}
    verdict = Verdict(claim.key, "plain", Evidence.EXACT, Status.UNDECIDED, margin=0.1, data=data)
    stages = (Stage("search", 0.0, (), (verdict,)), Stage("neighbours", 0.0, near))
    return trial_text.verdict(Trial(claim, "plain", "small", 0, stages, finished=True))


@pytest.fixture
def prover(monkeypatch):
    """A prover that needs one client, or that each client takes part and a round is one step."""

    def examine(claim, reading):
        keys = {item.key for item in claim.assumptions}
        unmet = verified_proofs.UNMET if "several" in keys and "one-client" in keys else ""
        if "one-client" in keys or {"full-participation", "one-local-step"} <= keys:
            return Verdict(claim.key, "plain", Evidence.SYMBOLIC, Status.HOLDS, detail=f"proved{unmet}")
        return None

    monkeypatch.setattr(automatic, "examine", examine)


def near(*more):
    claim = step(NESTEROV, *more)
    return claim, neighbours(Case(claim, PLAIN, "small", 0, Suite(()))).lines


def test_an_open_claim_names_the_fewest_assumptions_with_which_it_is_proved(prover):
    claim, lines = near()
    head, uncovered, first, second, *_ = open_lines(claim, lines)
    assert head == "draft [plain]: OPEN." and uncovered.startswith("Not covered: ")
    assert first == "PROVED if also N = 1."
    assert second == "PROVED if also every client takes part (C = 1) and tau = 1."


def test_no_proof_is_offered_under_assumptions_that_contradict_the_claim(prover):
    _, lines = near(Assumption("several", "N >= 2", sp.Ge(s.N, 2)))
    assert lines == ("proved if also every client takes part (C = 1) and tau = 1",)


def test_what_the_claim_assumes_is_not_added(prover):
    _, lines = near(a.full_participation)
    assert lines == ("proved if also N = 1", "proved if also tau = 1")


@pytest.mark.parametrize("word", ["tau", "noise"])
def test_of_one_client_and_one_step_nothing_else_is_called_uncovered(word):
    everything = Claim("draft", "", "", "horizon", s.gap, {"a": s.L / 2 * s.Delta_0}, assumptions=(a.smooth,))
    assert word in open_lines(everything)[1]
    assert word not in open_lines(step(NESTEROV, a.one_client))[1]


def test_a_step_of_several_clients_speaks_of_local_steps_but_not_of_the_length_of_a_run():
    uncovered = open_lines(step(NESTEROV))[1]
    assert "tau" in uncovered and "T >" not in uncovered and "absent" not in uncovered


LOOSE = Claim(
    "loose", "", "", "step", s.gap_t, {"gradient": mean_slope_sq / s.mu},
    assumptions=(a.strongly_convex, a.small_steps),
)  # fmt: skip


def test_a_proved_claim_says_what_it_does_not_need_and_an_open_one_which_multiple_is_proved(monkeypatch):
    monkeypatch.setattr(stage, "FIRST", 60.0)  # a busy machine finds them too
    monkeypatch.setattr(stage, "NEAR_SECONDS", 0.0)
    proof = automatic.examine(LOOSE, PLAIN)
    found = neighbours(Case(LOOSE, PLAIN, "small", 0, Suite(()), (proof,)))
    too = "gradient: mean_slope_sq/(2*mu) in place of mean_slope_sq/mu"
    assert found.lines == (f"proved too: without: eta_t <= 1/L; {too}",)
    quarter = replace(LOOSE, terms={"gradient": mean_slope_sq / (4 * s.mu)})
    assert neighbours(Case(quarter, PLAIN, "small", 0, Suite(()))).lines == ("proved with 2 times the right side",)
    stages = (Stage("proof", 0.0, (), (proof,)), Stage("neighbours", 0.0, found.lines))
    said = trial_text.verdict(Trial(LOOSE, "plain", "small", 0, stages, finished=True))
    assert said[0].startswith("loose [plain]: PROVED") and said[-1].startswith("PROVED too: without: eta_t <= 1/L;")


def test_worst_cases_say_from_where_on_a_constant_is_looked_for():
    best = Sharpening.within(60.0, LOOSE, PLAIN)
    assert abs(best.least("gradient") - sp.Rational(1, 2)) < NEAR
    whole = Claim("whole", "", "", "horizon", s.gap, {"start": s.L * s.Delta_0}, assumptions=(a.smooth,))
    assert Sharpening.within(60.0, whole, PLAIN).least("start") is None
