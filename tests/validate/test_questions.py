"""The studies behind docs/questions.md run small, and what they rest on is checked apart from them."""

import importlib
import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize

from fedbounds.claims.growing_variance import GROWTH_STEP
from fedbounds.engine.simulate import simulate
from fedbounds.evidence.empirical import comparison as empirical
from fedbounds.evidence.measured_run import examine_run
from fedbounds.model.experiment import Experiment
from fedbounds.model.schedule import InverseTime
from fedbounds.theory.reading import READINGS
from fedbounds.weightings.fedavg import FedAvg
from validate.questions import _limit, _pl_examples, q1_variance, q3_alpha_limit, q6_bias

ROOT = Path(__file__).resolve().parents[2]
STUDIES = {
    "q1": "q1_variance",
    "q2": "q2_full_gradients",
    "q3": "q3_alpha_limit",
    "q4": "q4_fedmax_limit",
    "q5": "q5_polyak_lojasiewicz",
    "q6": "q6_bias",
}


def study(key):
    return importlib.import_module(f"validate.questions.{STUDIES[key]}")


@pytest.fixture(scope="module")
def data():
    return {
        key: importlib.import_module(f"validate.questions.{name}").run(small=True) for key, name in STUDIES.items()
    }


@pytest.mark.parametrize("key", STUDIES)
def test_a_study_runs_small_and_draws_its_picture(key, data, tmp_path):
    json.dumps(data[key], allow_nan=False)
    study(key).draw(data[key], tmp_path / "picture.png")
    assert (tmp_path / "picture.png").read_bytes()[:4] == b"\x89PNG"
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("key", STUDIES)
def test_the_stored_results_have_the_shape_of_a_run(key, data):
    stored = json.loads((ROOT / "validate/results/questions" / f"{key}.json").read_text())
    assert set(stored) == set(data[key])
    assert set(stored["settings"]) == set(data[key]["settings"])
    assert (ROOT / "validate/results/questions" / f"{key}.png").exists()


class TestGrowth:
    def test_the_constants_hold_everywhere_and_are_the_smallest(self):
        problem = q1_variance.ridge(0)
        sigma, c = q1_variance.growth_constants(problem, 4)
        rng = np.random.default_rng(0)
        u = rng.standard_normal((4000, problem.N, problem.d)) * 10.0 ** rng.uniform(-3, 3, (4000, problem.N, 1))
        variance = problem.client_variance(problem.w_i_star + u, 4)
        grad_sq = (problem.client_grads(problem.w_i_star + u) ** 2).sum(-1)
        assert np.all(variance <= (sigma + c * grad_sq) * (1 + 1e-9))

        data, w_i_star = problem.kernel_data(), problem.w_i_star
        forms = zip(data.H, data.A, data.b, strict=True)
        worst = np.stack([np.linalg.solve(4 * c * h @ h - a, b) for h, a, b in forms])
        room = sigma + c * (problem.client_grads(w_i_star + worst) ** 2).sum(-1)
        room = room - problem.client_variance(w_i_star + worst, 4)
        assert room.min() == pytest.approx(0, abs=1e-12)

    def test_a_variance_without_its_growth_is_refuted(self):
        """sigma_0^2 alone, with c = 0, is below the noise of a far start: the inequality then fails."""
        problem, n = q1_variance.spiked(64), 64
        eta = InverseTime(1.0, 4.0)
        start = Experiment(problem, FedAvg(), eta, 1, 5, 1, 1, w0=np.ones(1))
        run = examine_run(simulate(start, exact=True), READINGS["repaired"])
        assert q1_variance.growth_constants(problem, 1)[1] == pytest.approx((n - 1) * q1_variance.ROOM)
        wrong = q1_variance.with_constants(run, 0.0, 0.0)
        sides = empirical.compare(GROWTH_STEP, wrong)
        assert np.all(sides.lhs > sides.rhs)

    def test_it_holds_in_the_small_run(self, data):
        statuses = {r["status"] for r in data["q1"]["steps"]["rows"]}
        assert "REFUTED" not in statuses and "HOLDS" in statuses
        assert all(row["adapted"] <= 1 + 1e-12 for row in data["q1"]["peaks"])


