"""Statements in LaTeX about points, steps and runs of wider classes are proved; near misses are not."""

from dataclasses import replace

import pytest

from fedbounds.evidence.prover import automatic
from fedbounds.latex.reader import read_text
from fedbounds.theory.claim import Kind
from fedbounds.theory.reading import READINGS

ALL = "full-participation, unbiased"
ONE = f"{ALL}, one-local-step"
CONSTANT = r"constant-steps, \eta \le \frac{1}{L}"
SUM, FALL = (
    r"\mathbb{E}\sum_{i=1}^N p_i",
    r"\mathbb{E}[F(w_{t+1})] \le \mathbb{E}[F(w_t)]-\frac{\eta_t}{2}\mathbb{E}\|\nabla F(w_t)\|^2",
)
AWAY = r"\|\nabla F_i(w_t)-\nabla F(w_t)\|^2"
STEP = r"\|w-\eta_t\nabla F_i(w)-v+\eta_t\nabla F_i(v)\|"
# name -> assumptions, step sizes, statement, and changes that make it false: in the statement or the assumptions.
STATEMENTS = {
    "gradients at local models": (
        f"smooth, {ALL}",
        "",
        r"\|\sum_{i=1}^N p_i\nabla F_i(w_t^i)-\nabla F(w_t)\|^2 \le L^2\sum_{i=1}^N p_i\|w_t^i-w_t\|^2",
        [("L^2", r"\frac{L^2}{2}")],
    ),
    "fall with drift": (
        f"smooth, bounded-variance, {ALL}, small-steps",
        "",
        FALL + r"+\frac{\eta_tL^2}{2}" + SUM + r"\|w_t-w_t^i\|^2+\frac{L\eta_t^2\sigma^2}{2}",
        [(r"\frac{\eta_tL^2}{2}", r"\frac{\eta_tL^2}{4}"), (", small-steps", "")],
    ),
    "length of a step": (
        f"smooth, bounded-variance, {ONE}",
        "",
        r"\mathbb{E}\|w_{t+1}-w_t\|^2 \le 2L\eta_t^2(\mathbb{E}[F(w_t)]-F^\star)+\eta_t^2\sigma^2",
        [("2L", "L"), (", one-local-step", "")],
    ),
    "before averaging": (
        f"strongly-convex, bounded-gradient, {ALL}",
        "",
        SUM
        + r"\|w_{t+1}^i-w^\star\|^2 \le (1-\eta_t\mu)"
        + SUM
        + r"\|w_t^i-w^\star\|^2-2\eta_t"
        + SUM
        + r"(F_i(w_t^i)-F_i(w^\star))+\eta_t^2G^2",
        [("G^2", r"\frac{G^2}{2}"), (r"(1-\eta_t\mu)", r"(1-2\eta_t\mu)")],
    ),
    "step of any size": (
        f"smooth, convex, full-gradients, {ONE}",
        "",
        r"\|w_{t+1}-w^\star\|^2 \le \|w_t-w^\star\|^2-\eta_t(\frac{2}{L}-\eta_t)\|\nabla F(w_t)\|^2",
        [(r"\frac{2}{L}", r"\frac{3}{L}"), ("convex, ", "")],
    ),
    "gap up to 2/(L + mu)": (
        f"smooth, strongly-convex, bounded-variance, {ONE}, \\eta_t \\le \\frac{{2}}{{L+\\mu}}",
        "",
        r"\mathbb{E}[F(w_{t+1})]-F^\star \le (1-\eta_t\mu)^2(\mathbb{E}[F(w_t)]-F^\star)+\frac{L\eta_t^2\sigma^2}{2}",
        [(r"\frac{2}{L+\mu}", r"\frac{2}{L}"), (r"\sigma^2}{2}", r"\sigma^2}{4}"), ("strongly-", ""), ("^2(", "^3(")],
    ),
    "no growth up to 2/L": (
        f"smooth, convex, full-gradients, {ONE}, \\eta_t \\le \\frac{{2}}{{L}}",
        "",
        r"F(w_{t+1})-F^\star \le F(w_t)-F^\star",
        [(r"\frac{2}{L}", r"\frac{3}{L}")],
    ),
    "drawn by p": (
        "selection-with-replacement, one-local-step",
        "",
        r"\mathbb{E}\|\frac1m\sum_{i\in S}\nabla F_i(w)\|^2 = (1-\frac1m)\|\nabla F(w)\|^2"
        r"+\frac1m\sum_{i=1}^N p_i\|\nabla F_i(w)\|^2",
        [(r"(1-\frac1m)", r"(1-\frac2m)")],
    ),
    "variance of local models": (
        ALL,
        "",
        r"\sum_{i=1}^N p_i\|w_t^i-w^\star\|^2 = \|w_t-w^\star\|^2+\sum_{i=1}^N p_i\|w_t^i-w_t\|^2",
        [("+", "+2")],
    ),
    "movement of drawn clients": (
        "bounded-gradient, selection-with-replacement, one-local-step",
        "",
        r"\mathbb{E}\|w_{t+1}-w_t\|^2 \le \eta_t^2G^2",
        [("G^2", r"\frac{G^2}{2}")],
    ),
    "Polyak-Lojasiewicz": (
        f"smooth, polyak-lojasiewicz, bounded-variance, {ONE}, {CONSTANT}",
        "",
        r"\mathbb{E}[F(w_T)]-F^\star \le (1-\eta\mu)^T(F(w_0)-F^\star)+\frac{L\eta\sigma^2}{2\mu}",
        [(r"2\mu", r"4\mu"), ("polyak-lojasiewicz", "convex")],
    ),
    "Polyak-Lojasiewicz, bounded gradients": (
        f"smooth, polyak-lojasiewicz, bounded-gradient, {ONE}",
        r"\frac{2t+1}{2\mu(t+1)^2}",
        r"\mathbb{E}[F(w_T)-F^\star] \le \frac{LG^2}{2\mu^2T}",
        [(r"2\mu^2T", r"10\mu^2T")],
    ),
    "growing noise": (
        rf"smooth, strongly-convex, growing-variance, {ONE}, constant-steps, \eta \le \frac{{1}}{{L(1+c)}}",
        "",
        r"\mathbb{E}\|w_T-w^\star\|^2 \le (1-\eta\mu)^T\|w_0-w^\star\|^2+\frac{\eta(\sigma_0^2+2cL\Gamma)}{\mu}",
        [(r"\sigma_0^2+", r"\frac{\sigma_0^2}{2}+")],
    ),
    "drawn, bounded gradients": (
        r"strongly-convex, bounded-gradient, selection-with-replacement, one-local-step, constant-steps, "
        r"\eta \le \frac{1}{2\mu}",
        "",
        r"\mathbb{E}\|w_T-w^\star\|^2 \le (1-2\eta\mu)^T\|w_0-w^\star\|^2+\frac{\eta G^2}{2\mu}",
        [(r"G^2}{2\mu}", r"G^2}{4\mu}"), (r"\frac{1}{2\mu}", r"\frac{2}{\mu}")],
    ),
    "stationary after local steps": (
        f"smooth, bounded-variance, bounded-gradient, {ALL}, {CONSTANT}",
        "",
        r"\frac1T\sum_{t<T}\mathbb{E}\|\nabla F(w_t)\|^2 \le \frac{2(F(w_0)-F^\star)}{\eta T}"
        r"+\eta^2L^2(\tau-1)^2G^2+L\eta\sigma^2",
        [(r"(\tau-1)", r"(\tau-2)"), (r"+L\eta\sigma^2", r"+\frac{L\eta\sigma^2}{3}")],
    ),
    "identical clients": (
        f"identical, smooth, convex, bounded-variance, {ALL}, {CONSTANT}",
        "",
        r"\frac1T\sum_{t<T}(\mathbb{E}[F(w_t)]-F^\star) \le \frac{\|w_0-w^\star\|^2}{2\eta T}+\frac{\eta\sigma^2}{2}",
        [(r"\sigma^2}{2}", r"\sigma^2}{4}"), ("identical, ", "")],
    ),
    "least slope": (
        f"smooth, full-gradients, {ONE}",
        r"\frac{1}{L}",
        r"\min_{t<T}\|\nabla F(w_t)\|^2 \le \frac{2L(F(w_0)-F^\star)}{T}",
        [("2L(", "L("), (", one-local-step", "")],
    ),
    "co-coercivity": (
        "smooth, convex",
        "",
        r"\langle\nabla F_i(x)-\nabla F_i(y),x-y\rangle \ge \frac{1}{L}\|\nabla F_i(x)-\nabla F_i(y)\|^2",
        [(r"\frac{1}{L}", r"\frac{101}{100L}"), (", convex", "")],
    ),
    "interpolation": (
        "smooth, strongly-convex",
        "",
        r"\langle\nabla F(v)-\nabla F(w),v-w\rangle \ge \frac{\mu L}{L+\mu}\|v-w\|^2"
        r"+\frac{1}{L+\mu}\|\nabla F(v)-\nabla F(w)\|^2",
        [(r"\mu L", r"\frac{11}{10}\mu L"), (", strongly-convex", ", convex")],
    ),
    "Lipschitz": ("smooth", "", r"\|\nabla F(w)-\nabla F(w')\| \le L\|w-w'\|", [(r"\le L", r"\le \frac{99}{100}L")]),
    "of w_1, w_2": (
        "smooth",
        "",
        r"\|\nabla F_i(w_1)-\nabla F_i(w_2)\| \le L\|w_1-w_2\|",
        [(r"\le L", r"\le \frac{L}{2}")],
    ),
    "a step brings two points closer": (
        r"smooth, strongly-convex, \eta_t \le \frac{2}{L+\mu}",
        "",
        STEP + r"^2 \le (1-\eta_t\mu)^2\|w-v\|^2",
        [(r"\frac{2}{L+\mu}", r"\frac{2}{L}")],
    ),
    "three points": (
        "smooth, convex",
        "",
        r"\langle\nabla F_i(x),z-y\rangle \ge F_i(z)-F_i(y)-\frac{L}{2}\|z-x\|^2",
        [(r"\frac{L}{2}", r"\frac{L}{4}"), ("convex", "full-gradients")],
    ),
    "any comparator": (
        rf"smooth, convex, full-gradients, {ALL}, one-local-step, small-steps",
        "",
        r"F(w_{t+1})-F(v) \le \frac{1}{2\eta_t}\left(\|w_t-v\|^2-\|w_{t+1}-v\|^2\right)",
        [(r"{2\eta_t}", r"{\frac{21}{10}\eta_t}"), ("small-steps", r"\eta_t \le \frac{3}{2L}")],
    ),
    "a client's own step": (
        r"smooth, strongly-convex, bounded-variance, small-steps",
        "",
        r"\mathbb{E}\|w_t^i-\eta_t g_i(w_t^i;\xi_t^i)-w_i^\star\|^2 \le "
        r"(1-\eta_t\mu)\mathbb{E}\|w_t^i-w_i^\star\|^2+\eta_t^2\sigma^2",
        [(r"+\eta_t^2\sigma^2", ""), (r"w_i^\star", r"w^\star"), ("small-steps", r"\eta_t \le \frac{3}{L}")],
    ),
    "noise of the mean": (
        f"bounded-variance, {ALL}",
        "",
        r"\mathbb{E}\|\sum_{i=1}^N p_i(g_i(w_t^i)-\nabla F_i(w_t^i))\|^2 \le \sigma^2\sum_{i=1}^N p_i^2",
        [(r"\le \sigma^2", r"\le \frac{\sigma^2}{2}"), (r"p_i(g_i(w_t^i)-\nabla F_i(w_t^i))", "p_i g_i(w_t^i)")],
    ),
    "convexity of F": (
        "smooth, strongly-convex",
        "",
        r"F(\sum_j p_jw_j)+\frac{\mu}{2}\sum_i p_i\|w_i-\sum_j p_jw_j\|^2 \le \sum_i p_iF(w_i)",
        [(r"\frac{\mu}{2}", r"\frac{3\mu}{5}"), ("p_iF(w_i)", "p_iF_i(w_i)")],
    ),
    "weights moved": (
        "smooth, strongly-convex",
        "",
        r"\mu\|w_\alpha-w^\star\| \le \|\sum_{i=1}^N\alpha_i\nabla F_i(w^\star)\|",
        [(r"\mu\|w_\alpha", r"\frac{11}{10}\mu\|w_\alpha")],
    ),
}
FALSE = [(name, *change) for name, (*_, changes) in STATEMENTS.items() for change in changes]


