"""Theorem files: what is written reads back as the same claim, displays read as their papers mean them."""

import pytest
import sympy as sp

from fedbounds.errors import InputError
from fedbounds.latex.reader import read_text
from fedbounds.latex.writer import write
from fedbounds.plugins import claims
from fedbounds.referee import stages
from fedbounds.referee.case import Case, Stage
from fedbounds.referee.regime import Suite
from fedbounds.referee.trial import Trial
from fedbounds.report.claim_text import read_back
from fedbounds.report.trial_text import to_text
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
        assert [one.key for one in back.assumptions] == [one.key for one in (*claim.assumptions, *extra)]
        same = ("key", "title", "source", "scope", "kind", "eta", "algorithm", "definitions")
        assert all(getattr(back, name) == getattr(claim, name) for name in same)
        assert back.readings == (reading,)


DRAFT = r"""
\begin{lemma}\label{mine}
% fedbounds: assume smooth, strongly-convex, 4 L \eta_t \le 1
% fedbounds: let V_{t} = \sum_i p_i \Vert \nabla F_i(w_t) \Vert^2
Let $V_t = \sum_i p_i \Vert\nabla F_i(w_t)\Vert^2$, \(\mu>0\), $\eta_t\le \frac{1}{4L}$,
$\eta_t < 1/(5L)$ and $T$.
\[ \mathbb{E}[V_t] \le L \left(\mathbb{E}[F(w_t)] - F^\star\right) + L^2 \eta_t^2 \sigma^2 \]
\end{lemma}
"""


def test_a_hypothesis_in_the_text_that_no_comment_line_repeats_is_a_warning_above_the_verdict():
    (claim,) = read_text(DRAFT).values()
    assert claim.unread == (r"not read: $\eta_t < 1/(5L)$ (line 6): write it as % fedbounds: assume ...",)
    assert f"Warning: {claim.unread[0]}" in read_back(claim)
    line = stages.read_back(Case(claim, READINGS["plain"], "small", 0, Suite(()))).lines
    found = Trial(claim, "plain", "small", 0, (Stage("read back", 0.0, line),), True)
    assert to_text(found).startswith(f"Warning: {claim.unread[0]}\n")
    assert "% fedbounds: assume bounded-variance." in to_text(found)


def test_a_quantity_has_the_name_that_its_author_declared():
    difference = DRAFT.replace(r"F_i(w_t)", r"F_i(w_t) - \nabla F_i(w^\star)")
    (claim,) = read_text(difference).values()
    assert str(claim.lhs) == "V"


def test_a_step_tuned_to_the_horizon_is_read_and_named_as_not_expressible():
    text = DRAFT.replace("% fedbounds: let V", "% fedbounds: step \\frac{1}{L \\sqrt{T}}\n% fedbounds: let V")
    (claim,) = read_text(text).values()
    with pytest.raises(InputError, match="depends on T, so each horizon is another run: not expressible"):
        claim.require_steps()


def test_weightings_selections_and_algorithms_are_said_in_comment_lines():
    words = "selection-without-replacement, weighting-fedmax:3, convex, constant-steps"
    text = DRAFT.replace("assume smooth", f"algorithm fedavg:server_step=2\n% fedbounds: assume {words}, smooth")
    (claim,) = read_text(text).values()
    assert claim.algorithm == "fedavg:server_step=2"
    assert [one.key for one in claim.assumptions[:4]] == words.split(", ")


LEAST = r"""
% fedbounds: assume smooth
\[ \mathbb{E}\min_{t<T} (F(w_t) - F^\star) \le L \|w_0 - w^\star\|^2 \]
"""


def test_the_least_value_on_a_path_is_read_and_a_probability_is_not():
    (claim,) = read_text(LEAST).values()
    assert (str(claim.lhs), claim.scope) == ("least_gap_t", "horizon")
    with pytest.raises(InputError, match="a statement with a probability cannot be judged"):
        read_text(DRAFT.replace(r"\mathbb{E}[V_t]", r"\Pr[V_t \ge 1]"))
