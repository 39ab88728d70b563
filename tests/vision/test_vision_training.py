"""Local training against the formulas and PyTorch's own layers; who trains at all; bits and threads."""

import itertools

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from fedbounds.vision import training
from fedbounds.vision.settings import ImageSettings
from fedbounds.vision.training import Samples

# Sums of up to 10^4 products in another order, relative to the largest entry.
SINGLE = 1e-5
# Unequal clients: one of a single batch, one with a last batch of one sample.
PARTS = (np.arange(0, 40), np.arange(40, 45), np.arange(45, 78), np.arange(78, 96))
SMALL = ImageSettings(clients=4, samples=20, epochs=2, batch=16, seed=3)


@pytest.fixture(autouse=True)
def bits():
    with training.repeatable():
        yield


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(5)
    x = rng.random((100, 1, 28, 28), dtype=np.float32)
    x[:, :, :9] = 0  # a background, as images have: windows with equal scores
    return Samples(torch.from_numpy(x), torch.from_numpy(rng.integers(0, 10, 100)))


def start():
    return training.initial(np.random.default_rng(1))


def train(net, samples, order, lr=0.1, **changes):
    settings = ImageSettings(**{**SMALL.to_json(), **changes})
    return training.train(net, samples, order, settings, lr)


def close(net, other, tolerance=SINGLE):
    for a, b in zip(net.parameters(), other.parameters(), strict=True):
        assert torch.abs(a - b).max() <= tolerance * torch.abs(b).max()


def as_the_paper_has_it(net, x):
    """The same parameters with ReLU before pooling, channels first, and nothing of the image left out."""
    h = F.max_pool2d(F.relu(F.conv2d(x, net.first.weight.contiguous(), net.first.bias)), 2)
    h = F.max_pool2d(F.relu(F.conv2d(h, net.second.weight.contiguous(), net.second.bias)), 2)
    flat = torch.stack([h[:, :, i, j] for i in range(5) for j in range(5)], dim=1).flatten(1)
    return F.linear(flat, net.output.weight, net.output.bias)


def test_the_network_is_the_papers(samples):
    net = start()
    scores = as_the_paper_has_it(net, samples.x)
    torch.testing.assert_close(net(samples.x), scores, rtol=SINGLE, atol=SINGLE)
    assert sum(piece.numel() for piece in net.parameters()) == 34_826


def test_a_seed_means_the_same_first_model_forever():
    """The law is PyTorch's, the draws are numpy's, in an order that stored records rest on."""
    rng = np.random.default_rng(1)
    net, bound = start(), 1 / 3
    first = rng.uniform(-bound, bound, (9, 32)).astype(np.float32)
    assert np.array_equal(net.first.weight.detach().numpy(), first.reshape(3, 3, 1, 32).transpose(3, 2, 0, 1))
    assert np.array_equal(net.first.bias.detach().numpy(), rng.uniform(-bound, bound, 32).astype(np.float32))


def test_a_step_of_sgd_is_minus_lr_times_the_gradient_of_the_mean_loss(samples):
    net, rows = start(), np.arange(16)
    stepped = train(net, samples, (rows,), lr=0.01)
    losses = F.cross_entropy(as_the_paper_has_it(net, samples.x[rows]), samples.y[rows])
    for a, b, slope in zip(
        stepped.parameters(), net.parameters(), torch.autograd.grad(losses, list(net.parameters())), strict=True
    ):
        torch.testing.assert_close(a, b - 0.01 * slope, rtol=SINGLE, atol=SINGLE / 10)


def test_the_average_is_the_weighted_sum_in_double_precision(samples):
    models = [training.initial(np.random.default_rng(k)) for k in range(3)]
    alpha = np.array([0.2, 0.3, 0.5])
    result = training.average(alpha, iter(models), models[0])
    for k, piece in enumerate(result.parameters()):
        own = [list(model.parameters())[k].detach().double() for model in models]
        wanted = sum(a * w for a, w in zip(alpha, own, strict=True)).float()
        torch.testing.assert_close(piece.detach(), wanted, rtol=2**-23, atol=0)


def test_batches_cover_every_sample_once_an_epoch_and_depend_on_seed_round_and_client_alone():
    orders = training.batches(SMALL, 2, PARTS, 5)
    for part, order in zip(PARTS, orders, strict=True):
        half = len(order) // 2
        for epoch in (order[:half], order[half:]):
            assert sorted(np.concatenate(epoch)) == part.tolist()
            assert all(len(batch) == 16 for batch in epoch[:-1])
    assert str(training.batches(SMALL, 2, PARTS, 5)) == str(orders)
    others = [training.batches(SMALL, 3, PARTS, 5), training.batches(SMALL, 2, PARTS, 6)]
    others.append(training.batches(ImageSettings(**{**SMALL.to_json(), "seed": 4}), 2, PARTS, 5))
    assert all(not np.array_equal(a[0][0], b[0][0]) for a, b in itertools.combinations([orders, *others], 2))


@pytest.mark.parametrize("threads", [2])
def test_evaluation_is_the_networks_mean_loss_and_accuracy(samples, monkeypatch, threads):
    monkeypatch.setattr(training, "EVALUATED", 30)
    net, index = start(), np.arange(3, 100)
    loss, right = training.evaluate(net, samples, index, "float32", threads)
    scores = as_the_paper_has_it(net, samples.x[index]).detach()
    expected = F.cross_entropy(scores, samples.y[index], reduction="none")
    assert np.allclose(loss, expected.numpy(), rtol=SINGLE, atol=SINGLE)
    assert np.array_equal(right, (scores.argmax(1) == samples.y[index]).numpy())
