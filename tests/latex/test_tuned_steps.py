"""Steps that are tuned to T, sigma, G or the start: judged at t = T alone, with the run's own values."""

import contextlib
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp
from click.testing import CliRunner

from fedbounds.cli.app import main
from fedbounds.errors import InputError, StatementWarning
from fedbounds.evidence.ball_arithmetic import compared
from fedbounds.evidence.evaluate import rational, without_infinite
from fedbounds.evidence.exact.compare import compare, examine
from fedbounds.evidence.exact.instance import Instance
from fedbounds.evidence.exact.instance_json import from_json, to_json
from fedbounds.evidence.exact.run import run, runs
from fedbounds.evidence.exact.stated_steps import with_steps
from fedbounds.evidence.prover import automatic
from fedbounds.latex.reader import read_text
from fedbounds.referee import limit_cases
from fedbounds.referee.regimes import REGIMES, Suite, verdicts_in
from fedbounds.referee.search.candidates import Arm, examples
from fedbounds.referee.search.family import Shape, families
from fedbounds.referee.search.outcome import WORTH_TRYING, Outcome, Search
from fedbounds.referee.search.populations import BUDGETS, OUTSIDE, objectives
from fedbounds.referee.search.refute import _moved, _no_rounding
from fedbounds.referee.search.shrink import AS_THEY_ARE, round_to
from fedbounds.theory import assumptions as a
from fedbounds.theory import symbols as s
from fedbounds.theory.claim import Claim
from fedbounds.theory.reading import READINGS
from fedbounds.theory.verdict import Status

PLAIN = READINGS["plain"]
DESCENT = "smooth, strongly-convex, full-gradients, full-participation, unbiased, one-local-step"
NOISY = "smooth, convex, bounded-variance, full-participation, unbiased, one-local-step"
START = r"\|w_0-w^\star\|^2"
MEAN = r"\frac1T\sum_{t=0}^{T-1}\mathbb{E}[F(w_t)-F^\star]"
SLOPES = r"\frac1T\sum_{t=0}^{T-1}\mathbb{E}\|\nabla F(w_t)\|^2"
# name -> assumptions, step, left side, right sides of a true theorem and of a false one.
TUNED = {
    "root": (
        DESCENT,
        r"\frac{1}{L\sqrt{T}}",
        r"\|w_T - w^\star\|^2",
        rf"\left(1 - \frac{{\mu}}{{L\sqrt{{T}}}}\right)^{{2T}} {START}",
        rf"\left(1 - \frac{{\mu}}{{L\sqrt{{T}}}}\right)^{{3T}} {START}",
    ),
    "logarithm": (
        DESCENT + r", \eta_t \le 1/L",
        r"\frac{\ln T}{\mu T}",
        r"\|w_T - w^\star\|^2",
        rf"\frac{{{START}}}{{T^2}}",
        rf"\frac{{{START}}}{{T^3}}",
    ),
    "sigma": (
        NOISY,
        rf"\min\left\{{\frac{{1}}{{2L}}, \sqrt{{\frac{{{START}}}{{T\sigma^2}}}}\right\}}",
        MEAN,
        rf"\frac{{2L{START}}}{{T}} + \frac{{2\sigma\sqrt{{{START}}}}}{{\sqrt{{T}}}}",
        rf"\frac{{\sigma\sqrt{{{START}}}}}{{4\sqrt{{T}}}}",
    ),
    "gap": (
        NOISY.replace("convex", "strongly-convex"),
        r"\min\left\{\frac1L, \sqrt{\frac{F(w_0)-F^\star}{TL\sigma^2}}\right\}",
        SLOPES,
        r"\frac{2L(F(w_0)-F^\star)}{T} + 3\sqrt{\frac{L\sigma^2(F(w_0)-F^\star)}{T}}",
        r"\frac{L(F(w_0)-F^\star)}{T} + \frac12\sqrt{\frac{L\sigma^2(F(w_0)-F^\star)}{T}}",
    ),
    "gradient": (
        NOISY.replace("variance", "gradient"),
        rf"\frac{{\sqrt{{{START}}}}}{{G\sqrt{{T}}}}",
        MEAN,
        rf"\frac{{G\sqrt{{{START}}}}}{{\sqrt{{T}}}}",
        rf"\frac{{2G\sqrt{{{START}}}}}{{5\sqrt{{T}}}}",
    ),
}


