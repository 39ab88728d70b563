"""Compiled minibatch steps of clients with samples: least squares, binary and multinomial logistic regression.

Loop order: client, step, then one pass over the replicates each for the draws and scores, the slopes, and the sums.
A client's samples are read while they lie in cache, and successive iterations of a pass belong to different
replicates, so that they overlap in the processor.
"""

import numpy as np

from fedbounds.engine.kernels.client_sums import dot
from fedbounds.engine.kernels.compiled import jit, kernel
from fedbounds.engine.kernels.math import clamp, exp
from fedbounds.engine.kernels.rng import absorb, draw_indices


@jit
def _slopes(scores, labels, K, factor):
    """``factor`` times the slope of every sample's loss, in place of its scores: z - y for squares (K = 0), with the
    margin m = y z -y / (1 + exp(m)) for labels y = +1 and -1 (K = 1), and softmax(z) - onehot for K classes.
    """
    if K == 0:
        for j in range(len(scores)):
            scores[j] = factor * (scores[j] - labels[j])
    elif K == 1:
        for j in range(len(scores)):
            scores[j] = -factor * labels[j] / (1.0 + exp(clamp(labels[j] * scores[j])))
    else:
        for j in range(len(labels)):
            z, top, rest, whole = scores[j * K : (j + 1) * K], -np.inf, 0.0, 0.0
            for k in range(K):
                top = max(top, z[k])
            for k in range(K):
                z[k] = exp(clamp(z[k] - top))
            for k in range(K):
                whole += z[k]
                rest += 0.0 if labels[j] == k else z[k]
            for k in range(K):  # the entry at the label is minus the sum of the others
                z[k] = factor * (-rest if labels[j] == k else z[k]) / whole


@jit
def _row(data, place, width):
    return data[place * width : (place + 1) * width]


@jit
def _add_rows(x, data, places, weights, stride):
    """x <- x + sum_j weights[stride j] row_j, four rows at a time, so that x is read and written less often."""
    width, fours = len(x), len(places) // 4 * 4
    for j in range(0, fours, 4):
        a, b = _row(data, places[j], width), _row(data, places[j + 1], width)
        c, d = _row(data, places[j + 2], width), _row(data, places[j + 3], width)
        p, q = weights[stride * j], weights[stride * (j + 1)]
        u, v = weights[stride * (j + 2)], weights[stride * (j + 3)]
        for f in range(width):
            x[f] += (p * a[f] + q * b[f]) + (u * c[f] + v * d[f])
    for j in range(fours, len(places)):
        row, weight = _row(data, places[j], width), weights[stride * j]
        for f in range(width):
            x[f] += weight * row[f]


@jit
def _local_step(data, targets, n, first, eta, t, kind, keys, i, X, room):
    """One step of client i for every replicate: X <- x - eta g from the draws of step t."""
    K, replacement, reg = kind
    places, scores, labels = room
    count = max(K, 1)
    R, width, batch = len(X), X.shape[1] // count, len(places) // len(X)
    for r in range(R):
        draw_indices(absorb(keys[r, i], t), n, replacement, places[r * batch : (r + 1) * batch])
    for j in range(R * batch):
        places[j] += first
        labels[j] = targets[places[j]]
    for r in range(R):
        for j in range(r * batch, (r + 1) * batch):
            row = _row(data, places[j], width)
            for k in range(count):
                scores[j * count + k] = dot(row, X[r, k * width : (k + 1) * width])
    _slopes(scores, labels, K, -eta / batch)
    for r in range(R):
        for k in range(count):
            x, begin, end = X[r, k * width : (k + 1) * width], r * batch, (r + 1) * batch
            for f in range(width):
                x[f] *= 1.0 - eta * reg
            _add_rows(x, data, places[begin:end], scores[begin * count + k :], count)


@jit
def _room(R, batch, K):
    """Where a step keeps the places, scores and labels of its batches."""
    return np.empty(R * batch, dtype=np.int64), np.empty(R * batch * max(K, 1)), np.empty(R * batch)


@kernel
def local_steps(data, targets, offsets, kind, etas, t0, keys, batch, models):
    """Steps t0, t0 + 1, ... of sizes ``etas`` (n,) from models[0], with no aggregation, into models (n + 1, R, N, d).

    ``data`` holds the samples one after another, client i's from row offsets[i] on, and ``targets`` their targets,
    labels or classes; ``kind`` is (K as in `_slopes`, with or without replacement, reg).
    """
    _, R, N, d = models.shape
    room, X = _room(R, batch, kind[0]), np.empty((R, d))
    for i in range(N):
        X[:] = models[0, :, i]
        n = offsets[i + 1] - offsets[i]
        for k in range(len(etas)):
            _local_step(data, targets, n, offsets[i], etas[k], t0 + k, kind, keys, i, X, room)
            models[k + 1, :, i] = X


@kernel
def rounds(data, targets, offsets, kind, etas, t0, keys, batch, who, alpha, W):
    """Rounds of local steps t0, t0 + 1, ... from and to W (R, d), in place.

    Clients who[k, r] (count,), of weights alpha[k, r], take part in round k of replicate r; ``keys`` (R,) are those
    of the replicates' local steps, and ``etas`` is (rounds, tau), the rest as in `local_steps`. Returns the global
    models at the end of every round (rounds, R, d).
    """
    R, d = W.shape
    room, X, ends = _room(1, batch, kind[0]), np.empty((1, d)), np.empty((len(etas), R, d))
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
                n = offsets[i + 1] - offsets[i]
                for step in range(etas.shape[1]):
                    t = t0 + k * etas.shape[1] + step
                    _local_step(data, targets, n, offsets[i], etas[k, step], t, kind, key, 0, X, room)
                for f in range(d):
                    ends[k, r, f] += alpha[k, r, c] * X[0, f]
            W[r] = ends[k, r]
    return ends
