"""Facts about tensor types: elements, broadcasting, axes. Dynamic extents are DYNAMIC."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import TypeGuard, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    BFloat16Type,
    ComplexType,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerType,
    MemRefType,
    Signedness,
    StringAttr,
    TensorType,
    bf16,
    f16,
    f32,
    f64,
    i1,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.base.extent_values import read_extent
from gradir.dialects.base.extents import is_extent, is_same
from gradir.dialects.base.kept_facts import kept_fact

DYNAMIC = DYNAMIC_INDEX
AnyTensor = TensorType[Attribute]

ui8, ui16, ui32, ui64 = (IntegerType(n, Signedness.UNSIGNED) for n in (8, 16, 32, 64))
c64, c128 = ComplexType(f32), ComplexType(f64)
"""The complex numbers of two f32, and of two f64."""
_FLOATS = (Float64Type, Float32Type, Float16Type, BFloat16Type)
FLOAT_NAMES = "f64, f32, f16 or bf16"

# The name of each element type in NumPy (bfloat16 is ml_dtypes').
NUMPY_NAMES: dict[Attribute, str] = {
    f64: "float64",
    f32: "float32",
    f16: "float16",
    bf16: "bfloat16",
    i64: "int64",
    i32: "int32",
    i16: "int16",
    i8: "int8",
    ui64: "uint64",
    ui32: "uint32",
    ui16: "uint16",
    ui8: "uint8",
    i1: "bool",
    c128: "complex128",
    c64: "complex64",
}
_INTEGERS = frozenset(e for e, name in NUMPY_NAMES.items() if "int" in name)

MAX_BYTES = 1 << 62
"""The bound of tensor sizes in bytes: sizes and offsets never overflow 64 bits."""

# Bytes of an element of an unknown type, as many as the largest (f128) has.
_LARGEST_ELEMENT = 16


def is_float(element: Attribute) -> TypeGuard[AnyFloat]:
    return type(element) in _FLOATS


def is_complex(element: Attribute) -> TypeGuard[ComplexType[AnyFloat]]:
    """Whether an element is a complex number of two f32 or of two f64."""
    return type(element) is ComplexType and element in (c64, c128)


def is_inexact(element: Attribute) -> bool:
    """Whether an element is a float or a complex number: it has derivatives."""
    return is_float(element) or is_complex(element)


def real_element(element: Attribute) -> Attribute:
    """The type of both parts of a complex number; another element itself."""
    return element.element_type if is_complex(element) else element


def complex_element(element: Attribute) -> Attribute:
    """The complex numbers whose parts are floats of a type: f64's for f64, else f32's."""
    if is_complex(element):
        return element
    return c128 if element == f64 else c64


def is_complex_tensor(type_: Attribute) -> bool:
    """Whether a type is a tensor type of complex numbers."""
    return is_tensor(type_) and is_complex(type_.element_type)


def is_integer(element: Attribute) -> bool:
    """Of 8 to 64 bits, signed (i8) or unsigned (ui8); not bool."""
    return element in _INTEGERS


def is_unsigned(element: Attribute) -> bool:
    """Whether an element is an unsigned integer; bool is none."""
    integer = as_integer_type(element)
    return integer is not None and integer.signedness.data == Signedness.UNSIGNED


def is_bool(element: Attribute) -> bool:
    return type(element) is IntegerType and element == i1


def tensor(shape: Sequence[int], element: Attribute) -> AnyTensor:
    return _tensor(tuple(shape), element)


@lru_cache(1 << 14)
def _tensor(shape: tuple[int, ...], element: Attribute) -> AnyTensor:
    """Types are values, and few differ: each is made, and checked, once."""
    named = [str(n) for n in shape if is_extent(n)]
    if not named:
        return TensorType(element, shape)
    extents = [DYNAMIC if is_extent(n) else n for n in shape]
    return TensorType(element, extents, StringAttr(", ".join(named)))


def memref_type(shape: Sequence[int], element: Attribute) -> MemRefType[Attribute]:
    """A buffer with the elements one after another."""
    return _memref(tuple(shape), element)


@lru_cache(1 << 14)
def _memref(shape: tuple[int, ...], element: Attribute) -> MemRefType[Attribute]:
    return MemRefType(element, shape)


def is_tensor(type_: Attribute) -> TypeGuard[AnyTensor]:
    # no class derives from it; an instance check of an abstract class costs much more
    return type(type_) is TensorType


def is_scalar(type_: Attribute) -> bool:
    """Whether a type is a number: a float, an integer or an index."""
    return is_float(type_) or isinstance(type_, IntegerType | IndexType)


@kept_fact
def shape_of(type_: Attribute) -> tuple[int, ...]:
    """The extents of a tensor type; DYNAMIC where not known, an Extent where it has a name.

    The names are the type's encoding: `tensor<?x3xf32, "n">`, one for each `?`.
    """
    shaped = cast(AnyTensor, type_)
    if is_tensor(type_) and isinstance(shaped.encoding, StringAttr):
        return _named_shape(shaped.get_shape(), shaped.encoding.data)
    return shaped.get_shape()


def open_shape(type_: Attribute) -> tuple[int, ...]:
    """The extents of a tensor type, DYNAMIC where not a number."""
    return cast(AnyTensor, type_).get_shape()


@kept_fact
def is_open(type_: Attribute) -> bool:
    """Whether a type is a tensor type with an extent that is no number: unknown, or a name."""
    return is_tensor(type_) and DYNAMIC in open_shape(type_)


def has_open_types(op: Operation) -> bool:
    """Whether the type of an operand or a result is open."""
    return any(is_open(value.type) for value in (*op.operands, *op.results))


def has_names(type_: Attribute) -> bool:
    """Whether a type is a tensor type whose dynamic extents have names."""
    return is_tensor(type_) and isinstance(type_.encoding, StringAttr)


@lru_cache(1 << 12)
def _named_shape(shape: tuple[int, ...], text: str) -> tuple[int, ...]:
    named = [read_extent(part) for part in text.split(",")]
    count = shape.count(DYNAMIC)
    if len(named) != count or not all(map(is_extent, named)):
        raise VerifyException(f'each ? must have a name, got "{text}" for {count}')
    rest = iter(named)
    made = [next(rest) if n == DYNAMIC else n for n in shape]
    return cast("tuple[int, ...]", tuple(made))


def element_of(type_: Attribute) -> Attribute:
    return cast(AnyTensor, type_).element_type


def is_element(element: Attribute) -> bool:
    """Whether gradir has tensors of this element."""
    return element in NUMPY_NAMES


def require_element(type_: Attribute) -> None:
    """VerifyException for a tensor of an element type that gradir does not have."""
    if not is_element(element_of(type_)):
        *others, last = map(str, NUMPY_NAMES)
        raise VerifyException(f"elements must be {', '.join(others)} or {last}, got {type_}")


def require_size(type_: AnyTensor) -> None:
    """VerifyException for a tensor whose bytes 64 bits cannot count, or with wrong names."""
    shape_of(type_)
    element = type_.element_type
    size = byte_size(element)
    # an extent of 0 leaves nothing, but strides are products of the others
    for extent in type_.get_shape():
        size *= max(extent, 1)
    if size >= MAX_BYTES:
        raise VerifyException(f"a tensor must take less than 2**62 bytes, got {type_}")


@kept_fact
def is_static(type_: Attribute) -> bool:
    return DYNAMIC not in shape_of(type_)


def element_count(type_: Attribute) -> int | None:
    """The number of elements of a tensor; None for a dynamic shape."""
    return prod(shape_of(type_)) if is_static(type_) else None


def as_integer_type(type_: Attribute) -> IntegerType | None:
    """The type as an integer type (bool too); None for others."""
    return type_ if type(type_) is IntegerType else None


def byte_size(element: Attribute) -> int:
    """Bytes of one element in memory; a bool takes one, a type that is unknown as many as any."""
    if is_float(element):
        return element.bitwidth // 8
    if is_complex(element):
        return 2 * byte_size(element.element_type)
    if isinstance(element, IndexType):
        return 8
    integer = as_integer_type(element)
    if integer is None:
        return _LARGEST_ELEMENT
    return max(1, integer.width.data // 8)


def compatible(a: Sequence[int], b: Sequence[int]) -> bool:
    """Whether the known extents of two shapes agree."""
    return len(a) == len(b) and all(map(_agree, a, b))


def _agree(x: int, y: int) -> bool:
    if is_extent(x) or is_extent(y):
        return is_same(x, y) or DYNAMIC in (x, y)
    return x == y or DYNAMIC in (x, y)


def same_shape(a: Sequence[int], b: Sequence[int]) -> bool:
    """Whether two shapes are equal, for all values of the symbols of their extents."""
    return len(a) == len(b) and all(map(is_same, a, b))


def extents_text(shape: Sequence[int]) -> str:
    """A shape in a message: `[?, 3]`."""
    return "[" + ", ".join("?" if n == DYNAMIC else str(n) for n in shape) + "]"


def can_be(a: Attribute, b: Attribute) -> bool:
    """Whether two types agree: element, rank and known extents."""
    if not (is_tensor(a) and is_tensor(b)):
        return a == b
    return element_of(a) == element_of(b) and compatible(shape_of(a), shape_of(b))


def met(a: Sequence[int], b: Sequence[int]) -> tuple[int, ...]:
    """The known extents of two compatible shapes together."""
    return tuple(y if x == DYNAMIC else x for x, y in zip(a, b, strict=True))


def common_shape(types: Sequence[Attribute]) -> tuple[int, ...] | None:
    """The known extents of several types of one shape together; None where they disagree."""
    shape = shape_of(types[0])
    for type_ in types[1:]:
        if not compatible(shape, shape_of(type_)):
            return None
        shape = met(shape, shape_of(type_))
    return shape


def agree_but_for(axis: int, a: Sequence[int], b: Sequence[int]) -> bool:
    """Whether the known extents of two shapes agree at all axes but one."""
    return len(a) == len(b) and all(
        d == axis or _agree(x, y) for d, (x, y) in enumerate(zip(a, b, strict=True))
    )


def normalize_axis(axis: int, rank: int, what: str = "axis") -> int:
    """An axis in [-rank, rank) as one in [0, rank); VerifyException outside."""
    if not -rank <= axis < rank:
        raise VerifyException(f"{what} must be in [{-rank}, {rank}), got {axis}")
    return axis % rank


def normalize_axes(axes: Sequence[int], rank: int, what: str = "axis") -> list[int]:
    """Distinct axes, in the order given."""
    found = [normalize_axis(a, rank, what) for a in axes]
    if len(set(found)) != len(found):
        raise VerifyException(f"{what} must name each axis once, got {list(axes)}")
    return found


def broadcast_shapes(a: Sequence[int], b: Sequence[int]) -> tuple[int, ...]:
    """NumPy's broadcast of two shapes; VerifyException where they do not fit."""
    rank = max(len(a), len(b))
    padded = [(1,) * (rank - len(s)) + tuple(s) for s in (a, b)]
    result: list[int] = []
    for x, y in zip(*padded, strict=True):
        if is_extent(x) or is_extent(y):
            result.append(_broadcast_named(x, y, a, b))
            continue
        if x != y and 1 not in (x, y) and DYNAMIC not in (x, y):
            raise VerifyException(
                f"shapes must broadcast, got {extents_text(a)} and {extents_text(b)}"
            )
        result.append(y if x == 1 else x if y in (1, DYNAMIC) else y)
    return tuple(result)


def _broadcast_named(x: int, y: int, a: Sequence[int], b: Sequence[int]) -> int:
    """The broadcast of two extents, one of them named: of equal ones, or beside a 1."""
    for extent, other in ((x, y), (y, x)):
        if not is_extent(extent) and extent == 1:
            return other
    if not is_same(x, y):
        raise VerifyException(f"shapes must broadcast, got {extents_text(a)} and {extents_text(b)}")
    return x


def extent_sum(*extents: int) -> int:
    """The sum of extents; dynamic where one is dynamic."""
    return DYNAMIC if DYNAMIC in extents else sum(extents)


def extent_product(*extents: int) -> int:
    """The product of extents; dynamic where one is dynamic."""
    return DYNAMIC if DYNAMIC in extents else prod(extents)
