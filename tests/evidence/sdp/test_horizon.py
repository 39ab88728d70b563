"""Worst cases of R rounds: certificates, the instance that stays below them, and the theorems that stay above."""

import dataclasses
import json
import re
from fractions import Fraction as Q
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import sympy as sp
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from run_oracle import by_clients

from fedbounds.cli.app import main
from fedbounds.cli.commands.worst import AXES, print_table
from fedbounds.engine.simulate import simulate
from fedbounds.errors import InputError
from fedbounds.evidence.evaluate import evaluate
from fedbounds.evidence.sdp import verification
from fedbounds.evidence.sdp.multi_round import by_client, central_path
from fedbounds.evidence.sdp.multi_round.central_path import Worst, above, worst
from fedbounds.evidence.sdp.multi_round.lower_bound import attained, surely
from fedbounds.evidence.sdp.multi_round.program import Run, is_definite, program_of, verify
from fedbounds.evidence.sdp.one_step.parameters import round_setting
from fedbounds.evidence.sdp.one_step.program import build
from fedbounds.evidence.sdp.program import exact
from fedbounds.evidence.sdp.solver import worst_case
from fedbounds.evidence.sdp.verification import is_psd
from fedbounds.model.experiment import Experiment
from fedbounds.plugins import claim_named
from fedbounds.problems.quadratic import QuadraticProblem
from fedbounds.report.number_format import downward, upward
from fedbounds.study.worst_case import CURVES, bounds, curve, sandwich
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.reading import READINGS
from fedbounds.weightings.fedavg import FedAvg
from validate import horizon

MU, L, ETA = Q(1, 10), Q(1), Q(1, 2)


def stated(key):
    return claim_named(key).sides(READINGS["literal"]).rhs


def rounds_of(rounds, tau, mu=MU, eta=ETA):
    return Run(rounds, tau, mu, L, eta)


@pytest.mark.parametrize(("tau", "value"), [(1, 0.902500), (2, 0.868043), (3, 0.938662)])
def test_one_round_is_known(tau, value):
    found = worst(rounds_of(1, tau))
    assert found.certified and found.value == pytest.approx(value, abs=2e-6) and found.value >= value - 5e-7


def test_one_round_is_that_of_the_general_model():
    model = build(round_setting(tau=4, kappa=10, eta=ETA))
    unit = [model.forms["Delta_start"], model.forms["star_grad_sq"]]
    found = worst_case(model, model.forms["Delta_next"], unit, "nonneg")
    assert worst(rounds_of(1, 4)).value == pytest.approx(found.value, rel=5e-6)


@pytest.mark.parametrize("eta", [Q(1, 2), Q(9, 5)])
def test_without_heterogeneity_it_is_the_contraction(eta):
    found = worst(rounds_of(3, 2, eta=eta), zeta_sq=Q(0))
    assert found.a == max(abs(1 - eta * MU), abs(1 - eta * L)) ** 12 and found.exact and not found.certified
    assert next(curve(rounds_of(3, 2, eta=eta), "rounds", (Q(3),), zeta_sq=Q(0))).mark == "exact law"
    assert worst(rounds_of(3, 2, eta=eta), zeta_sq=Q(1, 10**9)).value == pytest.approx(float(found.a), rel=1e-4)


@pytest.mark.parametrize(
    ("rounds", "tau", "kappa", "eta", "loss"), [(5, 2, 10, ETA, 1.0018), (4, 3, 37, Q(13, 10), 1.0215)]
)
def test_the_inequalities_left_out_cost_little(rounds, tau, kappa, eta, loss, monkeypatch):
    """0.18% at R = 5, tau = 2; none is left out up to twelve steps."""
    whole = worst(rounds_of(rounds, tau, Q(1, kappa), eta))
    monkeypatch.setattr(central_path, "ALL_PAIRS", 0)
    few = worst(rounds_of(rounds, tau, Q(1, kappa), eta))
    assert whole.certified and whole.run.all_pairs and not few.run.all_pairs
    assert few.value / whole.value == pytest.approx(loss, abs=5e-5)


