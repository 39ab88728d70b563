"""The batched pass against PyTorch's own layers and optimisers, client by client; and who trains at all."""

import numpy as np
import pytest
import torch

from fedbounds.errors import InputError
from fedbounds.vision import network, reference, training
from fedbounds.vision.settings import MODELS, OPTIMISERS
from fedbounds.vision.training import Plan, Samples

# Sums of up to 10^4 products in another order, relative to the largest entry.
DOUBLE, SINGLE = 1e-12, 1e-5
# Adam divides by the root of squared gradients: where these are rounding noise its step is of size lr all the same.
STEPS = {"sgd": 0.1, "momentum": 0.05, "adam": 1e-3}
# Unequal clients: one of a single batch, one with a last batch of one sample, one that a call outlives.
PARTS = (np.arange(0, 40), np.arange(40, 45), np.arange(45, 78), np.arange(78, 96))
ALPHA = np.array([0.2, 0.3, 0.0, 0.5])


@pytest.fixture(autouse=True)
def one_thread():
    with training.one_thread_an_operation(), torch.no_grad():
        yield


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(5)
    x = rng.random((100, 28, 28))
    x[:, :9] = 0  # a background, as images have: windows with equal scores
    return Samples(torch.from_numpy(x), torch.from_numpy(rng.integers(0, 10, 100)))


def single(samples):
    return Samples(samples.x.float(), samples.y)


def models(model, clients, dtype=torch.float64):
    own = [network.initial(model, np.random.default_rng([7, k])) for k in range(clients)]
    return tuple(torch.stack(pieces).to(dtype) for pieces in zip(*own, strict=True))


def by_autograd(params, g, x, y, weight):
    net = reference.build("hidden" if len(params) > 6 else "flatten").to(x.dtype)
    reference.put(net, tuple(piece[g] for piece in params))
    with torch.enable_grad():
        scores = net(x[g].unsqueeze(1))
        (torch.nn.functional.cross_entropy(scores, y[g], reduction="none") * weight[g]).sum().backward()
    expected = reference.build("hidden" if len(params) > 6 else "flatten").to(x.dtype)
    with torch.no_grad():
        for own, piece in zip(expected.parameters(), net.parameters(), strict=True):
            own.copy_(piece.grad)
    return scores.detach(), reference.take(expected)


def close(ours, theirs, tolerance):
    for a, b in zip(ours, theirs, strict=True):
        assert torch.abs(a - b).max() <= tolerance * torch.abs(b).max()


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_scores_and_gradients_are_those_of_autograd(samples, model, dtype):
    params = models(model, 3, dtype)
    x, y = samples.x[:36].view(3, 12, 28, 28).to(dtype), samples.y[:36].view(3, 12)
    weight = torch.rand(3, 12, dtype=dtype, generator=torch.Generator().manual_seed(0))
    weight[1, 5:] = 0  # padding
    ours, scores = network.gradients(params, x, y, weight), network.logits(params, x)
    for g in range(3):
        expected, gradient = by_autograd(params, g, x, y, weight)
        tolerance = DOUBLE if dtype is torch.float64 else SINGLE
        close([scores[g]], [expected], tolerance)
        close([piece[g] for piece in ours], gradient, tolerance)


@pytest.mark.parametrize("model", MODELS)
def test_a_compiler_would_see_the_same_function(samples, model, monkeypatch):
    params, x, y = models(model, 2), samples.x[:20].view(2, 10, 28, 28), samples.y[:20].view(2, 10)
    weight = torch.full((2, 10), 0.1, dtype=torch.float64)
    plain = network.gradients(params, x, y, weight)
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    close(network.gradients(params, x, y, weight), plain, DOUBLE)


def test_low_precision_rounds_operands_and_nothing_else(samples):
    params, x, y = models("hidden", 2, torch.float32), samples.x[:64].view(2, 32, 28, 28).float(), samples.y[:64]
    weight, y = torch.full((2, 32), 1 / 32), y.view(2, 32)
    low, full = (network.gradients(params, x, y, weight, flag) for flag in (True, False))
    assert all(piece.dtype is torch.float32 for piece in low)
    for a, b in zip(low, full, strict=True):
        cosine = torch.nn.functional.cosine_similarity(a.flatten(), b.flatten(), dim=0)
        assert 0.99 < cosine < 1.01
    assert any((a != b).any() for a, b in zip(low, full, strict=True))


