"""Eight-lane vector code for compiled kernels: a batch's dot products eight at once, their sums, and matrix products.

Written as LLVM vectors, so that a dimension known only at run time still fills whole vector registers; on machines
with narrower registers LLVM splits them. Everything works on addresses, so that no array is counted as in use or not
in an inner loop. Rows have a length that is a multiple of LANES, padded with zeros. The order of additions is fixed:
an entry of a product is added up along the inner axis from its first term to its last, whatever the shapes and
wherever the arrays lie, so that its bits depend on nothing but its row and its column.
"""

from typing import Any

from llvmlite import binding, ir  # type: ignore[import-untyped]
from numba.core import cgutils, types
from numba.extending import intrinsic

LANES = 8
# Bytes of a float64 or an int64; vectors are loaded from any address that is a multiple of it.
WORD = 8
INT32, INT64, DOUBLE = ir.IntType(32), ir.IntType(64), ir.DoubleType()
VECTOR = ir.VectorType(DOUBLE, LANES)
FUSE = ("contract",)
# How two partial sums are interleaved and added, three times, until lane j holds the sum of vector j.
FOLDS = (
    ([0, 8, 2, 10, 4, 12, 6, 14], [1, 9, 3, 11, 5, 13, 7, 15]),
    ([0, 1, 8, 9, 4, 5, 12, 13], [2, 3, 10, 11, 6, 7, 14, 15]),
    ([0, 1, 2, 3, 8, 9, 10, 11], [4, 5, 6, 7, 12, 13, 14, 15]),
)


def splat(builder: Any, scalar: Any) -> Any:
    """A vector whose lanes all hold the scalar."""
    nothing = ir.Constant(ir.VectorType(scalar.type, LANES), ir.Undefined)
    return _shuffle(builder, builder.insert_element(nothing, scalar, INT32(0)), nothing, [0] * LANES)


def _shuffle(builder: Any, a: Any, b: Any, lanes: list[int]) -> Any:
    return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(INT32, LANES), lanes))


def _load(builder: Any, address: Any, kind: Any) -> Any:
    return builder.load(builder.inttoptr(address, kind.as_pointer()), align=WORD)


def _store(builder: Any, value: Any, address: Any) -> None:
    builder.store(value, builder.inttoptr(address, value.type.as_pointer()), align=WORD)


def _eight(builder: Any, address: Any, kind: Any) -> list[Any]:
    return [_load(builder, builder.add(address, INT64(WORD * j)), kind) for j in range(LANES)]


def _fma(builder: Any, x: Any, y: Any, z: Any) -> Any:
    """x y + z, fused where the machine can."""
    return builder.fadd(builder.fmul(x, y, flags=FUSE), z, flags=FUSE)


def _address(typingctx: Any, array: Any) -> Any:
    """The address of an array's first element; the array must outlive its use."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        return builder.ptrtoint(data, INT64)

    return types.int64(array), codegen


def _eight_dots(typingctx: Any, data: Any, rows: Any, x: Any, width: Any, out: Any) -> Any:
    """out[j] = row_j . x over the rows at data + rows[j], j = 0 ... 7; ``width`` is the length of x in bytes."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data_, rows_, x_, width_, out_ = args
        starts = [builder.add(data_, offset) for offset in _eight(builder, rows_, INT64)]
        sums = [cgutils.alloca_once(builder, VECTOR) for _ in range(LANES)]
        for total in sums:
            builder.store(ir.Constant(VECTOR, [0.0] * LANES), total)
        with cgutils.for_range_slice(builder, INT64(0), width_, INT64(LANES * WORD)) as (k, _):
            v = _load(builder, builder.add(x_, k), VECTOR)
            for start, total in zip(starts, sums, strict=True):
                row = _load(builder, builder.add(start, k), VECTOR)
                builder.store(_fma(builder, row, v, builder.load(total)), total)
        vectors = [builder.load(total) for total in sums]
        for low, high in FOLDS:
            vectors = [
                builder.fadd(_shuffle(builder, a, b, low), _shuffle(builder, a, b, high))
                for a, b in zip(vectors[0::2], vectors[1::2], strict=True)
            ]
        _store(builder, vectors[0], out_)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 5), codegen


def _add_eight(typingctx: Any, data: Any, rows: Any, weights: Any, shrink: Any, x: Any, width: Any) -> Any:
    """x = shrink x + sum_j weights[j] row_j over the rows at data + rows[j], j = 0 ... 7; ``width`` in bytes.

    In two chains of additions, so that half of them wait for each other.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data_, rows_, weights_, shrink_, x_, width_ = args
        starts = [builder.add(data_, offset) for offset in _eight(builder, rows_, INT64)]
        factors = [splat(builder, weight) for weight in _eight(builder, weights_, DOUBLE)]
        scale = splat(builder, shrink_)
        with cgutils.for_range_slice(builder, INT64(0), width_, INT64(LANES * WORD)) as (k, _):
            rows = [_load(builder, builder.add(start, k), VECTOR) for start in starts]
            place = builder.add(x_, k)
            even, odd = builder.fmul(scale, _load(builder, place, VECTOR)), builder.fmul(factors[1], rows[1])
            for j in range(0, LANES, 2):
                even = _fma(builder, factors[j], rows[j], even)
                odd = _fma(builder, factors[j + 1], rows[j + 1], odd) if j else odd
            _store(builder, builder.fadd(even, odd), place)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 3, types.float64, types.int64, types.int64), codegen


address: Any = intrinsic(_address)
eight_dots: Any = intrinsic(_eight_dots)
add_eight: Any = intrinsic(_add_eight)


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
