"""Compiled minibatch steps of least squares and of binary logistic regression.

Loop order: client, step, then one pass over the replicates each for the draws, the products, the slopes and the
sums. A client's samples are read while they lie in cache, and successive iterations of a pass belong to
different replicates, so that they overlap in the processor. Batches are filled up to a multiple of eight with
the client's first sample at weight 0.
"""

from __future__ import annotations

import numpy as np

from fedbounds.engine.kernels.compiled import jit, kernel
from fedbounds.engine.kernels.math import clamp, exp
from fedbounds.engine.kernels.streams import absorb, draw_indices
from fedbounds.engine.kernels.vectors import (
    LANES,
    WORD,
    add_eight,
    add_scaled,
    address,
    draw_eight,
    eight_dots,
    gather_eight,
    scale_difference,
    word_at,
)


@jit
def _lines(R, width):
    """An uninitialised (R, width) array that starts at a cache line (of 8 numbers): vectors never cross lines."""
    home = np.empty(R * width + 2 * LANES)
    skip = (-address(home) // WORD) % LANES
    return home[skip : skip + R * width].reshape(R, width)


@jit
def _draws(keys_, stride, R, t, batch, padded, n, first, row_bytes, rows_, places_):
    """A batch with replacement for every replicate: places of its samples, and offsets of its rows in bytes."""
    for r in range(R):
        key = absorb(word_at(keys_ + r * stride), t)
        for base in range(0, padded, LANES):
            at = (r * padded + base) * WORD
            draw_eight(key, base, batch, n, first, row_bytes, rows_ + at, places_ + at)


@jit
def _distinct_draws(keys, t, batch, n, first, row_bytes, rows, places):
    """The same without replacement."""
    for r in range(len(keys)):
        places[r, :] = 0
        draw_indices(absorb(keys[r], t), n, False, places[r, :batch])
        for j in range(places.shape[1]):
            places[r, j] += first
            rows[r, j] = places[r, j] * row_bytes


@jit
def _products(data_, targets_, R, padded, row_bytes, rows_, places_, X_, logistic, factor, weights_, labels_):
    """x.x_j and y_j for every replicate's model and batch; for squares, factor (x.x_j - y_j) in place of x.x_j."""
    for r in range(R):
        for base in range(0, padded, LANES):
            at = (r * padded + base) * WORD
            eight_dots(data_, rows_ + at, X_ + r * row_bytes, row_bytes, weights_ + at)
            gather_eight(targets_, places_ + at, labels_ + at)
            if not logistic:
                scale_difference(weights_ + at, labels_ + at, factor)


@jit
def _logistic_slopes(weights, labels, factor):
    """factor times the slope -label / (1 + exp(label margin)) of every sample's loss, from its margin."""
    for j in range(len(weights)):
        weights[j] = -factor * labels[j] / (1.0 + exp(clamp(labels[j] * weights[j])))


@jit
def _clear(weights, batch, padded):
    """Weight 0 for what fills up the batches."""
    for start in range(0, len(weights), padded):
        for j in range(start + batch, start + padded):
            weights[j] = 0.0


@jit
def _sums(data_, R, padded, row_bytes, rows_, weights_, shrink, X_):
    """x = shrink x + sum_j weight_j x_j for every replicate."""
    for r in range(R):
        for base in range(0, padded, LANES):
            at = (r * padded + base) * WORD
            scale = shrink if base == 0 else 1.0
            add_eight(data_, rows_ + at, weights_ + at, scale, X_ + r * row_bytes, row_bytes)


@jit
def _local_step(data_, targets_, n, first, eta, t, kind, batch, keys, i, X_, width, room):
    """One step of client i for every replicate: X <- x - eta g from the draws of step t."""
    logistic, replacement, reg = kind
    places, rows, weights, labels = room
    R, padded = places.shape
    row_bytes = width * WORD
    places_, rows_, weights_, labels_ = address(places), address(rows), address(weights), address(labels)
    if replacement:
        start, stride = address(keys) + i * WORD, keys.shape[1] * WORD
        _draws(start, stride, R, t, batch, padded, n, first, row_bytes, rows_, places_)
    else:
        _distinct_draws(keys[:, i], t, batch, n, first, row_bytes, rows, places)
    factor = -eta / batch
    _products(data_, targets_, R, padded, row_bytes, rows_, places_, X_, logistic, factor, weights_, labels_)
    if logistic:
        _logistic_slopes(weights, labels, factor)
    if batch < padded:
        _clear(weights, batch, padded)
    _sums(data_, R, padded, row_bytes, rows_, weights_, 1.0 - eta * reg, X_)


@jit
def _room(R, batch):
    """Where a step keeps places, offsets, weights and labels of its batches, filled up to whole vectors."""
    padded = (batch + LANES - 1) // LANES * LANES
    flat = R * padded
    places, rows = _lines(R, padded).view(np.int64), _lines(R, padded).view(np.int64)
    return places, rows, _lines(R, padded).reshape(flat), _lines(R, padded).reshape(flat)


@kernel
def local_steps(data, targets, starts, sizes, kind, etas, t0, keys, batch, width, models):
    """Steps t0, t0 + 1, ... of sizes ``etas`` (n,) from models[0], with no aggregation, into models (n + 1, R, N, d).

    ``data`` holds rows padded with zeros to ``width`` numbers, client i's from row starts[i] on; ``kind`` is
    (logistic or least squares, with or without replacement, reg).
    """
    _, R, N, d = models.shape
    room, X = _room(R, batch), _lines(R, width)
    X[:] = 0.0
    for i in range(N):
        X[:, :d] = models[0, :, i]
        for k in range(len(etas)):
            _local_step(
                address(data), address(targets), sizes[i], starts[i], etas[k], t0 + k, kind, batch, keys, i,
                address(X), width, room,
            )  # fmt: skip
            models[k + 1, :, i] = X[:, :d]


@kernel
def rounds(data, targets, starts, sizes, kind, etas, t0, keys, batch, alpha, W):
    """Rounds of local steps t0, t0 + 1, ... with weights alpha (R, N), from and to W (R, width), in place.

    ``etas`` is (rounds, tau), the rest as in `local_steps`. Returns the global models at the end of every round
    (rounds, R, width).
    """
    R, width = W.shape
    row_bytes = width * WORD
    room, X, total = _room(R, batch), _lines(R, width), _lines(R, width)
    ends = np.empty((len(etas), R, width))
    flat_X, flat_W = X.reshape(R * width), W.reshape(R * width)
    for k in range(len(etas)):
        total[:] = 0.0
        for i in range(len(sizes)):
            flat_X[:] = flat_W
            for step in range(etas.shape[1]):
                t = t0 + k * etas.shape[1] + step
                _local_step(
                    address(data), address(targets), sizes[i], starts[i], etas[k, step], t, kind, batch, keys, i,
                    address(X), width, room,
                )  # fmt: skip
            for r in range(R):
                add_scaled(address(total) + r * row_bytes, alpha[r, i], address(X) + r * row_bytes, row_bytes)
        W[:] = total
        ends[k] = W
    return ends
