"""A quantity is one object: its definition on a path, by a function or by points, and what evidence needs."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
import sympy as sp

from fedbounds.engine.replay import replay
from fedbounds.engine.simulate import simulate
from fedbounds.errors import InputError
from fedbounds.evidence.assumption_checks import with_quantities
from fedbounds.evidence.exact.instance_json import from_json
from fedbounds.evidence.exact.run import run
from fedbounds.evidence.measured_run import examine_run
from fedbounds.evidence.symbolic.gate import admit
from fedbounds.evidence.symbolic.proof_state import Unproved
from fedbounds.referee import stages
from fedbounds.referee.regimes import Suite, experiment, quadratics
from fedbounds.report.claim_text import explain
from fedbounds.theory import assumptions as a
from fedbounds.theory import quantity, symbols
from fedbounds.theory import sample_path as on
from fedbounds.theory.claim import Claim
from fedbounds.theory.points import (
    F,
    F_i,
    F_i_star,
    F_star,
    grad,
    inner,
    mean,
    mean_alpha,
    norm_sq,
    p_i,
    w,
    w_alpha,
    w_i,
    w_i_star,
    w_next,
    w_star,
    weight_ratio,
)
from fedbounds.theory.quantity import Path, Quantity, constant, largest, measured
from fedbounds.theory.reading import READINGS
from fedbounds.weightings.fedmax import FedMax

PLAIN = READINGS["plain"]
FARTHEST = quantity.measured(
    "my_farthest",
    lambda path: path.losses.excess(path.w).max(axis=-1),
    latex="f_t",
    meaning="largest gap of a client",
    units=(0, 1),
    nonnegative=True,
)
MINE = Claim(
    "mine", "", "", "step", FARTHEST, {"L": symbols.L * symbols.Delta}, assumptions=(a.smooth, a.full_participation)
)
# Of several paths together, or defined by a claim, or a bound that no path shows.
NO_PATH = {"gamma", "sigma_0_sq", "growth", "L_sample", "rho_pairs", "m", "turn", "reach", "push", "skew", "kept"}
NO_PATH |= {"eta_s", "q"}


def no_variance(points):
    return 0 * points.sum(-1)


def value(name, path):
    q = symbols.RECORDED[name]
    if q.statistic == "constant":
        return q.on_path(path.losses)
    result = np.asarray(q.on_path(path)).ravel()
    return {"largest": max, "smallest": min}.get(q.statistic, list)(result)


@pytest.mark.parametrize("sync", [False, True])
def test_a_run_records_what_the_definitions_on_its_path_say(sync):
    planned = experiment(quadratics([1, 3, 4], [-1, 2, 0.5], noise=0), [3.0], eta=0.2, tau=2, rounds=3)
    planned = planned.with_(weighting=FedMax(2))
    reading = READINGS["sync" if sync else "all-steps"]
    seen = examine_run(simulate(planned), reading)
    w, X, alpha, _ = replay(planned)
    path = Path(2, seen.trajectory.eta, planned.problem, w["alpha"][0], X[0], alpha[0], None, no_variance, sync)
    steps = dict.fromkeys(("C", "eta_ratio", "eta_growth"), 1.0)
    constants = {name: c.value for name, c in seen.constants.items()} | steps
    for name in symbols.RECORDED.keys() - NO_PATH:
        q = symbols.RECORDED[name]
        if not q.recorded:
            assert value(name, path) == pytest.approx(constants[name], abs=1e-12), name
        for scope, field in (q.recorded or {}).items():
            measured = np.ravel(seen.measurement().field(scope, field))
            assert np.allclose(np.asarray(value(name, path), float)[: len(measured)], measured, atol=1e-12), name


def in_fractions():
    """A run of three clients and its one path."""
    data = {"curvatures": [1, 4, 2], "minima": [-1, 1, 3], "p": ["1/2", "1/4", "1/4"], "w0": [3]}
    instance = from_json(data | {"eta": ["1/8", "1/9"] * 2, "tau": 2, "weighting": "fedmax:2"})
    record, eta = run(instance), np.array(instance.eta, dtype=object)
    ((_, path),) = record.measured.whole("alpha").of(0, 2, eta, instance.losses)
    return record, path


def test_fractions_are_what_the_definitions_say_exactly():
    record, path = in_fractions()
    path = replace(path, variance=no_variance)
    for name in symbols.RECORDED.keys() - NO_PATH:
        if not symbols.RECORDED[name].recorded and name in record.values:
            assert value(name, path) == record.values[name], name
    assert value("rho_bar", path) == record.rho_all
    assert value("rho_bar", replace(path, synchronised_skew=True)) == record.rho_sync
    for name, field in (("Delta_T", "distance_sq"), ("gap", "gap")):
        assert tuple(value(name, path)) == record.paths["alpha"][field]
    assert tuple(value("drift", path)) == record.paths["alpha"]["drift"][:-1]


def test_quotients_of_step_sizes_are_taken_inside_a_round():
    falling, rising, halved = 1 / (2 + np.arange(6)), 0.1 * (1 + np.arange(6)), 0.5 ** (np.arange(6) // 3)
    assert on.ratios_of_steps(falling, 3).max() == 2 and on.growth_of_steps(falling, 3).max() == 1
    assert on.ratios_of_steps(rising, 3).max() == 1 and on.growth_of_steps(rising, 3).max() == pytest.approx(3)
    assert on.ratios_of_steps(halved, 3).max() == on.growth_of_steps(halved, 3).max() == 1


def test_a_new_quantity_is_seen_by_every_evidence_that_can_express_it():
    planned = experiment(quadratics([1, 4], [-1, 1], noise=0), [0.0], eta=0.125, tau=2, rounds=2)
    seen = with_quantities(MINE, examine_run(simulate(planned), PLAIN)).quantities.fields["my_farthest"]
    data = {"curvatures": [1, 4], "minima": [-1, 1], "p": ["1/2", "1/2"], "w0": ["0"], "eta": ["1/8"] * 4, "tau": 2}
    exact = run(from_json(data | {"weighting": "fedavg"})).computed(MINE, PLAIN).fields["my_farthest"]
    assert len(exact) == 4 and all(x.denominator >= 1 for x in exact) and seen.shape[-1] == 4
    assert explain(MINE)["symbols"]["my_farthest"] == "largest gap of a client"


def test_evidence_without_its_facet_says_so():
    lines = stages.read_back(stages.Case(MINE, PLAIN, "small", 0, Suite(()))).lines
    for kind in ("certificates", "proofs", "Rocq"):
        assert f"{kind} cannot express my_farthest" in lines
    assert not any("search cannot" in said for said in lines)
    with pytest.raises(Unproved):
        admit(sp.sympify(FARTHEST), None)


def test_a_shipped_quantity_is_itself_in_another_process_and_its_name_is_taken():
    assert pickle.loads(pickle.dumps(symbols.eta_sum)) is symbols.eta_sum
    assert pickle.loads(pickle.dumps(symbols.L * symbols.mu)) == symbols.L * symbols.mu
    with pytest.raises(InputError, match="free"):
        quantity.constant("Delta", len)
    assert all(isinstance(q, Quantity) and q.latex and q.meaning for q in symbols.QUANTITIES.values())


def sq(vectors):
    return (vectors**2).sum(-1)


def over(p, vectors):
    return (p[..., None] * vectors).sum(-2)


def own_grads(path):
    clients = np.arange(path.X.shape[1])
    return path.losses.grads(path.X)[:, clients, clients]


def bent(path):
    return over(path.losses.p, path.X)


def minimisers(path):
    return [getattr(result, "w", result) for result in map(path.losses.argmin, path.alpha)]


def along_the_way(path):
    away = path.w - path.losses.w_star
    return (away * over(path.losses.p, path.losses.grads(path.w))).sum(-1) - path.losses.mu * sq(away)


# A quantity, and the same by hand.
ALONG = [
    (mean(norm_sq(grad(w))), lambda path: sq(path.losses.grads(path.w)) @ path.losses.p),
    (norm_sq(mean(grad(w))), lambda path: sq(over(path.losses.p, path.losses.grads(path.w)))),
    (mean(norm_sq(w_i - mean(w_i))), lambda path: sq(path.X - bent(path)[:, None]) @ path.losses.p),
    (mean_alpha(norm_sq(w_i - w)), lambda path: (path.alpha * sq(path.X - path.w[:-1, None])).sum(-1)),
    (mean((weight_ratio - 1) ** 2), lambda path: ((path.alpha - path.losses.p) ** 2 / path.losses.p).sum(-1)),
    (F(mean(w_i)) - F_star, lambda path: path.losses.gap(bent(path))),
    (F(w) - mean(F_i_star), lambda path: path.losses.excess(path.w) @ path.losses.p),
    (mean(F_i(w_i) - F_i_star), lambda path: [e.diagonal() @ path.losses.p for e in path.losses.excess(path.X)]),
    (mean_alpha(F_i(w_star) - F_i_star), lambda path: path.alpha @ path.losses.excess(path.losses.w_star)),
    (norm_sq(mean(grad(w_i))), lambda path: sq(over(path.losses.p, own_grads(path)))),
    (norm_sq(w_next - w) / symbols.eta**2, lambda path: sq(path.w[1:] - path.w[:-1]) / path.eta**2),
    (norm_sq(w_alpha - w_star), lambda path: np.array([sq(o - path.losses.w_star) for o in minimisers(path)])),
    (inner(w - w_star, mean(grad(w))) - symbols.mu * norm_sq(w - w_star), along_the_way),
]  # fmt: skip
FIXED = [
    (mean(p_i), lambda losses: (losses.p**2).sum()),
    (mean(norm_sq(w_star - w_i_star)), lambda losses: sq(losses.w_star - losses.w_i_star) @ losses.p),
    (norm_sq(w_star - mean(w_i_star)), lambda losses: sq(losses.w_star - over(losses.p, losses.w_i_star))),
    (mean(F_i(mean(w_i_star)) - F_i_star), lambda l: l.p @ l.excess(over(l.p, l.w_i_star))),
]


@pytest.fixture(scope="module")
def paths():
    planned = experiment(quadratics([1, 3, 4], [-1, 2, 0.5], noise=0), [3.0], eta=0.2, tau=2, rounds=3)
    planned = planned.with_(weighting=FedMax(2))
    models, X, alpha, _ = replay(planned)
    return Path(2, np.full(6, 0.2), planned.problem, models["alpha"][0], X[0], alpha[0]), in_fractions()[1]


def test_an_expression_has_the_value_of_the_function_by_hand(paths):
    floats, fractions = paths
    for k, (expression, by_hand) in enumerate(ALONG):
        q = measured(f"q_{k}", expression)
        assert np.asarray(q.on_path(floats), float) == pytest.approx(np.asarray(by_hand(floats), float)), expression
        result = q.on_path(fractions)
        assert result.dtype == object and list(result) == list(by_hand(fractions)), expression
        assert pickle.loads(pickle.dumps(q)) == q and q.meaning and q.in_proof
    for k, (expression, by_hand) in enumerate(FIXED):
        q = constant(f"q_{k}", expression)
        assert float(q.on_path(floats.losses)) == pytest.approx(float(by_hand(floats.losses)))
        assert q.on_path(fractions.losses) == by_hand(fractions.losses), expression


def test_shipped_quantities_are_expressions_and_follow_from_them(paths):
    _, path = paths
    assert symbols.gap.on_path(path).tolist() == path.losses.gap(path.w).tolist()
    assert symbols.drift.units == (2, 0) and symbols.zeta_star_sq.units == (-2, 2) and symbols.Gamma.units == (0, 1)
    top = largest("top", mean(norm_sq(grad(w) - mean(grad(w)))))
    assert top.on_path(path).tolist() == symbols.zeta_sq.on_path(path).tolist() and not top.in_proof
    assert measured("here", norm_sq(w)).is_nonnegative and not measured("there", F(w) - F_star).is_nonnegative


@pytest.mark.parametrize(
    ("expression", "remedy"),
    [
        (w, "vector"),
        (norm_sq(w_i), "client to client"),
        (F(w), "F_star"),
        (mean_alpha(F_i(w)) - mean(F_i(w)), "F_i_star"),
        (symbols.Delta * norm_sq(w), "no word"),
        (norm_sq(w - w_star) + inner(w - w_star, mean(grad(w))), "different units"),
    ],
)
def test_what_is_no_quantity_is_refused_with_a_remedy(expression, remedy):
    with pytest.raises(InputError, match=remedy):
        measured("bad", expression)
    with pytest.raises(InputError, match="varies along a run"):
        constant("bad", norm_sq(w))
    with pytest.raises(InputError, match="varies along a run"):
        constant("bad", symbols.eta * norm_sq(w_star))
