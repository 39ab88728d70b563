"""How kernels are compiled and cached, and compiled sums over clients, the same for every problem.

Compiled code is cached on disk next to its source. Numba renews a cached kernel when its own file changes,
but not when a file it calls into does, so the stamp of every kernel here covers all the engine's files.
Fast-math flags are only those that fix an order of operations at compile time. Kernels are serial: threads
run whole blocks of replicates side by side (see ``loop``), which compiles four times faster than parallel
kernels, and on a machine that is busy with other work never waits at a barrier in every step.

One replicate is always added in one order. In all kernels no loop both adds up a sum and stores to an array: such a
loop's rounding could depend on where the arrays happen to lie in memory (see APART).
"""

import functools
import hashlib
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np

from fedbounds.engine.kernels.vectors import product

# Sums may be re-associated into vector lanes and products fused, both decided once at compile time.
SUMS = {"reassoc", "contract", "nsz"}
# Arithmetic whose rounding errors are cancelled on purpose may only fuse products.
STRICT = {"contract"}


# The releases of numba whose cached code was seen to run without what compiles it.
LOADS_ALONE = "0.68."


def _stamp() -> str:
    here = Path(__file__).parent
    files = [*sorted(here.glob("*.py")), here.parent / "rng.py"]  # whose mix64 is compiled too
    return hashlib.sha256(b"".join(f.name.encode() + f.read_bytes() for f in files)).hexdigest()


STAMP = _stamp()


def _share_stamp(dispatcher: Any) -> Any:
    """Make the cached code of a kernel depend on the text of every file of the engine.

    Numba has no public means for that: its stamp is one file's time and size, which miss an edit of a helper and
    take every checkout for one. Where the private attribute is gone, that rule holds again.
    """
    cache: Any = getattr(dispatcher, "_cache", None)
    cache_file: Any = getattr(cache, "_cache_file", None)
    if hasattr(cache_file, "_source_stamp"):
        cache_file._source_stamp = STAMP
    if numba.__version__.startswith(LOADS_ALONE) and os.name != "nt":
        cache.load_overload = functools.partial(_load, cache)
    return dispatcher


def _load(cache: Any, signature: Any, context: Any) -> Any:
    """A cached kernel: numba would first import all that it can compile, which compiling does by itself."""
    from numba.core.runtime import rtsys

    rtsys.initialize(context)
    return cache._load_overload(signature, context)


def is_cached(dispatcher: Any) -> bool:
    """Whether the cache on disk holds this kernel as its sources are now; True where numba does not say."""
    cache_file: Any = getattr(getattr(dispatcher, "_cache", None), "_cache_file", None)
    return bool(cache_file._load_index()) if hasattr(cache_file, "_load_index") else True


def jit(function: Callable) -> Any:
    """A kernel's helper: sums may be re-associated; compiled into its callers."""
    return numba.njit(fastmath=SUMS, error_model="numpy", forceinline=True)(function)


def strict(function: Callable) -> Any:
    """Arithmetic that is evaluated as written, apart from fused products."""
    return numba.njit(fastmath=STRICT, error_model="numpy", forceinline=True)(function)


def kernel(function: Callable) -> Any:
    """An entry point called from Python: runs without the interpreter's lock, its machine code cached on disk."""
    compiled = functools.partial(numba.njit, fastmath=SUMS, error_model="numpy", nogil=True)
    try:
        return _share_stamp(compiled(cache=True)(function))
    except RuntimeError:
        # Neither beside the source nor at home can a file be written.
        warnings.warn("Compiled anew each time: set NUMBA_CACHE_DIR to a folder that can be written.", stacklevel=1)
        return compiled()(function)


@strict
def float_of(bits):
    """The float64 with these 64 bits."""
    return np.int64(bits).view(np.float64)


@strict
def bits_of(value):
    """The 64 bits of a float64."""
    return np.float64(value).view(np.int64)


# More than any vector step: compilers guard a vector loop by comparing addresses, and take the scalar loop,
# which rounds sums differently, where one array is stored within a vector step after another one is read.
APART = 128
# Rows of models that go through a matrix product together: some of its tiles.
GROUP = 20


@jit
def scratch(n):
    """An uninitialised vector whose memory lies well apart from every other array's."""
    return np.empty(n + 2 * APART)[APART : APART + n]


@kernel
def multiply(A, a, lda, B, b, ldb, C, c, ldc, K, Q, M):
    """C = A B (see ``products``), compiled once for all kernels."""
    product(A, a, lda, B, b, ldb, C, c, ldc, K, Q, M)


@jit
def assign(target, source):
    """target <- source, entry by entry: numba's slices would compile the words of an error too, for a second."""
    for k in range(len(source)):
        target[k] = source[k]


@jit
def most_samples(starts):
    """The largest difference of successive numbers."""
    most = 0
    for i in range(len(starts) - 1):
        most = max(most, starts[i + 1] - starts[i])
    return most


@jit
def dot(x, y):
    total = 0.0
    for k in range(len(x)):
        total += x[k] * y[k]
    return total


@jit
def distance_sq(x, y):
    """||x - y||^2"""
    total = 0.0
    for k in range(len(x)):
        total += (x[k] - y[k]) ** 2
    return total


@jit
def offsets_from(X, first, count, centre, U):
    """U <- X[first + c] - centre, c = 0 ... count - 1, one after another: rows of a matrix product."""
    d = len(centre)
    for c in range(count):
        for k in range(d):
            U[c * d + k] = X[first + c, k] - centre[k]


@kernel
def combine(X, weights):
    """sum_i weights_i x_i: (R, N, d), (R, N) -> (R, d)."""
    R, N, d = X.shape
    W = np.zeros((R, d))
    for r in range(R):
        for i in range(N):
            for k in range(d):
                W[r, k] += weights[r, i] * X[r, i, k]
    return W


@kernel
def virtual(X, W, alpha, grads, variance, weights, eta, w_star):
    """(drift, next mean), each (R,): what the loop measures of a virtual iterate w at step size eta (R,).

    sum_i alpha_i ||w - x_i||^2, and
    ||sum_i weights_i (x_i - eta grad_i) - w*||^2 + eta^2 sum_i weights_i^2 variance_i.
    """
    R, N, d = X.shape
    out = np.zeros((2, R))
    mean = scratch(d)
    for r in range(R):
        mean[:] = 0.0
        spread, noise = 0.0, 0.0
        for i in range(N):
            for k in range(d):
                mean[k] += weights[r, i] * (X[r, i, k] - eta[r] * grads[r, i, k])
            spread += alpha[r, i] * distance_sq(W[r], X[r, i])
            noise += weights[r, i] ** 2 * variance[r, i]
        out[0, r] = spread
        out[1, r] = distance_sq(mean, w_star) + eta[r] * eta[r] * noise
    return out
