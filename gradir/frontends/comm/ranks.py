"""gradir.comm.run_ranks: all ranks of a program in one process, by the interpreter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gradir.api import Module, interpret
from gradir.dialects.comm.worlds import WorldError
from gradir.errors import ArgumentError, CommError
from gradir.frontends.tracing.source_locations import named_options
from gradir.interpreter.ranks import on_ranks


@named_options
def run_ranks(
    module: Module,
    function: str,
    args_per_rank: Sequence[Sequence[Any]],
    groups: Mapping[str, Sequence[int]] | None = None,
) -> list[tuple[Any, ...]]:
    """The results of `@function` on each rank, by the interpreter, all ranks in this process.

    One rank runs for each entry of `args_per_rank`, which are its arguments. `groups` are numbers
    of ranks by names of groups, beside "world", which has all. Ranks that ask for different things,
    or wait for each other for ever, end with an error that says where each of them is.
    """
    count = len(args_per_rank)
    if not count:
        raise ArgumentError("args_per_rank: expected the arguments of one rank at least, got none")
    for name, members in (groups or {}).items():
        if not members or len({*members}) != len(members) or not {*members} <= {*range(count)}:
            raise ArgumentError(
                f"groups: {name!r} must be different ranks below {count}, got {list(members)}"
            )
    try:
        return on_ranks(
            count, lambda rank: interpret(module, function, *args_per_rank[rank]), groups
        )
    except WorldError as error:  # one that no op has found
        raise CommError(str(error)) from None
