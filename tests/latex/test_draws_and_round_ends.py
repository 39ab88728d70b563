"""Expectations over who is drawn at a fixed point, and the local models at the end of a round."""

from fractions import Fraction as F

import pytest

from fedbounds.errors import InputError
from fedbounds.evidence.exact.compare import examine
from fedbounds.evidence.exact.instance import Instance
from fedbounds.latex.reader import read_text
from fedbounds.report.claim_text import read_back
from fedbounds.theory import points as at
from fedbounds.theory import symbols as s
from fedbounds.theory.path_quantities import slope_variance
from fedbounds.theory.reading import READINGS
from fedbounds.theory.verdict import Status

ALL = at.mean(at.grad(at.w))
DRAWN = at.mean_alpha(at.grad(at.w)) - ALL
KEYS = "equal-p, selection-without-replacement"
DRAW = r"\mathbb{E}_S\Big\|\frac1m\sum_{i\in S}\nabla F_i(w)-\nabla F(w)\Big\|^2"
SPREAD = r"\frac1N\sum_{i=1}^N\|\nabla F_i(w)-\nabla F(w)\|^2"
FACTOR = r"\frac{N-m}{m(N-1)}"


def read(display, keys=KEYS, line="", text=""):
    lines = f"% fedbounds: assume {keys}\n" + f"% fedbounds: {line}\n" * bool(line)
    return read_text(rf"\begin{{lemma}}\label{{mine}}{chr(10)}{lines}{text}\[ {display} \]\end{{lemma}}")["mine"]


def of_two(**other):
    """Two clients of which one is drawn."""
    return Instance(
        ((F(1),), (F(2),)),
        ((F(1),), (F(-1),)),
        p=(F(1, 2),) * 2,
        w0=(F(3),),
        eta=(F(1, 4),) * 4,
        present=1,
        weighting="fedavg",
        **other,
    )


def holds(claim, instance):
    return examine(instance, claim, READINGS["plain"]).status


@pytest.mark.parametrize("index", ["_S", r"_{\mathcal{S}_t}", "_{S_r}", ""])
def test_an_expectation_over_the_draw_at_a_fixed_point_is_the_expectation(index):
    claim = read(rf"{DRAW.replace('_S', index, 1)} = {FACTOR} {SPREAD}")
    assert claim.lhs.expression == at.norm_sq(DRAWN) and "one-local-step" in [x.key for x in claim.assumptions]
    assert claim.rhs == slope_variance * (s.N - s.m) / (s.m * (s.N - 1))
    assert holds(claim, of_two()) is Status.HOLDS
    assert "with the losses" not in read_back(claim)


def test_a_factor_that_is_too_small_is_refuted():
    claim = read(rf"{DRAW} \le \frac{{N-m}}{{mN}} {SPREAD}")
    assert holds(claim, of_two()) is Status.REFUTED


@pytest.mark.parametrize(
    ("display", "keys", "text"),
    [
        (DRAW.replace("(w)", "(w_t)"), KEYS, "an expectation with a condition says more"),
        (r"\mathbb{E}_{S_t}[F(w_{t+1})]-F(w_t) + 0", KEYS, "an expectation with a condition says more"),
        (r"\tau " + DRAW, KEYS, "an expectation with a condition says more"),
        (DRAW.replace(r"\mathbb{E}_S", ""), KEYS, "who is drawn decides this"),
        (DRAW.replace(r"\mathbb{E}_S", r"\mathbb{E}_\xi"), KEYS, "an expectation with a condition says more"),
        (DRAW, "equal-p", "a sum of vectors must have the weights p_i"),
        (r"\|\frac1N\sum_{i}\nabla F_i(w)\|^2", "smooth", "a sum of vectors must have the weights p_i"),
    ],
)
def test_what_is_weaker_in_full_expectation_or_no_mean_is_refused(display, keys, text):
    with pytest.raises(InputError, match=text):
        read(rf"{display} \le L^2\|w-w^\star\|^2", keys)


VIRTUAL = r"let \bar v_{r+1} = \frac{1}{N}\sum_{k=1}^{N} w_{(r+1)\tau}^k"
SAMPLED = r"\mathbb{E}\|w_{(r+1)\tau}-\bar v_{r+1}\|^2 \le \frac{N-m}{m(N-1)}\,C\eta^2\tau^2G^2"


def test_the_average_before_the_selection_is_that_of_the_last_local_step():
    claim = read(SAMPLED.replace("C", ""), f"bounded-gradient, {KEYS}", VIRTUAL)
    assert claim.lhs.expression == at.norm_sq(at.mean(at.w_i_next) - at.w_next)
    assert claim.assumptions[-1].key == "last-local-step"
    assert holds(claim, of_two(tau=2)) is Status.HOLDS
    smaller = read(SAMPLED.replace("C", r"\frac{1}{50}"), f"bounded-gradient, {KEYS}", VIRTUAL)
    assert holds(smaller, of_two(tau=2)) is Status.REFUTED
    with pytest.raises(InputError, match="the weights p_i"):
        read(SAMPLED.replace("C", ""), "bounded-gradient, selection-without-replacement", VIRTUAL)


