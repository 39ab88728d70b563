"""Matrix products of a few rows with a long matrix, eight columns a vector, in one fixed order of additions.

Every entry is added up along the inner axis from its first term to its last, whatever the shapes and wherever
the arrays lie, so that its bits depend on nothing but its row and its column.
"""

from typing import Any

from llvmlite import binding, ir  # type: ignore[import-untyped]
from numba.core import cgutils, types
from numba.extending import intrinsic

from fedbounds.engine.kernels.vectors import FUSE, INT64, LANES, VECTOR, WORD, splat

# Tiles of rows and of vectors: their sums fill the vector registers (32 of 8 lanes with AVX-512, else 16 of 4 or
# fewer) and leave room for the factors. No bit depends on them.
WIDE = bool(binding.get_host_cpu_features().get("avx512f"))
HEIGHTS, WIDTHS = ((5, 2, 1), (4, 2, 1)) if WIDE else ((6, 4, 2, 1), (1,))


def padded(count: int) -> int:
    """The next multiple of LANES."""
    return -(-count // LANES) * LANES


class _Matrix:
    """A matrix in memory: its first element's address and its row length in elements."""

    def __init__(self, builder: Any, base: Any, start: Any, stride: Any) -> None:
        self.builder, self.base, self.stride = builder, builder.gep(base, [start]), stride

    def at(self, row: Any, column: Any) -> Any:
        return self.builder.gep(self.base, [self.builder.add(self.builder.mul(row, self.stride), column)])

    def vector(self, row: Any, column: Any) -> Any:
        return self.builder.bitcast(self.at(row, column), VECTOR.as_pointer())


def _tile(builder: Any, A: _Matrix, B: _Matrix, C: _Matrix, inner: Any, row: Any, column: Any, shape: Any) -> None:
    """C[row + h, column + 8 v + lane] = sum_q A[row + h, q] B[q, column + 8 v + lane] over one tile."""
    height, width = shape
    zero = ir.Constant(VECTOR, [0.0] * LANES)
    rows = [builder.add(row, INT64(h)) for h in range(height)]
    columns = [builder.add(column, INT64(LANES * v)) for v in range(width)]
    sums = [[cgutils.alloca_once(builder, VECTOR) for _ in columns] for _ in rows]
    for total in (total for line in sums for total in line):
        builder.store(zero, total)
    with cgutils.for_range_slice(builder, INT64(0), inner, INT64(1)) as (q, _):
        vectors = [builder.load(B.vector(q, c), align=WORD) for c in columns]
        for r, line in zip(rows, sums, strict=True):
            factor = splat(builder, builder.load(A.at(r, q)))
            for vector, total in zip(vectors, line, strict=True):
                product = builder.fmul(factor, vector, flags=FUSE)
                builder.store(builder.fadd(product, builder.load(total), flags=FUSE), total)
    for r, line in zip(rows, sums, strict=True):
        for c, total in zip(columns, line, strict=True):
            builder.store(builder.load(total), C.vector(r, c), align=WORD)


def _strips(builder: Any, begin: Any, end: Any, steps: tuple[int, ...], body: Any) -> None:
    """body(start, step) over [begin, end) in the largest steps that fit; the last step divides what is left."""
    for step in steps:
        whole = builder.sub(end, builder.srem(builder.sub(end, begin), INT64(step)))
        with cgutils.for_range_slice(builder, begin, whole, INT64(step)) as (start, _):
            body(start, step)
        begin = whole


def _product(
    typingctx: Any,
    A: Any,
    a: Any,
    lda: Any,
    B: Any,
    b: Any,
    ldb: Any,
    C: Any,
    c: Any,
    ldc: Any,
    K: Any,
    Q: Any,
    M: Any,
) -> Any:
    """C = A B for K x Q and Q x M matrices in flat arrays, each from an offset on with a row length; 8 divides M."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        def matrix(k: int) -> _Matrix:
            array = context.make_array(signature.args[k])(context, builder, args[k])
            return _Matrix(builder, array.data, args[k + 1], args[k + 2])

        left, right, out = matrix(0), matrix(3), matrix(6)
        rows, inner, columns = args[9:]

        def strip(column: Any, lanes: int) -> None:
            def tile(row: Any, height: int) -> None:
                _tile(builder, left, right, out, inner, row, column, (height, lanes // LANES))

            _strips(builder, INT64(0), rows, HEIGHTS, tile)

        _strips(builder, INT64(0), columns, tuple(LANES * width for width in WIDTHS), strip)
        return context.get_dummy_value()

    return types.void(*[A, types.int64, types.int64, B, types.int64, types.int64, C, *[types.int64] * 5]), codegen


product: Any = intrinsic(_product)
