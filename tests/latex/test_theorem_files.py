"""Theorem files: what is written reads back as the same claim, displays read as their papers mean them."""

import re

import pytest
import sympy as sp

from fedbounds.errors import InputError
from fedbounds.latex.reader import read_text
from fedbounds.latex.writer import write
from fedbounds.plugins import claims
from fedbounds.referee import stages
from fedbounds.referee.regimes import Suite
from fedbounds.referee.stage_context import Case, Stage
from fedbounds.referee.trial import Trial
from fedbounds.report.claim_text import read_back
from fedbounds.report.trial_text import to_text
from fedbounds.theory import points as at
from fedbounds.theory import symbols as s
from fedbounds.theory.claim import in_readings
from fedbounds.theory.reading import READINGS

EVERY = list(in_readings(claims()))


@pytest.mark.parametrize("part", range(6))
def test_every_claim_in_every_reading_reads_back_as_the_same(part):
    for claim, reading in EVERY[part::6]:
        (back,) = read_text(write(claim, reading)).values()
        repaired = reading == "repaired"
        assert dict(back.terms) == claim.stated(repaired)
        assert back.lhs == sp.sympify(claim.lhs)
        extra = claim.repair.assumptions if repaired and claim.repair else ()
        assert [assumption.key for assumption in back.assumptions] == [
            item.key for item in (*claim.assumptions, *extra)
        ]
        same = ("key", "title", "source", "scope", "kind", "eta", "algorithm", "definitions")
        assert all(getattr(back, name) == getattr(claim, name) for name in same)
        assert back.readings == (reading,)


DRAFT = r"""
\begin{lemma}\label{mine}
% fedbounds: assume smooth, strongly-convex, 4 L \eta_t \le 1
% fedbounds: let V_{t} = \sum_i p_i \Vert \nabla F_i(w_t) \Vert^2
Let $V_t = \sum_i p_i \Vert\nabla F_i(w_t)\Vert^2$, \(\mu>0\), $\eta_t\le \frac{1}{4L}$,
$\eta_t < 1/(5\nu)$ and $T$.
\[ \mathbb{E}[V_t] \le L \left(\mathbb{E}[F(w_t)] - F^\star\right) + L^2 \eta_t^2 \sigma^2 \]
\end{lemma}
"""


def test_a_hypothesis_in_the_text_that_no_comment_line_repeats_is_a_warning_above_the_verdict():
    (claim,) = read_text(DRAFT).values()
    assert claim.unread == (r"not read: $\eta_t < 1/(5\nu)$ (line 6): write it as % fedbounds: assume ...",)
    assert f"Warning: {claim.unread[0]}" in read_back(claim)
    line = stages.read_back(Case(claim, READINGS["plain"], "small", 0, Suite(()))).lines
    result = Trial(claim, "plain", "small", 0, (Stage("read back", 0.0, line),), True)
    assert to_text(result).startswith(f"Warning: {claim.unread[0]}\n")
    assert "% fedbounds: assume bounded-variance." in to_text(result)


def test_a_quantity_has_the_name_that_its_author_declared():
    difference = DRAFT.replace(r"F_i(w_t)", r"F_i(w_t) - \nabla F_i(w^\star)")
    (claim,) = read_text(difference).values()
    assert str(claim.lhs) == "V"


def test_a_step_tuned_to_the_horizon_is_refused_of_a_claim_about_every_step():
    text = DRAFT.replace("% fedbounds: let V", "% fedbounds: step \\frac{1}{L \\sqrt{T}}\n% fedbounds: let V")
    with pytest.raises(InputError, match="a step size tuned to T is one of a claim about the horizon T alone"):
        read_text(text)


def test_weightings_selections_and_algorithms_are_said_in_comment_lines():
    words = "selection-without-replacement, weighting-fedmax:3, convex, constant-steps"
    text = DRAFT.replace("assume smooth", f"algorithm fedavg:server_step=2\n% fedbounds: assume {words}, smooth")
    (claim,) = read_text(text).values()
    assert claim.algorithm == "fedavg:server_step=2"
    assert [assumption.key for assumption in claim.assumptions[:4]] == words.split(", ")


LEAST = r"""
% fedbounds: assume smooth
\[ \mathbb{E}\min_{t<T} (F(w_t) - F^\star) \le L \|w_0 - w^\star\|^2 \]
"""


def test_the_least_value_on_a_path_is_read_and_a_probability_is_not():
    (claim,) = read_text(LEAST).values()
    assert (str(claim.lhs), claim.scope) == ("least_gap_t", "horizon")
    for least in (r"F(w_t)", r"(F(w_t) - F^\star)", r"\|w_t - w^\star\|^2", r"\|\nabla F(w_t)\|^2"):
        with pytest.raises(InputError, match="outside an expectation, but received"):
            read_text(LEAST.replace(r"\mathbb{E}\min_{t<T} (F(w_t) - F^\star)", rf"\min_{{t<T}} {least}"))
    with pytest.raises(InputError, match="a statement with a probability cannot be judged"):
        read_text(DRAFT.replace(r"\mathbb{E}[V_t]", r"\Pr[V_t \ge 1]"))


def one_display(text, *lines):
    words = "assume smooth, full-gradients, full-participation, unbiased"
    return read_text("\n".join(f"% fedbounds: {line}" for line in (words, *lines)) + f"\n\\[ {text} \\]")


