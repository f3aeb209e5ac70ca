"""The request for a derivative, and the forms of its gradients, `gradir-gradient{req=...}`:

write    the gradient is a result (the default)
null     no gradient: pruned before differentiation, without a result
add      the result is the sum of the initial contents of the caller's buffer, given in `out`, and
         the gradient, in this order
slices   the gradient is a result, as row slices (`!grad.slices`) of the rows that were read
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from gradir.dialects.base.diagnostics import PassError
from gradir.dialects.base.shapes import is_tensor, shape_of
from gradir.passes.differentiate.selectors import Selector, Target, resolve_requested

REQUESTS = ("write", "null", "add", "slices")

Requests = Sequence[tuple[Selector, str]]
"""The forms of gradients of members of `wrt`."""

Mode = Literal["split", "vjp", "grad", "jvp"]


@dataclass(frozen=True)
class DerivativeRequest:
    """The request for a derivative of `@function`, with the options of gradir-gradient.

    `wrt` and `of` take indices or names. `policy` or `memory_limit` decide on recomputation.
    """

    function: str
    wrt: Sequence[Selector] | None = None
    of: Sequence[Selector] | None = None
    mode: str = "split"
    policy: str = "keep_all"
    memory_limit: int | None = None
    requests: Requests = ()


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
