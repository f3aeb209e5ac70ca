"""array: random numbers, each a function of key, counter and place alone (philox.py).

Use a key for a program or a stream, and another counter for each draw from it: equal operands give
equal numbers, whatever the number of threads. Both are inactive: no derivative flows to a number.
Arrays of keys and counters, [..] of the result's [.., d...], draw the numbers d... of each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite, prod
from typing import Any, ClassVar

from xdsl.dialects.builtin import i32, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.array import philox
from gradir.dialects.base.access import Access
from gradir.dialects.base.attributes import number
from gradir.dialects.base.batch import Batch
from gradir.dialects.base.interfaces import TensorOp
from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.rounding import below, rounded
from gradir.dialects.base.shapes import compatible, element_of, is_tensor, shape_of, tensor
from gradir.dialects.base.value import Emitter, Scalar, Value
from gradir.dialects.building import body as b
from gradir.dialects.building.kinds import require_elements
from gradir.dialects.building.nests import Read, nest
from gradir.dialects.loopnest.loopnest import Output


class RandomOp(TensorOp):
    """Numbers drawn for the result type, from keys and counters: two tensors of i64 of one shape,
    the first extents of the result's; rank 0 for one of each.
    """

    INACTIVE: ClassVar[bool] = True
    KIND: ClassVar[str] = "float"

    key = operand_def()
    counter = operand_def()
    y = result_def()
    traits = traits_def(Pure())

    def verify_types(self) -> None:
        _require_keys(self.key.type, self.counter.type, self.y.type)
        require_elements(self.y.type, self.KIND)

    @property
    def count(self) -> int:
        """The number of elements of one key."""
        return prod(shape_of(self.y.type)[len(shape_of(self.key.type)) :])

    def draw(
        self,
        emitter: Emitter,
        operands: Sequence[SSAValue],
        number_of: Callable[[Scalar, Scalar, Scalar], Scalar],
    ) -> Sequence[SSAValue]:
        """A nest in which `number_of(key, counter, element's number)` gives each element."""
        shape, element = shape_of(self.y.type), element_of(self.y.type)
        rank, keys = len(shape), len(shape_of(self.key.type))

        def one(key: Scalar, counter: Scalar) -> Scalar:
            place = _element_number(key, shape, keys)
            return b.from_compute(number_of(key, counter, place), element)

        reads = [Read(o, Access.of_dims(rank, range(keys))) for o in operands]
        return nest(emitter, shape, reads, [Output(self.y.type, Access.identity(rank))], one)

    def vmap(self, batch: Batch) -> Sequence[Value]:
        return batch.in_front()


def require_key(key: Attribute, counter: Attribute) -> None:
    """VerifyException unless key and counter are rank-0 tensors of i64."""
    wanted = tensor([], i64)
    if key != wanted or counter != wanted:
        raise VerifyException(f"key and counter must be {wanted}, got {key} and {counter}")


def _require_keys(key: Attribute, counter: Attribute, y: Attribute) -> None:
    """VerifyException unless key and counter are of i64 and one shape, the first part of y's."""
    if not (is_tensor(key) and is_tensor(counter) and is_tensor(y)):
        raise VerifyException(f"expected ranked tensors, got {key}, {counter} and {y}")
    shape, other = shape_of(key), shape_of(counter)
    fits = compatible(shape, other) and compatible(shape, shape_of(y)[: len(shape)])
    if not (fits and key.element_type == counter.element_type == i64):
        raise VerifyException(
            "key and counter must be tensors of i64 of one shape, the first extents of the "
            f"result's, got {key} and {counter} for {y}"
        )


def _element_number(near: Scalar, shape: Sequence[int], keys: int) -> Scalar:
    """The number of the element that a body is at, counted in row-major order for each key."""
    count = b.literal(near, 0, i64)
    for d, extent in enumerate(shape[keys:], keys):
        count = count * extent + b.index(near, d)
    return count


