"""All dialects and passes by name, those of other packages too, imported at first use.

`make_context` gives an xDSL context with every dialect; `parse_passes` reads a pass pipeline.
"""

from __future__ import annotations

from dataclasses import fields
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from xdsl.context import Context
from xdsl.passes import ModulePass, PassPipeline, PassPipelineCallbackType
from xdsl.utils.arg_spec import ArgSpec, ParameterListType, parse_pipeline
from xdsl.utils.exceptions import ArgSpecParseError
from xdsl.utils.hints import isa, type_repr

from gradir.builtin import (
    DIALECTS,
    PASSES,
    Dialects,
    Passes,
    builtin_dialects,
    builtin_passes,
    own_dialects,
    own_passes,
)
from gradir.errors import ArgumentError, GradirError
from gradir.nearest import close_names, nearest
from gradir.plugins import PluginContext, plugin_dialects, plugin_passes

__all__ = [
    "DIALECTS",
    "PASSES",
    "dialects",
    "make_context",
    "own_dialects",
    "own_passes",
    "parse_passes",
    "passes",
    "syntax_error",
]


def dialects() -> Dialects:
    """All dialects by name, those of other packages too."""
    return plugin_dialects() | builtin_dialects()


def passes() -> Passes:
    """All passes by name, those of other packages too."""
    return plugin_passes() | builtin_passes()


def make_context(*, allow_unregistered: bool = False) -> Context:
    """A context in which every dialect is registered; each is loaded at its first use."""
    context = PluginContext(allow_unregistered=allow_unregistered)
    for name, dialect in builtin_dialects().items():
        context.register_dialect(name, dialect)
    return context


def parse_passes(
    spec: str,
    available: Passes | None = None,
    callback: PassPipelineCallbackType | None = None,
) -> PassPipeline:
    """The pipeline of a text as `a,b{x=1 y=2,3}`; ArgumentError if it is wrong."""
    if available is None:
        # entry points are looked for only where a name is not known
        available = builtin_passes()
        if any(each.name not in available for each in _specs(spec)):
            available = passes()
    return PassPipeline(tuple(_make_pass(each, available) for each in _specs(spec)), callback)


def _specs(text: str) -> tuple[ArgSpec, ...]:
    try:
        return tuple(parse_pipeline(text))
    except ArgSpecParseError as error:
        hint = (
            "\npasses are for whole modules, without parentheses: a,b{x=1}" if "(" in text else ""
        )
        raise ArgumentError(syntax_error(error) + hint) from None


def syntax_error(error: ArgSpecParseError) -> str:
    """xDSL's message about a pipeline: `title, place, line, caret, text` on a line each."""
    match str(error).splitlines():
        case [_, place, line, caret, text, *_]:
            return f"{place}: error: {text.strip()}\n{line}\n{caret}"
        case _:
            return f"error: {error}"


def _make_pass(spec: ArgSpec, available: Passes) -> ModulePass:
    if spec.name not in available:
        raise ArgumentError(_unknown_pass(spec.name, available))
    pass_type = available[spec.name]()
    _check_options(spec, pass_type)
    try:
        return pass_type.from_spec(spec)
    except GradirError:
        raise
    except (ValueError, TypeError) as error:
        raise ArgumentError(f"error: pass '{spec.name}': {error}") from None


def _unknown_pass(name: str, available: Passes) -> str:
    close = close_names(name, available, 3, 0.5)
    close += [other for other in available if name in other and other not in close][:5]
    candidates = close or [other for other in available if other.startswith("gradir-")]
    return f"error: unknown pass '{name}'; did you mean {', '.join(candidates)}?"


def _check_options(spec: ArgSpec, pass_type: type[ModulePass]) -> None:
    """ArgumentError for the first option that is unknown, missing or ill-typed."""
    given = spec.normalize_parameter_names().parameters
    types = get_type_hints(pass_type)
    options = [option.name for option in fields(pass_type) if option.init]
    for name in given:
        if name not in options:
            near, listed = nearest(name, options), ", ".join(options) or "none"
            meant = f"did you mean {near}? " if near else ""
            raise ArgumentError(
                f"error: pass '{spec.name}' has no option '{name}'; {meant}its options: {listed}"
            )
    for name in sorted(pass_type.required_fields() - given.keys()):
        raise ArgumentError(f"error: pass '{spec.name}' needs option '{name}'")
    for name, values in given.items():
        if not _fits(values, types[name]):
            wanted = _in_words(types[name])
            got = ",".join(map(str, values)) or "nothing"
            raise ArgumentError(
                f"error: pass '{spec.name}': option '{name}' must be {wanted}, got {got}"
            )


_WORDS = {bool: "true or false", int: "a whole number", str: "a name", float: "a number"}


def _in_words(option: Any) -> str:
    """What an option of a type may be: "one of split, vjp, grad", "a whole number"."""
    kind, several = get_origin(option), get_args(option)
    if kind is Literal:
        return f"one of {', '.join(map(str, several))}"
    either = " or ".join(_in_words(each) for each in several if each not in (NoneType, Ellipsis))
    if kind is tuple:
        return f"{either}, or several, separated by commas"
    return either or _WORDS.get(option) or type_repr(option)


def _fits(values: ParameterListType, type: Any) -> bool:
    """Whether xDSL accepts `values` for an option of this type: as one value, or as a tuple."""
    if not values:
        return NoneType in get_args(type)
    return (len(values) == 1 and isa(values[0], type)) or isa(values, type)
