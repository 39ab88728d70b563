"""What drafts commonly say, in LaTeX: it reads as in Python, and evidence uses it or names what it lacks."""

import pytest
from test_corpora import STEPS, THEOREMS

from fedbounds.errors import InputError
from fedbounds.evidence.exact.compare import examine, unexpressed
from fedbounds.evidence.kernel import found_proof
from fedbounds.evidence.prover import automatic
from fedbounds.evidence.sdp.multi_round.claim_at_run import applies as of_runs
from fedbounds.evidence.sdp.one_step.parameters import applies
from fedbounds.latex.reader import claims_of, read_text
from fedbounds.latex.writer import write
from fedbounds.plugins import claim_named
from fedbounds.referee.implication import PROVERS
from fedbounds.referee.limit_cases import battery
from fedbounds.referee.regimes import Suite
from fedbounds.referee.stage_context import Case
from fedbounds.referee.stages import read_back
from fedbounds.theory.claim_validation import require_steps
from fedbounds.theory.reading import READINGS
from fedbounds.theory.verdict import Status

PLAIN = READINGS["plain"]
DESCENT = r"smooth, strongly-convex, full-participation, unbiased, full-gradients, \tau = 1"
START = r"L \|w_0 - w^*\|^2"
# What is proved in a second; the sums and averages of tests/evidence/prover take longer.
PROVED = ("merely-convex", "gradient-norm")


def claim(name):
    (result,) = claims_of(THEOREMS["common"][name])
    return result


def expressed_by(mine):
    try:
        found_proof.statement(mine, PLAIN)
        rocq = True
    except InputError:
        rocq = False
    certified = applies(mine, PLAIN) or of_runs(mine, PLAIN)
    kinds = {"fractions": not unexpressed(mine, PLAIN), "certificates": certified, "Rocq": rocq}
    return tuple(name for name, able in kinds.items() if able)


@pytest.mark.parametrize("name", THEOREMS["common"])
def test_a_common_statement_says_which_evidence_lacks_what(name):
    """In fractions, and so in the search; certificates; Rocq. test_corpora sees how it reads."""
    mine = claim(name)
    kinds = tuple(dict(STEPS["common"][name])["kinds"].split(", "))
    assert expressed_by(mine) == kinds
    lines = read_back(Case(mine, PLAIN, "small", 0, Suite(()))).lines
    named = [line for line in lines if "cannot express" in line or "no statement of one round" in line]
    assert any(line.startswith("certificates") for line in named) == ("certificates" not in kinds)
    assert any(line.startswith("exact and the search") for line in named) == ("fractions" not in kinds)


@pytest.mark.parametrize("name", PROVED)
def test_the_prover_proves_what_it_expresses(name):
    verdict = automatic.examine(claim(name), PLAIN)
    assert verdict is not None and verdict.status is Status.HOLDS


def test_noise_that_grows_is_proved_of_a_file_as_of_the_shipped_claim():
    (back,) = read_text(write(claim_named("growth-step"), "repaired")).values()
    verdicts = [examiner(back, READINGS["repaired"]) for examiner in PROVERS]
    assert Status.HOLDS in [verdict and verdict.status for verdict in verdicts]


NEVER = {
    r"step \frac{\overline{\rho}}{L}": "depends on rho_bar, known after a run alone",
    "algorithm fedavg:server_step=2": "must be about FedAvg to be examined here",
}


@pytest.mark.parametrize("line", NEVER)
def test_what_no_run_can_be_is_read_and_named_as_not_expressible(line):
    text = rf"\mathbb{{E}}[F(w_T)] - F^* \le {START}"
    (mine,) = read_text(f"% fedbounds: assume full-participation\n% fedbounds: {line}\n\\[ {text} \\]").values()
    with pytest.raises(InputError) as wrong:
        mine.require_fedavg()
        require_steps(mine)
    assert NEVER[line] in str(wrong.value)


@pytest.mark.parametrize(
    "words, relation",
    [
        (r"With probability at least $1-\delta$,", "F(w_T) - F^*"),
        ("Then with high\nprobability", "F(w_T) - F^*"),
        ("", r"\mathbb{P}(F(w_T) - F^*)"),
        ("", r"\Pr[F(w_T) - F^*]"),
    ],
)
def test_a_statement_with_a_probability_is_refused_with_the_reason(words, relation):
    text = f"\\begin{{lemma}}\n% fedbounds: assume full-gradients, full-participation\n{words}\n"
    with pytest.raises(InputError, match="cannot be judged, as runs measure expectations"):
        read_text(f"{text}\\[ {relation} \\le {START} \\]\n\\end{{lemma}}")


def test_a_false_theorem_of_the_two_largest_losses_is_refuted_by_an_instance_in_fractions():
    lines = rf"assume {DESCENT}, weighting-fedmax:2, \eta_t \le \frac{{1}}{{L}}".replace("unbiased, ", "")
    step = r"\|w_{t+1}-w^*\|^2 \le (1-\eta_t\mu)\|w_t-w^*\|^2 + \eta_t^2 L\Gamma"
    (mine,) = read_text(f"% fedbounds: {lines}\n\\[ {step} \\]").values()
    cases = [instance for instance in battery(mine, mine.coverage(PLAIN)) if instance.N == 2]
    assert {instance.weighting for instance in cases} == {"fedmax:2"}
    assert Status.REFUTED in {examine(instance, mine, PLAIN).status for instance in cases}
