"""gradir.checkpoint, no_grad and name: markers for the differentiation of traced functions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from xdsl.ir import Block

from gradir.dialects.grad.checkpoint import CheckpointOp, CheckpointYieldOp
from gradir.dialects.grad.grad import NameOp, NoGradOp
from gradir.dialects.grad.policies import POLICIES
from gradir.errors import ArgumentError, ArgumentTypeError
from gradir.frontends.tracing.callbacks import call_user
from gradir.frontends.tracing.source_locations import named_options, public
from gradir.frontends.tracing.trace import yielded
from gradir.frontends.tracing.tracing import emit_one, lifted, tracing
from gradir.frontends.tracing.trees import map_tree
from gradir.frontends.transforms.wrapped import Wrapped


@named_options
def checkpoint(function: Callable[..., Any] | None = None, policy: str = "keep_none") -> Any:
    """The function as a checkpoint stage: the derivative recomputes its values.

    `policy` names the values to keep: "keep_none", "keep_matmuls", "keep_named", "keep_all" or
    "auto" (docs/checkpointing.md). The stage may read values of the code around it; stages nest.
    Arguments and results may be nested, and arguments of other types are passed on. Outside of
    tracing, the function is just called. Without a function: a decorator.
    """
    if policy not in POLICIES:
        raise ArgumentError(f"policy: expected one of {', '.join(POLICIES)}, got {policy!r}")
    if function is None:
        return partial(checkpoint, policy=policy)
    if not callable(function):
        raise ArgumentTypeError(f"function: expected a Python function, got {function!r}")

    return CheckpointedFunction(function, policy)


class CheckpointedFunction(Wrapped):
    """A function whose values are recomputed for the derivative."""

    def __init__(self, function: Callable[..., Any], policy: str):
        super().__init__(function, (checkpoint, (function, policy)))
        self._function = function
        self._policy = policy

    # in one frame: stages may nest up to Python's recursion limit
    @public
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function's result; in a trace, the result of a region op around it."""
        trace = tracing()
        if trace is None:
            return call_user("checkpoint", self._function, *args, **kwargs)
        with trace.region(Block()) as block:
            returned = call_user("checkpoint", self._function, *args, **kwargs)
            values, results = yielded(returned, "the checkpointed function")
            trace.emit(CheckpointYieldOp(*map(trace.use, values)))
        named = None if self._policy == "keep_none" else self._policy
        op = trace.emit(CheckpointOp([v.type for v in values], block, named))
        return results.build(trace.results_like(op, values))


@public
def no_grad(x: Any) -> Any:
    """x, through which no cotangent flows; nested values too. JAX's stop_gradient.

    Outside of traced functions it is x.
    """
    if tracing() is None:
        return x
    return map_tree(lambda leaf: emit_one(NoGradOp, lifted(leaf)), x)


@public
def name(x: Any, name: str) -> Any:
    """x under a name for `wrt`, `of` and the policy "keep_named"; outside of a trace it is x."""
    if tracing() is None:
        return x
    made = emit_one(NameOp, lifted(x), name=name)
    made.named(name)
    return made
