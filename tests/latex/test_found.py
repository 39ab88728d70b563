"""Displays that a search gave, in the order found (found.tex): each reads as meant, or is refused for the reason."""

import pytest
import sympy as sp
from corpus import HERE, assert_refused, assert_says, labelled, with_asked

from fedbounds.errors import InputError
from fedbounds.latex.reader import read_text
from fedbounds.theory import symbols as s
from fedbounds.theory.claim import Claim

THEOREMS = labelled("found.tex")
ROOT = sp.sqrt(s.Delta_0 * s.G_sq / s.T)
SQUARES = s.sum_over_steps(s.eta**2)
# label -> the lines that its errors ask for, one after the other, and both sides, as the author means them.
READ = {
    "gd-contraction": ((), s.gap_t, (1 - s.mu / s.L) ** s.t * s.gap_0),
    "svrg": ((), s.gap_t, 4 * s.L * s.Delta_0 / s.t),
    "gd-linear": ((), s.gap_t, (1 - s.eta_0 * s.mu) ** s.t * s.gap_0),
    "bold-contraction": ((), s.Delta, (1 - s.eta_0 * s.mu) ** s.t * s.Delta_0),
    "sgd-rate": (("units as written",), s.gap_t, 2 * s.sigma_sq / (s.mu**2 * s.t)),
    "exponential-floor": (
        ("let n = N", r"let E = \tau", "units as written"),
        s.gap,
        s.L / s.mu * sp.exp(-s.mu * s.T / s.L) * s.gap_0 + s.sigma_sq / (s.mu * s.N) + s.tau * s.Gamma**2 / s.mu,
    ),
    "mean-gap": (
        (r"let D = \|w_0-w^\star\|",),
        s.gap_sum / s.T,
        s.Delta_0 / (2 * s.eta_0 * s.T) + s.eta_0 * s.G_sq / 2,
    ),
    "average-tuned": ((r"let D = \|w_0-w^\star\|",), s.average_gap, ROOT),
    "average-at-t": ((r"let \bar{x} = \bar{w}", "let t = T"), s.average_gap, ROOT),
    "weighted-sum": (
        (r"let \alpha = \eta", "units as written"),
        2 * s.mu * s.sum_over_steps(s.eta * s.gap_t),
        s.Delta_0 + s.L * (s.G_sq + s.sigma_sq) * SQUARES,
    ),
}
ORDER = "order without constants"
# label -> what the refusal says.
REFUSED = {
    "proximal-descent": r"received \rho",
    "below-epsilon": r"received \epsilon",
    "order-of-clients": ORDER,
    "proximal-order": ORDER,
    "rounds-tuned": r"received E",
    "last-or-any": "received K",
    "order-of-epochs": ORDER,
    "weighted-slopes": "received c_{t}",
    "local-pl": "received c_{t}",
    "quantised-rate": r"received \epsilon",
    "quantised-slopes": r"received \epsilon",
    "quantised-tuned": r"received \epsilon",
    "two-orders": ORDER,
    "page": r"received \Delta_{0}",
    "storm": "received a",
    "order-of-noise": ORDER,
    "order-of-average": "mean over steps or over clients",
    "weighted-average": "with other weights, such as t + 1, it is neither",
    "gradient-confusion": r"received \rho",
    "sum-from-one": "must be of w_t alone",
    "error-feedback": r"received \tilde{w}_{t}",
    "diloco": ORDER,
    "langevin": r"received \beta",
}


def test_eleven_of_thirty_four_are_read_and_five_of_them_at_once():
    # A chain of two relations is two claims.
    assert set(THEOREMS) == {*READ, *REFUSED, "momentum"}
    assert (len(READ) + 1, len(REFUSED)) == (11, 23)
    assert sum(not lines for lines, _, _ in READ.values()) + 1 == 5


def test_both_relations_of_a_chain_are_read():
    shown = (HERE / "found.tex").read_text().partition(r"\begin{theorem}\label{momentum}")[2]
    both = read_text(r"\begin{theorem}\label{momentum}" + shown.partition(r"\end{theorem}")[0] + r"\end{theorem}")
    right = (1 - s.mu / (2 * s.L)) ** s.t * s.Delta_0
    assert [(claim.lhs, claim.rhs, claim.kind) for claim in both.values()] == [
        (s.Delta, right, "inequality"),
        (right, right, "identity"),
    ]


@pytest.mark.parametrize("label", READ)
def test_a_display_reads_as_meant_with_the_lines_that_its_errors_ask_for(label):
    lines, *sides = READ[label]
    assert_says(with_asked(THEOREMS[label], lines), sides)


@pytest.mark.parametrize("label", REFUSED)
def test_a_display_is_refused_for_the_reason(label):
    assert_refused(THEOREMS[label], REFUSED[label])


