"""Constants whose elements stand behind the program: `dense_resource<key>` becomes `dense<...>`.

xDSL keeps the elements of all texts by key in one place, so they are taken when a text is read, one
text at a time, and dropped then. The elements are in the order of the processor's bytes, behind
four bytes that say how they are aligned.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from functools import partial
from math import prod
from typing import Any, NoReturn

from xdsl.context import Context
from xdsl.dialect_interfaces.op_asm import OpAsmDialectInterface
from xdsl.dialects.builtin import (
    BytesAttr,
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    IndexType,
    TensorType,
    i1,
    i64,
)
from xdsl.ir import Attribute, Operation

from gradir.dialects.base.shapes import byte_size, is_scalar
from gradir.forking import compiler_lock

ALIGNMENT_BYTES = 4

Refuse = Callable[[Operation, str], NoReturn]


def _storage(context: Context) -> dict[str, str]:
    interface = context.get_dialect("builtin").get_interface(OpAsmDialectInterface)
    assert interface is not None
    return interface._blob_storage


_one_text = compiler_lock()


@contextmanager
def resources_of_one_text(context: Context) -> Generator[None]:
    """A context in which the place of elements is one text's alone."""
    with _one_text:
        try:
            yield
        finally:
            _storage(context).clear()


def fill_resources(operations: Iterable[Operation], context: Context, refuse: Refuse) -> None:
    """Put elements into attributes that name them; `refuse` raises for an op."""
    blobs = _storage(context)
    for top in operations:
        for op in top.walk():
            for attributes in (op.properties, op.attributes):
                for name, value in list(attributes.items()):
                    if isinstance(value, DenseResourceAttr):
                        attributes[name] = _elements(value, blobs, partial(refuse, op))


def _elements(
    named: DenseResourceAttr, blobs: dict[str, str], refuse: Callable[[str], NoReturn]
) -> Attribute:
    key = named.resource_handle.data
    type_: Any = named.type
    text = blobs.get(key)
    if not text:
        refuse(f"dense_resource<{key}>: no elements of this name are behind the program")
    if not isinstance(type_, TensorType) or not is_scalar(_number_type(type_)):
        refuse(f"dense_resource<{key}>: expected a tensor of numbers, got {type_}")
    try:
        data = bytes.fromhex(str(text).removeprefix("0x"))[ALIGNMENT_BYTES:]
    except ValueError:
        refuse(f"dense_resource<{key}>: expected hexadecimal digits")
    element = _number_type(type_)
    size = prod(type_.get_shape()) * byte_size(element)
    if len(data) != size:
        refuse(f"dense_resource<{key}>: expected {size} bytes for {type_}, got {len(data)}")
    if element == i1:
        return DenseIntOrFPElementsAttr.from_list(type_, [int(byte != 0) for byte in data])
    return DenseIntOrFPElementsAttr(type_, BytesAttr(data))


def _number_type(type_: Any) -> Attribute:
    element = type_.element_type
    return i64 if isinstance(element, IndexType) else element