@pytest.mark.parametrize(("tau", "mu", "eta"), [(2, MU, ETA), (3, MU, Q(1)), (3, Q(1, 2), Q(1)), (6, MU, ETA)])
def test_the_push_of_a_round_from_the_minimum(tau, mu, eta):
    """`fedavg-push` is exact there."""
    low, high = ((1 - (1 - eta * c) ** tau) / c for c in (mu, L))
    found, push, start = worst(rounds_of(1, tau, mu, eta), delta_0=Q(1, 10**4)), (low - high) / 2, Q(1, 100)
    assert found.certified
    assert float(push**2) < found.value < float((push + (1 - eta * mu) ** tau * start) ** 2) * (1 + 1e-4)


def test_what_the_exact_push_gains():
    """at eta L = 1 from 3.57 to 1.26 times the worst case."""
    run, proved = rounds_of(2, 10, eta=Q(1)), bounds(rounds_of(2, 10, eta=Q(1)), Q(1), Q(1))
    above = {key: proved[key] / worst(run).value for key in ("fedavg-contraction", "fedavg-push")}
    assert above == pytest.approx({"fedavg-contraction": 3.57, "fedavg-push": 1.26}, abs=0.005)


def test_what_is_no_proof_is_refused():
    found = worst(rounds_of(2, 3))
    run = found.run
    multipliers = list(found.multipliers)
    assert verify(run, found.a, found.b, multipliers)
    assert not verify(run, found.a * Q(999, 1000), found.b, multipliers)
    assert not verify(run, found.a, found.b * Q(999, 1000), multipliers)
    assert not verify(dataclasses.replace(run, mu=MU * Q(99, 100)), found.a, found.b, multipliers)
    for j, change in ((0, Q(1, 10**12)), (3, -multipliers[3] - 1)):
        assert not verify(run, found.a, found.b, [*multipliers[:j], multipliers[j] + change, *multipliers[j + 1 :]])


def test_definite_agrees_with_elimination():
    rng = np.random.default_rng(3)
    for shift in (Q(0), Q(1, 10**6), Q(-1, 10**6)):
        half = rng.integers(-9, 10, (6, 5))
        S = [[exact(Q(int(v)) + shift * (i == j)) for j, v in enumerate(row)] for i, row in enumerate(half @ half.T)]
        assert is_psd(S) is (shift >= 0) and is_definite(S) is (shift > 0)


@given(
    st.integers(2, 4),
    st.integers(1, 2),
    st.fractions(Q(1, 50), Q(9, 10), max_denominator=50),
    st.fractions(Q(1, 20), Q(1), max_denominator=20),
)
@settings(max_examples=12, deadline=None)
def test_the_theorems_own_multipliers_are_a_proof(tau, rounds, mu, eta):
    """`fedavg-rounds` with its double sum, in exact arithmetic: at the stated constant, and not below it."""
    run = rounds_of(rounds, tau, mu, eta)
    q, T = 1 - eta * mu, run.T
    a = (2 - eta * (L + mu)) / (eta * (L - mu))
    E = (
        eta**2
        / (a * (a + tau))
        * sum(q ** (i + k) * min(i, k) * (a + tau - max(i, k)) for i in range(1, tau) for k in range(1, tau))
    )
    b = E * sum(q ** (2 * tau * r) for r in range(rounds))
    each = [2 * eta * q ** (2 * (T - 1 - k) + 1) for k in range(T) for _ in (0, 1)]
    multipliers, program = each + [Q(0)] * (2 * T - 2), program_of(run)
    for constant, proved in ((b, True), (b * (1 - Q(1, 10**9)), False)):
        gap = program.sum({"Delta_0": q ** (2 * T), "variance": constant}) - program["measured"]
        labels = dict(zip(program.labels, multipliers, strict=True))
        assert verification.verify(program, gap, labels)[0] is proved
    claim = bounds(run, Q(1), Q(1))["fedavg-rounds"]
    assert claim >= float(q ** (2 * T) + b) * (1 - 1e-12)


