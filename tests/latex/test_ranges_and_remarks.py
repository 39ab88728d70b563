"""Sums that end at T itself, single bars, what a display says in words, and letters that are read for others."""

import re

import pytest
import sympy as sp

from fedbounds.errors import InputError
from fedbounds.latex.reader import read_text
from fedbounds.latex.surrounding_text import statement_and_remarks
from fedbounds.theory import symbols as s
from fedbounds.theory.path_quantities import mean_slope_sq
from fedbounds.theory.symbols import Delta_0, Delta_T, L, T, eta_0, gap, gap_sum

NOISY = "assume smooth, unbiased, full-participation, bounded-variance"
EXACT = f"{NOISY}, full-gradients"
GAP, START = r"\mathbb{E}[F(w_T)] - F^* \le ", r"L\|w_0-w^*\|^2"
MEAN = r"\frac{1}{T+1}\sum_{t=0}^T \mathbb{E}[F(w_t) - F^*] \le "
LATER, CLOSE = r"\sum_{t=1}^T ", r"\mathbb{E}\|w_T-w^*\|^2 \le (1-\eta\mu)^T\|w_0-w^*\|^2"
FALLING = r"\frac{L\|w_0-w^*\|^2}{T}"
SQUARE, SQUARES = s.sum_over_steps(mean_slope_sq), L**2 * Delta_0


def read(display, *lines):
    every = "\n".join(f"% fedbounds: {line}" for line in lines or (NOISY,))
    (claim,) = read_text(f"\\begin{{theorem}}\n{every}\n\\[ {display} \\]\n\\end{{theorem}}").values()
    return claim


def test_the_authors_T_is_one_less_where_a_sum_ends_at_it():
    claim = read(MEAN + START, EXACT, r"step \frac{1}{L\sqrt{T+1}}")
    assert claim.eta == 1 / (L * sp.sqrt(T)) and claim.lhs == gap_sum / T
    # No sum of no terms is spoken of, at which 1/T of the author would be -1.
    assert "T >= 1" in [item.statement for item in claim.assumptions]


def test_a_root_of_a_sum_is_not_the_root_of_its_expectation():
    display = r"\sqrt{\sum_{t<T} \|\nabla F(w_t)\|^2} \le L\|w_0-w^*\|"
    with pytest.raises(InputError, match="a power of what is random"):
        read(display, NOISY, "in expectation")
    assert read(display, EXACT).lhs == sp.sqrt(SQUARE)


@pytest.mark.parametrize(
    "between",
    [
        r", \qquad ",
        r" \qquad ",
        r" \quad\text{and}\quad ",
        r" \text{ and } ",
        r", \\ ",
        r" \\[2pt] & ",
        r" \\ \text{and} \\ ",
    ],
)
def test_several_statements_of_a_display_are_read_as_so_many_claims(between):
    both = read_text(
        rf"""\begin{{lemma}}\label{{x}}
% fedbounds: {NOISY}
\[ {GAP}{FALLING}{between}{CLOSE}. \]\end{{lemma}}"""
    )
    assert [(key, claim.lhs, claim.rhs) for key, claim in both.items()] == [
        ("x-1", gap, L * Delta_0 / T),
        ("x-2", Delta_T, (1 - eta_0 * s.mu) ** T * Delta_0),
    ]


@pytest.mark.parametrize(
    "remark, unread",
    [
        (r"\quad \text{for all } T \ge 3", [r"not read: $T \ge 3$"]),
        (
            r", \quad \text{if } \eta \le 1/L, \quad \text{where } C = 3",
            [r"not read: $\eta \le 1/L$", "not read: $C = 3$"],
        ),
        (r"\quad \text{(by smoothness)}", ['not read: "(by smoothness)": ']),
        (
            r"\quad \text{for convex } F \text{ with } \eta \le 1/L",
            [r"not read: $\eta \le 1/L$", 'not read: "for convex with": '],
        ),
    ],
)
def test_a_remark_in_words_is_left_out_and_it_is_said(remark, unread):
    claim = read(GAP + START + remark, NOISY)
    said = [re.split(r" \(line|write", line)[0] for line in claim.unread]
    assert claim.rhs == L * Delta_0 and said == unread


