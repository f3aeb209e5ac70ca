"""Facts of attributes and types, kept on them.

An attribute never changes, and equal ones are mostly one object. Passes ask a few types thousands
of times for their shapes; to look a type up in a table is to hash it, which takes longer than most
answers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from itertools import count
from typing import TypeVar

from xdsl.ir import Attribute

FactT = TypeVar("FactT")
AttributeT = TypeVar("AttributeT", bound=Attribute)

_MISSING = object()


def kept_fact(ask: Callable[[AttributeT], FactT]) -> Callable[[AttributeT], FactT]:
    """A function of one attribute that asks once for each attribute object."""
    name = f"gradir {ask.__module__}.{ask.__qualname__}"

    @wraps(ask)
    def kept(attribute: AttributeT) -> FactT:
        facts = attribute.__dict__
        found = facts.get(name, _MISSING)
        if found is _MISSING:
            found = facts[name] = ask(attribute)
        return found  # type: ignore[return-value]

    return kept


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