@pytest.mark.parametrize("eta", [Q(1, 10), Q(1, 2), Q(1)])
@pytest.mark.parametrize(("rounds", "tau"), [(1, 6), (4, 3), (8, 2)])
def test_the_sandwich_is_in_order(rounds, tau, eta):
    run = rounds_of(rounds, tau, eta=eta)
    found, instance = worst(run, zeta_sq=Q(4)), attained(run, 1.0, 4.0)
    proved = bounds(run, Q(1), Q(4))
    assert {"fedavg-rounds", "fedavg-contraction"} <= proved.keys()
    assert ("fedavg-push" in proved) is (eta <= 1)
    assert found.certified and 0.5 * found.value < instance.value <= found.value <= min(proved.values())


def test_a_bound_needs_its_assumptions():
    assert not bounds(rounds_of(2, 2, eta=Q(19, 10)), Q(1), Q(1))
    assert "fedavg-rounds" not in bounds(rounds_of(2, 2, eta=2 / (L + MU)), Q(1), Q(1))


@given(st.integers(0, 2**31), st.integers(2, 5), st.floats(0.05, 1.0))
@settings(max_examples=15, deadline=None)
def test_the_theorems_hold_inside_rounds_too(seed, tau, eta):
    """Every T, unequal weights, four random quadratics."""
    rng = np.random.default_rng(seed)
    frames = np.linalg.qr(rng.standard_normal((4, 3, 3)))[0]
    H = np.einsum("nij,nj,nkj->nik", frames, rng.uniform(0.1, 1.0, (4, 3)), frames)
    H[0] = np.diag([0.1, 1.0, 0.5])
    problem = QuadraticProblem(H, 3 * rng.standard_normal((4, 3)), np.zeros(4), rng.dirichlet(np.ones(4)))
    ran = simulate(Experiment(problem, FedAvg(), lambda t: eta, tau=tau, rounds=4, replicates=1, batch_size=None))
    slopes = problem.grads(problem.w_star)
    path = ran.paths["alpha"].distance_sq[0]
    known = {"L": 1.0, "mu": 0.1, "eta_0": eta, "tau": tau, "Delta_0": float(problem.w_star @ problem.w_star)}
    known |= {"sigma_dif_sq": float(problem.p @ (slopes**2).sum(axis=1)), "sigma_sq": 0.0, "sigma_p_sq": 0.0}
    for key in ("fedavg-rounds", "fedavg-contraction", "fedavg-push"):
        bound = evaluate(stated(key), {**known, "T": np.arange(len(path), dtype=float)})
        assert (path <= bound * (1 + 1e-9)).all()


def test_the_claims_at_one_curvature():
    """At L = mu both are the contraction and the noise: nothing is divided by L - mu."""
    known = {"L": 1, "mu": 1, "eta_0": sp.Rational(1, 2), "tau": 3, "T": 6, "Delta_0": 1, "sigma_dif_sq": 5}
    known |= {"sigma_sq": 0, "sigma_p_sq": 0}
    for key in ("fedavg-rounds", "fedavg-contraction", "fedavg-push"):
        rhs = stated(key)
        assert rhs.subs({s: known[s.name] for s in rhs.free_symbols}) == sp.Rational(1, 2**12)


def test_noise_is_paid_for():
    """tau = 1: eta^2 sigma_p^2 (1 - q^2T)/(1 - q^2), what the mean's own recursion adds, and exactly that."""
    known = {"L": 1, "mu": sp.Rational(1, 10), "eta_0": sp.Rational(1, 2), "tau": 1, "T": 5, "Delta_0": 0}
    known |= {"sigma_dif_sq": 7, "sigma_sq": 3, "sigma_p_sq": 2}
    rhs = stated("fedavg-rounds")
    q = sp.Rational(19, 20)
    assert rhs.subs({s: known[s.name] for s in rhs.free_symbols}) == sum(q ** (2 * t) for t in range(5)) / 2


