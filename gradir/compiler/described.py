"""Dataclasses as values of JSON and back, by the types that their fields declare.

Only these types are made: the JSON names no class. Attributes are texts that are parsed, bytes
are numbers of blobs beside the JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, TypeVar, cast, get_args, get_origin, get_type_hints

from xdsl.ir import Attribute
from xdsl.parser import Parser

from gradir.dialects.base.lazy_function import lazy_function

if TYPE_CHECKING:
    from gradir.registry import make_context
else:
    make_context = lazy_function("gradir.registry", "make_context")


T = TypeVar("T")

PLAIN = (bool, int, float, str)
"""The types of values that JSON has."""


def described(value: object, blobs: list[bytes]) -> Any:
    """A value of JSON for a value; bytes go to `blobs`."""
    if isinstance(value, bytes):
        blobs.append(value)
        return len(blobs) - 1
    if isinstance(value, Attribute):
        return str(value)
    if is_dataclass(value):
        return [described(getattr(value, f.name), blobs) for f in fields(value)]
    if isinstance(value, (tuple, list, frozenset)):
        parts = cast(Sequence[object], value)
        return [described(part, blobs) for part in parts]
    assert value is None or isinstance(value, PLAIN), type(value)
    return value


def restored(kind: type[T], said: Any, blobs: Sequence[bytes]) -> T:
    """The value of a type that `described` has described."""
    return cast(T, _reader(kind)(said, blobs))


Reader = Callable[[Any, Sequence[bytes]], Any]


@cache
def _reader(kind: Any) -> Reader:
    """A function that makes a value of a type from its JSON and the blobs."""
    origin, args = get_origin(kind) or kind, get_args(kind)
    make: Any = origin
    if origin is UnionType:
        [some] = map(_reader, (each for each in args if each is not NoneType))
        return lambda said, blobs: None if said is None else some(said, blobs)
    if origin is bytes:
        return _blob
    if origin is frozenset or (origin is tuple and args[-1] is ...):
        each = _reader(args[0])
        return lambda said, blobs: make([each(part, blobs) for part in said])
    if origin is tuple:
        return lambda said, blobs: tuple(_parts(args, said, blobs))
    if issubclass(origin, Attribute):
        return lambda said, blobs: _attribute(said)
    if is_dataclass(make):
        return _fields_reader(make)
    assert kind in PLAIN, kind
    return lambda said, blobs: said


def _fields_reader(make: Any) -> Reader:
    hints = get_type_hints(make)
    types = tuple(hints[f.name] for f in fields(make))
    if all(each in PLAIN for each in types):
        return lambda said, blobs: make(*said)
    return lambda said, blobs: make(*_parts(types, said, blobs))


def _blob(said: int, blobs: Sequence[bytes]) -> bytes:
    return blobs[said]


def _parts(types: Sequence[Any], said: Any, blobs: Sequence[bytes]) -> list[object]:
    return [_reader(t)(part, blobs) for t, part in zip(types, said, strict=True)]


@cache
def _attribute(text: str) -> Any:
    return Parser(make_context(), text).parse_attribute()