def test_an_optimal_value_that_both_sides_hold_cancels():
    (claim,) = one_display(r"F(w_{t+1}) \le F(w_t) - \frac{\eta}{2} \|\nabla F(w_t)\|^2").values()
    assert claim.lhs.expression == at.F(at.w_next) - at.F_star
    assert claim.rhs == s.gap_t - s.eta * s.QUANTITIES["mean_slope_sq"] / 2
    with pytest.raises(InputError, match="must be subtracted"):
        one_display(r"F(w_{t+1}) \le 2 F(w_t)")


@pytest.mark.parametrize("mean, quantity", [(r"\bar{w}", "average_gap"), ("w", "gap")])
def test_a_mean_that_may_be_over_steps_or_over_clients_is_asked_about(mean, quantity):
    text = r"F(\bar{w}_T) - F^\star \le L \|w_0 - w^\star\|^2"
    with pytest.raises(InputError, match="over steps or over clients"):
        one_display(text)
    with pytest.raises(InputError, match="with equal weights, or"):
        one_display(text.replace("w_T", "x_T"))
    (claim,) = one_display(text, rf"let \bar{{w}} = {mean}").values()
    assert str(claim.lhs) == quantity


def test_comments_of_markdown_mark_a_theorem():
    (claim,) = read_text("<!-- fedbounds: assume smooth -->\r\n$$ F(w) - F^* \\le L \\|w - w^*\\|^2 $$").values()
    assert claim.lhs == s.gap_t
    with pytest.raises(InputError, match="at most 4000000 characters"):
        read_text(" " * 4_000_001)


@pytest.mark.parametrize(
    "display",
    [
        r"\mathbb{E}[F(w)] - F^* \le \frac{\|w_0 - w^*\|^2}{\eta T}",
        r"\mathbb{E}[F(w)] - F^* \le \frac{L}{2} \mathbb{E}\|w - w^*\|^2",
        r"F(w) - F^* \le \frac{L}{2} \|w_0 - w^*\|^2",
        r"F(w) - F^* \le \frac{1}{\mu \eta_t} \|w - w^*\|^2",
    ],
)
def test_a_point_that_a_run_returns_is_not_any_point(display):
    with pytest.raises(InputError):
        read_text(f"% fedbounds: assume smooth, strongly-convex\n% fedbounds: units as written\n\\[ {display} \\]")


LOCAL = r"\mathbb{E}\|\bar{x}_{t+1} - x^\star\|^2 \le \mathbb{E}\|\bar{x}_t - x^\star\|^2 + \eta_t^2 \sigma^2 / N"


@pytest.mark.parametrize("line", ["assume unbiased", r"let \bar{w} = w", r"let \bar{x} = w"])
def test_the_average_of_local_models_is_read_where_its_weights_are_known(line):
    (claim,) = read_text(f"% fedbounds: {line}\n% fedbounds: let x = w\n\\[ {LOCAL} \\]").values()
    assert (claim.lhs, claim.rhs) == (s.Delta_next, s.Delta + s.eta**2 * s.sigma_sq / s.N)
    with pytest.raises(InputError, match=r"add % fedbounds: let \\bar\{w\} = w\.$"):
        read_text(f"% fedbounds: let x = w\n\\[ {LOCAL} \\]")


def test_a_relation_stands_alone_between_two_sides():
    for display, said in (
        (r"\|w_T - w^\star\|^2 \le", r"something on both sides, but received \le:"),
        (r"\|w_T - w^\star\|^2 \le L \ge \mu", r"must have one relation, but received \ge:"),
    ):
        with pytest.raises(InputError, match=re.escape(said)):
            one_display(display)


def test_a_relation_that_holds_roughly_is_refused():
    with pytest.raises(InputError, match="holds roughly"):
        one_display(r"\|w_T - w^\star\|^2 \approx L")


def test_a_term_whose_sign_is_unknown_is_named_with_the_remedy():
    text = r"\|w_{t+1} - w^\star\|^2 \le \frac{1}{1 - L \eta_t} \|w_t - w^\star\|^2"
    (claim,) = one_display(text).values()
    (warning,) = re.findall(r"the sign of -L\*eta \+ 1 in term 1 is unknown: add % fedbounds: (.*)", read_back(claim))
    (claim,) = one_display(text, warning).values()
    assert "is unknown" not in read_back(claim)


@pytest.mark.parametrize("gamma, known", [(r"\frac{8L}{\mu} + \tau", True), (r"\frac{L}{2\mu}", False)])
def test_what_a_text_defines_has_the_sign_of_its_definition(gamma, known):
    display = r"\mathbb{E}\|w_T - w^\star\|^2 \le \frac{G^2}{\mu^2 (T + \gamma - 2)}"
    lines = rf"% fedbounds: where \gamma = {gamma}" + "\n% fedbounds: assume smooth, strongly-convex\n"
    (claim,) = read_text(f"{lines}\\[ {display} \\]").values()
    assert ("is unknown" not in read_back(claim)) is known


@pytest.mark.parametrize("inside", [r"\|\nabla F(w_t)\|^2", r"[F(w_t) - F^\star]", r"\|w_t - w^\star\|^2"])
def test_the_least_of_expectations_is_not_the_expected_least(inside):
    display = rf"\min_{{t<T}} \mathbb{{E}}{inside} \le \|w_0 - w^\star\|^2"
    noisy = (
        f"% fedbounds: units as written\n% fedbounds: assume smooth, full-participation, unbiased\n\\[ {display} \\]"
    )
    with pytest.raises(InputError, match="a least expectation is not expressible"):
        read_text(noisy)
    (claim,) = read_text(noisy.replace("smooth", "smooth, full-gradients")).values()
    assert str(claim.lhs).startswith("least_")
