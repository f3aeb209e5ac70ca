"""Static arguments of gradir.jit: values that choose the program, and are no arrays in it.

There are programs for each choice of static values, which must be hashable, and for how they were
given. Values that are equal and differ, 1 and True, 0.0 and -0.0, are different choices.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

from gradir.errors import ArgumentTypeError
from gradir.frontends.tracing.nodes import static_key
from gradir.frontends.transforms.donation import argument_numbers
from gradir.frontends.transforms.wrapped import look_like


class Choice(NamedTuple):
    """Static values by position and by name."""

    by_position: tuple[tuple[int, Any], ...]
    by_name: tuple[tuple[str, Any], ...]

    @property
    def is_plain(self) -> bool:
        """Whether the same objects at the same places are this choice."""
        return not self.by_name and all(type(value) in _PLAIN for _, value in self.by_position)


# Types whose equal values are one choice.
_PLAIN = frozenset([int, bool, str, type(None)])


def _tell(found: list[Any], value: Any) -> None:
    """Add a value, and what tells it from equal ones."""
    kind = type(value)
    found += (value, kind if kind in _PLAIN else static_key(value))


class StaticArguments:
    """The static parameters of a function: they split the arguments of a call."""

    def __init__(
        self,
        function: Callable[..., Any],
        numbers: int | Sequence[int],
        names: str | Sequence[str],
        donated: tuple[int, ...],
    ):
        self._function, self._donated = function, donated
        self._names, self._numbers = _static_parameters(function, numbers, names)
        self._places = sorted(self._numbers, reverse=True)
        both = self._numbers.intersection(donated)
        if both:
            raise ArgumentTypeError(f"jit: argument {min(both)} is static and cannot be donated")

    def split(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], tuple[Any, ...], dict[str, Any]]:
        """What tells the static values of a call from others, and the other arguments.

        Each call asks for this, so it is made of few objects.
        """
        found: list[Any] = [len(args)]  # list[Any](...) would take as long as all the rest
        rest = list(args)
        for place in self._places:
            if place < len(rest):
                _tell(found, rest.pop(place))
        if self._names.isdisjoint(kwargs):
            return tuple(found), tuple(rest), kwargs
        named = dict(kwargs)
        for name in sorted(self._names.intersection(kwargs)):
            found.append(name)
            _tell(found, named.pop(name))
        return tuple(found), tuple(rest), named

    def choice(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Choice:
        """The static values of a call."""
        return Choice(
            tuple((k, v) for k, v in enumerate(args) if k in self._numbers),
            tuple((n, v) for n, v in sorted(kwargs.items()) if n in self._names),
        )

    def function_of(self, choice: Choice) -> tuple[Callable[..., Any], tuple[int, ...]]:
        """The function of the other arguments, and the places of the donated ones among these."""
        named: dict[str, Any] = dict(choice.by_name)

        def function(*args: Any, **kwargs: Any) -> Any:
            whole = list(args)
            for place, value in choice.by_position:
                whole.insert(place, value)
            return self._function(*whole, **named, **kwargs)

        look_like(function, self._function)
        function.__dict__.pop("__wrapped__", None)
        # the names of the other arguments, for messages
        parameters = list(inspect.signature(self._function).parameters.values())
        places = [place for place, _ in choice.by_position]
        left = [
            p for k, p in enumerate(parameters)
            if p.kind is p.VAR_POSITIONAL or not (k in places or p.name in named)
        ]  # fmt: skip
        signature = inspect.signature(self._function).replace(parameters=left)
        function.__signature__ = signature  # pyrefly: ignore[missing-attribute]
        return function, tuple(d - sum(place < d for place in places) for d in self._donated)


def refuse_unhashable(choice: Choice) -> ArgumentTypeError:
    """The error for a choice without a hash."""
    for name, value in (*choice.by_position, *choice.by_name):
        try:
            hash(value)
        except TypeError:
            return ArgumentTypeError(
                f"jit: static argument {name!r} must be hashable, got {type(value).__name__}; "
                "give a tuple for a list, and arrays as arguments that are not static"
            )
    raise AssertionError("all static values have a hash")


def _listed(names: object) -> tuple[str, ...]:
    several = (names,) if isinstance(names, str) else names
    if not isinstance(several, (tuple, list)) or not all(
        isinstance(name, str) for name in cast(Sequence[object], several)
    ):
        raise ArgumentTypeError(f"static_argnames: expected a name or several, got {names!r}")
    return tuple(cast(Sequence[str], several))


def _static_parameters(
    function: Callable[..., Any], numbers: int | Sequence[int], names: str | Sequence[str]
) -> tuple[frozenset[str], frozenset[int]]:
    """The static parameters by name and by position: either says the other."""
    listed = _listed(names)
    given = set(argument_numbers(numbers, "static_argnums"))
    parameters = list(inspect.signature(function).parameters.values())
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    has_more = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters)
    for number in given:
        if not -len(positional) <= number < len(positional) and (number < 0 or not has_more):
            raise ArgumentTypeError(
                f"jit: static_argnums: {function.__name__} has {len(positional)} positional "
                f"parameters, got {number}"
            )
    given = {n + len(positional) if n < 0 else n for n in given}
    known = [p.name for p in parameters]
    for name in listed:
        if name not in known and not takes_any:
            raise ArgumentTypeError(
                f"jit: static_argnames: {function.__name__} has the parameters "
                f"{', '.join(known)}, got {name!r}"
            )
    given |= {k for k, p in enumerate(positional) if p.name in listed}
    by_number = {p.name for k, p in enumerate(positional) if k in given}
    return frozenset({*listed, *by_number}), frozenset(given)
