"""Checks of arguments of the library's functions, with one wording of their errors."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from types import UnionType
from typing import TYPE_CHECKING, Any

from gradir.errors import ArgumentTypeError

if TYPE_CHECKING:
    from gradir.passes.differentiate.selectors import Selector

Kind = type | UnionType | tuple[type, ...]


def require(what: str, given: object, kind: Kind, wanted: str) -> None:
    """ArgumentTypeError for an argument of another type than `kind`."""
    if not isinstance(given, kind):
        raise ArgumentTypeError(f"{what}: expected {wanted}, got {short(given)}")


def short(given: object) -> str:
    """An object in at most 60 characters and dots."""
    text = repr(given)
    return text if len(text) <= 60 else f"{text[:60]}..."


def selectors(given: Sequence[Selector] | Selector | None) -> Sequence[Selector] | None:
    """One or several selectors as several; None for the default."""
    if given is None:
        return None
    several = given if isinstance(given, (list, tuple, range)) else [given]
    return [selector(each) for each in several]


def selector(given: Any) -> Selector:
    """An index of any integer type as an int; the pass refuses other selectors than names."""
    try:
        return given if isinstance(given, bool) else index(given)
    except TypeError:
        return given


def result_index(what: str, given: object) -> int:
    """The index of a result; ArgumentTypeError for other objects."""
    found = selector(given)
    if type(found) is not int:
        raise ArgumentTypeError(f"{what}: expected the index of a result, got {short(given)}")
    return found
