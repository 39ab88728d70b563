"""Sums that end at T itself or have another index, single bars, and what a display says in words."""

import re

import pytest
import sympy as sp

from fedbounds.errors import InputError
from fedbounds.latex.after_the_statement import statement_and_remarks
from fedbounds.latex.reader import read_text
from fedbounds.theory import symbols as s
from fedbounds.theory.point_quantities import mean_slope_sq
from fedbounds.theory.symbols import Delta_0, Delta_T, L, T, eta, eta_0, gap, gap_0, gap_sum, sigma_sq

NOISY = "assume smooth, unbiased, full-participation, bounded-variance"
EXACT = f"{NOISY}, full-gradients"
GAP, START = r"\mathbb{E}[F(w_T)] - F^* \le ", r"L\|w_0-w^*\|^2"
MEAN = r"\frac{1}{T+1}\sum_{t=0}^T \mathbb{E}[F(w_t) - F^*] \le "
ONE = "a display must have one statement"
SLOPES = r"\|\nabla F(w_%s)\|^2 \le L^2\|w_0-w^*\|^2"
LATER, CLOSE = r"\sum_{t=1}^T ", r"\mathbb{E}\|w_T-w^*\|^2 \le (1-\eta\mu)^T\|w_0-w^*\|^2"
FALLING = r"\frac{L\|w_0-w^*\|^2}{T}"
ROOTS = r"\|\nabla F(w_t)\| \le L \|w_0-w^*\|"
SQUARE, SQUARES = s.sum_over_steps(mean_slope_sq), L**2 * Delta_0


def read(display, *lines):
    every = "\n".join(f"% fedbounds: {line}" for line in lines or (NOISY,))
    (claim,) = read_text(f"\\begin{{theorem}}\n{every}\n\\[ {display} \\]\n\\end{{theorem}}").values()
    return claim


@pytest.mark.parametrize(
    "display, left, right",
    [
        (MEAN + r"\frac{\|w_0-w^*\|^2}{\eta(T+1)}", gap_sum / T, Delta_0 / (eta_0 * T)),
        (MEAN + START + r" - L\mathbb{E}\|w_{T+1}-w^*\|^2", gap_sum / T, L * Delta_0 - L * Delta_T),
        (LATER + r"\mathbb{E}[F(w_t) - F^*] \le T " + START, gap_sum - gap_0 + gap, T * L * Delta_0),
        (
            LATER + r"\mathbb{E}\|w_t-w^*\|^2 \le \|w_0-w^*\|^2",
            s.sum_over_steps(s.Delta) - Delta_0 + Delta_T,
            Delta_0,
        ),
        (r"\mathbb{E}[F(\frac1T\sum_{t=1}^T w_t)] - F^* \le " + START, s.later_average_gap, L * Delta_0),
        (r"\mathbb{E}[F(\bar w_{1:T})] - F^* \le " + START, s.later_average_gap, L * Delta_0),
        (r"\sum_{s<T} " + SLOPES % "s", SQUARE, SQUARES),
        (r"\sum_{i=0}^{T-1} " + SLOPES % "i", SQUARE, SQUARES),
        (r"\sum_{t \in \{0,1,\dots,T-1\}} " + SLOPES % "t", SQUARE, SQUARES),
        (r"\min_{t=0,\ldots,T-1} " + SLOPES % "t", s.least_over_steps(mean_slope_sq), SQUARES),
        (r"\min_{0\le t<T} " + ROOTS, sp.sqrt(s.least_over_steps(mean_slope_sq)), L * sp.sqrt(Delta_0)),
        (r"|w_T-w^*|^2 \le |w_0-w^*|^2", Delta_T, Delta_0),
        (GAP + r"(F(w_0) - F^*) exp(-T)", gap, gap_0 * sp.exp(-T)),
        (GAP + r"(F(w_0) - F^*) \mathrm{exp}(-T)", gap, gap_0 * sp.exp(-T)),
        (r"\begin{aligned} " + GAP + "&" + START + r" \\ &\quad + \frac{\sigma^2}{L} \end{aligned}", gap, None),
        (GAP + r"L \cdot \\[2pt] &\quad \|w_0 \\ - w^*\|^2", gap, L * Delta_0),
        (r"\begin{array}{rl} " + GAP + "&" + START + r" \end{array} \qquad (2.1)", gap, L * Delta_0),
    ],
)
def test_ranges_bars_and_layout_are_read(display, left, right):
    claim = read(display, EXACT)
    assert claim.lhs == left and claim.unread == ()
    assert sp.simplify(claim.rhs.subs(eta, eta_0) - (L * Delta_0 + sigma_sq / L if right is None else right)) == 0


