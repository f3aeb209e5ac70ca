"""Pages on jitted functions, which are made again with memory limits to compare their plans."""

from __future__ import annotations

from functools import partial
from inspect import signature
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from gradir.explore.collect import is_spec
from gradir.explore.page import ExplorerPage
from gradir.explore.plans import NO_LIMIT
from gradir.frontends.transforms.jit import Jitted


def with_memory_limit(function: Jitted[..., Any], limit: int) -> Jitted[..., Any] | None:
    """The same transforms of the same function, the outermost gradient within `limit` bytes.

    None where no transform takes a limit.
    """
    transform, arguments = function.parts
    given = dict(zip(signature(transform).parameters, arguments, strict=False))
    if "memory_limit" in given:
        return transform(**given | {"memory_limit": limit, "policy": "keep_all"})
    name, inner = next(iter(given.items()))
    made = with_memory_limit(inner, limit) if isinstance(inner, Jitted) else None
    return None if made is None else transform(**given | {name: made})


def explore_jitted(
    function: Jitted[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> ExplorerPage:
    """The page on the program that a call with these arguments runs."""
    program, leaves = function.program(args, kwargs)

    def limited(limit: int) -> ModuleOp:
        made = with_memory_limit(function, limit)
        assert made is not None
        return made.program(args, kwargs)[0].module.op.clone()

    has_limit = with_memory_limit(function, NO_LIMIT) is not None
    is_called = not any(map(is_spec, leaves))
    return program.module.explored(
        program.name,
        program.threads,
        leaves,
        partial(program.profile, leaves) if is_called else None,
        limited if has_limit else None,
    )
