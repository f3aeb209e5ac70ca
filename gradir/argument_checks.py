"""Checks of arguments of the library's functions, with one wording of their errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from operator import index
from types import UnionType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from gradir.errors import ArgumentTypeError, GradirError
from gradir.nearest import wrong_call

if TYPE_CHECKING:
    from gradir.passes.differentiate.selectors import Selector

Kind = type | UnionType | tuple[type, ...]
P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C")


def known_arguments(
    function: Callable[P, R], refuse: Callable[[str], Exception] = ArgumentTypeError
) -> Callable[P, R]:
    """A function whose unknown and missing arguments are refused with the known ones."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            refuse_wrong_call(error, function, args, kwargs, refuse)
            raise

    return call


def known_fields(cls: type[C]) -> type[C]:
    """A class whose unknown and missing fields are refused with the known ones."""
    setattr(cls, "__init__", known_arguments(cls.__init__))  # noqa: B010 - of any class
    return cls


def refuse_wrong_call(
    error: TypeError,
    function: Callable[..., Any],
    given: tuple[Any, ...],
    named: dict[str, Any],
    refuse: Callable[[str], Exception],
) -> None:
    """Raise the error of a call with arguments that the function does not take, if it is one."""
    wrong = "" if isinstance(error, GradirError) else wrong_call(function, given, named)
    if wrong:
        raise refuse(wrong) from None


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
