"""nn.batch_norm: its running statistics are one state, and what only its derivative reads is
hidden."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from gradir.dialects.nn.batch_norm import BatchNormOp
from gradir.frontends.functions.op_functions import apply
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.tracer import Tracer

State = tuple[Any, Any]

HINT = (
    "; PyTorch's batch_norm(x, mean, var, weight, bias, ...) is batch_norm(x, weight, bias, (mean, "
    "var), ...) here, which returns (y, (mean, var)) in place of changing these"
)


def batch_norm(
    x: Any,
    scale: Any,
    bias: Any,
    state: State,
    *,
    training: bool = False,
    momentum: float | None = None,
    eps: float | None = None,
    layout: str | None = None,
) -> tuple[Tracer, State]:
    """Batch normalization of each channel: y, and the next state.

    x: [N, C, d...] in `layout` "NCHW", the default, [N, d..., C] in "NHWC". scale, bias: [C].
    state: (running mean, running variance), each [C]; begin with zeros and ones. With `training`
    the statistics come from the batch, and the next state moves towards them by `momentum`
    (0.1), towards the unbiased variance; without, the statistics are the state, which stays. `eps`
    is 1e-5. No gradient flows through the state. The op is nn.batch_norm, as PyTorch's.
    """
    pair = cast(Sequence[Any], state)
    if not (isinstance(pair, (tuple, list)) and len(pair) == 2):
        raise refusal(f"nn.batch_norm: state must be (mean, var), got {state!r}{HINT}")
    operands = {"x": x, "scale": scale, "bias": bias, "mean": pair[0], "var": pair[1]}
    options = {"training": training, "momentum": momentum, "eps": eps, "layout": layout}
    y, mean, var = apply(BatchNormOp, operands | options)
    return y, (mean, var)


FUNCTIONS: tuple[Callable[..., Any], ...] = (batch_norm,)
