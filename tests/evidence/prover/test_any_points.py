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
BREGMAN = r"\left(F(v)-F(w)-\langle\nabla F(w),v-w\rangle\right)"
STEP = r"\|w-\eta_t\nabla F_i(w)-v+\eta_t\nabla F_i(v)\|"
# name -> assumptions, statement, and changes that make it false.
STATEMENTS = {
    "co-coercivity": (
        "smooth, convex",
        r"\langle\nabla F_i(x)-\nabla F_i(y),x-y\rangle \ge \frac{1}{L}\|\nabla F_i(x)-\nabla F_i(y)\|^2",
        [(r"\frac{1}{L}", r"\frac{101}{100L}"), (", convex", "")],
    ),
    "interpolation": (
        "smooth, strongly-convex",
        r"\langle\nabla F(v)-\nabla F(w),v-w\rangle \ge \frac{\mu L}{L+\mu}\|v-w\|^2"
        r"+\frac{1}{L+\mu}\|\nabla F(v)-\nabla F(w)\|^2",
        [(r"\mu L", r"\frac{11}{10}\mu L"), (", strongly-convex", ", convex")],
    ),
    "Lipschitz": ("smooth", r"\|\nabla F(w)-\nabla F(w')\| \le L\|w-w'\|", [(r"\le L", r"\le \frac{99}{100}L")]),
    "of w_1, w_2": (
        "smooth",
        r"\|\nabla F_i(w_1)-\nabla F_i(w_2)\| \le L\|w_1-w_2\|",
        [(r"\le L", r"\le \frac{L}{2}")],
    ),
    "upper bound": (
        "smooth",
        r"F(y) \le F(x)+\langle\nabla F(x),y-x\rangle+\frac{L}{2}\|y-x\|^2",
        [(r"\frac{L}{2}", r"\frac{49L}{100}"), (r"\le F(x)+", r"\le F(x)-")],
    ),
    "by the divergence": (
        "smooth, convex",
        r"\sum_{i=1}^N p_i\|\nabla F_i(v)-\nabla F_i(w)\|^2 \le 2L" + BREGMAN,
        [("2L", r"\frac{19}{10}L"), (r"-\langle\nabla F(w),v-w\rangle", "")],
    ),
    "perturbed": (
        "smooth, strongly-convex",
        r"\langle\nabla F_i(v),w-w^\star\rangle \ge F_i(w)-F_i(w^\star)+\frac{\mu}{4}\|w-w^\star\|^2-L\|w-v\|^2",
        [(r"\frac{\mu}{4}", r"\mu"), (r"-L\|", r"-\frac{L}{4}\|")],
    ),
    "a step brings two points closer": (
        r"smooth, strongly-convex, \eta_t \le \frac{2}{L+\mu}",
        STEP + r"^2 \le (1-\eta_t\mu)^2\|w-v\|^2",
        [(r"\frac{2}{L+\mu}", r"\frac{2}{L}")],
    ),
    "three points": (
        "smooth, convex",
        r"\langle\nabla F_i(x),z-y\rangle \ge F_i(z)-F_i(y)-\frac{L}{2}\|z-x\|^2",
        [(r"\frac{L}{2}", r"\frac{L}{4}"), ("convex", "full-gradients")],
    ),
    "any comparator": (
        rf"smooth, convex, full-gradients, {ALL}, one-local-step, small-steps",
        r"F(w_{t+1})-F(v) \le \frac{1}{2\eta_t}\left(\|w_t-v\|^2-\|w_{t+1}-v\|^2\right)",
        [(r"{2\eta_t}", r"{\frac{21}{10}\eta_t}"), ("small-steps", r"\eta_t \le \frac{3}{2L}")],
    ),
    "a client's own step": (
        r"smooth, strongly-convex, bounded-variance, small-steps",
        r"\mathbb{E}\|w_t^i-\eta_t g_i(w_t^i;\xi_t^i)-w_i^\star\|^2 \le "
        r"(1-\eta_t\mu)\mathbb{E}\|w_t^i-w_i^\star\|^2+\eta_t^2\sigma^2",
        [(r"+\eta_t^2\sigma^2", ""), (r"w_i^\star", r"w^\star"), ("small-steps", r"\eta_t \le \frac{3}{L}")],
    ),
    "noise of the mean": (
        f"bounded-variance, {ALL}",
        r"\mathbb{E}\|\sum_{i=1}^N p_i(g_i(w_t^i)-\nabla F_i(w_t^i))\|^2 \le \sigma^2\sum_{i=1}^N p_i^2",
        [(r"\le \sigma^2", r"\le \frac{\sigma^2}{2}"), (r"p_i(g_i(w_t^i)-\nabla F_i(w_t^i))", "p_i g_i(w_t^i)")],
    ),
    "convexity of F": (
        "smooth, strongly-convex",
        r"F(\sum_j p_jw_j)+\frac{\mu}{2}\sum_i p_i\|w_i-\sum_j p_jw_j\|^2 \le \sum_i p_iF(w_i)",
        [(r"\frac{\mu}{2}", r"\frac{3\mu}{5}"), ("p_iF(w_i)", "p_iF_i(w_i)")],
    ),
    "weights moved": (
        "smooth, strongly-convex",
        r"\mu\|w_\alpha-w^\star\| \le \|\sum_{i=1}^N\alpha_i\nabla F_i(w^\star)\|",
        [(r"\mu\|w_\alpha", r"\frac{11}{10}\mu\|w_\alpha")],
    ),
}
NEAR = [(name, old, new) for name, (*_, changes) in STATEMENTS.items() for old, new in changes]


def claim_of(assumed, display):
    (claim,) = read_text(rf"% fedbounds: assume {assumed}" + f"\n\\[ {display} \\]").values()
    return claim


def proved(claim):
    return automatic.examine(claim, READINGS["plain"]) is not None


@pytest.mark.parametrize("name", STATEMENTS)
def test_it_is_proved(name):
    assert proved(claim_of(*STATEMENTS[name][:2]))


@pytest.mark.parametrize(("name", "old", "new"), NEAR)
def test_a_near_miss_is_not(name, old, new):
    assumed, display, _ = STATEMENTS[name]
    assert old in assumed + display
    try:
        claim = claim_of(assumed.replace(old, new), display.replace(old, new))
    except InputError:
        return
    assert not proved(claim)


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
