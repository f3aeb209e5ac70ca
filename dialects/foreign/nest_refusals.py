"""Which active loop nests have no derivative, and why: they are refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from xdsl.ir import Operation, SSAValue

from gradir.dialects.base.op_rules import is_inactive, register_refusal, vjp_rule
from gradir.dialects.base.shapes import is_float, shape_of
from gradir.dialects.foreign.nest_domains import domain_of, room_of
from gradir.dialects.loopnest.loopnest import ContractOp, NestOp

WAY_OUT = "put it into a function with a derivative of its own (grad.custom_vjp)"
MOST_PLACES = 1 << 40
"""The bound of the elements that the reads of a padded input span."""


def reached(ops: Sequence[Operation], start: Sequence[SSAValue]) -> set[SSAValue]:
    """The floats of a body that depend smoothly on some of its values."""
    found = {v for v in start if is_float(v.type)}
    for op in ops:
        if not is_inactive(op) and any(o in found for o in op.operands):
            found.update(r for r in op.results if is_float(r.type))
    return found


def _refusal(op: NestOp, is_active: Callable[[SSAValue], bool]) -> str | None:
    """Why an active nest has no derivative."""
    active = [k for k, r in enumerate(op.results) if is_active(r)]
    checks = (_output_refusal(op, active), _input_refusal(op, is_active))
    problem = next((p for p in checks if p is not None), None) or _body_refusal(
        op, active, is_active
    )
    return None if problem is None else f"{problem}; {WAY_OUT}"


def _output_refusal(op: NestOp, active: Sequence[int]) -> str | None:
    for k in active:
        access, combiner = op.output_accesses[k], op.output_combiners[k]
        if any(row.symbol is not None for row in access.rows):
            return f"no derivative of output {k}, whose subscripts are yielded by the body"
        if combiner not in ("none", "add"):
            return f"no derivative of output {k}, which is combined by {combiner}"
        if combiner == "none" and not access.is_injective(op.extents):
            return f"no derivative of output {k}, unless each element is written at most once"
    return None


def _input_refusal(op: NestOp, is_active: Callable[[SSAValue], bool]) -> str | None:
    for k, (value, access) in enumerate(zip(op.inputs, op.input_accesses, strict=True)):
        if not is_active(value):
            continue
        if access is None:
            return f"no derivative in input {k}, which is handed to the body whole"
        if _span(op, k) > MOST_PLACES:
            return f"no derivative in input {k}, whose reads span more than 2**40 elements"
    return None


def _span(op: NestOp, k: int) -> int:
    """The number of elements that the reads of input k span."""
    access, domain = op.input_accesses[k], domain_of(op, k)
    if access is None or 0 in domain.bounds:
        return 0
    room = room_of(domain.moved(access), domain.bounds, shape_of(op.inputs[k].type))
    return prod(room.shape)


def _body_refusal(
    op: NestOp, active: Sequence[int], is_active: Callable[[SSAValue], bool]
) -> str | None:
    body = op.body.block
    start = [a for a, v in zip(body.args, op.inputs, strict=True) if is_active(v)]
    smooth = reached(list(body.ops), start)
    needed = {op.yielded[k] for k in active}
    for inner in reversed(list(body.ops)):
        if needed.isdisjoint(inner.results):
            continue
        needed.update(inner.operands)
        if not smooth.isdisjoint(inner.results) and vjp_rule(inner) is None:
            return f"{inner.name} in its body has no derivative"
    return None


def _refuse_contract(op: ContractOp, is_active: Callable[[SSAValue], bool]) -> str:
    return f"no derivative; write it as array.matmul or as loopnest.nest; {WAY_OUT}"


register_refusal(NestOp, _refusal)
register_refusal(ContractOp, _refuse_contract)
