"""Between Python values and attributes: typed readers, and printing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from math import isfinite
from typing import cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    f64,
    i1,
    i64,
)
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.base.extent_values import read_extent
from gradir.dialects.base.extents import Extent, Size, is_extent
from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.shapes import is_complex, ui64
from gradir.dialects.base.traced_sizes import is_traced

Attributes = Mapping[str, Attribute]
Types = Sequence[Attribute]
Plain = bool | int | float | str | Sequence[int] | Extent | Attribute


@irdl_attr_definition
class ExtentAttr(ParametrizedAttribute):
    """An integer of an op's attributes that depends on the extents of the arguments, by its text.

    `#grad.extent<"2*n + 1">`, of the symbols that types name: `tensor<?x3xf32, "n">`.
    """

    name = "grad.extent"

    of: StringAttr

    @property
    def size(self) -> Size:
        """The extent, or an integer."""
        return read_extent(self.of.data)

    def verify(self) -> None:
        read_extent(self.of.data)


def attribute(value: Plain) -> Attribute:
    """The attribute for a Python value: i64 (ui64 from 2**63 on), f64, bool, string, i64 array."""
    match value:
        case Attribute():
            return value
        case bool():
            return BoolAttr.from_bool(value)
        case int():
            return IntegerAttr(value, i64 if value < 1 << 63 else ui64)
        case float():
            return FloatAttr(value, f64)
        case str():
            return StringAttr(value)
        case Extent():
            return ExtentAttr(StringAttr(str(value)))
        case _:
            return ArrayAttr(
                ExtentAttr(StringAttr(str(v))) if is_extent(v) else IntegerAttr(_whole(v), i64)
                for v in value
            )


def _whole(number: int) -> int:
    return number if is_traced(number) else int(number)


def bounds_attribute(numbers: Sequence[int]) -> Attribute:
    """The attribute of some integers, `array<i64: ...>` but where sizes are values."""
    if any(map(is_traced, numbers)):
        return ArrayAttr(IntAttr(n) for n in numbers)
    return DenseArrayBase.from_list(i64, list(numbers))


def bounds_of(numbers: Attribute) -> tuple[int, ...]:
    """`bounds_attribute`, back."""
    if isinstance(numbers, ArrayAttr):
        return tuple(n.data for n in cast("ArrayAttr[IntAttr]", numbers))
    return tuple(integers_of(cast(DenseArrayBase, numbers)))


def is_splat(constant: DenseIntOrFPElementsAttr) -> bool:
    """Every element has the same bits: 0.0 and -0.0 are two."""
    size = constant.get_element_type().compile_time_size
    elements = np.frombuffer(constant.data.data, f"u{size}" if size <= 8 else f"V{size}")
    return bool((elements == elements[:1]).all())


LARGEST = 1 << 62
"""The bound of integer attributes: element numbers never overflow 64 bits."""


def integers(attributes: Attributes, name: str, default: Sequence[int] | None) -> list[int] | None:
    """A list of integers written as one number, `[1, 2]` or `array<i64: 1, 2>`."""
    found = _integers(attributes, name, default)
    for n in found or ():
        # a default may be a dynamic extent
        if not is_extent(n) and abs(n) >= LARGEST and name in attributes:
            raise VerifyException(f"{name} must be less than 2**62, got {n}")
    return found


def _integers(attributes: Attributes, name: str, default: Sequence[int] | None) -> list[int] | None:
    match attributes.get(name):
        case None:
            return None if default is None else list(default)
        case IntegerAttr() as one if one.type != i1:
            return [one.value.data]
        case DenseArrayBase() as dense if isinstance(dense.elt_type, IntegerType):
            return integers_of(dense)
        case ExtentAttr() as one:
            return [cast(int, one.size)]
        case ArrayAttr() as items:
            entries = items.data
            if all(isinstance(e, IntegerAttr | ExtentAttr) for e in entries):
                return [_entry(e) for e in entries]
        case _:
            pass
    raise VerifyException(f"{name} must be integers, got {attributes[name]}")


def _entry(entry: Attribute) -> int:
    if isinstance(entry, ExtentAttr):
        return cast(int, entry.size)
    return cast(IntegerAttr, entry).value.data


def integers_of(dense: DenseArrayBase) -> list[int]:
    """The numbers of an `array<i64: ...>`."""
    return list(_unpacked(cast(IntegerType, dense.elt_type).width.data, dense.data.data))


@lru_cache(maxsize=4096)
def _unpacked(width: int, packed: bytes) -> tuple[int, ...]:
    return tuple(map(int, IntegerType(width).unpack(packed, len(packed) * 8 // width)))


def integer(attributes: Attributes, name: str, default: int | None = None) -> int:
    values = integers(attributes, name, None if default is None else [default])
    if values is None or len(values) != 1:
        got = "nothing" if values is None else str(attributes[name])
        raise VerifyException(f"{name} must be one integer, got {got}")
    return values[0]


def number(attributes: Attributes, name: str, default: float | None = None) -> float:
    """A float, or the int that was written: no float holds every i64."""
    match attributes.get(name):
        case FloatAttr() as value:
            return float(value.value.data)
        case IntegerAttr() as value if value.type == i1:
            return int(value.value.data != 0)  # true is held as -1
        case IntegerAttr() as value:
            return value.value.data
        case None if default is not None:
            return default
        case other:
            raise VerifyException(f"{name} must be a number, got {other or 'nothing'}")


def flag(attributes: Attributes, name: str, default: bool) -> bool:
    match attributes.get(name):
        case None:
            return default
        case IntegerAttr() as value if value.type == i1:
            return value.value.data != 0
        case other:
            raise VerifyException(f"{name} must be true or false, got {other}")


def text(
    attributes: Attributes, name: str, default: str | None = None, among: Sequence[str] = ()
) -> str:
    match attributes.get(name):
        case StringAttr() as value:
            found = value.data
        case None if default is not None:
            found = default
        case other:
            raise VerifyException(f"{name} must be a string, got {other or 'nothing'}")
    if among and found not in among:
        raise VerifyException(f"{name} must be one of {', '.join(among)}, got {found}")
    return found


def print_attributes(printer: Printer, attributes: Attributes) -> None:
    """Print ` {name = value, ...}`, without the types that parsing fills in."""

    def print_entry(name: str) -> None:
        printer.print_identifier_or_string_literal(name)
        printer.print_string(" = ")
        _print_plain(printer, attributes[name])

    printer.print_string(" ")
    with printer.in_braces():
        printer.print_list(attributes, print_entry)


def _print_plain(printer: Printer, value: Attribute) -> None:
    match value:
        case IntegerAttr() if value.type == i64:
            printer.print_string(str(value.value.data))
        case FloatAttr() if value.type == f64 and _reads_back(value.value.data):
            printer.print_string(repr(float(value.value.data)))
        case ArrayAttr():
            with printer.in_square_brackets():
                printer.print_list(value.data, lambda entry: _print_plain(printer, entry))
        case _:
            printer.print_attribute(value)


def _reads_back(value: float) -> bool:
    """MLIR reads `0.5` and `1.5e-07`, but not `1e-07`."""
    return isfinite(value) and "." in repr(float(value))


def splat_number(dense: DenseIntOrFPElementsAttr) -> float | None:
    """The common value of all elements, bit for bit; None where they differ, or are complex."""
    if not dense.data.data or not is_splat(dense) or is_complex(dense.get_element_type()):
        return None
    return cast(float, next(iter(dense.iter_values())))


def numbers_of(dense: DenseIntOrFPElementsAttr) -> list[float]:
    """All elements of a dense tensor, as integers or floats."""
    return list(cast(Iterable[float], dense.iter_values()))