def test_bad_input_is_refused():
    with pytest.raises(InputError, match="0 < mu < L"):
        Run(1, 1, Q(1), Q(1), Q(1, 2))
    with pytest.raises(InputError, match="0 < eta < 2/L"):
        rounds_of(1, 1, eta=Q(2))
    with pytest.raises(InputError, match="400 steps"):
        rounds_of(401, 1)
    with pytest.raises(InputError, match="must be positive"):
        worst(rounds_of(1, 1), delta_0=Q(0))
    with pytest.raises(InputError, match="not negative"):
        worst(rounds_of(1, 1), zeta_sq=Q(-1, 2))
    with pytest.raises(InputError, match="whole number"):
        list(curve(rounds_of(1, 1), "tau", (Q(3, 2),)))
    with pytest.raises(InputError, match="rounds, tau, kappa or step"):
        list(curve(rounds_of(1, 1), "L"))


def test_the_command():
    runner = CliRunner()
    found = runner.invoke(main, ["worst", "--over", "rounds", "--values", "1,2", "--tau", "2", "--format", "json"])
    first, second = json.loads(found.stdout)
    assert (first["rounds"], second["rounds"], first["certified"]) == (1, 2, True)
    assert first["lower"] <= first["worst"] <= first["bound"] and first["worst"] == pytest.approx(0.868043, abs=2e-6)
    table = runner.invoke(main, ["worst", "--rounds", "1", "--tau", "2"])
    assert table.exit_code == 0 and "certified" in table.stdout and "fedavg-rounds" in table.stdout
    few = ["worst", "--rounds", "1", "--tau", "9"]
    for weights, said in (
        ("0.4,0.3,0.3", ""),
        ("0.6,0.4", "over all weights"),
        ("1,0 --p 0.5,0.5", "not exact"),
        ("any --p 0.6,0.4", "one by one"),
    ):
        shown = runner.invoke(main, [*few, "--weights", *weights.split()])
        assert shown.exit_code == 0 and "weights" in shown.stdout and (said or "certified") in shown.output
        assert said or "need not be attained" not in shown.output
    weights = (
        ["--weights", "1"],
        ["--weights", "0.5,0.6"],
        ["--weights", "1,0"],
        ["--p", "0.5,0.5"],
        ["--weights", "any"],
    )
    for wrong in (["--kappa", "1"], ["--values", "1,2"], *weights):
        assert runner.invoke(main, ["worst", *wrong]).exit_code == 2


def test_curves_change_what_they_name():
    assert tuple(CURVES) == AXES
    for over, value, name in (("kappa", Q(5), "kappa"), ("step", Q(1, 4), "step"), ("rounds", Q(2), "rounds")):
        one = next(curve(rounds_of(1, 2), over, (value,)))
        assert dataclasses.asdict(one)[name] == float(value)


def test_the_table_of_the_page():
    """docs/worst.md against the record of `validate.horizon`, whose short rows are computed again."""
    root = Path(__file__).resolve().parents[3]
    page = (root / "docs" / "worst.md").read_text(encoding="utf-8")
    kept = json.loads((root / "validate" / "results" / "horizon.json").read_text(encoding="utf-8"))
    rows = [row.strip("| ").split(" | ") for row in page.splitlines() if re.match(r"\| \d", row)]
    assert len(rows) == len(kept["table"])
    for row, one in zip(rows, kept["table"], strict=True):
        least, most = one["bound"] / one["worst"], one["bound"] / one["lower"]
        numbers = [f"{one[name]:.4g}" for name in ("lower", "worst", "bound")]
        assert row[:2] == [str(one["tau"]), str(one["rounds"])] and row[2:5] == numbers and one["certified"]
        assert row[5] == f"{least:.2f} to {most:.2f}"
        if one["tau"] * one["rounds"] <= 10:
            again = worst(rounds_of(one["rounds"], one["tau"]))
            assert again.value == pytest.approx(one["worst"], rel=1e-5)
    factors = [one["bound"] / one["worst"] for one in kept["table"]]
    assert f"between {min(factors):.2f} and {max(factors):.2f} times the worst case" in page
    assert f"eta = 1/(2L), within {max(factors):.2f} times" in (root / "docs/findings.md").read_text(encoding="utf-8")
    grid, far = kept["grid"], kept["grid"]["worst"][0]
    median, most = grid["median"]["factor"], grid["largest"]["factor"]
    said = f"at a median of {median:.2f} and at most at {most:.2f}, over {grid['places']}"
    assert said in " ".join(page.split())
    again = horizon.factors([far["tau"]], [far["rounds"]], [far["kappa"]])
    assert again[0] == pytest.approx(far, rel=1e-6)


