"""Letters that are read for others, and lines that say what a letter is."""

import pytest

from fedbounds.errors import InputError
from fedbounds.latex.reader import read_text
from fedbounds.theory import symbols as s
from fedbounds.theory.claim import Claim


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
