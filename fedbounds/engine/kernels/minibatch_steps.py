"""Compiled minibatch steps of clients with samples: least squares, binary and multinomial logistic regression.

A step passes over many models for the draws, the scores, the slopes and the sums in turn, so that successive
iterations of a pass overlap in the processor. Batches are filled up to a multiple of eight with the client's first
sample at weight 0, and rows of samples and models with zeros: a model has one such row a class.
"""

import numpy as np

from fedbounds.engine.kernels.compiled import assign, jit, kernel
from fedbounds.engine.kernels.scalar_math import absorb, clamp, draw_indices, exp, uniform
from fedbounds.engine.kernels.vectors import LANES, WORD, add_eight, address, eight_dots


@jit
def _lines(R, width):
    """An uninitialised (R, width) array that starts at a cache line (of 8 numbers): vectors never cross lines."""
    home = np.empty(R * width + 2 * LANES)
    skip = (-address(home) // WORD) % LANES
    return home[skip : skip + R * width].reshape(R, width)


@jit
def _draws(keys, t, batch, sizes, first, replacement, positions):
    """Places of every model's batch, filled up with the client's first sample."""
    padded = len(positions) // len(keys)
    for r in range(len(keys)):
        key, at, n, begin = absorb(keys[r], t), r * padded, np.float64(sizes[r]), first[r]
        if replacement:
            for j in range(padded):
                # n < 2^31: without AVX-512 a processor converts only such numbers in vectors.
                index = np.int64(np.int32(uniform(key, j) * n))
                positions[at + j] = begin + (index if j < batch else 0)
        else:
            positions[at : at + padded] = 0
            draw_indices(key, sizes[r], False, positions[at : at + batch])
            for j in range(padded):
                positions[at + j] += begin


@jit
def _slopes(scores, targets, positions, K, factor):
    """``factor`` times the slope of every sample's loss, in place of its scores: z - y for squares (K = 0), with the
    margin m = y z -y / (1 + exp(m)) for labels y = +1 and -1 (K = 1), and softmax(z) - onehot for K classes.
    """
    if K == 0:
        for j in range(len(scores)):
            scores[j] = factor * (scores[j] - targets[positions[j]])
    elif K == 1:
        for j in range(len(scores)):
            label = targets[positions[j]]
            scores[j] = -factor * label / (1.0 + exp(clamp(label * scores[j])))


@jit
def _softmax_slopes(z, label, K, stride, factor):
    """The same of a sample of K classes, scores z[stride k]; the label's entry is minus the sum of the others."""
    top, rest, whole = -np.inf, 0.0, 0.0
    for k in range(K):
        top = max(top, z[stride * k])
    for k in range(K):
        z[stride * k] = exp(clamp(z[stride * k] - top))
    for k in range(K):
        whole += z[stride * k]
        rest += 0.0 if label == k else z[stride * k]
    for k in range(K):
        z[stride * k] = factor * (-rest if label == k else z[stride * k]) / whole


@kernel
def _local_steps(samples, sizes, first, etas, t0, keys, X, buffers):
    """Steps t0, t0 + 1, ... of every model: X <- x - eta g from their draws; addresses end in _.

    ``samples`` are those of all clients as in `local_steps`, with their kind and the batch. Model r (a row of X) is
    of a client with sizes[r] samples from place first[r] on, whose stream has the key keys[r].
    """
    data, targets, (K, replacement, reg), batch = samples
    positions, rows, scores = buffers
    R, count = len(keys), max(K, 1)
    padded, row_bytes = len(positions) // R, X.shape[1] // count * WORD
    data_, X_, rows_, scores_ = address(data), address(X), address(rows), address(scores)
    for step in range(len(etas)):
        eta = etas[step]
        _draws(keys, t0 + step, batch, sizes, first, replacement, positions)
        for j in range(len(positions)):
            rows[j] = positions[j] * row_bytes
        for line in range(R * count):
            for at in range(0, padded * WORD, LANES * WORD):
                of_rows = rows_ + line // count * padded * WORD + at
                eight_dots(data_, of_rows, X_ + line * row_bytes, row_bytes, scores_ + line * padded * WORD + at)
        _slopes(scores, targets, positions, K, -eta / batch)
        for j in range(len(positions) if K > 1 else 0):
            begin = j // padded * K * padded + j % padded
            _softmax_slopes(scores[begin:], targets[positions[j]], K, padded, -eta / batch)
        for line in range(R * count if batch < padded else 0):  # what fills up the batches has weight 0
            scores[line * padded + batch : (line + 1) * padded] = 0.0
        for line in range(R * count):
            for base in range(0, padded * WORD, LANES * WORD):
                of_rows, shrink = rows_ + line // count * padded * WORD + base, 1.0 - eta * reg if base == 0 else 1.0
                weights_ = scores_ + line * padded * WORD + base
                add_eight(data_, of_rows, weights_, shrink, X_ + line * row_bytes, row_bytes)


@jit
def _buffers(R, batch, K):
    """Where a step keeps places, offsets and scores of its batches, filled up to whole vectors."""
    flat = R * ((batch + LANES - 1) // LANES * LANES)
    return _lines(1, flat)[0].view(np.int64), _lines(1, flat)[0].view(np.int64), _lines(1, flat * max(K, 1))[0]


@jit
def _copy(source, target, a, b):
    """Models whose classes take a numbers each into those of b numbers each."""
    for r in range(len(source)):
        for k in range(source.shape[1] // a):
            for f in range(min(a, b)):
                target[r, k * b + f] = source[r, k * a + f]


@kernel
def local_steps(data, targets, offsets, kind, etas, t0, keys, batch, width, models):
    """Steps t0, t0 + 1, ... of sizes ``etas`` (n,) from models[0], with no aggregation, into models (n + 1, R, N, d).

    ``data`` holds rows padded with zeros to ``width`` numbers, client i's from row offsets[i] on, and ``targets``
    their targets, labels or classes; ``kind`` is (K as in `_slopes`, with or without replacement, reg).
    """
    _, R, N, d = models.shape
    count, samples = max(kind[0], 1), (data, targets, kind, batch)
    buffers, X = _buffers(R, batch, kind[0]), _lines(R, count * width)
    sizes, first, key = np.empty(R, dtype=np.int64), np.empty(R, dtype=np.int64), np.empty(R, dtype=np.uint64)
    X[:] = 0.0
    for i in range(N):
        _copy(models[0, :, i], X, d // count, width)
        sizes[:], first[:] = offsets[i + 1] - offsets[i], offsets[i]
        assign(key, keys[:, i])
        for k in range(len(etas)):
            _local_steps(samples, sizes, first, etas[k : k + 1], t0 + k, key, X, buffers)
            following, a = models[k + 1], d // count
            for r in range(R):
                for c in range(count):
                    for f in range(a):
                        following[r, i, c * a + f] = X[r, c * width + f]


@kernel
def rounds(data, targets, offsets, kind, etas, t0, keys, batch, width, who, alpha, W):
    """Rounds of local steps t0, t0 + 1, ... from and to W (R, d), in place.

    Clients who[k, r] (count,), of weights alpha[k, r], take part in round k of replicate r; ``keys`` (R,) are those
    of the replicates' local steps, and ``etas`` is (rounds, tau), the rest as in `local_steps`. Returns the global
    models at the end of every round (rounds, R, d).
    """
    (R, d), count, features = W.shape, who.shape[2], W.shape[1] // max(kind[0], 1)
    samples = data, targets, kind, batch
    buffers, X = _buffers(count, batch, kind[0]), _lines(count, max(kind[0], 1) * width)
    ends, start, total = np.empty((len(etas), R, d)), np.zeros((1, X.shape[1])), np.zeros((1, X.shape[1]))
    key, starts, all_sizes = np.empty(count, dtype=np.uint64), offsets[:-1], offsets[1:] - offsets[:-1]
    for k in range(len(etas)):
        for r in range(R):
            sizes, first = all_sizes[who[k, r]], starts[who[k, r]]
            _copy(W[r : r + 1], start, features, width)
            for c in range(count):
                key[c] = absorb(keys[r], who[k, r, c])
                assign(X[c], start[0])
            _local_steps(samples, sizes, first, etas[k], t0 + k * etas.shape[1], key, X, buffers)
            total[:] = 0.0
            for c in range(count):
                for f in range(X.shape[1]):
                    total[0, f] += alpha[k, r, c] * X[c, f]
            _copy(total, W[r : r + 1], width, features)
            assign(ends[k, r], W[r])
    return ends


@kernel
def rounds_of_all(data, targets, offsets, kind, etas, t0, keys, batch, width, alpha, W):
    """The same where every client takes part, whose keys are ``keys`` (R, N): client by client, in the cache."""
    (R, d), features, samples = W.shape, W.shape[1] // max(kind[0], 1), (data, targets, kind, batch)
    line = max(kind[0], 1) * width
    buffers, X, start, total = _buffers(R, batch, kind[0]), _lines(R, line), np.zeros((R, line)), np.empty((R, line))
    sizes, first, key = np.empty(R, dtype=np.int64), np.empty(R, dtype=np.int64), np.empty(R, dtype=np.uint64)
    ends = np.empty((len(etas), R, d))
    for k in range(len(etas)):
        _copy(W, start, features, width)
        total[:] = 0.0
        for i in range(len(offsets) - 1):
            if np.max(alpha[k, :, i]) == 0.0:
                continue  # counts for no replicate in this round
            _copy(start, X, line, line)
            sizes[:], first[:] = offsets[i + 1] - offsets[i], offsets[i]
            assign(key, keys[:, i])
            _local_steps(samples, sizes, first, etas[k], t0 + k * etas.shape[1], key, X, buffers)
            for r in range(R):
                for f in range(line):
                    total[r, f] += alpha[k, r, i] * X[r, f]
        _copy(total, W, width, features)
        _copy(W, ends[k], d, d)
    return ends
