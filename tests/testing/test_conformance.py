"""The conformance oracle: right implementations by hand pass, each slip is refused and named, at the stated rate."""

import numpy as np
import pytest

from fedbounds.errors import InputError
from fedbounds.plugins import algorithm_named
from fedbounds.testing import conforms
from fedbounds.testing.slips import slips
from fedbounds.testing.small_rounds import law, tasks
from validate import conformance as study

SAMPLES = 250
# One slip of each sort; the whole matrix is `python -m validate.conformance`.
SOME = [
    ("fedavg:server_step=0.7", study.OF_MOVES),
    ("fedavgm:momentum=0.9,server_step=0.7", "the momentum is Nesterov's"),
    ("scaffnew:q=0.3", "it communicates with probability 1 - q"),
    ("scaffold:option=2,server_step=0.7", "c is stale: it never moves"),
    ("fedavg:server_step=0.7", study.SUMMED_DRAWN),
    ("local-rr", "samples are drawn with replacement"),
]


@pytest.mark.parametrize("text", study.WRITTEN)
def test_a_right_implementation_passes(text):
    result = conforms(study.by_hand(), text, samples=100)
    assert result, str(result)
    assert str(result).startswith("Nothing tells it from") and "100 rounds" in str(result)


@pytest.mark.parametrize(("text", "slip"), SOME)
def test_a_slip_is_refused_and_named(text, slip):
    assert slip in study.slips(text)
    result = conforms(study.by_hand(slip), text, samples=1000 if "replacement" in slip else SAMPLES)
    assert not result and slip in result.slips, str(result)
    assert f"It does what happens where {result.slips[0]}" in str(result)


def test_every_slip_made_by_hand_is_one_that_the_oracle_knows():
    for text in study.WRITTEN:
        known = slips(algorithm_named(text))
        assert set(study.slips(text)) <= set(known), text


def test_the_law_is_the_mean_and_covariance_of_what_happens():
    method = algorithm_named("scaffold")
    (task, state) = tasks(method)[1]
    exact = law(method, task, state)
    assert len(exact.outcomes) == 9**3 and exact.probability.sum() == pytest.approx(1)
    rng, by_hand = np.random.default_rng(0), study.by_hand()
    result = np.array([np.concatenate([v.ravel() for v in by_hand(state, task, rng).values()]) for _ in range(1000)])
    spread = np.sqrt(exact.probability @ (exact.outcomes - exact.mean) ** 2)
    assert np.all(np.abs(result.mean(0) - exact.mean) <= 5 * spread / np.sqrt(1000) + 1e-12)
    covariance = (exact.outcomes - exact.mean).T @ (exact.probability[:, None] * (exact.outcomes - exact.mean))
    np.testing.assert_allclose(np.cov(result.T), covariance, atol=6 * spread.max() ** 2 / np.sqrt(1000) * 3)


def test_the_moments_refuse_the_right_law_no_more_often_than_stated():
    """300 samples of 30 rounds at rate 1/10; Bernstein's inequality is safe, so far fewer are refused."""
    method = algorithm_named("fedavg")
    task, state = tasks(method)[1]
    exact, rng = law(method, task, state), np.random.default_rng(3)
    drawn = (exact.outcomes[rng.choice(len(exact.outcomes), 30, p=exact.probability)] for _ in range(300))
    assert sum(bool(exact.difference(states, 0.1)) for states in drawn) <= 30


def test_what_is_no_slip_known_is_said_and_what_is_no_state_is_refused():
    def drifting(state, task, rng):
        right = study.by_hand()(state, task, rng)
        return {"w": right["w"] + 0.05}

    result = conforms(drifting, "fedavg", samples=50)
    assert not result and not result.slips and "No known slip does that" in str(result)
    with pytest.raises(InputError, match="c of the next state"):
        conforms(lambda state, task, rng: {"w": state["w"]}, "scaffold", samples=5)


@pytest.mark.parametrize(("key", "slip"), [("fedavgm", "1 - momentum stands"), ("fedprox", "the strength of the")])
def test_what_default_parameters_hide_is_said(key, slip):
    slip = next(words for words in study.slips(key) if words.startswith(slip))
    result = conforms(study.by_hand(slip), key, samples=50)
    name = "momentum" if key == "fedavgm" else "strength"
    assert result and f"{name}={result.parameters[name]:g}" in str(result)
    assert f"a wrong use of {' and '.join(result.parameters)} may not show there" in str(result)
    generic = conforms(study.by_hand(), "fedavgm:momentum=0.9,server_step=0.7", samples=50)
    assert "It was asked at momentum=0.9, server_step=0.7 only." in str(generic)


