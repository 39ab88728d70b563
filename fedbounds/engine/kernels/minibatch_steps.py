"""Compiled minibatch steps of least squares and of binary logistic regression.

Loop order: client, step, then one pass over the replicates each for the draws, the products, the slopes and the
sums. A client's samples are read while they lie in cache, and successive iterations of a pass belong to
different replicates, so that they overlap in the processor. Batches are filled up to a multiple of eight with
the client's first sample at weight 0.
"""

import numpy as np

from fedbounds.engine.kernels.compiled import jit, kernel
from fedbounds.engine.kernels.math import clamp, exp
from fedbounds.engine.kernels.rng import absorb, draw_indices, uniform
from fedbounds.engine.kernels.vectors import LANES, WORD, add_eight, address, eight_dots


@jit
def _lines(R, width):
    """An uninitialised (R, width) array that starts at a cache line (of 8 numbers): vectors never cross lines."""
    home = np.empty(R * width + 2 * LANES)
    skip = (-address(home) // WORD) % LANES
    return home[skip : skip + R * width].reshape(R, width)


@jit
def _draws(keys, i, t, batch, padded, n, first, replacement, places):
    """Places of a batch's samples for every replicate, filled up with the client's first sample."""
    for r in range(len(keys)):
        key, at = absorb(keys[r, i], t), r * padded
        if replacement:
            for j in range(padded):
                # n < 2^31: without AVX-512 a processor converts only such numbers in vectors.
                index = np.int64(np.int32(uniform(key, j) * np.float64(n)))
                places[at + j] = first + (index if j < batch else 0)
        else:
            places[at : at + padded] = 0
            draw_indices(key, n, False, places[at : at + batch])
            for j in range(padded):
                places[at + j] += first


@jit
def _slopes(weights, targets, places, logistic, factor):
    """``factor`` times the slope of every sample's loss, in place of the product x.x_j: with the margin m = y x.x_j

    -y / (1 + exp(m)), and x.x_j - y for squares.
    """
    if logistic:
        for j in range(len(weights)):
            label = targets[places[j]]
            weights[j] = -factor * label / (1.0 + exp(clamp(label * weights[j])))
    else:
        for j in range(len(weights)):
            weights[j] = factor * (weights[j] - targets[places[j]])


@jit
def _local_step(data_, targets, n, first, eta, t, kind, batch, keys, i, X_, width, room):
    """One step of client i for every replicate: X <- x - eta g from the draws of step t."""
    logistic, replacement, reg = kind
    places, rows, weights = room
    R, row_bytes = len(keys), width * WORD
    padded = len(places) // R
    rows_, weights_ = address(rows), address(weights)
    _draws(keys, i, t, batch, padded, n, first, replacement, places)
    for j in range(len(places)):
        rows[j] = places[j] * row_bytes
    for r in range(R):
        for at in range(r * padded * WORD, (r + 1) * padded * WORD, LANES * WORD):
            eight_dots(data_, rows_ + at, X_ + r * row_bytes, row_bytes, weights_ + at)
    _slopes(weights, targets, places, logistic, -eta / batch)
    if batch < padded:  # what fills up the batches has weight 0
        for r in range(R):
            weights[r * padded + batch : (r + 1) * padded] = 0.0
    for r in range(R):
        for base in range(0, padded, LANES):
            at, shrink = (r * padded + base) * WORD, 1.0 - eta * reg if base == 0 else 1.0
            add_eight(data_, rows_ + at, weights_ + at, shrink, X_ + r * row_bytes, row_bytes)


@jit
def _room(R, batch):
    """Where a step keeps places, offsets and weights of its batches, filled up to whole vectors."""
    padded = (batch + LANES - 1) // LANES * LANES
    flat = R * padded
    return _lines(1, flat)[0].view(np.int64), _lines(1, flat)[0].view(np.int64), _lines(1, flat)[0]


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
                address(data), targets, sizes[i], starts[i], etas[k], t0 + k, kind, batch, keys, i,
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
    room, X, total = _room(R, batch), _lines(R, width), _lines(R, width)
    ends = np.empty((len(etas), R, width))
    flat_X, flat_W = X.reshape(R * width), W.reshape(R * width)
    for k in range(len(etas)):
        total[:] = 0.0
        for i in range(len(sizes)):
            if np.max(alpha[:, i]) == 0.0:
                continue  # counts for no replicate in this round
            flat_X[:] = flat_W
            for step in range(etas.shape[1]):
                t = t0 + k * etas.shape[1] + step
                _local_step(
                    address(data), targets, sizes[i], starts[i], etas[k, step], t, kind, batch, keys, i,
                    address(X), width, room,
                )  # fmt: skip
            for r in range(R):
                for c in range(width):
                    total[r, c] += alpha[r, i] * X[r, c]
        W[:] = total
        ends[k] = W
    return ends


@kernel
def present_rounds(data, targets, starts, sizes, kind, etas, t0, keys, batch, who, alpha, W):
    """The same where only clients who[k, r] (count,), of weights alpha[k, r], take part in round k of replicate r.

    ``keys`` (R,) are those of the replicates' local steps, not of each client's.
    """
    R, width = W.shape
    room, X, total = _room(1, batch), _lines(1, width), _lines(1, width)
    ends, key = np.empty((len(etas), R, width)), np.empty((1, 1), dtype=np.uint64)
    for k in range(len(etas)):
        for r in range(R):
            total[:] = 0.0
            for c in range(who.shape[2]):
                i = who[k, r, c]
                key[0, 0] = absorb(keys[r], i)
                X[0, :] = W[r]
                for step in range(etas.shape[1]):
                    t = t0 + k * etas.shape[1] + step
                    _local_step(
                        address(data), targets, sizes[i], starts[i], etas[k, step], t, kind, batch, key, 0,
                        address(X), width, room,
                    )  # fmt: skip
                for column in range(width):
                    total[0, column] += alpha[k, r, c] * X[0, column]
            W[r] = total[0]
        ends[k] = W
    return ends
