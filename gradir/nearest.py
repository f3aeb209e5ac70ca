"""The name that was meant: answers to names of functions and arguments that are not there."""

from __future__ import annotations

import dis
import inspect
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

ELSEWHERE: Mapping[str, str] = {
    "argnum": "argnums",
    "argnums": "wrt",
    "betas": "b1 and b2",
    "beta1": "b1",
    "beta2": "b2",
    "dim": "axis",
    "dims": "axis",
    "epsilon": "eps",
    "in_dims": "in_axes",
    "input": "x",
    "keepdim": "keepdims",
    "kernel_size": "kernel",
    "lr": "learning_rate",
    "out_dims": "out_axes",
    "wrt": "argnums",
}
"""Names of arguments in other systems, and ours."""


def close_names(name: str, names: Iterable[str], most: int = 1, cutoff: float = 0.6) -> list[str]:
    """The names most like one, at most so many, the nearest first; in any case."""
    from difflib import get_close_matches  # of errors alone

    known = {each.lower(): each for each in sorted(names)}
    return [known[each] for each in get_close_matches(name.lower(), known, most, cutoff)]


def nearest(name: str, names: Iterable[str]) -> str:
    """The name most like one; "" if none is."""
    return next(iter(close_names(name, names)), "")


def meant(name: str, known: Iterable[str]) -> str:
    """The known name that is meant by an unknown one, as "did you mean NAME?"; "" without one."""
    return _meant(name, tuple(known))


# `hasattr` asks modules for the same names again and again, and reads no message
@lru_cache(maxsize=256)
def _meant(name: str, known: tuple[str, ...]) -> str:
    listed = [each for each in known if not each.startswith("_")]
    others = {o: ours for o, ours in ELSEWHERE.items() if set(ours.split(" and ")) <= set(listed)}
    close = others.get(name) or nearest(name, [*listed, *others])
    return f"did you mean {others.get(close, close)}?" if close else ""


def missing_name(
    module: str, name: str, known: Iterable[str], reason: str | None = None
) -> AttributeError | ImportError:
    """The error for a name that a module does not have, with the reason or the name that is meant.

    It is called by the module's `__getattr__`. ImportError where `from module import name` asks,
    which replaces the message of an AttributeError.
    """
    if name.startswith("__"):
        return AttributeError(f"{module} has no {name}", name=name)
    near = reason or meant(name, known)
    said = f"{module} has no {name}" + (f": {near}" if near else "")
    asking = sys._getframe(2)
    if dis.opname[asking.f_code.co_code[asking.f_lasti]] == "IMPORT_FROM":
        return ImportError(said, name=module)
    return AttributeError(said, name=name)


def renamed(given: Mapping[str, Any], known: Sequence[str]) -> dict[str, Any]:
    """Keyword arguments under our names, where another system's have one that is free."""
    names = {
        name: ELSEWHERE[name]
        for name in given
        if name not in known and ELSEWHERE.get(name, "") in known
    }
    free = [ours for ours in names.values() if ours not in given]
    return {names[n] if names.get(n, "") in free else n: value for n, value in given.items()}


def unknown_argument(
    name: str, given: Iterable[str], listed: Sequence[str], known: Sequence[str] | None = None
) -> str:
    """What is wrong with the first keyword that is not known, and the one that was meant, if one is
    near; "" where all are known."""
    wrong = unknown_keyword(given, listed, known)
    return f"{name}: {wrong}" if wrong else ""


def unknown_keyword(
    given: Iterable[str], listed: Sequence[str], known: Sequence[str] | None = None
) -> str:
    """`unknown_argument` without the name of the function."""
    known = listed if known is None else known
    for keyword in given:
        if keyword not in known:
            found = meant(keyword, listed)
            space = " " if found else ""
            return f"unknown argument {keyword}; {found}{space}known: {', '.join(listed)}"
    return ""


def by_position_alone(name: str, given: Sequence[str], listed: Sequence[str]) -> str:
    """What is wrong with arguments by keyword for a function that takes arrays by position."""
    wrong = unknown_keyword(given, [*listed, "out"])
    way_out = f"arrays are given by position: {name}({', '.join([*listed, 'out=None'])})"
    return f"{name}: {wrong or f'got {given[0]}='}; {way_out}"


def wrong_call(function: Callable[..., Any], given: tuple[Any, ...], named: dict[str, Any]) -> str:
    """What is wrong with the arguments of a call; "" if the function takes them."""
    signature = inspect.signature(function)
    try:
        signature.bind(*given, **named)
    except TypeError as error:
        name = getattr(function, "__qualname__", type(function).__qualname__)
        name = name.rpartition("<locals>.")[2].removesuffix(".__init__")
        return f"{name}: {unbound(signature, named, error)}"
    return ""


def unbound(signature: inspect.Signature, named: Iterable[str], error: TypeError) -> str:
    """What is wrong with arguments that a signature does not bind, with its parameters."""
    known = [each for each in signature.parameters if each != "self"]
    kinds = {p.kind for p in signature.parameters.values()}
    if inspect.Parameter.VAR_KEYWORD not in kinds and (wrong := unknown_keyword(named, known)):
        return wrong
    return f"{error}; parameters: {', '.join(known) or 'none'}"
