"""Requests of gradients: the forms in `gradir-gradient{req=...}`, one per target.

write    the gradient is a result (the default)
null     no gradient: pruned before differentiation, without a result
add      the result is the sum of the initial contents of the caller's buffer, given in `out`, and
         the gradient, in this order
slices   the gradient is a result, as row slices (`!grad.slices`) of the rows that were read
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from gradir.dialects.base.diagnostics import PassError
from gradir.dialects.base.shapes import is_tensor, shape_of
from gradir.passes.differentiate.selectors import Selector, Target, resolve_requested

REQUESTS = ("write", "null", "add", "slices")

Requests = Sequence[tuple[Selector, str]]


def requested(
    source: FuncOp, wanted: Sequence[Target], requests: Requests, mode: str
) -> list[Target]:
    """The targets of `wrt` without `null` ones, each with its request.

    PassError for a request that is unknown, does not fit, or has no target in `wrt`.
    """
    targets = resolve_requested(source, [selector for selector, _ in requests])
    members = {target.value for target in wanted}
    found: dict[SSAValue, str] = {}
    for (selector, request), target in zip(requests, targets, strict=True):
        if request not in REQUESTS:
            *others, last = REQUESTS
            raise PassError(
                f"gradir-gradient: req must be {', '.join(others)} or {last}, got {request!r} for "
                f"{selector!r}",
                source,
            )
        if target.value not in members:
            raise PassError(
                f"req: {request} was asked for what is not in wrt: {target.hint}", source
            )
        _check(source, target, request, mode)
        found[target.value] = request
    decided = (replace(t, request=found.get(t.value, "write")) for t in wanted)
    return [target for target in decided if target.request != "null"]


def _check(source: FuncOp, target: Target, request: str, mode: str) -> None:
    if request in ("write", "null"):
        return
    if mode == "jvp":
        raise PassError(f"req: {request} needs a gradient, got mode=jvp", source)
    type_ = target.value.type
    if request == "slices" and not (is_tensor(type_) and shape_of(type_)):
        raise PassError(
            f"req: slices needs a tensor of rows, got {type_} for {target.hint}", source
        )
