"""Methods with the least worst case: known optima, instances that attain it, and runs that stay below."""

import json
from dataclasses import replace
from fractions import Fraction as Q
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.optimize import brentq

from fedbounds.cli.app import main
from fedbounds.errors import InputError
from fedbounds.evidence.sdp.multi_round.bound import least, solved, verify
from fedbounds.evidence.sdp.multi_round.bound import upper_bound as worst
from fedbounds.evidence.sdp.multi_round.links import gradient_program, of_clients
from fedbounds.evidence.sdp.multi_round.lower_bound import attained, rebuilt
from fedbounds.evidence.sdp.multi_round.program import Run
from fedbounds.report.best_method_text import answer, commands, table
from fedbounds.study.best_method import best_method
from fedbounds.study.least_worst_case import MEET, best_steps
from fedbounds.study.worst_case import worst as study_of_worst
from validate.best_methods import runs_of_quadratics

HALVES = (Q(1, 2),) * 2


def run_of(rounds, tau, eta="1/5", server="1", kappa=10, **more):
    return Run(rounds, tau, Q(1, kappa), Q(1), Q(eta), server=Q(server), **more)


RUNS = [
    (run_of(1, 4, "1/10", 6), Q(1)),
    (run_of(2, 3, "9/10", "7/5"), Q(1, 100)),
    (run_of(2, 2, "1/5", 3, measure="gap"), Q(1)),
    (run_of(2, 2, "4/3", "6/5", measure="gap"), Q(0)),
]


@pytest.mark.parametrize("rounds", [1, 3])
def test_gradient_descent_has_its_known_best_step(rounds, kappa=10):
    """Kim, arXiv 2412.04427: both branches are equal."""

    def short(a):
        return 1 / (1 + kappa * ((1 - a / kappa) ** (-2 * rounds) - 1))

    known = brentq(lambda a: short(a) - (1 - a) ** (2 * rounds), 1, 2 - 1e-9)
    steps = best_steps(run_of(rounds, 1, kappa=kappa, measure="gap"), Q(1), Q(0))
    assert float(steps.run.sizes[0]) == pytest.approx(known, rel=3 * MEET)
    assert short(known) / 2 * (1 - 1e-6) <= steps.worst < short(known) / 2 * (1 + 2 * MEET)
    assert steps.lower >= steps.worst * (1 - 2 * MEET)


def test_the_distance_of_gradient_descent_has_its_known_best_step(rounds=4):
    (result,) = best_method(rounds=rounds, tau=1)
    assert result.eta == pytest.approx(20 / 11, rel=1e-6) and result.run.server == 1 and result.certified
    assert result.worst == pytest.approx((9 / 11) ** (2 * rounds), rel=1e-5)


@pytest.mark.parametrize(("run", "zeta_sq"), RUNS)
def test_the_rebuilt_clients_attain_the_worst_case(run, zeta_sq):
    solution = solved(gradient_program(run, float, common=not zeta_sq), Q(1), zeta_sq)
    instance = rebuilt(run, solution, 1.0, float(zeta_sq))
    eta, server = np.array([[float(run.sizes[0])]]), np.array([float(run.server)])
    assert instance.run(run, eta, server)[0] == pytest.approx(solution.value, rel=1e-4)
    bound = worst(run, Q(1), zeta_sq)
    assert bound.certified or bound.exact
    assert bound.value == pytest.approx(solution.value, rel=1e-5 if zeta_sq else 1e-4)
    assert attained(run, 1.0, float(zeta_sq)).value <= bound.value * (1 + 1e-12)


@pytest.mark.parametrize(("run", "zeta_sq"), RUNS[::3])
def test_the_rebuilt_clients_are_of_the_class(run, zeta_sq):
    instance, rng = (
        rebuilt(run, solved(gradient_program(run, float, common=not zeta_sq), Q(1), zeta_sq), 1.0, float(zeta_sq)),
        np.random.default_rng(0),
    )
    x, y = rng.normal(size=(2, 500, len(instance.start))) * np.geomspace(0.01, 10, 500)[:, None]
    (f, g), (h, k) = instance.first(x), instance.first(y)
    dx, dg, mu, L = x - y, g - k, 0.1, 1.0
    bent = (dg**2).sum(1) + mu * L * (dx**2).sum(1) - 2 * mu * (dg * dx).sum(1)
    slack = f - h - (k * dx).sum(1) - bent / (2 * (L - mu))
    assert (slack > -1e-8 * (1 + abs(f) + abs(h))).all()
    at_star = instance.first(np.zeros((1, len(instance.start))))[1][0]
    assert abs(at_star[: instance.means]).max(initial=0) < 1e-9
    assert (at_star**2).sum() == pytest.approx(float(zeta_sq), abs=1e-9)
    assert (instance.start**2).sum() == pytest.approx(1) and not instance.start[instance.means :].any()


