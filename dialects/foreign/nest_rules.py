"""The derivative of loopnest.nest: for each input, a nest that sums its cotangent.

A contribution is a nest over the same bounds. It reads the inputs and the cotangents of the outputs
where the nest wrote these, runs reverse mode through a copy of the body by the rules of numbers,
and adds at the input's subscripts. So derivatives of any order are nests.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from operator import attrgetter

from xdsl.ir import Block, Operation, SSAValue

from gradir.dialects.array.joining import pad_value
from gradir.dialects.base.access import Access, Row, dim_row
from gradir.dialects.base.interfaces import (
    Cotangents,
    is_inactive,
    register_inactive,
    register_refusal,
    register_vjp,
    vjp_rule,
)
from gradir.dialects.base.shapes import element_of, is_float, shape_of, tensor
from gradir.dialects.base.value import Emitter, Scalar, Value
from gradir.dialects.building import body as b
from gradir.dialects.building.nests import Read, argument_type, nest, view
from gradir.dialects.loopnest.loopnest import (
    CheckIndexOp,
    ContractOp,
    IndexOp,
    NestOp,
    Output,
    YieldOp,
)

WAY_OUT = "put it into a function with a derivative of its own (grad.custom_vjp)"
MOST_PLACES = 1 << 40
"""The bound of the places that the reads of a padded input span."""


def _vjp(
    op: NestOp, cts: Cotangents, results: Sequence[Value], operands: Sequence[Value]
) -> Cotangents:
    known = [k for k, ct in enumerate(cts) if ct is not None]
    inputs = [_input(op, k, known, cts, operands) for k in range(len(op.inputs))]
    return [*inputs, *(_start(op, k, cts[k]) for k in op.starting_outputs)]


def _start(op: NestOp, k: int, ct: Value | None) -> Value | None:
    """The cotangent of what output k starts from: ct, or ct where nothing is written."""
    output = op.output_list[k]
    if ct is None or output.combiner != "none" or 0 in op.extents:
        return ct
    start = Output(output.type, output.access, "none", ct.ssa)

    def zero(near: Scalar) -> Scalar:
        return b.literal(near, 0, ct.element)

    return ct.emitter.value(nest(ct.emitter, op.extents, [], [start], zero)[0])


# Inputs.


def _input(
    op: NestOp, k: int, known: Sequence[int], cts: Cotangents, operands: Sequence[Value]
) -> Value | None:
    """The cotangent of input k; None where nothing flows into it."""
    access, type_ = op.input_accesses[k], op.inputs[k].type
    if access is None or not is_float(element_of(type_)) or 0 in op.extents:
        return None
    emitter = next(ct.emitter for ct in cts if ct is not None)
    block, flowing = _backward_body(op, k, known, emitter)
    if flowing is None:
        return None
    low, room = _room(access, op, k)
    rows = (Row(r.coefficients, r.constant - lo) for r, lo in zip(access.rows, low, strict=True))
    output = _output(Access(access.num_dims, tuple(rows)), op.extents, room, element_of(type_))
    is_sum = output.combiner == "add"
    end = b.to_compute(flowing, flowing.type) if is_sum else flowing
    end.emitter.insert(YieldOp(end.ssa))
    reads = _reads(op, operands) + [_cotangent_read(op, j, cts[j]) for j in known]
    made = _emitted(emitter, op.extents, reads, output, block)
    if room == shape_of(type_) and not any(low):
        return emitter.value(made)
    back = Access(len(low), tuple(dim_row(len(low), d, 1, -lo) for d, lo in enumerate(low)))
    zero = pad_value(0, element_of(type_))
    return emitter.value(view(emitter, type_, made, back, zero)[0])


def _room(access: Access, op: NestOp, k: int) -> tuple[list[int], tuple[int, ...]]:
    """The first place and the extents of what all reads of an input span, outside of it too."""
    shape = shape_of(op.inputs[k].type)
    if access.is_in_bounds(op.extents, shape):
        return [0] * len(shape), shape
    ends = [row.interval(op.extents) for row in access.rows]
    return [low for low, _ in ends], tuple(high - low + 1 for low, high in ends)


def _output(access: Access, bounds: Sequence[int], room: Sequence[int], element: object) -> Output:
    """Sums over `room`; where each element has one summand, it is written."""
    type_ = tensor(room, element)  # pyright: ignore[reportArgumentType]
    is_one = access.is_injective(bounds) and prod(bounds) == prod(room)
    return Output(type_, access, "none" if is_one else "add")


def _reads(op: NestOp, operands: Sequence[Value]) -> list[Read]:
    rows = zip(operands, op.input_accesses, op.input_pads, strict=False)
    return [Read(value.ssa, access, pad) for value, access, pad in rows]


def _cotangent_read(op: NestOp, j: int, ct: Value | None) -> Read:
    assert ct is not None
    return Read(ct.ssa, op.output_accesses[j])


def _emitted(
    emitter: Emitter, bounds: Sequence[int], reads: Sequence[Read], output: Output, block: Block
) -> SSAValue:
    """A nest of a finished body, without what the body does not read."""
    for inner in reversed(list(block.ops)):
        if not isinstance(inner, YieldOp) and all(r.first_use is None for r in inner.results):
            inner.detach()
            inner.erase()
    kept = [r for r, a in zip(reads, block.args, strict=True) if a.first_use is not None]
    for argument in list(block.args):
        if argument.first_use is None:
            block.erase_arg(argument)
    values, accesses, pads = (list(map(attrgetter(n), kept)) for n in ("value", "access", "pad"))
    return emitter.insert(NestOp(bounds, values, accesses, [output], block, pads)).results[0]


# Bodies.


def _backward_body(
    op: NestOp, k: int, known: Sequence[int], emitter: Emitter
) -> tuple[Block, Scalar | None]:
    """A copy of the body and reverse mode through it behind, without an end.

    Its further arguments are the cotangents of the known outputs. Also the cotangent of argument k.
    """
    body = op.body.block
    types = [argument_type(Read(op.results[j], op.output_accesses[j])) for j in known]
    block = Block(arg_types=[*(a.type for a in body.args), *types])
    inner = Emitter(block, emitter.location)
    values: dict[SSAValue, SSAValue] = dict(zip(body.args, block.args, strict=False))
    copies: list[Operation] = []
    for each in body.ops:
        if not isinstance(each, YieldOp):
            copies.append(inner.insert(each.clone(values)))
    flowing: dict[SSAValue, Scalar] = {}
    active = _reached(copies, [block.args[k]])
    for j, ct in zip(known, block.args[len(body.args) :], strict=True):
        end = values[op.yielded[j]]
        if end in active:
            _add(flowing, end, b.cast(Scalar(ct, inner), end.type))
    for each in reversed(copies):
        _step_back(each, active, flowing, inner)
    return block, flowing.get(block.args[k])


def _step_back(
    op: Operation, active: set[SSAValue], flowing: dict[SSAValue, Scalar], emitter: Emitter
) -> None:
    """Append the derivative of one op of a body, by its rule."""
    cts = [flowing.pop(r, None) for r in op.results]
    if not any(ct is not None for ct in cts):
        return
    rule = vjp_rule(op)
    assert rule is not None, f"{op.name} has no derivative"
    results, operands = ([Scalar(v, emitter) for v in vs] for vs in (op.results, op.operands))
    for operand, ct in zip(op.operands, rule(op, cts, results, operands), strict=True):
        if ct is not None and operand in active:
            assert isinstance(ct, Scalar)
            _add(flowing, operand, ct)


def _add(flowing: dict[SSAValue, Scalar], value: SSAValue, ct: Scalar) -> None:
    flowing[value] = flowing[value] + ct if value in flowing else ct


def _reached(ops: Sequence[Operation], start: Sequence[SSAValue]) -> set[SSAValue]:
    """The floats of a body that depend smoothly on some of its values."""
    found = {v for v in start if is_float(v.type)}
    for op in ops:
        if not is_inactive(op) and any(o in found for o in op.operands):
            found.update(r for r in op.results if is_float(r.type))
    return found


# Refusals.


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
        if 0 not in op.extents and prod(_room(access, op, k)[1]) > MOST_PLACES:
            return f"no derivative in input {k}, whose reads span more than 2**40 places"
    return None


def _body_refusal(
    op: NestOp, active: Sequence[int], is_active: Callable[[SSAValue], bool]
) -> str | None:
    body = op.body.block
    start = [a for a, v in zip(body.args, op.inputs, strict=True) if is_active(v)]
    reached = _reached(list(body.ops), start)
    needed = {op.yielded[k] for k in active}
    for inner in reversed(list(body.ops)):
        if needed.isdisjoint(inner.results):
            continue
        needed.update(inner.operands)
        if not reached.isdisjoint(inner.results) and vjp_rule(inner) is None:
            return f"{inner.name} in its body has no derivative"
    return None


def _refuse_contract(op: ContractOp, is_active: Callable[[SSAValue], bool]) -> str:
    return f"no derivative; write it as array.matmul or a loopnest.nest, or {WAY_OUT}"


register_vjp(NestOp, _vjp)
register_refusal(NestOp, _refusal)
register_refusal(ContractOp, _refuse_contract)
register_inactive(IndexOp)
register_inactive(CheckIndexOp)