@pytest.mark.parametrize(
    "hostile",
    [r"\quad   " * 300 + "x", r"\quad \text{" + "(" * 3000 + ")" * 3000 + "x}", r"\text{a} " * 1000, r"\\" * 3000],
)
def test_a_display_of_any_length_is_taken_apart(hostile):
    """By patterns that went back and forth it would take longer than anybody waits."""
    assert statement_and_remarks(r"a \le b " + hostile).statement.startswith(r"a \le b")


def test_a_remark_that_a_line_repeats_is_no_warning():
    assert read(GAP + START + r" \quad \text{for } \eta \le 1/L", NOISY, r"assume \eta \le 1/L").unread == ()


def test_two_letters_with_indices_of_their_own_are_two_names():
    display = r"\mathbb{E}\|w_t-w^*\|^2 \le (1 - \lambda_{\min}/\lambda_{\max})^t \|w_0-w^*\|^2"
    assert (
        read(display, EXACT, r"let \lambda_{\min} = \mu, \lambda_{\max} = L").rhs == (1 - s.mu / L) ** s.t * Delta_0
    )


def test_rounds_are_counted_by_r_where_the_points_are_those_of_rounds():
    claim = read(r"\mathbb{E}\|w_{(r+1)\tau}-w^*\|^2 \le (1-\eta\mu)^{r+1} \|w_0-w^*\|^2", NOISY)
    assert (claim.lhs, claim.rhs) == (s.Delta_round_next, (1 - eta_0 * s.mu) ** (s.R + 1) * Delta_0)


def test_the_best_step_is_the_least_by_the_line_that_the_error_asks_for():
    display, line = r"f(x_{best}) - f(x^*) \le L\|x_0-x^*\|^2", r"let f(x_{best}) = \min_{t<T} f(x_t)"
    with pytest.raises(InputError) as wrong:
        read(display, EXACT)
    assert line in str(wrong.value)
    assert read(display, EXACT, line).lhs == s.least_over_steps(s.gap_t)


# Letters that are read for others, and lines that say what a letter is.


def of_smooth(display, *lines):
    return read(display, "assume smooth", *lines)


STEP = r"\mathbb{E}[f(%s_{t+1})] - f^\star \le \mathbb{E}[f(%s_t)] - f^\star"


@pytest.mark.parametrize("letter", ["x", r"\theta", "W", r"\mathbf{x}"])
def test_the_usual_letters_are_read_for_F_and_w_and_it_is_said(letter):
    claim = of_smooth(STEP.replace("%s", letter))
    assert claim.scope == "step" and [item.split(",")[0] for item in claim.unread] == [
        "f is read as F",
        f"{letter} is read as w",
    ]
    assert of_smooth(STEP.replace("%s", letter), "let f = F", f"let {letter} = w").unread == ()


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
        of_smooth(display, "assume unbiased")


def test_shares_of_the_samples_are_the_weights_by_a_line_that_the_error_asks_for():
    display = r"\mathbb{E}\|w_{t+1}-w^\star\|^2 \le \eta_t^2 \sum_{k=1}^{N} \left(\frac{n_k}{n}\right)^2 \sigma_k^2"
    line = r"let \frac{n_k}{n} = p_k"
    with pytest.raises(InputError) as wrong:
        of_smooth(display)
    assert line in str(wrong.value)
    assert of_smooth(display, line).rhs == s.eta**2 * s.sigma_p_sq
    with pytest.raises(InputError, match="declares one name"):
        of_smooth(display, r"let \frac{n_k}{n} = L")


def test_a_bar_that_a_line_makes_the_mean_over_steps_is_no_average_of_clients():
    display = r"\mathbb{E}[F(\bar{w}_t)] - F^\star \le L \|w_0 - w^\star\|^2"
    with pytest.raises(InputError, match="let t = T"):
        of_smooth(display, "assume unbiased", r"let \bar{w} = \bar{w}")
    assert of_smooth(display, "assume unbiased", r"let \bar{w} = \bar{w}", "let t = T").lhs == s.average_gap
    assert of_smooth(display, "assume unbiased").lhs == s.gap_t


def test_a_let_that_declares_nothing_is_refused_in_a_sentence():
    with pytest.raises(InputError, match="let declares NAME"):
        of_smooth(r"\mathbb{E}[F(w_T)] - F^\star \le L \|w_0 - w^\star\|^2", "let %f = F", r"assume \eta \le 1/L")