@irdl_op_definition
class RandomBitsOp(RandomOp):
    """Random bits: each integer of i32 or i64 is as likely as any other.

    The words of Philox 4x32-10 as they are: for i32 word e mod 4 of block q = e div 4, for element
    e in row-major order; for i64 word 2 (e mod 2) and, above it, the next, of block q = e div 2.
    Key and counter as in array.uniform, the bits the same natively and in the interpreter.
    """

    name = "array.random_bits"
    KIND: ClassVar[str] = "integer"

    def verify_types(self) -> None:
        super().verify_types()
        if element_of(self.y.type) not in (i32, i64):
            raise VerifyException(f"elements must be i32 or i64, got {self.y.type}")

    @property
    def _width(self) -> int:
        return 32 if element_of(self.y.type) == i32 else 64

    def lower(self, emitter: Emitter, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        element, width = element_of(self.y.type), self._width

        def number_of(key: Scalar, counter: Scalar, place: Scalar) -> Scalar:
            return b.cast(philox.word(key, counter, place, width), element)

        return self.draw(emitter, operands, number_of)

    def numpy(self, key: Any, counter: Any) -> Any:
        word = philox.numpy_word(key, counter, self.count, self._width)
        unsigned, signed = (np.uint32, np.int32) if self._width == 32 else (np.uint64, np.int64)
        return word.astype(unsigned).view(signed).reshape(shape_of(self.y.type))


@irdl_op_definition
class UniformOp(RandomOp):
    """Numbers uniformly distributed in [low, high), never high itself; 0 and 1 where absent.

    low + u * (high - low), with u in [0, 1); a number rounded to high becomes the one before it.
    low and high are rounded to the element type first. u are the highest 24 bits (f16: 11, bf16: 8)
    of word e mod 4 of block q = e div 4 of Philox 4x32-10, for element e in row-major order,
    divided by 2**24 (2**11, 2**8); for f64 the highest 53 bits of word 2 (e mod 2) and, above it,
    the next, of block q = e div 2. Philox's key is (key, key div 2**32), its counter (q, q div
    2**32, counter, counter div 2**32), all mod 2**32. The bits are the same natively, on any number
    of threads, and in the interpreter. Source: Salmon et al., "Parallel random numbers: as easy as
    1, 2, 3", SC 2011.
    """

    name = "array.uniform"
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("low", "high")

    @property
    def bounds(self) -> tuple[float, float]:
        element = element_of(self.y.type)
        low, high = number(self.attributes, "low", 0.0), number(self.attributes, "high", 1.0)
        return rounded(low, element), rounded(high, element)

    def verify_types(self) -> None:
        super().verify_types()
        low, high = self.bounds
        if not low < high or not isfinite(self._width):
            raise VerifyException(
                f"low must be below high by a finite amount in {element_of(self.y.type)}, "
                f"got {low} and {high}"
            )

    @property
    def _width(self) -> float:
        low, high = self.bounds
        return rounded(high - low, b.compute_type(element_of(self.y.type)))

    @property
    def _last(self) -> float:
        """The largest element below high."""
        return below(self.bounds[1], element_of(self.y.type))

    def lower(self, emitter: Emitter, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        element = element_of(self.y.type)
        type_ = b.compute_type(element)

        def number_of(key: Scalar, counter: Scalar, place: Scalar) -> Scalar:
            u = philox.uniform(key, counter, place, str(element), type_)
            wide = u * self._width
            moved = wide + self.bounds[0]
            return b.minimum(moved, b.constant(u, self._last))

        return self.draw(emitter, operands, number_of)

    def numpy(self, key: Any, counter: Any) -> Any:
        shape = shape_of(self.y.type)
        u = philox.numpy_uniform(key, counter, self.count, str(element_of(self.y.type)))
        width, low, last = (u.dtype.type(v) for v in (self._width, self.bounds[0], self._last))
        return np.minimum(u * width + low, last).reshape(shape)


@irdl_op_definition
class NormalOp(RandomOp):
    """Numbers of the standard normal distribution, by Box and Muller's transform of Philox 4x32-10.

    sqrt(-2 log(v)) * cos(2 pi (t - (e mod 2) / 4)) for element e in row-major order, with v in
    (0, 1] and t in [0, 1) from words of the block that array.uniform takes for it (key and counter
    as there): in f32, f16 and bf16 v = (a div 2 + 1/2) / 2**31, t = (b div 2**8) / 2**24 with
    a, b = w0, w1 where e mod 4 < 2, else w2, w3; in f64 v = (a div 2**11 + 1) / 2**53 and
    t = (b div 2**11) / 2**53 with a = w0 + 2**32 w1, b = w2 + 2**32 w3. The largest is 6.66, in f64
    8.57. Natively and in the interpreter the numbers are the same but for the last bits of
    logarithm and cosine (4 ulp each).
    """

    name = "array.normal"

    def lower(self, emitter: Emitter, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        type_ = b.compute_type(element_of(self.y.type))

        def number_of(key: Scalar, counter: Scalar, place: Scalar) -> Scalar:
            return philox.normal(key, counter, place, type_)

        return self.draw(emitter, operands, number_of)

    def numpy(self, key: Any, counter: Any) -> Any:
        shape = shape_of(self.y.type)
        name = str(element_of(self.y.type))
        return philox.numpy_normal(key, counter, self.count, name).reshape(shape)


OPS: tuple[type[TensorOp], ...] = (RandomBitsOp, UniformOp, NormalOp)