def read(display: str, *lines: str) -> Claim:
    every = "\n".join(f"% fedbounds: {line}" for line in ("assume smooth", *lines))
    (claim,) = read_text(f"\\begin{{theorem}}\\label{{x}}\n{every}\n\\[ {display} \\]\n\\end{{theorem}}").values()
    return claim


STEP = r"\mathbb{E}[f(%s_{t+1})] - f^\star \le \mathbb{E}[f(%s_t)] - f^\star"


@pytest.mark.parametrize("letter", ["x", r"\theta", "W", r"\mathbf{x}"])
def test_the_usual_letters_are_read_for_F_and_w_and_it_is_said(letter):
    claim = read(STEP.replace("%s", letter))
    assert claim.scope == "step" and [item.split(",")[0] for item in claim.unread] == [
        "f is read as F",
        f"{letter} is read as w",
    ]
    assert read(STEP.replace("%s", letter), "let f = F", f"let {letter} = w").unread == ()


@pytest.mark.parametrize(
    "display",
    [
        r"\|w_t - x_t\|^2 \le \|w_0 - w^\star\|^2",  # w is there
        r"\|x_t - \theta_t\|^2 \le \|x_0 - x^\star\|^2",  # two letters
        r"\mathbb{E}[f(\theta) - f(x_t)] \le L \|x_0 - x^\star\|^2",  # two letters
        r"\|x_{t+1} - x^\star\|^2 \le \mathcal{F}_t",  # a sigma-algebra
        r"\|x_{t+1} - x^\star\|^2 \le \|\mathbf{x}_t - x^\star\|^2",  # two letters
        r"F(w_t) - f(w_t) \le L \|w_0 - w^\star\|^2",  # F is there
        r"\mathbb{E}\|\bar{x}_{t+1} - x^\star\|^2 \le \mathbb{E}\|\bar{x}_t - x^\star\|^2",  # a mean over what?
    ],
)
def test_a_letter_that_may_be_another_is_asked_about(display):
    with pytest.raises(InputError, match="let "):
        read(display, "assume unbiased")


def test_shares_of_the_samples_are_the_weights_by_a_line_that_the_error_asks_for():
    display = r"\mathbb{E}\|w_{t+1}-w^\star\|^2 \le \eta_t^2 \sum_{k=1}^{N} \left(\frac{n_k}{n}\right)^2 \sigma_k^2"
    line = r"let \frac{n_k}{n} = p_k"
    with pytest.raises(InputError) as wrong:
        read(display)
    assert line in str(wrong.value)
    assert read(display, line).rhs == s.eta**2 * s.sigma_p_sq
    with pytest.raises(InputError, match="declares one name"):
        read(display, r"let \frac{n_k}{n} = L")


def test_a_bar_that_a_line_makes_the_mean_over_steps_is_no_average_of_clients():
    display = r"\mathbb{E}[F(\bar{w}_t)] - F^\star \le L \|w_0 - w^\star\|^2"
    with pytest.raises(InputError, match="let t = T"):
        read(display, "assume unbiased", r"let \bar{w} = \bar{w}")
    assert read(display, "assume unbiased", r"let \bar{w} = \bar{w}", "let t = T").lhs == s.average_gap
    assert read(display, "assume unbiased").lhs == s.gap_t


def test_a_let_that_declares_nothing_is_refused_in_a_sentence():
    with pytest.raises(InputError, match="let declares NAME"):
        read(r"\mathbb{E}[F(w_T)] - F^\star \le L \|w_0 - w^\star\|^2", "let %f = F", r"assume \eta \le 1/L")


def test_the_page_says_how_many_displays_are_read():
    import test_collected as collected
    import test_displays as displays
    import test_fresh as fresh
    import test_from_memory as memory

    page = (HERE.parents[1] / "docs" / "howto" / "latex.md").read_text().replace("\n", " ")
    once = sum(not lines for lines, _, _ in READ.values()) + 1
    others = (collected, displays, fresh)
    every = sum(len(module.THEOREMS) for module in others) + len(THEOREMS)
    read_at_once = sum(len(module.READ) for module in others) + once
    asked = [*collected.ANSWERED, *displays.ANSWERED, *fresh.ASKED]
    assert f"Of {every} displays of public papers, notes and drafts, {read_at_once} read as their authors" in page
    assert f"and {len(asked) + len(READ) + 1 - once} with the lines that errors ask for" in page
    explicit = len(fresh.THEOREMS) - len(fresh.OTHERS)
    assert f"the {len(fresh.THEOREMS)} among them that a rule collected last, {explicit} are explicit" in page
    assert f"inequalities: {len(fresh.READ)} and {len(fresh.ASKED)} of them" in page
    later = (len(fresh.LATER_THEOREMS), len(fresh.LATER_READ), len(fresh.LATER_ASKED))
    assert "Of {} found after that, {} and {}; ".format(*later) in page
    assert f"of {len(memory.THEOREMS)} written from memory, {len(memory.AT_ONCE)} and {len(memory.ANSWERED)}" in page
