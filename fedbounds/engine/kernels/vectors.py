"""Eight-lane vector code for compiled kernels: a batch's dot products eight at once, and their sums.

Written as LLVM vectors, so that a dimension known only at run time still fills whole vector registers; on
machines with narrower registers LLVM splits them. Everything works on addresses, so that no array is
counted as in use or not in an inner loop. Rows have a length that is a multiple of LANES, padded with zeros.
The order of additions is fixed, whatever the machine.
"""

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
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
