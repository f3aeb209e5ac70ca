"""One step of training as a function: loss, gradients, updates."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, cast

from gradir.errors import ArgumentTypeError
from gradir.frontends.functions import numpy as gnp
from gradir.frontends.optim.arithmetic import single_or_double
from gradir.frontends.optim.shards import slices_of_all_shards
from gradir.frontends.optim.transformation import (
    GradientTransformation,
    LossScaled,
    apply_updates,
)
from gradir.frontends.tracing.callbacks import call_user
from gradir.frontends.tracing.source_locations import named_options, refusal
from gradir.frontends.tracing.tracing import lifted
from gradir.frontends.transforms.derivatives import value_and_grad
from gradir.frontends.transforms.jit import Jitted, jit


@named_options
def train_step(
    loss: Callable[..., Any],
    optimizer: GradientTransformation,
    has_aux: bool = False,
    sparse: Any = False,
    carried: bool = False,
    policy: str = "keep_all",
    memory_limit: int | None = None,
) -> Jitted[..., Any]:
    """A function (params, state, *batch) -> (params, state, loss) that takes one step.

    `loss(params, *batch)` returns a floating number of rank 0; with `has_aux` it returns
    (number, aux), and the step gives (params, state, (loss, aux)). The loss is that before the
    step. `state` is first `optimizer.init(params)`. With loss scaling, the loss is multiplied by
    the state's scale in float32 before it is differentiated; the result is the loss itself. The
    step is one native call, as `step = gradir.jit(train_step(...))`, or by itself. `sparse`, as for
    gradir.grad, are the parameters with row slices for gradients: {"table": True, "w": False}, or a
    function that gives that for the parameters.

    With `carried` the loss function has arrays of its own from step to step, such as the running
    statistics of nn.batch_norm: `loss(params, carried, *batch)` returns (number, next carried), or
    (number, (next carried, aux)), and the step takes and gives (state, carried) for state.

    `policy` and `memory_limit`, in bytes, are what gradir.grad keeps for the gradient, and the most
    that its arena takes; the optimizer's own arrays are beside it.
    """
    if not callable(loss):
        raise ArgumentTypeError(f"loss: expected a Python function, got {loss!r}")
    if not isinstance(cast(object, optimizer), GradientTransformation):
        raise ArgumentTypeError(f"optimizer: expected one of gradir.optim, got {optimizer!r}")

    options: dict[str, Any] = {"sparse": sparse, "policy": policy, "memory_limit": memory_limit}
    if carried:
        return jit(_carrying(train_step(loss, optimizer, True, **options), has_aux))

    def step(params: Any, state: Any, *batch: Any, **named: Any) -> tuple[Any, Any, Any]:
        if isinstance(optimizer, LossScaled):
            scaled = _scaled(loss, optimizer.factor(state), has_aux)
            by_params = value_and_grad(scaled, has_aux=True, **options)
            (_, result), grads = by_params(params, *batch, **named)
        else:
            by_params = value_and_grad(loss, has_aux=has_aux, **options)
            result, grads = by_params(params, *batch, **named)
        grads = slices_of_all_shards(grads)
        updates, new_state = optimizer.update(grads, state, params)
        return apply_updates(params, updates), new_state, result

    return jit(step)


def _carrying(inner: Callable[..., Any], has_aux: bool) -> Callable[..., Any]:
    """The step of a loss function that carries arrays: they are a part of the state."""

    def step(params: Any, state: Any, *batch: Any, **named: Any) -> tuple[Any, Any, Any]:
        if not _is_pair(state):
            raise refusal("train_step: with carried the state must be (optimizer's state, carried)")
        own, before = state
        params, own, (value, after) = inner(params, own, before, *batch, **named)
        if not has_aux:
            return params, (own, after), value
        if not _is_pair(after):
            raise refusal(
                "train_step: with carried and has_aux the loss function must return "
                "(number, (next carried, aux))"
            )
        return params, (own, after[0]), (value, after[1])

    return step


def _scaled(loss: Callable[..., Any], factor: Any, has_aux: bool) -> Callable[..., Any]:
    """The loss times a factor in float32 at least, and beside it what the function returns."""

    @wraps(loss)
    def scaled(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        result: Any = call_user("train_step", loss, *args, **kwargs)
        if has_aux and not _is_pair(result):
            raise refusal("train_step: with has_aux the loss function must return (number, aux)")
        wide = single_or_double(lifted(result[0] if has_aux else result))
        return wide * gnp.astype(factor, wide.dtype), result

    return scaled


def _is_pair(result: object) -> bool:
    return type(result) is tuple and len(cast(tuple[Any, ...], result)) == 2
