"""The lattice of element types: the common type of operands, as JAX has it.

bool is below the integers, and they are below the floats. Python numbers stand between the kinds:
a Python int is below all integer types, a Python float below all floating ones, so an array beside
them keeps its type if that is of their kind or a higher one. Integers beside a float take its type;
signed and unsigned ones that only a wider type holds take that, uint64 and a signed one a float's.
A float beside a complex number becomes one: of two f64 beside float64, else of the other's parts.
"""

from __future__ import annotations

from functools import cache
from typing import TypeAlias

from xdsl.dialects.builtin import bf16, f16, f32, f64, i1, i8, i16, i32, i64
from xdsl.ir import Attribute

from gradir.dialects.base.shapes import (
    c64,
    c128,
    is_bool,
    is_complex,
    is_float,
    ui8,
    ui16,
    ui32,
    ui64,
)
from gradir.frontends.tracing.default_types import default_element

INT, FLOAT, COMPLEX = "a Python int", "a Python float", "a Python complex"
Node: TypeAlias = Attribute | str

# The types next above each.
_ABOVE: dict[Node, tuple[Node, ...]] = {
    i1: (INT,),
    INT: (ui8, i8),
    ui8: (ui16, i16),
    ui16: (ui32, i32),
    ui32: (ui64, i64),
    ui64: (FLOAT,),
    i8: (i16,),
    i16: (i32,),
    i32: (i64,),
    i64: (FLOAT,),
    FLOAT: (bf16, f16, COMPLEX),
    bf16: (f32,),
    f16: (f32,),
    f32: (f64, c64),
    f64: (c128,),
    COMPLEX: (c64,),
    c64: (c128,),
    c128: (),
}
_WEAK: tuple[Node, ...] = (i1, INT, FLOAT, COMPLEX)


def kind_of(type_: Attribute) -> int:
    """0 for bool, 1 for integers, 2 for floats, 3 for complex numbers."""
    if is_complex(type_):
        return 3
    return 0 if is_bool(type_) else 2 if is_float(type_) else 1


def node_of(type_: Attribute, weak: bool) -> Node:
    """The place of an element type; of a Python number's where it is weak."""
    return _WEAK[kind_of(type_)] if weak else type_


@cache
def _upper(node: Node) -> frozenset[Node]:
    """A type and all above it."""
    return frozenset([node]).union(*map(_upper, _ABOVE[node]))


@cache
def join(first: Node, second: Node) -> Node:
    """The least type that is not below either."""
    common = _upper(first) & _upper(second)
    return next(node for node in common if _upper(node) == common)


def element_at(node: Node) -> Attribute:
    """The element type at a place; the default one of a Python number."""
    if isinstance(node, Attribute):
        return node
    return default_element({INT: int, FLOAT: float, COMPLEX: complex}[node])


def promoted(first: Attribute, second: Attribute) -> Attribute:
    """The common element type of two arrays."""
    return element_at(join(first, second))
