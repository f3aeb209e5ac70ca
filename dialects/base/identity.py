"""Values, operations and attributes are compared, hashed and asked for their class in C.

xDSL's classes say in Python that values and operations are equal to nothing but themselves, as any
object is, and their metaclass asks in Python whether an object is an instance. A compilation asks
for a million hashes, 6 % of its time in Python, and for 300 classes an op, a tenth.
"""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Iterator
from typing import Any

from xdsl import irdl, traits
from xdsl.ir import SSAValue, core
from xdsl.irdl import IRDLOperation


def compare_in_c() -> None:
    """Let values and operations have the equality and the hash of objects."""
    classes: tuple[Any, ...] = (SSAValue, IRDLOperation)
    for each in classes:
        each.__eq__, each.__hash__ = object.__eq__, object.__hash__


class PlainInstances(ABCMeta):
    """The metaclass of abstract classes without virtual subclasses: instances are those of C."""

    __instancecheck__ = type.__instancecheck__
    __subclasscheck__ = type.__subclasscheck__


def ask_for_classes_in_c() -> None:
    """Give the abstract classes of xDSL's IR that metaclass, which later subclasses inherit."""
    for each in set(_abstract_classes()):
        each.__class__ = PlainInstances


def _abstract_classes() -> Iterator[Any]:
    for module in (core, irdl, traits):
        for thing in vars(module).values():
            if type(thing) is ABCMeta and thing.__module__.startswith("xdsl."):
                yield from _with_subclasses(thing)


def _with_subclasses(abstract: Any) -> Iterator[Any]:
    if type(abstract) is ABCMeta:
        yield abstract
    for each in type.__subclasses__(abstract):
        yield from _with_subclasses(each)