def claim_of(name, old="", new=""):
    assumed, step, display, _ = STATEMENTS[name]
    text = f"% fedbounds: assume {assumed}\n" + f"% fedbounds: step {step}\n" * bool(step) + f"\\[ {display}. \\]"
    assert old in text
    (claim,) = read_text(text.replace(old, new) if old else text).values()
    return claim


def proved(claim):
    return automatic.examine(claim, READINGS["plain"]) is not None


@pytest.mark.parametrize("name", STATEMENTS)
def test_it_is_proved(name):
    assert proved(claim_of(name))


@pytest.mark.parametrize(("name", "old", "new"), FALSE)
def test_a_near_miss_is_not(name, old, new):
    assert not proved(claim_of(name, old, new))


def test_a_least_value_is_at_most_the_mean_and_a_step_tuned_to_T_is_one_of_many():
    """What is equal to the mean, or for every step, is not equal to the least value, or for the tuned step."""
    least = claim_of("least slope")
    tuned = claim_of("least slope", r"step \frac{1}{L}", r"step \frac{1}{L\sqrt{T}}")
    for claim, restated in ((least, automatic.restated), (tuned, automatic.at_any_step)):
        assert list(restated(claim))
        assert not list(restated(replace(claim, kind=Kind.IDENTITY)))


def test_a_product_of_two_means_stops_nothing():
    left = r"\|\sum_{i=1}^N\alpha_i\nabla F_i(w)-\nabla F(w)\|^2"
    cost = r"\sum_{i=1}^N\frac{(\alpha_i-p_i)^2}{p_i}\sum_{i=1}^Np_i\|\nabla F_i(w)-\nabla F(w)\|^2"
    (claim,) = read_text(rf"% fedbounds: assume smooth, positive-p_min{chr(10)}\[ {left} \le {cost} \]").values()
    verdict = automatic.examine(claim, READINGS["plain"])
    assert verdict is None or verdict.status == "HOLDS"
