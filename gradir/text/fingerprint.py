"""A digest of a program: equal for equal programs, names and places in the source included.

Code has places in its messages and names in its plan, so they count. It takes a quarter of the time
of printing. Programs with ops that are no part of gradir or xDSL have none: what their classes say
is not in the program. Of a host call the caller tells what code depends on.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from functools import cache
from struct import pack
from typing import Any, TypeAlias, cast

from xdsl.dialects.builtin import FileLineColLoc, MemRefType, TensorType
from xdsl.ir import (
    Attribute,
    Block,
    BlockArgument,
    Data,
    Operation,
    ParametrizedAttribute,
    SSAValue,
)
from xdsl.ir.affine import AffineMap, AffineSet

from gradir.dialects.base.op_rules import has_plugin_rule
from gradir.dialects.grad.host_call import HostCallOp
from gradir.digests import blake2b

OWN = ("gradir", "xdsl")
"""The packages whose sources, or version, are known."""


TYPES = frozenset({TensorType, MemRefType})
"""Attributes that are equal only if all their bits are. There are many, and few different ones."""


class _Unknown(Exception):
    """Raised where code depends on something beside the text of the program."""


Facts: TypeAlias = Callable[[HostCallOp], list[Any] | None]
"""What code depends on in the function that a call names, as JSON; None for an unknown one."""


def fingerprint(ops: Iterable[Operation], facts: Facts = lambda op: None) -> str | None:
    """The digest of some ops; None where equal text may mean other code."""
    writer = _Writer(facts)
    try:
        for op in ops:
            writer.op(op)
    except _Unknown:
        return None
    text = json.dumps([writer.words, writer.attributes])
    return blake2b(text.encode(), digest_size=32).hexdigest()


class _Writer:
    """Writes ops as one flat list of words, in which each list follows its length.

    Values, blocks and attributes are numbers; `attributes` tells what an attribute's number means.
    """

    def __init__(self, facts: Facts) -> None:
        self.words: list[Any] = []
        self._facts = facts
        self.attributes: list[Any] = []
        self._values: dict[SSAValue, int] = {}
        self._blocks: dict[Block, int] = {}
        self._numbers: dict[Any, int] = {}
        self._types: dict[Attribute, int] = {}
        # by identity, since equal numbers may have other bits; the attribute is kept alive
        self._seen: dict[int, tuple[Attribute, int]] = {}

    def op(self, op: Operation) -> None:
        _require_own(type(op))
        if has_plugin_rule(type(op)):
            raise _Unknown
        words = self.words
        if isinstance(op, HostCallOp):
            known = self._facts(op)
            if known is None:
                raise _Unknown
            words.append(known)
        words += (op.name, type(op).__qualname__, self._attribute(op.location))
        words.append(len(op.operands))
        words += [self._value(operand) for operand in op.operands]
        self._defined(op.results)
        self._named(op.attributes)
        self._named(op.properties)
        words.append(len(op.successors))
        words += [self._blocks.setdefault(each, len(self._blocks)) for each in op.successors]
        words.append(len(op.regions))
        for region in op.regions:
            words.append(len(region.blocks))
            for block in region.blocks:
                self._block(block)

    def _block(self, block: Block) -> None:
        self.words.append(self._blocks.setdefault(block, len(self._blocks)))
        self._defined(block.args)
        place = len(self.words)
        self.words.append(0)
        for count, op in enumerate(block.ops, 1):
            self.op(op)
            self.words[place] = count

    def _defined(self, values: Sequence[SSAValue]) -> None:
        self.words.append(len(values))
        for value in values:
            self.words += (self._value(value), self._attribute(value.type), value.name_hint)
            if isinstance(value, BlockArgument):
                self.words.append(self._attribute(value.location))

    def _value(self, value: SSAValue) -> int:
        return self._values.setdefault(value, len(self._values))

    def _named(self, attributes: Mapping[str, Attribute]) -> None:
        self.words.append(len(attributes))
        for name in sorted(attributes):
            self.words += (name, self._attribute(attributes[name]))

    # Attributes.

    def _attribute(self, attribute: Attribute) -> int:
        """The number of an attribute: the same for those with the same parts."""
        found = self._seen.get(id(attribute))
        if found is None:
            found = self._seen[id(attribute)] = attribute, self._new(attribute, type(attribute))
        return found[1]

    def _new(self, attribute: Attribute, kind: type[Attribute]) -> int:
        if kind not in TYPES:
            return self._number(self._parts(attribute, kind))
        found = self._types.get(attribute)
        if found is None:
            found = self._types[attribute] = self._number(self._parts(attribute, kind))
        return found

    def _number(self, parts: tuple[str | int, ...]) -> int:
        number = self._numbers.setdefault(parts, len(self._numbers))
        if number == len(self.attributes):
            self.attributes.append(parts)
        return number

    def _parts(self, attribute: Attribute, kind: type[Attribute]) -> tuple[str | int, ...]:
        """The class of an attribute, and its parameters' numbers or its data."""
        if kind is FileLineColLoc:  # one in three
            place = cast(FileLineColLoc, attribute)
            return "at", place.filename.data, place.line.data, place.column.data
        _require_own(kind)
        name = f"{attribute.name} {kind.__qualname__}"
        if isinstance(attribute, ParametrizedAttribute):
            return name, *map(self._attribute, attribute.parameters)
        if isinstance(attribute, Data):
            return name, *self._data(cast(Data[Any], attribute).data)
        if isinstance(attribute, Enum):
            return name, attribute.name
        raise _Unknown

    def _data(self, data: Any) -> tuple[str | int, ...]:
        """Data as words that tell all its bits."""
        match data:
            case bool() | int() | str() | Enum() | AffineMap() | AffineSet():
                return type(data).__name__, str(data)
            case bytes():
                return "bytes", len(data), blake2b(data, digest_size=32).hexdigest()
            case float():
                return "float", pack("<d", data).hex()
            case tuple():
                parts = cast(tuple[Any, ...], data)
                return "tuple", *(word for part in parts for word in self._part(part))
            case set() | frozenset():  # of flags
                flags = sorted(map(str, cast(frozenset[Any], data)))
                return "set", *flags
            case Mapping():
                items = sorted(cast(Mapping[str, Any], data).items())
                return "dict", *(word for k, v in items for word in (k, *self._part(v)))
            case _:
                raise _Unknown

    def _part(self, part: Any) -> tuple[str | int, ...]:
        if isinstance(part, Attribute):
            return "attribute", self._attribute(part)
        words = self._data(part)
        return len(words), *words


@cache
def _require_own(kind: type) -> None:
    """_Unknown for a class of another package."""
    if kind.__module__.partition(".")[0] not in OWN:
        raise _Unknown