def written(name: str, true: bool) -> str:
    assumed, step, left, *right = TUNED[name]
    lines = f"% fedbounds: assume {assumed}\n% fedbounds: step {step}"
    return f"\\begin{{theorem}}\\label{{mine}}\n{lines}\n\\[ {left} \\le {right[not true]} \\]\n\\end{{theorem}}\n"


def few_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limit_cases, "STEPS", ((1, 1), (2, 1)))
    monkeypatch.setitem(limit_cases.LENGTHS, "horizon", ((1, 1), (1, 4), (2, 3)))


def claim_of(name: str, true: bool = True) -> Claim:
    (claim,) = read_text(written(name, true)).values()
    return claim


@pytest.mark.parametrize("name", TUNED)
def test_a_false_theorem_is_false_by_the_plain_command(name, tmp_path):
    path = tmp_path / "draft.tex"
    path.write_text(written(name, true=False))
    result = CliRunner().invoke(main, ["referee", str(path)], standalone_mode=False)
    assert "FALSE at t = " in result.stdout


@pytest.mark.parametrize("name", ["sigma", "gap", "gradient"])
def test_it_is_a_case_of_every_constant_step_and_proved_so_and_a_smaller_bound_is_not(name):
    assert automatic.examine(claim_of(name), PLAIN) is not None
    assert automatic.examine(claim_of(name, true=False), PLAIN) is None


@pytest.mark.parametrize("name", TUNED)
def test_a_true_theorem_is_not_refuted_by_exact_instances_nor_by_runs(name, monkeypatch):
    claim, seen = claim_of(name), limit_cases.Seen()
    few_limits(monkeypatch)
    assert not any(refuted for _, refuted in limit_cases.sweep(claim, PLAIN, False, seen))
    assert seen.count > 1
    statuses = [verdict.status for _, verdict in verdicts_in(claim, PLAIN, Suite(REGIMES[::4]))]
    assert Status.REFUTED not in statuses and Status.HOLDS in statuses


def test_noise_over_a_long_run_at_a_root_is_left_out_of_the_limits(monkeypatch):
    bound = rf"\frac{{L{START}}}{{\sqrt{{T}}}} + \frac{{\sigma^2}}{{L\sqrt{{T}}}}"
    assumed = NOISY.replace("convex", "strongly-convex")
    few_limits(monkeypatch)
    monkeypatch.setitem(TUNED, "noisy root", (assumed, TUNED["root"][1], MEAN, bound, bound))
    assert not any(refuted for _, refuted in limit_cases.sweep(claim_of("noisy root"), PLAIN))


ONE = Fraction(1)


def line(total: int, **more: object) -> Instance:
    return Instance(((ONE,),), ((0 * ONE,),), (ONE,), (ONE,), (ONE,) * total, weighting="fedavg", **more)


@pytest.mark.parametrize("total", [4, 5])
def test_a_tuned_step_is_one_number_and_judged_at_the_end_alone(total):
    """At t < T the bound with t for T fails for these steps: a theorem judged there would be called false."""
    claim = claim_of("root")
    instance = with_steps(line(total), claim.steps)
    assert len(set(instance.eta)) == 1 and (instance.radius > 0) == (total == 5)
    assert float(instance.eta[0]) == pytest.approx(total**-0.5)
    record = next(runs(instance))
    assert [sides.t for sides in compare(claim, record, PLAIN)] in ([total], [])  # equal in balls: undecided
    bare = replace(claim, assumptions=(*claim.assumptions, a.constant_steps), eta=None)
    before = [sides for sides in compare(bare, record, PLAIN) if sides.t and sides.t < total]
    assert any(sides.violated(claim.kind) for sides in before)
    assert examine(instance, claim, PLAIN).status is not Status.REFUTED


def test_the_steps_of_another_horizon_do_not_meet_the_claim():
    claim = claim_of("root", true=False)
    verdict = examine(with_steps(line(4), claim.steps).with_(eta=(Fraction(1, 3),) * 4), claim, PLAIN)
    assert verdict.status is Status.NOT_APPLICABLE and [f.key for f in verdict.failed] == ["step-size"]
    near = with_steps(line(5), claim.steps)
    wrong = near.with_(eta=tuple(step + 2 * near.radius for step in near.eta))
    assert examine(near, claim, PLAIN).status is Status.REFUTED
    assert examine(wrong, claim, PLAIN).status is Status.NOT_APPLICABLE


