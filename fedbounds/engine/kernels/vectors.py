"""Eight-lane vector code for compiled kernels: a batch's draws, its dot products eight at once, their sums.

Written as LLVM vectors, so that a dimension known only at run time still fills whole vector registers; on
machines with narrower registers LLVM splits them. Everything works on addresses, so that no array is
counted as in use or not in an inner loop. Rows have a length that is a multiple of LANES, padded with zeros.
The order of additions is fixed, whatever the machine.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types
from numba.extending import intrinsic

from fedbounds.engine import streams

LANES = 8
# Bytes of a float64 or an int64; vectors are loaded from any address that is a multiple of it.
WORD = 8
INT32, INT64, DOUBLE = ir.IntType(32), ir.IntType(64), ir.DoubleType()
VECTOR, WORDS = ir.VectorType(DOUBLE, LANES), ir.VectorType(INT64, LANES)
FUSE = ("contract",)
# How two partial sums are interleaved and added, three times, until lane j holds the sum of vector j.
FOLDS = (
    ([0, 8, 2, 10, 4, 12, 6, 14], [1, 9, 3, 11, 5, 13, 7, 15]),
    ([0, 1, 8, 9, 4, 5, 12, 13], [2, 3, 10, 11, 6, 7, 14, 15]),
    ([0, 1, 2, 3, 8, 9, 10, 11], [4, 5, 6, 7, 12, 13, 14, 15]),
)


def splat(builder: Any, scalar: Any) -> Any:
    """A vector whose lanes all hold the scalar."""
    kind = ir.VectorType(scalar.type, LANES)
    first = builder.insert_element(ir.Constant(kind, ir.Undefined), scalar, INT32(0))
    return builder.shuffle_vector(
        first, ir.Constant(kind, ir.Undefined), ir.Constant(ir.VectorType(INT32, LANES), [0] * LANES)
    )


class _Code:
    """Emits loads, stores and arithmetic of vectors."""

    def __init__(self, builder: Any) -> None:
        self.builder = builder

    def at(self, address: Any, offset: Any) -> Any:
        return self.builder.add(address, offset)

    def load(self, address: Any, kind: Any) -> Any:
        return self.builder.load(self.builder.inttoptr(address, kind.as_pointer()), align=WORD)

    def store(self, value: Any, address: Any) -> None:
        self.builder.store(value, self.builder.inttoptr(address, value.type.as_pointer()), align=WORD)

    def lanes_at(self, address: Any, kind: Any) -> list[Any]:
        """Eight successive scalars."""
        return [self.load(self.at(address, INT64(WORD * j)), kind) for j in range(LANES)]

    def splat(self, scalar: Any) -> Any:
        return splat(self.builder, scalar)

    def words(self, value: int) -> Any:
        return ir.Constant(WORDS, [value] * LANES)

    def numbers(self, value: float) -> Any:
        return ir.Constant(VECTOR, [value] * LANES)

    def fma(self, x: Any, y: Any, z: Any) -> Any:
        """x y + z, fused where the machine can."""
        return self.builder.fadd(self.builder.fmul(x, y, flags=FUSE), z, flags=FUSE)

    def fold(self, vectors: list[Any]) -> Any:
        """The vector whose lane j is the sum of vectors[j]."""
        for low, high in FOLDS:
            vectors = [
                self.builder.fadd(self._shuffle(a, b, low), self._shuffle(a, b, high))
                for a, b in zip(vectors[0::2], vectors[1::2], strict=True)
            ]
        return vectors[0]

    def _shuffle(self, a: Any, b: Any, lanes: list[int]) -> Any:
        return self.builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(INT32, LANES), lanes))


def _address(typingctx: Any, array: Any) -> Any:
    """The address of an array's first element; the array must outlive its use."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        return builder.ptrtoint(data, INT64)

    return types.int64(array), codegen