def test_a_servers_step_is_that_of_the_programme_of_all_clients():
    run = replace(run_of(2, 2, "1/10", 4), alpha=HALVES, p=HALVES)
    every = least(of_clients, run, Q(1), Q(1))
    assert every.certified and worst(run).value == pytest.approx(every.value, rel=5e-6)
    other = replace(run, alpha=(Q(1, 4), Q(3, 4)))
    bound = worst(other)
    assert bound.links is of_clients and verify(bound) and attained(other).value <= bound.value


def test_the_best_found_of_twenty_steps_has_a_proof():
    """R = 5, tau = 4: that of the search, whose server step is large."""
    bound = worst(run_of(5, 4, "0.031762607", "14.931716"))
    assert bound.certified and verify(bound) and bound.value == pytest.approx(0.129462, rel=2e-5)


def test_a_servers_step_at_one_local_step_is_the_step():
    """And what is proved for one is refused for another."""
    one, other = worst(run_of(2, 1, "1/4", 4)), worst(run_of(2, 1, "1"))
    assert one.value == pytest.approx(other.value, rel=5e-6)
    assert verify(one) and not verify(replace(one, run=replace(one.run, server=Q(5))))
    assert not verify(replace(one, a=one.a * (1 - Q(1, 1000))))


def test_a_method_is_between_its_bounds_and_above_runs():
    for item in best_method(rounds=1, tau="2..3", kappa=10, zeta_star="1/2"):
        assert item.certified and item.lower <= item.worst <= item.usual_worst * (1 + 1e-5) and item.gap < 1e-3
        assert all(item.worst <= value * (1 + MEET) for value in item.standard.values() if value)
        assert runs_of_quadratics(item, 3000, np.random.default_rng(item.run.tau)).max() < item.worst
        assert f"eta L = {item.eta:.4g}" in answer(item) and f"--tau {item.run.tau}" in commands(item)[0]


def test_a_budget_of_steps_is_shared_over_rounds():
    said = []
    result = best_method(tau="1..2", budget_steps=3, progress=lambda *words: said.append(words[-1]))
    assert [(item.run.tau, item.run.rounds) for item in result] == [(1, 3), (2, 1)]
    assert said == ["tau = 1, some 6 s left", "tau = 2, some 3 s left"]


@pytest.mark.parametrize("p", ["1/2,1/2", "9/10,1/10"])
def test_weights_for_unequal_clients(p):
    """Where no weight exceeds 1/2 the search finds nothing better than alpha = p; where one does it goes a little."""
    (item,) = best_method(rounds=1, tau=2, p=p)
    assert item.certified and item.lower is None and sum(item.run.alpha) == 1
    if max(item.run.p) > 0.5:
        assert 0.88 < item.run.alpha[0] < 0.9 and item.worst < 0.99 * item.usual_worst
    else:
        assert item.run.alpha == item.run.p and item.worst == pytest.approx(item.usual_worst, rel=1e-6)
    given = ",".join(f"{float(value):g}" for value in item.run.p)
    assert f"p = {given.replace(',', ', ')}" in answer(item) and f"--p {given}" in commands(item)[0]


def test_the_weights_of_the_page():
    """alpha = (0.893, 0.107) against alpha = p, each at its best step size found."""
    page = (Path(__file__).parents[2] / "docs" / "design.md").read_text(encoding="utf-8")
    for step, weights, value in (("0.605005", "0.893133,0.106867", "0.730"), ("0.5146", "0.9,0.1", "0.758")):
        (item,) = study_of_worst(rounds=2, tau=2, step=step, weights=weights, p="0.9,0.1")
        assert item.certified and f"{item.worst:.3f}" == value and value in page


def call(*words):
    return CliRunner().invoke(main, ["design", *words])