@pytest.mark.parametrize("optimiser", OPTIMISERS)
@pytest.mark.parametrize("together", [1, 2, 4])
def test_batched_training_is_the_loop(samples, optimiser, together):
    plan, data, lr = Plan(2, 16, optimiser), single(samples), STEPS[optimiser]
    orders = training.batches(3, 0, 4, PARTS, plan, round=2)
    start = network.initial("flatten", np.random.default_rng(1))
    expected = reference.train(reference.build("flatten"), start, data, orders, ALPHA, plan, lr)
    ours = training.train(start, data, orders, ALPHA, plan, lr, training.machine("cpu", together))
    for a, b, before in zip(ours, expected, start, strict=True):
        moved = torch.abs(b - before).max()
        assert moved > 0
        if optimiser == "adam":  # single entries may differ by a step; the whole may not
            assert torch.linalg.vector_norm(a - b) <= 1e-2 * torch.linalg.vector_norm(b - before)
        else:
            assert torch.abs(a - b).max() <= 1e-4 * moved


def test_neither_threads_nor_their_number_change_a_bit(samples):
    plan, data = Plan(1, 16, "sgd"), single(samples)
    orders = training.batches(3, 0, 4, PARTS, plan, round=0)
    start, alpha = network.initial("flatten", np.random.default_rng(1)), np.full(4, 0.25)
    results = [
        training.train(start, data, orders, alpha, plan, 0.1, training.machine("cpu", 1, threads))
        for threads in (1, 2, 3)
    ]
    for other in results[1:]:
        assert all(torch.equal(a, b) for a, b in zip(results[0], other, strict=True))


def test_clients_without_weight_are_not_trained(samples, monkeypatch):
    trained = []
    inner = training._train_chunk

    def counted(params, data, orders, *rest):
        trained.append(len(orders))
        return inner(params, data, orders, *rest)

    monkeypatch.setattr(training, "_train_chunk", counted)
    plan = Plan(1, 16, "sgd")
    orders = training.batches(0, 0, 4, PARTS, plan, 0)
    start = network.initial("flatten", np.random.default_rng(1))
    training.train(start, single(samples), orders, np.array([0, 0, 1.0, 0]), plan, 0.1, training.machine("cpu", 4))
    assert trained == [1]


def test_batches_cover_every_sample_once_an_epoch_and_depend_on_seed_round_and_client_alone():
    plan = Plan(2, 16, "sgd")
    orders = training.batches(1, 2, 4, PARTS, plan, 5)
    for part, order in zip(PARTS, orders, strict=True):
        half = len(order) // 2
        for epoch in (order[:half], order[half:]):
            assert sorted(np.concatenate(epoch)) == part.tolist()
            assert all(len(batch) == 16 for batch in epoch[:-1])
    again = training.batches(1, 2, 4, PARTS, plan, 5)
    assert all(np.array_equal(a, b) for a, b in zip(orders[0], again[0], strict=True))
    for other in (training.batches(2, 2, 4, PARTS, plan, 5), training.batches(1, 2, 4, PARTS, plan, 6)):
        assert not np.array_equal(orders[0][0], other[0][0])


def test_evaluation_is_the_networks_mean_loss_and_accuracy(samples):
    data, params = single(samples), network.initial("flatten", np.random.default_rng(1))
    index = np.arange(3, 100)
    loss, right = training.evaluate(params, data, index, training.machine("cpu"), False)
    net = reference.build("flatten")
    reference.put(net, params)
    scores = net(data.x[index].unsqueeze(1))
    expected = torch.nn.functional.cross_entropy(scores, data.y[index], reduction="none")
    assert np.allclose(loss, expected.numpy(), rtol=SINGLE, atol=SINGLE)
    assert np.array_equal(right, (scores.argmax(1) == data.y[index]).numpy())


@pytest.mark.parametrize("device", ["cuda:99", "tpu", "gpu"])
def test_a_device_that_is_not_there_is_one_sentence(device):
    with pytest.raises(InputError, match=f"'{device}'.*--device cpu") as found:
        training.machine(device)
    assert "\n" not in str(found.value)


@pytest.mark.parametrize("bad", [{"together": 0}, {"threads": 0}])
def test_a_machine_needs_at_least_one(bad):
    with pytest.raises(InputError, match="at least 1"):
        training.machine("cpu", **bad)


@pytest.mark.parametrize("together", [1, 3])
def test_training_everyone_first_gives_the_same_average_and_the_losses_of_local_models(samples, together):
    plan, data, where = Plan(1, 16, "sgd"), single(samples), training.machine("cpu", together)
    orders = training.batches(3, 0, 4, PARTS, plan, round=1)
    start = network.initial("flatten", np.random.default_rng(1))
    average, losses = training.train_everyone(start, data, orders, PARTS, plan, 0.1, where)
    close(average(ALPHA), training.train(start, data, orders, ALPHA, plan, 0.1, where), 1e-6)
    for i, part in enumerate(PARTS):
        own = training.train(start, data, orders, np.eye(4)[i], plan, 0.1, where)
        assert losses[i] == pytest.approx(training.evaluate(own, data, part, where, False)[0].mean(), rel=1e-5)
