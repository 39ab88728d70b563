"""Statements about two or three points, each client alone and F at the clients' models are read and proved."""

from fractions import Fraction as F

import pytest

from fedbounds.errors import InputError
from fedbounds.evidence.exact.compare import examine
from fedbounds.evidence.exact.instance import Instance
from fedbounds.evidence.prover import automatic
from fedbounds.latex.reader import read_text
from fedbounds.theory.reading import READINGS
from fedbounds.theory.verdict import Status

ALL = "full-participation, unbiased"


def claim_of(assumed, display):
    (claim,) = read_text(rf"% fedbounds: assume {assumed}" + f"\n\\[ {display} \\]").values()
    return claim


def proved(claim):
    return automatic.examine(claim, READINGS["plain"]) is not None


def test_any_point_is_refuted_at_one_that_a_run_has_visited():
    claim = claim_of("smooth", r"\|\nabla F(v)-\nabla F(w)\| \le \frac{1}{2}L\|v-w\|")
    one = Instance(((F(1),),), ((F(0),),), p=(F(1),), w0=(F(1),), eta=(F(1, 2),) * 2, tau=1)
    assert examine(one, claim, READINGS["plain"]).status is Status.REFUTED


def test_what_other_clients_decide_is_no_statement_about_one():
    for display in (
        r"\mathbb{E}\|w_{t+1}^i-w_t\|^2 \le \eta_t^2\sigma^2",
        r"\mathbb{E}\|w_t^i-w_t\|^2 \le 4\eta_t^2\sigma^2",
        r"\|\nabla F_i(w)\|^2 \le 2L(F(w)-F^\star)",
        r"\|\nabla F_i(w_t^i)-\nabla F_i(w_0)\|^2 \le L^2\|w_t^i-w_0\|^2",
    ):
        with pytest.raises(InputError):
            claim_of(f"smooth, strongly-convex, bounded-variance, {ALL}", display)


@pytest.mark.parametrize(
    ("assumed", "display"),
    [
        ("smooth, polyak-lojasiewicz, homogeneous", r"\|\nabla F_i(w)\|^2 \ge 2\mu(F_i(w)-F_i(w^\star))"),
        ("smooth, mean-strongly-convex", r"F_i(v) \ge F_i(w)+\langle\nabla F_i(w),v-w\rangle"),
        ("bounded-variance", r"\sum_i p_i\mathbb{E}\|\nabla F_i(w_t^i;\xi)-\nabla F_i(w_t^i;\zeta)\|^2 \le \sigma^2"),
        ("bounded-variance", r"\sum_i p_i\mathbb{E}\|g_i(w_t^i)-\hat g_i(w_t^i)\|^2 \le \sigma^2"),
    ],
)
def test_what_is_said_of_all_clients_together_or_of_two_samples_is_no_statement_about_one(assumed, display):
    with pytest.raises(InputError):
        claim_of(assumed, display)


TWO = r"F(u) - F(v) + \frac{1}{2L}\|\nabla F(w)\|^2 \le F(w) - F(v)"
BAR = r"\frac{1}{2L}\|\nabla F(w)\|^2+F(\bar w) \le F(w)"


@pytest.mark.parametrize(
    ("lines", "before", "display", "behind"),
    [
        (r"let v = w^\star", "For any points $w$ and $u$,", TWO, ""),
        (r"where v = w^\star", "For any points $w$ and $u$,", TWO, ""),
        ("title bar", r"For any $w$ and $\bar w$,", BAR, r"Equality cannot hold unless $\bar w = w^\star$."),
        ("title bar", r"Let $\bar w$ be any point. It is loose for $\bar w = w^\star$.", BAR, ""),
        ("title bar", r"For any $w$ and $\bar w$, not only $\bar w = \sum_i p_i w_i$,", BAR, ""),
    ],
)
def test_a_letter_that_the_author_declares_or_a_remark_names_does_not_bind_another(lines, before, display, behind):
    text = f"\\begin{{lemma}}\n% fedbounds: assume smooth, convex\n% fedbounds: {lines}\n{before}"
    (claim,) = read_text(f"{text}\n\\[ {display} \\]\n{behind}\n\\end{{lemma}}").values()
    assert not proved(claim)


@pytest.mark.parametrize(
    ("assumed", "display"),
    [
        ("smooth, convex", r"F(v)-F(w_2)+\frac{1}{2L}\|\nabla F(w_1)\|^2 \le F(w_1)-F(w^\star)"),
        (
            "smooth, convex",
            r"\frac{1}{2L}\|\nabla F(w_1)-\nabla F(w_2)\|^2 \le F(w_1)-F(w_2)-\langle\nabla F(w_2),w-w_2\rangle",
        ),
        ("smooth", r"\|\nabla F_i(w_1)-\nabla F_i(w_2)\|^2 \le L^2\|w_1-v\|^2"),
        ("smooth, convex", r"F(v)-F(v_2)+\frac{1}{2L}\|\nabla F(v_1)\|^2 \le F(v_1)-F(w^\star)"),
    ],
)
def test_a_bare_letter_beside_two_with_indices_is_a_third_point(assumed, display):
    try:
        claim = claim_of(assumed, display)
    except InputError:
        return
    assert not proved(claim)
