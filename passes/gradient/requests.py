"""What is done with each gradient: the requests of `gradir-gradient{req=...}`, one per target.

write    the gradient is a result (the default)
null     it is not wanted: pruned before differentiation, it has no result
add      the result is the sum of what the caller's buffer, given in `out`, held before and the
         gradient, in this order
slices   it is a result, as row slices (`!grad.slices`) of the rows that were read
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from gradir.dialects.base.diagnostics import PassError
from gradir.dialects.base.shapes import is_tensor, shape_of
from gradir.dialects.base.slice_type import is_slices
from gradir.dialects.base.value import Scalar, Value
from gradir.dialects.base.value_names import cotangent_name
from gradir.dialects.grad.grad import AccumulateOp, zero
from gradir.dialects.grad.slices import densified, no_slices, whole
from gradir.passes.differentiate.differentiator import Differentiator
from gradir.passes.differentiate.selectors import Selector, Target, resolve_requested

REQUESTS = ("write", "null", "add", "slices")

Requests = Sequence[tuple[Selector, str]]


def requested(
    source: FuncOp, wanted: Sequence[Target], requests: Requests, mode: str
) -> list[Target]:
    """What is left of `wrt`, each with its request.

    PassError for a request that is unknown, that does not fit, or of what is not in `wrt`.
    """
    asked = resolve_requested(source, [selector for selector, _ in requests])
    members = {target.value for target in wanted}
    found: dict[SSAValue, str] = {}
    for (selector, request), target in zip(requests, asked, strict=True):
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
    targets = (replace(t, request=found.get(t.value, "write")) for t in wanted)
    return [target for target in targets if target.request != "null"]


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


def gradient_of(work: Differentiator, target: Target) -> SSAValue:
    """The gradient of a target as it was asked for, after the walk."""
    value = target.value
    ct = work.found.get(value) or work.cotangent(value)
    if target.request == "slices":
        ct = _as_slices(ct, value, work)
    elif ct is None:
        ct = zero(value.type, work.emitter)
    else:
        ct = densified(ct)
    return ct.named(cotangent_name(target.hint)).ssa


def add_to_given(
    work: Differentiator, targets: Sequence[Target], grads: list[SSAValue]
) -> dict[int, SSAValue]:
    """Add the gradients of `add` to arguments, which come behind the cotangents; returns those."""
    added: dict[int, SSAValue] = {}
    emitter, block = work.emitter, work.backward
    for k, target in enumerate(targets):
        if target.request != "add":
            continue
        before = block.insert_arg(grads[k].type, len(block.args))
        before.name_hint = f"{target.hint}_before"
        old, grad = emitter.value(before), emitter.value(grads[k])
        # the whole gradient is one operand, so that the sum has the bits of before + gradient
        total = old + grad if isinstance(old, Scalar) else AccumulateOp.on(old, grad)
        grads[k] = total.named(cotangent_name(target.hint)).ssa
        added[k] = before
    return added


def _as_slices(ct: Value | None, value: SSAValue, work: Differentiator) -> Value:
    """Slices as they are; of a tensor all rows, since any may be anything; none of nothing."""
    if ct is None:
        return no_slices(value.type, work.emitter)
    return ct if is_slices(ct.ssa.type) else whole(ct)
