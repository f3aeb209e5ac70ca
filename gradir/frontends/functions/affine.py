"""gradir.numpy.affine_gather and affine_scatter_add: reads and sums at affine subscripts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import AffineMapAttr
from xdsl.ir.affine import AffineMap

from gradir.dialects.array.affine import AffineGatherOp, AffineScatterAddOp
from gradir.dialects.base.shapes import tensor
from gradir.frontends.functions.creation import as_shape
from gradir.frontends.tracing.source_locations import public, refusal
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import element, emit_one, lifted


@public
def affine_gather(x: Any, map: Any, shape: Sequence[int] | int, pad: float | None = None) -> Tracer:
    """The array of a shape with x[map(i, j, ...)] at each place (i, j, ...).

    map: a function of the indices that returns a subscript for each axis of x, affine in them:
        `lambda i, j: (2 * i + j - 1,)`; or an affine map of xDSL.
    pad: what reads outside of x give; without it they are refused.
    The op is array.affine_gather. vjp: affine_scatter_add by the same map
    """
    value = lifted(x)
    options = {"map": _attribute(map)} | ({} if pad is None else {"pad": pad})
    type_ = tensor(as_shape(shape), element(value))
    return emit_one(AffineGatherOp, value, type=type_, **options)


@public
def affine_scatter_add(x: Any, map: Any, shape: Sequence[int] | int, drop: bool = False) -> Tracer:
    """The array of a shape to which x[i, j, ...] is added at map(i, j, ...), from zeros.

    map: as of affine_gather. drop: what falls outside is left out; without it that is refused.
    The op is array.affine_scatter_add. vjp: affine_gather by the same map
    """
    value = lifted(x)
    options = {"map": _attribute(map)} | ({"drop": True} if drop else {})
    type_ = tensor(as_shape(shape), element(value))
    return emit_one(AffineScatterAddOp, value, type=type_, **options)


def _attribute(map: Any) -> Any:
    if isinstance(map, AffineMapAttr):
        return map
    if isinstance(map, AffineMap):
        return AffineMapAttr(map)
    if not callable(map):
        raise refusal(f"map: expected a function of the indices, got {type(map).__name__}")
    try:
        return AffineMapAttr(AffineMap.from_callable(cast(Any, map)))
    except Exception as error:
        raise refusal(
            f"map: expected subscripts that are affine in the indices: {type(error).__name__}: "
            f"{error}"
        ) from None


FUNCTIONS: tuple[Callable[..., Any], ...] = (affine_gather, affine_scatter_add)