def test_a_bound_at_the_end_of_a_round_is_compared_at_no_other_step():
    keys = "full-gradients, full-participation, unbiased"
    far = read(r"\frac18\mathbb{E}\|w_{r\tau}-w^\star\|^2 \le \mathbb{E}\|w_{(r+1)\tau}-w_{r\tau}\|^2", keys)
    assert far.assumptions[-1].key == "last-local-step"
    # From 1 with F = x^2/2 and eta = 1/4 the model moves by 1/4 in one step, by 7/16 in two.
    alone = {"p": (F(1),), "w0": (F(1),), "eta": (F(1, 4),) * 4}
    two, one = (Instance(((F(1),),), ((F(0),),), tau=tau, **alone) for tau in (2, 1))
    assert holds(far, two) is Status.HOLDS and holds(far, one) is Status.REFUTED
    models = r"\sum_i p_i\mathbb{E}\|w_{(r+1)\tau}^i-w_{r\tau}\|^2 \le \eta^2\tau^2G^2"
    local = read(models, f"bounded-gradient, {keys}")
    assert holds(local, two) is Status.HOLDS and local.lhs.expression.has(at.w_i_next, at.w_round)


def test_what_the_howto_answers_about_lines():
    growing = r"\mathbb{E}\|w_{t+1}-w_t\|^2 \le A + \eta_t^2\zeta^2 + \eta_t^2\zeta_\star^2"
    line = r"where A = \eta_t^2(c\,\zeta^2+\sigma_0^2)"
    claim = read(growing, "smooth, growing-variance, halving", line)
    assert claim.rhs.has(s.growth, s.sigma_0_sq, s.zeta_sq, s.zeta_star_sq)
    with pytest.raises(InputError, match="assume growing-variance"):
        read(growing, "smooth, bounded-variance, halving", line)
    renamed = r"\mathbb{E}\|w_{t+1}-w_t\|^2 \le A"
    lines = "let K = \\tau\n% fedbounds: where A = \\eta_t^2 K G^2"
    assert read(renamed, "smooth, bounded-gradient", lines).rhs == s.eta**2 * s.tau * s.G_sq
    constant = read(r"\mathbb{E}\|w_t-w^\star\|^2 \le \tau^2\zeta^2/\mu^2", "strongly-convex, constant-steps")
    assert "May vary\n  the step sizes" not in read_back(constant)


def test_weights_of_both_kinds_in_one_sum_are_read_by_their_ratio():
    """The cost of other weights than p, as papers on objective inconsistency have it."""
    left = r"\Big\|\sum_{i=1}^N(\alpha_i-p_i)\nabla F_i(w)\Big\|^2"
    right = r"\left(\sum_{i=1}^N\frac{(\alpha_i-p_i)^2}{p_i}\right)\sum_{i=1}^N p_i\|\nabla F_i(w)-\nabla F(w)\|^2"
    claim = read(rf"{left} \le {right}", "smooth")
    assert claim.rhs == s.QUANTITIES["chi_sq"] * slope_variance
    (cost,) = claim.lhs.free_symbols
    assert cost.expression == at.norm_sq(at.mean(at.weight_ratio * at.grad(at.w) - at.grad(at.w)))


def test_models_of_one_moment_need_no_expectation():
    """What is true of all models at once needs no 𝔼; where constants bound means alone, the author must say."""
    keys, mean = "full-participation, unbiased", r"\sum_{i=1}^N p_i\|w_t^i-w_t\|^2"
    claim = read(rf"\sum_{{i=1}}^N p_i\|w_t^i-w^\star\|^2 = \|w_t-w^\star\|^2+{mean}", keys)
    assert claim.scope == "step" and s.Delta in claim.rhs.free_symbols
    for bound in (r"4(\tau-1)^2\eta_t^2G^2", r"\tau\eta_t^2\sigma^2"):
        with pytest.raises(InputError, match="stands outside an expectation"):
            read(rf"{mean} \le {bound}", f"{keys}, bounded-gradient, bounded-variance")


def test_a_skew_needs_who_takes_part():
    """Of those drawn alone a skew is another number: a true theorem on any weights read FALSE by such a draw."""
    bound = r"\mathbb{E}\|w_{t+1}-w^\star\|^2 \le \mathbb{E}\|w_t-w^\star\|^2 + 2\eta_t\tilde\rho\Gamma"
    with pytest.raises(InputError, match="assume full-participation, or declare"):
        read(bound, "smooth, one-local-step")
    assert s.rho_tilde in read(bound, "smooth, one-local-step, full-participation").rhs.free_symbols
