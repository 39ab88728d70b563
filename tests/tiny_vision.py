"""A tiny vision experiment: four clients with twenty digits each, and what its tests share."""

import dataclasses
import functools

from fedbounds import plugins
from fedbounds.vision import images, run
from fedbounds.vision.settings import ImageSettings

TINY = ImageSettings(
    data="digits",
    partition="shards:8",
    clients=4,
    samples=20,
    rounds=3,
    epochs=1,
    batch=16,
    lr=0.1,
)


@functools.cache
def few():
    """A tenth of the digits, every label among them."""
    whole = images.digits()
    train, test = slice(None, None, 10), slice(None, None, 8)
    return images.Images(
        "digits", whole.train[train], whole.train_labels[train], whole.test[test], whole.test_labels[test]
    )


@functools.cache
def prepared():
    """The same, ready for training."""
    return run.prepare(few())


def go(out, weighting="fedavg", repetition=0, threads=1, data=None, report=None, **changes):
    """The record of one run in the folder ``out``; ``changes`` are of TINY."""
    rule = plugins.weighting_named(weighting) if isinstance(weighting, str) else weighting
    settings = dataclasses.replace(TINY, **changes)
    return run.run(settings, data or prepared(), rule, repetition, out, threads, report)


def numbers(record):
    """All of a record but the time it took."""
    return {key: value for key, value in record.items() if key != "seconds"}


def one_sentence(caught):
    """What an expected failure says, after checking that it is one sentence."""
    said = str(caught.value)
    assert "\n" not in said and said.endswith(".")
    return said
