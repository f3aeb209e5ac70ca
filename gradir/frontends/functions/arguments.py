"""Arguments of functions with NumPy's signatures: axes, values known while tracing, refusals."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from operator import index
from typing import Any, cast

import numpy as np
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.base.shapes import is_inexact, normalize_axes
from gradir.frontends.functions.promotion import converted
from gradir.frontends.tracing.default_types import default_element
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.spec import element_named
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import element, lifted
from gradir.frontends.tracing.values import fixed_value_of, values_in
from gradir.nearest import renamed, unknown_argument

OUT = (
    "out is for arrays with values; write y = {name}(...), and in place of y += x of a NumPy "
    "array y and a traced x, y = y + x"
)


def checked(
    function: Callable[..., Any],
    name: str = "",
    module: str = "gradir.numpy",
    hint: str = "",
    takes_complex: bool = False,
) -> Callable[..., Any]:
    """A function whose unknown arguments, and `out`, are refused with the known ones, and a hint.

    Functions of gradir.nn take PyTorch's names of arguments, too; they and those of gradir.scipy
    refuse complex numbers, unless they take them.
    """
    signature = inspect.signature(function)
    known = list(signature.parameters)
    name = name or function.__name__
    place = known.index("out") if "out" in known else -1
    if place >= 0 and signature.parameters["out"].kind is inspect.Parameter.KEYWORD_ONLY:
        place = -1

    is_of_reals = module.startswith(_OF_REALS) and not takes_complex

    def call(*args: Any, **kwargs: Any) -> Any:
        if is_of_reals:
            require_reals(name, args, kwargs)
        given = args[place] if 0 <= place < len(args) else kwargs.get("out")
        if given is not None:
            raise refusal(f"{name}: {OUT.format(name=name)}")
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            ours = renamed(kwargs, known) if module == "gradir.nn" else kwargs
            if ours.keys() != kwargs.keys():
                return call(*args, **ours)
            if error.__traceback__ is not None and error.__traceback__.tb_next is None:
                raise refusal(_mismatch(name, known, error, kwargs) + hint) from None
            try:  # the function may be one around another
                signature.bind(*args, **kwargs)
            except TypeError as mismatch:
                raise refusal(_mismatch(name, known, mismatch, kwargs) + hint) from None
            raise

    call.__name__ = call.__qualname__ = function.__name__
    call.__doc__, call.__module__ = function.__doc__, module
    call.__signature__ = signature  # pyrefly: ignore[missing-attribute]
    return call


_OF_REALS = ("gradir.nn", "gradir.scipy")
"""The modules whose functions are defined on real numbers alone."""


def require_reals(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """TraceError for complex numbers among the arguments of a function of real ones."""
    for value in (*args, *kwargs.values()):
        if isinstance(value, (tuple, list)):
            require_reals(name, cast("Sequence[Any]", value), {})
        elif isinstance(value, complex) or _kind_of(value) == "c":
            raise refusal(
                f"{name}: expected real numbers, got complex ones; take x.real, x.imag or "
                "numpy.abs(x)"
            )


def _kind_of(value: Any) -> str:
    """The kind of an array's dtype, as NumPy has it; nothing for other objects."""
    return getattr(getattr(value, "dtype", None), "kind", "")


def _mismatch(name: str, known: Sequence[str], error: TypeError, kwargs: dict[str, Any]) -> str:
    listed = [k for k in known if k != "out"]
    wrong = unknown_argument(name, kwargs, listed, known)
    why = str(error).partition("() ")[2] or error
    return wrong or f"{name}: {why}; parameters: {', '.join(listed)}"


def axes_of(x: Tracer, axis: Any) -> tuple[int, ...]:
    """Axes as numbers >= 0, all for None; TraceError for those that x has not."""
    if axis is None:
        return tuple(range(x.ndim))
    try:
        return tuple(normalize_axes(integers(axis), x.ndim))
    except VerifyException as error:
        raise refusal(str(error)) from None
    except TypeError:
        raise refusal(f"axes must be an integer or integers, got {axis!r}") from None


def axis_of(x: Tracer, axis: Any) -> int:
    """One axis as a number >= 0."""
    found = axes_of(x, axis)
    if len(found) != 1 or axis is None:
        raise refusal(f"axis must be one integer, got {axis!r}")
    return found[0]


def integers(given: Any) -> list[int]:
    """One integer, or several; TypeError for other values, bools too."""
    listed: list[Any] = [given] if is_one(given) else list(given)
    if any(isinstance(each, bool | np.bool_) for each in listed):
        raise TypeError("a bool is no axis")
    return [index(each) for each in listed]


def is_one(given: Any) -> bool:
    """Whether a value is a number and no sequence of them."""
    return not isinstance(given, Sequence) and np.ndim(given) == 0


def known(value: Any, what: str) -> Any:
    """A value as a NumPy array; TraceError if it is traced and has no fixed value."""
    found = values_in([value], fixed_value_of)
    if found is None:
        raise refusal(f"{what} must be known while tracing, got {value!r}")
    return np.asarray(found[0])


def number(value: Any, what: str) -> int:
    """One integer that is known while tracing."""
    try:
        return index(known(value, what)[()])
    except TypeError:
        raise refusal(f"{what} must be an integer, got {value!r}") from None


def one_of(value: Any, what: str, names: Sequence[Any]) -> None:
    """TraceError for a value other than these."""
    if value not in names:
        raise refusal(f"{what} must be one of {', '.join(map(repr, names))}, got {value!r}")


def floating(value: Any) -> Tracer:
    """An array with integers and bools as floats, which are weak."""
    x = lifted(value)
    if is_inexact(element(x)):
        return x
    made = converted(x, default_element(float))
    made.weak = True
    return made


def with_dtype(x: Tracer, dtype: Any) -> Tracer:
    """x in a dtype, unchanged for None."""
    return x if dtype is None else converted(x, element_named(dtype))
