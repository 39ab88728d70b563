"""Theorem files: what is written reads back as the same claim, displays read as their papers mean them."""

import pytest
import sympy as sp

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