def weighted(rounds, tau, alpha, p=None):
    alpha, p = (tuple(map(Q, given.split(","))) for given in (alpha, p or alpha))
    return Run(rounds, tau, MU, L, ETA, alpha, p)


@pytest.mark.parametrize(("rounds", "tau"), [(1, 3), (2, 2)])
@pytest.mark.parametrize("alpha", ["1/2,3/10,1/5", "2/5,2/5,1/5", "7/10,3/10", "9/10,1/10"])
def test_the_worst_case_is_that_of_all_weights(rounds, tau, alpha):
    """It is attained where no weight exceeds 1/2, and nearly so elsewhere; the instance never exceeds either."""
    run = weighted(rounds, tau, alpha)
    found, clients, instance, every = worst(run), by_clients(run), attained(run), worst(rounds_of(rounds, tau)).value
    assert found.certified and found.attained and run.exact is (alpha[:3] in ("1/2", "2/5"))
    assert instance.value < clients < found.value < clients * (1 + 1e-5)
    assert found.value == every if run.exact else 0.98 * every < found.value < every * (1 - 1e-4)
    assert min(bounds(run, Q(1), Q(1)).values()) >= found.value
    assert surely(run, instance, Q(1), Q(1)) == pytest.approx(instance.value, rel=1e-12)


@pytest.mark.parametrize(
    ("alpha", "p"), [("7/10,3/10", "1/2,1/2"), ("1/2,1/4,1/4", "1/3,1/3,1/3"), ("1,0", "1/2,1/2")]
)
def test_a_server_with_other_weights_is_bounded(alpha, p, monkeypatch):
    """Exactly where every client has its gradients in the programme, and by two blocks up to a tenth above."""
    for rounds, tau, more in ((3, 1, 1e-6), (1, 2, 0.06), (2, 2, 0.09)):
        run = weighted(rounds, tau, alpha, p)
        whole, clients, instance = worst(run), by_clients(run), attained(run)
        assert whole.certified and whole.attained and clients < whole.value < clients * (1 + 1e-5)
        with monkeypatch.context() as patched:
            patched.setattr(by_client, "LARGEST", 0)
            found = worst(run)
        assert found.certified and instance.value <= clients * (1 + 1e-6)
        assert clients < found.value * (1 + 1e-6) < clients * (1 + more) * (1 + 1e-5)
        assert verify(found.run, found.a, found.b, list(found.multipliers), found.bias)
        assert not verify(found.run, found.a, found.b, list(found.multipliers), found.bias * Q(99, 100))
        assert not bounds(run, Q(1), Q(1))


def test_short_runs_of_a_few_clients_lose_nothing():
    """two blocks are 14, 32 and 34% above; no proof is one of less, or of another run."""
    for eta, value in ((ETA, 5.5569), (Q(1), 12.586), (Q(13, 10), 18.247)):
        run = dataclasses.replace(weighted(2, 3, "7/10,3/10", "2/5,3/5"), eta=eta)
        found = worst(run)
        assert found.value == pytest.approx(value, rel=1e-4) and attained(run).value <= found.value
        for change, of, proved in (
            (0, run, True),
            (-Q(1, 100), run, False),
            (0, weighted(2, 3, "1,0", "2/5,3/5"), False),
        ):
            program = by_client.program_of(of, exact)
            gap = program.sum({"Delta_0": found.a + change, "zeta_sq": found.b}) - program["measured"]
            assert verification.verify(program, gap, found.multipliers)[0] is proved