def test_a_root_encloses_the_step_and_is_written_and_read():
    near = with_steps(line(5), 1 / (s.L * sp.sqrt(s.T_run)))
    (step, *_), r = near.eta, near.radius
    assert (step - r) ** 2 < Fraction(1, 5) < (step + r) ** 2
    assert from_json(to_json(near)) == near
    first = next(runs(near)).measurement(claim_of("root"), PLAIN).field("step", "eta")[0]
    assert float(first) == pytest.approx(5**-0.5)
    with pytest.raises(InputError, match="a radius is smaller than a step"):
        near.with_(radius=ONE)


def test_constant_steps_hold_of_a_step_that_is_a_root():
    claim = claim_of("logarithm", true=False)
    claim = replace(claim, assumptions=(*claim.assumptions, a.constant_steps))
    assert examine(with_steps(line(4), claim.steps), claim, PLAIN).status is Status.REFUTED


def test_a_step_tuned_to_a_bound_has_the_value_of_the_instance():
    noisy = with_steps(line(1, noise=(Fraction(2),)), s.Delta_0 / (s.sigma_sq + s.G_sq) / s.L)
    assert noisy.eta == (Fraction(1, 4 + 5),)
    record = run(noisy)
    assert (record.values["sigma_sq"], record.values["G_sq"], record.values["T_run"]) == (4, 5, 1)


def test_the_search_takes_the_steps_of_each_horizon():
    for rounds in (1, 8):
        shape = Shape("diagonal", 1, 1, 1, rounds, "fedavg", "claim")
        population = examples(shape, families()["diagonal"], claim_of("root"))
        assert np.allclose(population.eta * population.losses.L[:, None], rounds**-0.5)


def test_a_step_tuned_to_T_is_of_a_claim_about_the_horizon_in_python_too():
    with pytest.raises(InputError, match="scope"):
        Claim("mine", "", "", "step", s.Delta_next, {"all": s.Delta}, eta=1 / (s.L * sp.sqrt(s.T)))


def test_a_step_of_wrong_units_is_said_when_the_claim_is_made():
    with pytest.warns(StatementWarning, match=r"eta and mu\*\*\(-2\) have different units.*correct it"):
        Claim("mine", "", "", "step", s.Delta_next, {"all": s.Delta}, eta=1 / s.mu**2)


def test_a_skew_that_no_digits_tell_is_left_out_of_where_a_run_is():
    near_w_star = run(line(2, radius=Fraction(1, 10**24)))  # w_1 is a ball around w*
    place = near_w_star.place(PLAIN)
    assert "rho_bar" not in place and place["T"] == 2
    assert run(line(2)).place(PLAIN)["rho_bar"] == 1


def test_the_search_has_no_run_where_the_step_is_no_number():
    """At sigma = 0 the step tuned to it is a division by 0: such members meet no claim, and do not end a search."""
    shape = Shape("diagonal", 2, 1, 1, 2, "fedmax", "claim")
    claim = replace(claim_of("sigma"), eta=s.Delta_0 / s.sigma_sq * s.mu)
    population = examples(shape, families()["diagonal"], claim)
    assert np.isfinite(population.eta).all()
    assert (objectives(claim, PLAIN, population).values >= OUTSIDE).all()


def test_a_minimum_with_what_is_divided_by_no_noise_is_the_other_number():
    """min(1/(2L), c/sigma) is 1/(2L) where nothing is noisy, also of numbers too long for sympy's roots."""
    claim = claim_of("sigma")
    for start in (ONE, Fraction(3, 10**25 + 1)):
        instance = with_steps(line(3).with_(w0=(start,)), claim.steps)
        assert instance.eta == (Fraction(1, 2),) * 3 and not instance.radius
        assert examine(instance, claim, PLAIN).status is Status.HOLDS
    with pytest.raises(InputError, match="eta must be positive"):
        with_steps(line(3).with_(w0=(0 * ONE,)), claim.steps)  # 0/0
    c, zero = (
        sp.Min(1 / s.L, s.Delta_0 / s.sigma_sq, -1 / s.sigma_sq),
        {"L": ONE, "Delta_0": ONE, "sigma_sq": 0 * ONE},
    )
    assert without_infinite(c, zero) == sp.Min(1 / s.L, -1 / s.sigma_sq)


@pytest.mark.parametrize("digits", [1, 30])
def test_roots_that_are_fractions_are_exact_whatever_their_length(digits):
    number = Fraction(10**digits + 1, 10**digits - 1)
    values = {"L": number**2, "mu": number}
    assert rational(1 / (s.mu * sp.sqrt(s.L)), values) == number**-2
    assert compared(sp.sqrt(s.L), s.mu, values) == (number, number)
    assert rational(sp.sqrt(s.mu), values) is None