def test_the_command(tmp_path):
    table = call("--rounds", "1", "--tau", "2", "--out", str(tmp_path / "picture"))
    assert table.exit_code == 0 and table.stdout.startswith("Best found") and len(table.stdout.splitlines()) <= 15
    assert (tmp_path / "picture.png").exists() and "no method below" in table.stdout
    (item,) = json.loads(call("--rounds", "1", "--tau", "2", "--format", "json").stdout)
    assert item["worst"] < item["usual_worst"] and item["gap"] < 1e-3 and item["certified"]
    assert item["answer"] == table.stdout.splitlines()[0]
    proof = next(line for line in table.stderr.splitlines() if "fedbounds worst" in line)
    again = CliRunner().invoke(main, [*proof.split()[1:], "--format", "json"])
    (shown,) = json.loads(again.stdout)
    assert shown["certified"] and shown["worst"] == pytest.approx(item["worst"], rel=1e-5)


def test_noise_and_one_step_have_their_known_best_step():
    """(1 - eta mu)^2 + eta^2 sigma^2/2 of two clients is least at mu/(mu^2 + sigma^2/2)."""
    (item,) = best_method(rounds=1, tau=1, kappa=2, sigma="1/2", zeta_star=0)
    known = 0.5 / (0.25 + 0.125)
    assert item.eta == pytest.approx(known, rel=2e-2) and item.certified
    assert item.worst == pytest.approx((1 - known / 2) ** 2 + known**2 / 8, rel=1e-4)
    least = min(value for value in item.standard.values() if value)  # at the best step; a proof has 1e-6 of room
    assert item.gap < 1e-3 and least >= item.worst * (1 - 1e-6)


def test_clients_a_round_at_a_number_of_uploads():
    several = list(best_method(tau=1, participation="1..2/4", uploads=2, zeta_star="1/2"))
    assert [(item.participation, item.run.rounds) for item in several] == [("1/4", 2), ("2/4", 1)]
    for item in several:
        assert item.certified and item.lower <= item.worst < 1.1 * item.lower and item.run.server == 1
        assert f"{item.participation} clients a round" in answer(item)
        (again,) = study_of_worst(
            rounds=item.run.rounds, tau=1, step=item.eta, zeta_star="1/2", participation=item.participation
        )
        assert again.worst == pytest.approx(item.worst, rel=1e-5) and again.lower <= item.worst
    assert f"--participation {several[0].participation}" in commands(several[0])[0]
    shown = table(several)
    assert "clients" in shown and "2/4" in shown


WRONG = """--tau two
--tau 3..1
--tau 1..40
--rounds 9 --tau 9
--kappa 1
--delta0 0
--budget-steps 1 --tau 2
--measure average
--p 1/2,1/3
--p 1/2,1/2 --measure gap
--p 1/2,1/2 --rounds 3 --tau 4
--sigma -1
--sigma 1 --p 1/2,1/2
--participation x
--participation 2..1/4
--participation 2/4 --uploads 1
--participation 2/4 --uploads 9 --budget-steps 9
--uploads 3"""


@pytest.mark.parametrize("words", WRONG.splitlines())
def test_a_wrong_word_is_one_sentence(words):
    result = call(*words.split())
    assert result.exit_code == 2 and result.stderr.strip() and "Traceback" not in result.output


def test_a_run_with_a_servers_step_that_is_not_bounded_is_refused():
    for match, make in (
        ("server's step must be positive", lambda: run_of(1, 2, server=0)),
        ("mean of the iterates", lambda: run_of(1, 2, server=2, measure="average")),
    ):
        with pytest.raises(InputError, match=match):
            make()


def test_weights_that_are_not_p_are_bounded_at_a_servers_step_too():
    run = replace(run_of(4, 4, server=2), alpha=(Q(1, 4), Q(3, 4)), p=HALVES)
    bound = worst(run)
    assert verify(bound) and attained(run).value <= bound.value < 1.4 * attained(run).value


def test_a_step_for_each_round_is_no_worse_than_one_step():
    """And it is what `worst` proves for these steps; where clients agree one local step needs no other."""
    (result,) = best_method(rounds=2, tau=1, by_round=True)
    etas = result.row()["etas"]
    assert len(etas) == 2 and result.certified and result.lower <= result.worst < 0.993 * result.usual_worst
    assert result.gap < 5 * MEET and result.worst / result.usual_worst == pytest.approx(0.992, abs=5e-4)  # the page's
    (line, _), text = commands(result), answer(result)
    assert f"eta L = {etas[0]:.4g}, {etas[1]:.4g}" in text
    (again,) = study_of_worst(rounds=2, tau=1, step=line.split("--step ")[1].split()[0])
    assert again.worst == pytest.approx(result.worst, rel=1e-5)
    with pytest.raises(InputError, match="2 to 5 rounds"):
        best_method(rounds=6, tau=1, by_round=True)