class TestLimits:
    def test_the_fixed_point_is_one_and_minimises_the_soft_maximum(self):
        problem = q3_alpha_limit.problem(True, 0.0)
        limit = _limit.soft_limit(problem, 0.3)
        assert limit.residual < 1e-12

        def potential(w):
            return 0.3 * np.log(problem.p @ np.exp(problem.excess(w) / 0.3))

        result = minimize(potential, np.array([3.0, -2.0]), tol=1e-12)
        np.testing.assert_allclose(limit.w, result.x, atol=1e-5)

    def test_the_hard_limit_is_the_minimax_point(self):
        problem = q3_alpha_limit.problem(True, 0.0)
        limit = _limit.hard_limit(problem)
        accuracy = np.sqrt(2 * limit.duality / problem.mu)
        result = minimize(
            lambda v: v[-1],
            np.append(problem.w_star, 10.0),
            constraints={"type": "ineq", "fun": lambda v: v[-1] - problem.excess(v[:-1])},
            method="SLSQP",
            options={"ftol": 1e-14},
        )
        assert accuracy < 1e-4
        np.testing.assert_allclose(limit.w, result.x[:-1], atol=2 * accuracy)

    def test_distances_stay_below_their_bound(self, data):
        points = data["q4"]["limit_points"]
        assert all(d <= b for d, b in zip(points["distance"], points["bound"], strict=True))


class TestNonConvex:
    def test_the_bend_is_smooth_and_satisfies_the_inequality(self):
        rng, h = np.random.default_rng(0), 1e-5
        for _ in range(10):
            k, a, w = 10.0 ** rng.uniform(-1, 1), rng.uniform(0.5, 3.0), rng.normal(0, 6, (500, 2))
            value = (w[:, 0] ** 2 + k * _pl_examples.bend_parts(w, a)[0] ** 2) / 2
            gradient = _pl_examples.bend_gradient(w, k, a)
            L, mu = _pl_examples.bend_constants(k, a)
            assert np.all((gradient**2).sum(-1) >= 2 * mu * value)
            for e in np.eye(2):
                forward, back = (w + h * e), (w - h * e)
                change = (_pl_examples.bend_gradient(forward, k, a) - _pl_examples.bend_gradient(back, k, a)) / (
                    2 * h
                )
                assert np.linalg.norm(change, axis=1).max() <= L
                ahead, behind = (
                    (v[:, 0] ** 2 + k * _pl_examples.bend_parts(v, a)[0] ** 2) / 2 for v in (forward, back)
                )
                np.testing.assert_allclose(gradient @ e, (ahead - behind) / (2 * h), rtol=1e-6, atol=1e-6)

    def test_the_bend_breaks_theorem_1_away_from_rounding(self, data):
        worst = data["q5"]["bend"]["worst"]
        assert data["q5"]["bend"]["broken"] > 0
        assert worst["left"] > worst["right"] * (1 + 1e-4) and worst["eta"] * worst["L"] < 1

    def test_the_twins_are_stuck(self):
        stuck, wrong, right = (_pl_examples.twins(*case, 2000) for case in ((0.5, 0.0), (0.45, 0.8), (0.45, -0.8)))
        assert stuck["end"] == stuck["gap"][0] > 0.5 and stuck["below"] is not None
        assert wrong["end"] > 0.3 and wrong["slope_at_end"] < 1e-12 and wrong["below"] is not None
        assert abs(right["end"]) < 1e-12


class TestBias:
    STORED = json.loads((ROOT / "validate/results/questions/q6.json").read_text())

    def test_the_page_has_the_counts_of_the_cells(self):
        page, result = (ROOT / "docs/questions.md").read_text(), q6_bias.counted(self.STORED["cells"])
        assert result == self.STORED["summary"]
        for name, promised in itertools.product(q6_bias.PROBLEMS, ("promised to be faster", "no promise")):
            row = result[f"{name}, {promised}"]
            words = "faster" if promised.startswith("promised") else "none"
            counts = " | ".join(str(row[key]) for key in ("faster", "even", "slower"))
            low, high = row["ratio"]
            last = f"{high:.2f}" if high < 10 else f"{high:.0f}"
            assert f"| {name} | {words} | {counts} | {low:.2f} to {last} |" in page

    def test_the_answer_of_the_page_follows_from_the_cells(self):
        cells = self.STORED["cells"]
        digits = [row for row in cells if row["problem"] != "quadratics"]
        assert all(0.99 <= row["rho_bar"] < 1.01 for row in digits) and len(digits) == 115
        assert sum(row["found"] == "slower" for row in digits) == 52
        assert sum(row["found"] == "faster" for row in digits) == 7
        assert max(digits, key=lambda row: row["ratio"])["unreached"] == 1
        others = [row for row in cells if row["problem"] == "quadratics"]
        assert min(row["rho_bar"] for row in others) == pytest.approx(0.34, abs=0.005)
        below_1 = [row for row in others if row["rho_bar"] < 1 and row["step"] == 0.3]
        assert {row["T"] for row in below_1} == {0.1, 0.2, 0.5}
