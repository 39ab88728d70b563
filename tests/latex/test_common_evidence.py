"""What drafts commonly say, in LaTeX: it reads as in Python, and evidence uses it or names what it lacks."""

import pytest

from fedbounds.errors import InputError
from fedbounds.evidence.exact.compare import examine, unexpressed
from fedbounds.evidence.kernel import found_proof
from fedbounds.evidence.prover import automatic
from fedbounds.evidence.sdp.multi_round.claim_at_run import applies as of_runs
from fedbounds.evidence.sdp.one_step.parameters import applies
from fedbounds.latex.reader import read_text
from fedbounds.latex.writer import write
from fedbounds.plugins import claim_named
from fedbounds.referee.implication import PROVERS
from fedbounds.referee.limit_cases import battery
from fedbounds.referee.regime import Suite
from fedbounds.referee.stage_context import Case
from fedbounds.referee.stages import read_back
from fedbounds.theory import symbols as s
from fedbounds.theory.expressions import require_steps
from fedbounds.theory.reading import READINGS
from fedbounds.theory.verdict import Status

PLAIN = READINGS["plain"]
EVERYBODY = "smooth, strongly-convex, full-participation, unbiased"
DESCENT = rf"{EVERYBODY}, full-gradients, \tau = 1"
STEP = r"\mathbb{E}\|w_{t+1} - w^*\|^2 \le \mathbb{E}\|w_t - w^*\|^2"
DRIFT = r"\mathbb{E}\left[\sum_i \alpha_t^i \|w_t - w_t^i\|^2\right] \le 16 (\tau-1)^2 \eta_t^2 G^2"
SLOPES = s.QUANTITIES["mean_slope_sq"]
START = r"L \|w_0 - w^*\|^2"
# name -> comment lines, display, both sides in Python, and what expresses them: in fractions (and so the search),
# certificates, Rocq.
ALL, NO_ROCQ, FRACTIONS = ("fractions", "certificates", "Rocq"), ("fractions", "certificates"), ("fractions",)
SAID = {
    "constant steps": (
        [rf"assume {DESCENT}, \eta \le \frac{{1}}{{L}}"],
        r"\|w_{t+1} - w^*\|^2 \le (1 - \eta\mu) \|w_t - w^*\|^2",
        (s.Delta_next, (1 - s.eta * s.mu) * s.Delta),
        ALL,
    ),
    "constant steps by key": ([f"assume {EVERYBODY}, constant-steps"], STEP, (s.Delta_next, s.Delta), ALL),
    "rounds": (
        [f"assume {EVERYBODY}"],
        rf"\mathbb{{E}}[F(w_{{R\tau}})] - F^* \le \frac{{{START}}}{{R}}",
        (s.gap_round, s.L * s.Delta_0 / s.R),
        ("fractions", "Rocq"),
    ),
    "one weighting": (["assume smooth, strongly-convex, weighting-fedmax:3"], STEP, (s.Delta_next, s.Delta), NO_ROCQ),
    "fixed weights": (
        ["assume weighting-fixed:0.3,0.7, smooth, strongly-convex"],
        STEP,
        (s.Delta_next, s.Delta),
        NO_ROCQ,
    ),
    "any weighting": (
        ["assume bounded-gradient, full-participation"],
        DRIFT,
        (s.drift, 16 * (s.tau - 1) ** 2 * s.eta**2 * s.G_sq),
        ALL,
    ),
    "m of N": (
        ["assume smooth, strongly-convex, selection-without-replacement"],
        rf"{STEP} + \frac{{\eta_t^2 G^2}}{{m}}",
        (s.Delta_next, s.Delta + s.eta**2 * s.G_sq / s.m),
        FRACTIONS,
    ),
    "each with a probability": (
        ["assume smooth, strongly-convex, independent-selection"],
        STEP,
        (s.Delta_next, s.Delta),
        FRACTIONS,
    ),
    "merely convex": (
        [r"assume smooth, convex, full-participation, unbiased, full-gradients, \tau = 1, \eta_t \le \frac{1}{L}"],
        r"\|w_{t+1} - w^*\|^2 \le \|w_t - w^*\|^2",
        (s.Delta_next, s.Delta),
        ALL,
    ),
    "weighted average": (
        [f"assume {EVERYBODY}"],
        rf"\mathbb{{E}}[F(\bar w_T^\eta)] - F^* \le {START}",
        (s.eta_average_gap, s.L * s.Delta_0),
        FRACTIONS,
    ),
    "best iterate": (
        [f"assume {EVERYBODY}"],
        rf"\mathbb{{E}} \min_{{t<T}} (F(w_t) - F^*) \le {START}",
        (s.least_over_steps(s.gap_t), s.L * s.Delta_0),
        FRACTIONS,
    ),
    "best loss": (
        [f"assume {EVERYBODY}, full-gradients"],
        rf"\min_{{0 \le t \le T - 1}} F(w_t) - F^* \le {START}",
        (s.least_over_steps(s.gap_t), s.L * s.Delta_0),
        FRACTIONS,
    ),
    "server step": (
        [rf"assume {DESCENT}, \eta_s \eta_t (L + \mu) \le 2"],
        r"\|w_{t+1} - w^*\|^2 \le (1 - \eta_s \eta_t \mu)^2 \|w_t - w^*\|^2",
        (s.Delta_next, (1 - s.eta_s * s.eta * s.mu) ** 2 * s.Delta),
        FRACTIONS,
    ),
    "two step sizes": (
        [f"assume {EVERYBODY}", r"step \frac{1}{8 L \tau \eta_s}"],
        rf"\mathbb{{E}}[F(w_{{R\tau}})] - F^* \le {START}",
        (s.gap_round, s.L * s.Delta_0),
        FRACTIONS,
    ),
    "gradient norm": (
        ["assume smooth, strongly-convex"],
        r"\|\nabla F(w)\|^2 \le 2 L (F(w) - F^*)",
        (SLOPES, 2 * s.L * s.gap_t),
        ALL,
    ),
    "sum on the left": (
        [rf"assume {DESCENT}, \eta \le \frac{{1}}{{L}}"],
        r"\sum_{t<T} (F(w_t) - F^*) \le \frac{\|w_0 - w^*\|^2}{2\eta}",
        (s.gap_sum, s.Delta_0 / (2 * s.eta_0)),
        ("fractions", "Rocq"),
    ),
    "sum on the right": (
        [f"assume {DESCENT}"],
        r"\|w_T - w^*\|^2 \le \|w_0 - w^*\|^2 + \sum_{t=0}^{T-1} \eta_t (F(w_t) - F^*)",
        (s.Delta_T, s.Delta_0 + s.sum_over_steps(s.eta * s.gap_t)),
        ("fractions", "Rocq"),
    ),
    "sum over rounds": (
        [f"assume {EVERYBODY}"],
        rf"\frac{{1}}{{R}} \sum_{{r<R}} \mathbb{{E}}[F(w_{{r\tau}}) - F^*] \le {START}",
        (s.sum_over_rounds(s.gap_round) / s.R, s.L * s.Delta_0),
        FRACTIONS,
    ),
    "growing noise": (
        [f"assume {EVERYBODY}, growing-variance"],
        rf"{STEP} + \eta_t^2 \sigma_0^2 + c \eta_t^2 \mathbb{{E}}\|\nabla F(w_t)\|^2",
        (s.Delta_next, s.Delta + s.eta**2 * s.sigma_0_sq + s.growth * s.eta**2 * SLOPES),
        NO_ROCQ,
    ),
    "Polyak-Lojasiewicz": (
        [r"assume smooth, polyak-lojasiewicz"],
        r"F(w) - F^* \le \frac{1}{2\mu} \|\nabla F(w)\|^2",
        (s.gap_t, SLOPES / (2 * s.mu)),
        ALL,
    ),
}
# What is proved in a second; the sums and averages of tests/evidence/prover take longer.
PROVED = ("merely convex", "gradient norm")


def claim(name):
    lines, display, *_ = SAID[name]
    text = "".join(f"% fedbounds: {line}\n" for line in lines)
    (result,) = read_text(f"{text}\\[ {display} \\]").values()
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


@pytest.mark.parametrize("name", SAID)
def test_a_common_statement_reads_as_in_python_and_says_which_evidence_lacks_what(name):
    _, _, (left, right), kinds = SAID[name]
    mine = claim(name)
    assert mine.lhs - left == 0 and mine.rhs.expand() - right.expand() == 0
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