def test_weights_may_be_others_in_every_round():
    """Round by round; docs/worst.md. An adversary who takes the farthest local model is an instance of it."""
    free = dataclasses.replace(weighted(4, 2, "0,0,1", "1/2,3/10,1/5"), free=True)
    found, instance = worst(free), attained(free)
    assert found.certified and (downward(instance.value), upward(found.value, 4)) == ("54.68", "55.08")
    delta, one = Q(1), dataclasses.replace(free, rounds=1)
    for _ in range(4):
        delta = Q(worst(one, delta).value)
    assert found.value == delta
    rng = np.random.default_rng(0)
    p, count = np.array([0.5, 0.3, 0.2]), 2000
    frames = np.linalg.qr(rng.standard_normal((count, 3, 2, 2)))[0]
    H = np.einsum("bnij,bnj,bnkj->bnik", frames, rng.choice([0.1, 1.0], (count, 3, 2)), frames)
    s = rng.standard_normal((count, 3, 2)) * [[1], [1], [5]]
    s -= np.einsum("n,bni->bi", p, s)[:, None]
    s /= np.sqrt(np.einsum("n,bni->b", p, s**2))[:, None, None]
    w = -s[:, 2] / np.linalg.norm(s[:, 2], axis=1)[:, None]
    for _ in range(free.rounds):
        X = np.repeat(w[:, None], 3, axis=1)
        for _ in range(free.tau):
            X = X - 0.5 * (np.einsum("bnij,bnj->bni", H, X) + s)
        w = X[np.arange(count), (X**2).sum(axis=-1).argmax(axis=1)]
    assert 0.9 * found.value < (w**2).sum(axis=1).max() <= found.value
    with pytest.raises(InputError, match="on its least"):
        dataclasses.replace(weighted(1, 1, "1,0", "2/3,1/3"), free=True)


@given(st.integers(0, 2**31))
@settings(max_examples=8, deadline=None)
def test_no_run_exceeds_the_bound_at_its_weights(seed):
    """Random quadratics of curvatures mu and L, gradients at w* and starts also along what the weights favour."""
    rng = np.random.default_rng(seed)
    N, count = int(rng.integers(2, 5)), 500
    alpha, p = (tuple(Q(int(x), int(w.sum())) for x in w) for w in rng.integers(1, 8, (2, N)))
    run = Run(2, 3, MU, L, Q(int(rng.integers(1, 19)), 10), alpha, p if seed % 2 else alpha)
    weights, shares = (np.array([float(x) for x in given]) for given in (run.alpha, run.p))
    frames = np.linalg.qr(rng.standard_normal((count, N, 3, 3)))[0]
    H = np.einsum("bnij,bnj,bnkj->bnik", frames, rng.choice([0.1, 1.0], (count, N, 3)), frames)
    s = rng.standard_normal((count, N, 3)) / 3 + (weights / shares - 1)[:, None] * rng.standard_normal((count, 1, 3))
    s -= np.einsum("n,bni->bi", shares, s)[:, None]
    s /= np.sqrt(np.einsum("n,bni->b", shares, s**2))[:, None, None]
    w = rng.standard_normal((count, 3)) / 3 - np.einsum("n,bni->bi", weights, s)
    w /= np.linalg.norm(w, axis=1)[:, None]
    for _ in range(run.rounds):
        X = np.repeat(w[:, None], N, axis=1)
        for _ in range(run.tau):
            X = X - float(run.eta) * (np.einsum("bnij,bnj->bni", H, X) + s)
        w = np.einsum("n,bni->bi", weights, X)
    assert (w**2).sum(axis=1).max() <= worst(run).value


def plugin(**changes):
    """A module with `fedavg-contraction` changed, under another name."""
    module = ModuleType("own")
    module.CLAIMS = (dataclasses.replace(claim_named("fedavg-contraction"), key="own", **changes),)
    return module


def test_where_the_search_stalls_nothing_is_claimed():
    """The barrier bounds the distance at centred points alone: this came to 0.00144, below an instance's 0.00173."""
    run = Run(2, 4, Q(1000, 1001), L, Q(7, 5))
    assert worst(run, zeta_sq=Q(3600)) is None
    found = sandwich(run, zeta_sq=Q(3600))
    assert found.worst is None and found.mark == "not established" and found.lower > 0.0017


def test_a_number_below_the_instance_is_no_worst_case(monkeypatch):
    def solver(certified, value):
        low = Worst(rounds_of(1, 2), Q(1), Q(0), value, 0.0, certified)
        monkeypatch.setattr("fedbounds.study.worst_case.worst", lambda *args: low)
        return sandwich(rounds_of(1, 2))

    assert solver(False, 0.5).worst is None and solver(False, 0.5).mark == "not established"
    assert solver(False, 0.9).worst == 0.9 and solver(False, 0.9).mark == "solver's"