@pytest.mark.parametrize(
    ("after", "said"),
    [
        ([1.0, 2.0], "must be a dictionary of arrays, but received [1.0, 2.0]"),
        ({"w": ["1", "2"]}, "but received ['1', '2']"),
        ({"w": [1j, 1.0]}, "but received [1j, 1.0]"),
        ({"w": [np.inf, np.nan]}, "but received one with 2 entries that are infinite or no numbers"),
        ({"w": [1.0]}, "but received one of shape (1,)"),
        ({}, "but received none"),
    ],
)
def test_what_is_no_state_is_refused_in_a_sentence(after, said):
    with pytest.raises(InputError) as refused:
        conforms(lambda state, task, rng: after, "fedavg", samples=5)
    assert said in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"samples": 0}, "samples must be a whole number of at least 1, but received 0"),
        ({"seed": -1}, "seed must be a whole number of at least 0, but received -1"),
        ({"error_rate": 0}, "the error rate must lie between 0 and 1, but received 0"),
        ({"error_rate": float("nan")}, "the error rate must lie between 0 and 1, but received nan"),
        ({"full": False, "batches": False, "partial": False}, "there must be a round to try"),
        ({"function": None}, "the round must be a function"),
        ({"algorithm": None}, "the algorithm must be a name or an Algorithm, but received None"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_a_sentence(asked, said):
    with pytest.raises(InputError, match=said):
        conforms(**{"function": study.by_hand(), "algorithm": "fedavg", "samples": 5} | asked)


def wrapped(change):
    """A right round whose next state, or whose task, is changed."""
    return lambda state, task, rng: change(state, task, rng, study.by_hand())


def coins(state, task, rng, right):
    """FedAvg with full gradients whose clients take part by coins of their own."""
    N = len(task.targets)
    present = [i for i in range(N) if task.participants == N or rng.random() < task.participants / N]
    if not present:
        return state
    models = {i: state["w"].copy() for i in present}
    for i, x in models.items():
        for _ in range(task.tau):
            rows = None if task.batch_size is None else rng.integers(0, len(task.targets[i]), task.batch_size)
            x[:] = x - task.eta * task.gradient(i, x, rows)
    weights = task.problem.p[present] / task.problem.p[present].sum()
    return {"w": sum(weight * x for weight, x in zip(weights, models.values(), strict=True))}


def doubled(state, task, rng, right):
    after = right(state, task, rng)
    return after | {"w": 2 * after["w"] - state["w"]}


def frozen(state, task, rng, right):
    return state | {"w": right(state, task, rng)["w"]}


@pytest.mark.parametrize(
    ("text", "change", "samples", "slip"),
    [
        ("fedavg", coins, 2000, "each client takes part by a coin of its own, not a fixed number of them"),
        ("fedavg", doubled, 50, "the server's step is doubled"),
        ("scaffold:server_step=0.7", frozen, 50, "the control variates are frozen: neither c nor c_i moves"),
    ],
)
def test_common_slips_of_frameworks_are_named(text, change, samples, slip):
    result = conforms(wrapped(change), text, samples=samples)
    assert not result and slip in result.slips, str(result)


def test_a_weak_proximal_term_is_seen():
    text = "fedprox:strength=0.01"
    result = conforms(study.by_hand("the proximal term is forgotten"), text, samples=50)
    assert not result and "the proximal term is forgotten" in result.slips
    right = conforms(study.by_hand(), text, samples=SAMPLES)
    assert right and "the proximal term is forgotten" not in right.undetected


def test_a_pass_says_which_slips_would_pass_too():
    result = conforms(study.by_hand(), "fedavgm", samples=100)
    assert "1 - momentum stands for the momentum" in result.undetected
    assert "Not told apart from it here: " in str(result) and result.undetected[0] in str(result)


def test_scaffold_needs_one_kind_of_weights_on_clients_of_unequal_sizes():
    def mixed(state, task, rng):
        """w by the sizes, and c by 1/N."""
        after = study.by_hand()(state, task, rng)
        return after | {"c": state["c"] + (after["c_i"] - state["c_i"]).mean(0)}

    result = conforms(mixed, "scaffold:server_step=0.7", samples=50)
    assert set(result.differences) == {"clients of unequal sizes"}
    equal = conforms(study.by_hand(), "scaffnew:q=0.3", samples=SAMPLES)
    assert equal and equal.equal_weights and "weights clients equally" in str(equal)
