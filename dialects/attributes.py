"""Between Python values and attributes: what ops read from their attributes, and how they print."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    DenseArrayBase,
    Float64Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    f64,
    i64,
)
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

Attributes = Mapping[str, Attribute]
Plain = bool | int | float | str | Sequence[int] | Attribute


def attribute(value: Plain) -> Attribute:
    """The attribute for a Python value: i64, f64, bool, string, or an array of i64."""
    match value:
        case Attribute():
            return value
        case bool():
            return BoolAttr.from_bool(value)
        case int():
            return IntegerAttr(value, i64)
        case float():
            return FloatAttr(value, f64)
        case str():
            return StringAttr(value)
        case _:
            return ArrayAttr(IntegerAttr(int(v), i64) for v in value)


def integers(attributes: Attributes, name: str, default: Sequence[int] | None) -> list[int] | None:
    """A list of integers written as one number, `[1, 2]` or `array<i64: 1, 2>`."""
    match attributes.get(name):
        case None:
            return None if default is None else list(default)
        case IntegerAttr() as one if one.type != IntegerType(1):
            return [one.value.data]
        case DenseArrayBase() as dense if isinstance(dense.elt_type, IntegerType):
            return integers_of(dense)
        case ArrayAttr() as items:
            entries = items.data
            if all(isinstance(e, IntegerAttr) for e in entries):
                return [cast(IntegerAttr, e).value.data for e in entries]
        case _:
            pass
    raise VerifyException(f"{name} must be integers, got {attributes[name]}")


def integers_of(dense: DenseArrayBase) -> list[int]:
    """The numbers of an `array<i64: ...>`."""
    return [int(v) for v in cast(DenseArrayBase[IntegerType], dense).get_values()]


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
        case IntegerAttr() as value if value.type == IntegerType(1):
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


def plain_text(value: Attribute) -> str:
    """`value` as in `{name = value}`, without the types that parsing fills in."""
    match value:
        case IntegerAttr() if value.type == i64:
            return str(value.value.data)
        case FloatAttr() if isinstance(value.type, Float64Type) and isfinite(value.value.data):
            return repr(float(value.value.data)) if _reads_back(value.value.data) else str(value)
        case ArrayAttr():
            entries = value.data
            return "[" + ", ".join(plain_text(e) for e in entries) + "]"
        case _:
            return str(value)


def _reads_back(value: float) -> bool:
    """MLIR reads `0.5` and `1.5e-07`, but not `1e-07`."""
    return "." in repr(float(value))