def test_a_claim_that_the_instance_exceeds_is_refuted(capsys):
    """Without its drift the contraction is smaller than every run, and hid what is true."""
    start = {"start": claim_named("fedavg-contraction").terms["start"]}
    run, own = rounds_of(1, 2), plugin(terms=start)
    found, alone = sandwich(run, extra=[own]), sandwich(rounds_of(1, 2, eta=Q(19, 10)))
    assert found.theorem in ("fedavg-rounds", "fedavg-contraction") and found.bound >= found.worst
    assert list(found.refuted) == ["own"] and alone.theorem is None and alone.bound is None
    assert not sandwich(run, zeta_sq=Q(0), extra=[own]).refuted
    print_table([found], "rounds", "")
    assert f"REFUTED by the instance: own, {0.95**4:.10g} < {found.lower:.10g}" in capsys.readouterr().out


def test_where_newtons_matrix_has_no_factor_the_answer_is_honest():
    found = CliRunner().invoke(main, ["worst", "--rounds", "2", "--tau", "3", "--step", "1/100000"])
    assert found.exit_code == 0 and "not established" in found.stdout and "no bound" in found.stderr
    known = worst(Run(3, 4, MU, L, Q(1)), zeta_sq=Q(1, 10**12))
    assert known.certified and known.value == pytest.approx(0.9**24, rel=1e-4)


@given(st.fractions(Q(1, 10**6), Q(10**6)))
def test_an_upper_bound_is_rounded_up(value):
    assert value <= Q(above(value)) and Q(np.nextafter(above(value), 0)) < value
    assert value <= Q(upward(above(value), 6)) <= value * (1 + Q(2, 10**5))


def test_the_table_never_rounds_a_certified_value_down():
    for tau in (1, 2, 3):
        found = worst(rounds_of(1, tau))
        shown = (
            CliRunner().invoke(main, ["worst", "--rounds", "1", "--tau", str(tau)]).stdout.splitlines()[2].split()[2]
        )
        assert found.certified and found.a + found.b <= Q(found.value) <= Q(shown)


def test_a_loose_certificate_says_how_loose():
    found = sandwich(Run(13, 1, Q(1, 10**4), L, Q(1, 100)))
    assert found.certified and found.mark == f"certified, loose by {100 * found.gap / found.worst:.3g}%"
    assert 0.1 < found.gap / found.worst < 0.3 and sandwich(rounds_of(1, 2)).mark == "certified"


def test_assumptions_are_asked_at_more_than_two_clients():
    def of(test):
        return Assumption("few", "few clients", in_class=lambda setting: (test(setting.N), "too many"))

    run, conditions = rounds_of(1, 2), claim_named("fedavg-contraction").assumptions
    for test, applies in ((lambda N: N == 2, False), (lambda N: N < 10, False), (lambda N: N >= 2, True)):
        assert ("own" in bounds(run, Q(1), Q(1), [plugin(assumptions=(*conditions, of(test)))])) is applies


def test_an_instance_that_vanishes_is_no_divisor():
    run = Run(100, 4, Q(10**6, 10**6 + 1), L, Q(1))
    assert sandwich(run, zeta_sq=Q(0)).factor is None


@pytest.mark.parametrize(
    "kappa, step, zeta, tau, rounds",
    [(10_000, Q(1, 10), 100, 1, 20), (100, Q(1, 1000), 10**6, 1, 3), (10_000, Q(1, 42_000_000), 10**6, 2, 3)],
)
def test_rounding_refutes_no_theorem(kappa, step, zeta, tau, rounds):
    found = sandwich(Run(rounds, tau, Q(1, kappa), Q(1), step), zeta_sq=Q(zeta) ** 2)
    assert not found.refuted and found.theorem is not None
    assert found.lower <= found.bound


def test_what_is_enclosed_is_what_was_run():
    run = Run(3, 4, Q(1, 10), Q(1), Q(1, 2))
    found = attained(run)
    assert surely(run, found, Q(1), Q(1)) == pytest.approx(found.value, rel=1e-12)
