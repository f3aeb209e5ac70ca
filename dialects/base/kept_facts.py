"""Facts of attributes and types, kept on them.

An attribute never changes, and equal ones are mostly one object. Passes ask a few types thousands
of times for their shapes; to look a type up in a table is to hash it, which takes longer than most
answers.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from operator import attrgetter
from typing import Any, TypeVar

from xdsl.ir import Attribute

FactT = TypeVar("FactT")
AttributeT = TypeVar("AttributeT", bound=Attribute)


def kept_fact(ask: Callable[[AttributeT], FactT]) -> Callable[[AttributeT], FactT]:
    """A function of one attribute that asks once for each attribute object.

    It reads a field of the attribute, in C; where the field is not there yet, `_FirstAsked`
    answers.
    """
    # xDSL takes other names in a class for fields of the definition
    name = f"__{ask.__module__}_{ask.__qualname__}__".replace(".", "_")
    setattr(Attribute, name, _FirstAsked(name, ask))
    return attrgetter(name)


class _FirstAsked:
    """A field of all attributes whose value is asked for, and set, when it is read first."""

    def __init__(self, name: str, ask: Callable[[Any], Any]):
        self._name, self._ask = name, ask

    def __get__(self, attribute: Any, owner: object) -> Any:
        found = attribute.__dict__[self._name] = self._ask(attribute)
        return found


# The attributes that have a number; no number is given twice.
_numbered: dict[Attribute, int] = {}
_MOST_NUMBERED = 1 << 14
_numbers = count()
# The attributes of a pickle bring the numbers of another process along.
_PROCESS = object()


def number_of(attribute: Attribute) -> int:
    """A number for keys, as a key of attributes is hashed for long.

    Attributes that differ never share one; equal attributes do, with rare exceptions.
    """
    number, process = attribute.__dict__.get("gradir number", (0, None))
    if process is not _PROCESS:
        number = _new_number(attribute)
        attribute.__dict__["gradir number"] = number, _PROCESS
    return number


def _new_number(attribute: Attribute) -> int:
    found = _numbered.get(attribute)
    if found is None:
        if len(_numbered) >= _MOST_NUMBERED:
            _numbered.clear()
        found = _numbered[attribute] = next(_numbers)
    return found
