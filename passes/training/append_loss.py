"""gradir-append-loss: a function and a loss of its results, as one function.

    @f(x...) -> (y, z...)    @l(y, t...) -> loss    become    @f_loss(x..., t...) -> (loss, z...)

The body is two calls. `joined` are the results of @f that the first arguments of @l take; the
others are returned behind the loss, and behind what else @l returns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from gradir.dialects.base.diagnostics import PassError
from gradir.passes.analysis.arguments import TIES, tied_results
from gradir.passes.training.calls import (
    Caller,
    argument_name,
    callable_named,
    end_of,
    require_loss,
    returned,
    symbol,
)

TITLE = "gradir-append-loss"


def append_loss(
    module: ModuleOp,
    function: str,
    loss: str,
    joined: Sequence[int] = (0,),
    into: str | None = None,
) -> FuncOp:
    """Add `@into` (by default `@f_loss`): the loss `@loss` of the `joined` results of `@function`.

    It takes the function's arguments and the loss's further ones, with their attributes.
    Located PassError where the two do not fit.
    """
    source, second = callable_named(module, function), callable_named(module, loss)
    _check_joined(source, second, joined)
    require_loss(TITLE, second)
    others = [k for k in range(len(returned(source))) if k not in joined]
    ties = {name: _ties(name, source, second, joined, others) for name in TIES}
    caller = Caller(TITLE)
    operands = caller.arguments(source, range(len(source.args)))
    further = caller.arguments(second, range(len(joined), len(second.args)))
    results = caller.call(source, operands)
    values = caller.call(second, [*(results[k] for k in joined), *further])
    values += [results[k] for k in others]
    name = f"{function}_loss" if into is None else into
    return caller.insert(module, name, values, source, ties)


def _check_joined(source: FuncOp, loss: FuncOp, joined: Sequence[int]) -> None:
    """PassError unless the first arguments of the loss have the types of the joined results."""
    results, arguments = returned(source), loss.body.block.args
    for index in joined:
        if not 0 <= index < len(results):
            raise PassError(
                f"{TITLE}: joined: {symbol(source)} has {len(results)} results, got index {index}",
                source,
            )
    if len(arguments) < len(joined):
        raise PassError(
            f"{TITLE}: {symbol(loss)} must take the {len(joined)} joined results of "
            f"{symbol(source)}, got {len(arguments)} arguments",
            loss,
        )
    for k, index in enumerate(joined):
        if arguments[k].type != results[index].type:
            raise PassError(
                f"{TITLE}: {argument_name(loss, k)} takes result {index} of {symbol(source)} and "
                f"must be {results[index].type}, got {arguments[k].type}; change one of the types, "
                "or choose other results with joined=",
                arguments[k],
                [(f"{symbol(source)} returns it here", end_of(source))],
            )


def _ties(
    name: str, source: FuncOp, loss: FuncOp, joined: Sequence[int], others: Sequence[int]
) -> Mapping[int, int]:
    """The results that arguments are tied to, by argument; PassError where one is joined."""
    made: dict[int, int] = {}
    for argument, result in tied_results(source, name).items():
        if result in joined:
            raise PassError(
                f"{TITLE}: {argument_name(source, argument)} is tied to result {result} "
                f"({name}), which {symbol(loss)} takes; return the value once more, or leave "
                f"out {name}",
                source.body.block.args[argument],
            )
        made[argument] = len(returned(loss)) + others.index(result)
    # of a joined argument it is a fact about other callers
    shift = len(source.args) - len(joined)
    further = {k: r for k, r in tied_results(loss, name).items() if k >= len(joined)}
    return made | {shift + k: r for k, r in further.items()}


@dataclass(frozen=True)
class AppendLossPass(ModulePass):
    """Join a function with a loss of its results."""

    name = "gradir-append-loss"

    function: str
    loss: str
    joined: tuple[int, ...] = (0,)
    into: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        append_loss(op, self.function, self.loss, self.joined, self.into)