@pytest.mark.parametrize("true", [True, False])
def test_a_violation_that_is_rounding_is_none(true, monkeypatch):
    """At w* in floats the gap is 0 and the gradient is not, also where the theorem is true."""
    right = r"\frac{%sL(F(w_0)-F^\star)}{\sqrt{T}}"
    monkeypatch.setitem(TUNED, "gradients", (DESCENT, TUNED["root"][1], SLOPES, right % "2", right % r"\frac{1}{20}"))
    shape = Shape("crowd", 25, 1, 1, 1, "fedavg", "claim")
    claim = claim_of("gradients", true)
    search = Search(claim, PLAIN, BUDGETS["small"], 0, families())
    population = examples(shape, families()["crowd"], claim)
    at_rest = replace(population, w0=population.losses.w_star)
    seen = objectives(claim, PLAIN, at_rest, "ratio").values
    k = int(np.flatnonzero(seen == -1)[0])
    population = (at_rest if true else population).member(k)
    monkeypatch.setattr(Search, "population", lambda *_: population)
    outcome = Outcome(Arm(shape, "ratio"), 0, 1, -1.0, ())
    assert (_moved(search, outcome) > WORTH_TRYING) is true
    assert _no_rounding(search, outcome) == [outcome] * (not true)
    exact = round_to(population, claim, AS_THEY_ARE)
    assert (exact.w0 == exact.argmin(exact.p)) is true


def test_a_crowd_that_would_stay_at_w_star_does_not_start_there():
    family = families()["crowd"]
    for noise in ("", "additive"):
        shape = Shape("crowd", 25, 1, 1, 1, "fedavg", "constant", noise=noise)
        population = examples(shape, family, claim_of("root"))
        assert (population.w0 == population.losses.w_star).any() == bool(noise)


@pytest.mark.parametrize(
    "term, said", [(1 / (1 - s.eta * s.L), True), (1 / (1 - s.eta * s.mu), False), (1 / s.tau, False)]
)
def test_a_term_of_unknown_sign_is_said_when_the_claim_is_made(term, said):
    made = ("mine", "", "", "step", s.Delta_next, {"all": s.Delta * term})
    short = (a.steps_up_to_2_over_L_plus_mu,) if not said else ()
    with pytest.warns(StatementWarning, match="the sign of .* is unknown") if said else contextlib.nullcontext():
        Claim(*made, assumptions=short)


GROWS_NOT = r"\|w_T-w^\star\|^2\le\|w_0-w^\star\|^2"


def tuned(step, display, assumed=f"{DESCENT}, small-steps"):
    lines = f"% fedbounds: assume {assumed}\n% fedbounds: step {step}\n"
    (claim,) = read_text(rf"{lines}\[ {display} \]").values()
    return claim


@pytest.mark.parametrize(
    ("step", "display"),
    [
        (r"\frac{1}{L\sqrt{T}(t+1)}", r"\frac1T\sum_{t<T}(F(w_t)-F^\star)\le\frac{\|w_0-w^\star\|^2}{2\eta_0T}"),
        (r"\frac{1}{L\sqrt{T}(t+1)}", r"\frac1T\sum_{t<T}(F(w_t)-F^\star)\le\frac{500\|w_0-w^\star\|^2}{\eta_0T}"),
        (r"\frac{t+1}{L\sqrt{T}}", GROWS_NOT),
    ],
)
def test_steps_that_vary_along_a_run_are_no_case_of_a_constant_one(step, display):
    """With F = w^2/2, w_0 = 1 and T = 10^7 the first two are false, with curvature 0.95 and T = 100 the third."""
    assert automatic.examine(tuned(step, display), PLAIN) is None


@pytest.mark.parametrize("step", [r"\frac{\eta_0}{\sqrt{T}}", r"\frac{\eta_0}{2}", r"\frac{\eta_0}{t+2}"])
def test_a_step_of_eta_0_is_eta_0_at_first(step):
    with pytest.raises(InputError, match="its steps are eta_0 at t = 0"):
        tuned(step, GROWS_NOT)


def test_a_step_without_a_limit_ends_no_trial():
    assert automatic.examine(tuned(r"\eta_0", GROWS_NOT, DESCENT), PLAIN) is None
