"""Compiled minibatch steps of least squares and of binary logistic regression.

Loop order: client, step, then one pass over the replicates each for the draws and products, the slopes, and the sums.
A client's samples are read while they lie in cache, and successive iterations of a pass belong to different
replicates, so that they overlap in the processor.
"""

import numpy as np

from fedbounds.engine.kernels.compiled import jit, kernel
from fedbounds.engine.kernels.math import clamp, exp
from fedbounds.engine.kernels.rng import absorb, draw_indices


@jit
def _slopes(weights, labels, logistic, factor):
    """``factor`` times the slope of every sample's loss, in place of the product x.x_j: with the margin m = y x.x_j

    -y / (1 + exp(m)), and x.x_j - y for squares.
    """
    if logistic:
        for j in range(len(weights)):
            weights[j] = -factor * labels[j] / (1.0 + exp(clamp(labels[j] * weights[j])))
    else:
        for j in range(len(weights)):
            weights[j] = factor * (weights[j] - labels[j])


@jit
def _row(data, place, width):
    return data[place * width : (place + 1) * width]


@jit
def _local_step(data, targets, n, first, eta, t, kind, keys, i, X, room):
    """One step of client i for every replicate: X <- x - eta g from the draws of step t."""
    logistic, replacement, reg = kind
    places, weights, labels = room
    R, width = X.shape
    batch = len(places) // R
    for r in range(R):
        draw_indices(absorb(keys[r, i], t), n, replacement, places[r * batch : (r + 1) * batch])
    for j in range(R * batch):
        places[j] += first
        labels[j] = targets[places[j]]
    for r in range(R):
        x = X[r]
        for j in range(r * batch, (r + 1) * batch):
            row, product = _row(data, places[j], width), 0.0
            for k in range(width):
                product += row[k] * x[k]
            weights[j] = product
    _slopes(weights, labels, logistic, -eta / batch)
    for r in range(R):
        x, shrink, end = X[r], 1.0 - eta * reg, (r + 1) * batch
        for k in range(width):
            x[k] *= shrink
        for j in range(r * batch, end - 3, 4):  # four rows at a time, so that x is read and written less often
            a, b = _row(data, places[j], width), _row(data, places[j + 1], width)
            c, d = _row(data, places[j + 2], width), _row(data, places[j + 3], width)
            f, u, v, w = weights[j], weights[j + 1], weights[j + 2], weights[j + 3]
            for k in range(width):
                x[k] += (f * a[k] + u * b[k]) + (v * c[k] + w * d[k])
        for j in range(end - batch % 4, end):
            row, weight = _row(data, places[j], width), weights[j]
            for k in range(width):
                x[k] += weight * row[k]


@jit
def _room(R, batch):
    """Where a step keeps the places, slopes and labels of its batches."""
    return np.empty(R * batch, dtype=np.int64), np.empty(R * batch), np.empty(R * batch)


@kernel
def local_steps(data, targets, starts, sizes, kind, etas, t0, keys, batch, width, models):
    """Steps t0, t0 + 1, ... of sizes ``etas`` (n,) from models[0], with no aggregation, into models (n + 1, R, N, d).

    ``data`` holds rows padded with zeros to ``width`` numbers, client i's from row starts[i] on; ``kind`` is
    (logistic or least squares, with or without replacement, reg).
    """
    _, R, N, d = models.shape
    room, X = _room(R, batch), np.zeros((R, width))
    for i in range(N):
        X[:, :d] = models[0, :, i]
        for k in range(len(etas)):
            _local_step(data, targets, sizes[i], starts[i], etas[k], t0 + k, kind, keys, i, X, room)
            models[k + 1, :, i] = X[:, :d]


@kernel
def rounds(data, targets, starts, sizes, kind, etas, t0, keys, batch, who, alpha, W):
    """Rounds of local steps t0, t0 + 1, ... from and to W (R, width), in place.

    Clients who[k, r] (count,), of weights alpha[k, r], take part in round k of replicate r; ``keys`` (R,) are those
    of the replicates' local steps, and ``etas`` is (rounds, tau), the rest as in `local_steps`. Returns the global
    models at the end of every round (rounds, R, width).
    """
    R, width = W.shape
    room, X, ends = _room(1, batch), np.empty((1, width)), np.empty((len(etas), R, width))
    key = np.empty((1, 1), dtype=np.uint64)
    for k in range(len(etas)):
        ends[k] = 0.0
        for r in range(R):
            for c in range(who.shape[2]):
                if alpha[k, r, c] == 0.0:
                    continue  # counts for nothing in this round
                i = who[k, r, c]
                key[0, 0] = absorb(keys[r], i)
                X[0, :] = W[r]
                for step in range(etas.shape[1]):
                    t = t0 + k * etas.shape[1] + step
                    _local_step(data, targets, sizes[i], starts[i], etas[k, step], t, kind, key, 0, X, room)
                for column in range(width):
                    ends[k, r, column] += alpha[k, r, c] * X[0, column]
            W[r] = ends[k, r]
    return ends