def _draw_eight(
    typingctx: Any, key: Any, base: Any, count: Any, n: Any, first: Any, row_bytes: Any, rows: Any, places: Any
) -> Any:
    """Indices in [0, n) from draws base ... base + 7 of a key, as ``streams.indices`` draws them.

    Stores first + index at ``places`` and its row_bytes-fold at ``rows``; index 0 from draw ``count`` on.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        code = _Code(builder)
        key_, base_, count_, n_, first_, row_bytes_, rows_, places_ = args
        lanes = builder.add(code.splat(base_), ir.Constant(WORDS, list(range(LANES))))
        steps = builder.mul(builder.add(lanes, code.words(1)), code.words(streams.GOLDEN))
        z = builder.add(code.splat(key_), steps)
        for shift, factor in ((30, streams.MIX_1), (27, streams.MIX_2)):
            z = builder.mul(builder.xor(z, builder.lshr(z, code.words(shift))), code.words(factor))
        z = builder.xor(z, builder.lshr(z, code.words(31)))
        # 53 bits fit a signed word, whose conversion is the faster one.
        unit = builder.fmul(builder.sitofp(builder.lshr(z, code.words(11)), VECTOR), code.numbers(streams.UNIT))
        index = builder.fptosi(builder.fmul(unit, code.splat(builder.sitofp(n_, DOUBLE))), WORDS)
        used = builder.icmp_signed("<", lanes, code.splat(count_))
        place = builder.add(builder.select(used, index, code.words(0)), code.splat(first_))
        code.store(place, places_)
        code.store(builder.mul(place, code.splat(row_bytes_)), rows_)
        return context.get_dummy_value()

    return types.void(types.uint64, *[types.int64] * 7), codegen


def _eight_dots(typingctx: Any, data: Any, rows: Any, x: Any, width: Any, out: Any) -> Any:
    """out[j] = row_j . x over the rows at data + rows[j], j = 0 ... 7; ``width`` is the length of x in bytes."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        code, zero = _Code(builder), ir.Constant(VECTOR, [0.0] * LANES)
        data_, rows_, x_, width_, out_ = args
        starts = [code.at(data_, offset) for offset in code.lanes_at(rows_, INT64)]
        sums = [cgutils.alloca_once_value(builder, zero) for _ in range(LANES)]
        for total in sums:  # alloca_once_value sets them on entering the function only
            builder.store(zero, total)
        with cgutils.for_range_slice(builder, INT64(0), width_, INT64(LANES * WORD)) as (k, _):
            v = code.load(code.at(x_, k), VECTOR)
            for start, total in zip(starts, sums, strict=True):
                builder.store(code.fma(code.load(code.at(start, k), VECTOR), v, builder.load(total)), total)
        code.store(code.fold([builder.load(total) for total in sums]), out_)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 5), codegen


def _gather_eight(typingctx: Any, data: Any, places: Any, out: Any) -> Any:
    """out[j] = data[places[j]], j = 0 ... 7."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        code, value = _Code(builder), ir.Constant(VECTOR, ir.Undefined)
        for j, place in enumerate(code.lanes_at(args[1], INT64)):
            element = code.load(code.at(args[0], builder.mul(place, INT64(WORD))), DOUBLE)
            value = builder.insert_element(value, element, INT32(j))
        code.store(value, args[2])
        return context.get_dummy_value()

    return types.void(*[types.int64] * 3), codegen


def _scale_difference(typingctx: Any, values: Any, others: Any, factor: Any) -> Any:
    """values[j] = factor (values[j] - others[j]), j = 0 ... 7."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        code = _Code(builder)
        difference = builder.fsub(code.load(args[0], VECTOR), code.load(args[1], VECTOR))
        code.store(builder.fmul(difference, code.splat(args[2])), args[0])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.float64), codegen


def _word_at(typingctx: Any, place: Any) -> Any:
    """The 64-bit word at an address."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _Code(builder).load(args[0], INT64)

    return types.uint64(types.int64), codegen


def _add_eight(typingctx: Any, data: Any, rows: Any, weights: Any, shrink: Any, x: Any, width: Any) -> Any:
    """x = shrink x + sum_j weights[j] row_j over the rows at data + rows[j], j = 0 ... 7; ``width`` in bytes.

    In two chains of additions, so that half of them wait for each other.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        code = _Code(builder)
        data_, rows_, weights_, shrink_, x_, width_ = args
        starts = [code.at(data_, offset) for offset in code.lanes_at(rows_, INT64)]
        factors = [code.splat(weight) for weight in code.lanes_at(weights_, DOUBLE)]
        scale = code.splat(shrink_)
        with cgutils.for_range_slice(builder, INT64(0), width_, INT64(LANES * WORD)) as (k, _):
            rows = [code.load(code.at(start, k), VECTOR) for start in starts]
            place = code.at(x_, k)
            even, odd = builder.fmul(scale, code.load(place, VECTOR)), builder.fmul(factors[1], rows[1])
            for j in range(0, LANES, 2):
                even = code.fma(factors[j], rows[j], even)
                odd = code.fma(factors[j + 1], rows[j + 1], odd) if j else odd
            code.store(builder.fadd(even, odd), place)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 3, types.float64, types.int64, types.int64), codegen


def _add_scaled(typingctx: Any, total: Any, factor: Any, x: Any, width: Any) -> Any:
    """total += factor x; ``width`` in bytes."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        code, factor = _Code(builder), _Code(builder).splat(args[1])
        with cgutils.for_range_slice(builder, INT64(0), args[3], INT64(LANES * WORD)) as (k, _):
            place = code.at(args[0], k)
            code.store(code.fma(factor, code.load(code.at(args[2], k), VECTOR), code.load(place, VECTOR)), place)
        return context.get_dummy_value()

    return types.void(types.int64, types.float64, types.int64, types.int64), codegen


add_scaled: Any = intrinsic(_add_scaled)
address: Any = intrinsic(_address)
draw_eight: Any = intrinsic(_draw_eight)
eight_dots: Any = intrinsic(_eight_dots)
gather_eight: Any = intrinsic(_gather_eight)
scale_difference: Any = intrinsic(_scale_difference)
word_at: Any = intrinsic(_word_at)
add_eight: Any = intrinsic(_add_eight)