def test_the_authors_T_is_one_less_where_a_sum_ends_at_it():
    claim = read(MEAN + START, EXACT, r"step \frac{1}{L\sqrt{T+1}}")
    assert claim.eta == 1 / (L * sp.sqrt(T)) and claim.lhs == gap_sum / T
    # No sum of no terms is spoken of, at which 1/T of the author would be -1.
    assert "T >= 1" in [item.statement for item in claim.assumptions]


@pytest.mark.parametrize(
    "display, said",
    [
        (MEAN + r"L\mathbb{E}\|w_T-w^*\|^2", "the points end with w_{T.1}"),
        (MEAN + START + r" + \sum_{t=0}^{T-1} \eta_t^2 L^3 \|w_0-w^*\|^2", "not t=0 to T-1"),
        (r"\sum_{s<T} " + SLOPES % "t", "the index of this sum is s, not t"),
        (r"\sum_{s<T} \eta_t^2 \le \frac{1}{L^2}", "the index of this sum is s, not t"),
        (r"\min_{t\in[T]} " + SLOPES % "t", "must be over all of them"),
        (r"\mathbb{E}\min_{t<T} " + ROOTS, "a power inside an expectation varies"),
        (r"\mathbb{E}\Big(\sum_{t<T} (F(w_t)-F^*)\Big)^2 \le (F(w_0)-F^*)^2", "a power inside an expectation varies"),
        (r"\mathbb{E}_i\|\nabla F_i(w_t)\|^2 \le L^2 \mathbb{E}\|w_t-w^*\|^2", "must name their weights"),
        (LATER + r"\eta_t \mathbb{E}[F(w_t) - F^*] \le " + START, "must be of w_t alone"),
        (LATER + r"\mathbb{E}[F(w_{t+1}) - F^*] \le " + START, "must be of w_t alone"),
        (LATER + r"\mathbb{E}\|w_t^i-w_t\|^2 \le \|w_0-w^*\|^2", "must be of w_t alone"),
        (LATER + r"t\mathbb{E}[F(w_t) - F^*] \le " + START, "must be of w_t alone"),
        (LATER + r"\mathbb{E}[F(w_t) - F^*] \le \sigma^2", "start 1 if the run starts at w_1"),
        (
            LATER + r"\mathbb{E}[F(w_t) - F^*] \le " + START + r" + \sum_{t=0}^T L^3\eta_t^2\|w_0-w^*\|^2",
            "not t=1 to T",
        ),
        (r"\min_{1\le t\le T} \mathbb{E}[F(w_t) - F^*] \le " + START, "must be over all of them"),
        (
            r"\min_{t<T} \mathbb{E}\|\nabla F(w_t)\|^2 \le L^2\|w_0-w^*\|^2",
            "state the mean over steps, which is more",
        ),
        (r"\mathbb{E}[|F(w_t)-F^*|] \le " + START, "a norm must be of vectors"),
        (r"\mathbb{E}\|w_t-w^*\|^2 \le (1-\alpha\mu)^t \|w_0-w^*\|^2", r"let .alpha = .eta"),
        (GAP + START + r"\quad \text{almost surely}", "put words outside of the display"),
        (GAP + START + r"\quad \text{as } T \to \infty", "put words outside of the display"),
        (GAP + START + r"\quad \text{for large } T", "put words outside of the display"),
        (GAP + START + r"\quad \text{for sufficiently small } \eta", "put words outside of the display"),
        (GAP + START + r"\quad \text{(in probability)}", "put words outside of the display"),
        (GAP + FALLING + r" \text{ and } \eta \le 1/L", ONE),
        (GAP + FALLING + r"\quad\text{and}", "put words outside of the display"),
        (GAP + FALLING + r"\quad\text{or}\quad " + CLOSE, "put words outside of the display"),
        (GAP + FALLING + r"\quad\Rightarrow\quad " + CLOSE, ONE),
        (GAP + FALLING + r"\text{ and } \eta\sigma^2", ONE),
        (GAP + FALLING + r", \qquad T \ge 3", ONE),
        (GAP + FALLING + r", \qquad \eta_t = \frac{1}{L}", ONE),
        (GAP + FALLING + r", \qquad \mathbb{E}\|\nabla F(w_T)\|^2 \le G^2", ONE),
        (GAP + FALLING + r" \\ \|w_0-w^*\|^2 \le \frac{\sigma^2}{L^2}", ONE),
        (GAP + FALLING + ", " + CLOSE, ONE),
        (GAP + START + r" \text{ (by convexity) } + F(w_0) - F^*", "put words outside of the display"),
        (GAP + START + r" \text{ with probability at least } 1/2", "statement with a probability"),
        (GAP + r"\begin{cases} L & T > 1 \\ 0 \end{cases}", "may not have cases"),
        (GAP + START + r", \eta \le 1", ONE),
        (GAP + START + r"\qquad (L)", ONE),
        (GAP + START + r" \qquad \eta \le 1/L", ONE),
        (GAP + START + r" & \eta \le 1/L", ONE),
        (r"\begin{gathered} " + GAP + START + r" \\ \eta \le 1/L \end{gathered}", ONE),
        (GAP + r"L \\ \|w_0-w^*\|^2", ONE),
    ],
)
def test_what_would_be_another_statement_is_refused(display, said):
    for lines in ((NOISY,), (NOISY, "in expectation")):
        with pytest.raises(InputError, match=said):
            read(display, *lines)


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
    "display, left",
    [
        (r"\mathbb{E}_i \left[\|\nabla F_i(w)\|^2\right] \le 2L(F(w)-F^*)", s.QUANTITIES["slope_sq"]),
        (r"\mathbb{E}\,\mathbb{E}_k \|w_t^k - \bar w_t\|^2 \le \eta_t^2 \tau^2 \sigma^2", s.drift),
        (r"\mathbb{E}_j[F_j(w)] - F^* \le \frac{1}{2\mu} \|\nabla F(w)\|^2", s.gap_t),
    ],
)
def test_an_expectation_over_clients_is_their_mean_where_weights_are_equal(display, left):
    assert read(display, f"{NOISY}, equal-p").lhs == left


@pytest.mark.parametrize(
    "display, said",
    [
        (r"\mathbb{E}_i \|w_{t+1}-w^*\|^2 \le \|w_t-w^*\|^2", "must be of a number that has their index"),
        (r"\mathbb{E}_i[\nabla F_i(w)] \le 2L(F(w)-F^*)", "must be of a number that has their index"),
        (r"\mathbb{E}_k \|w_{k+1}-w^*\|^2 \le \|w_k-w^*\|^2", "an expectation with a condition"),
        (r"\mathbb{E}_{i_t} \|\nabla F_i(w)\|^2 \le 2L(F(w)-F^*)", "an expectation with a condition"),
        (r"\mathbb{E}_i^2 \|\nabla F_i(w)\|^2 \le 2L(F(w)-F^*)", "must name their weights"),
    ],
)
def test_an_expectation_that_is_no_mean_over_clients_is_refused(display, said):
    with pytest.raises(InputError, match=said):
        read(display, f"{NOISY}, equal-p")


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
