"""The derivative of loopnest.nest: for each input, a nest that sums its cotangent.

A contribution is a nest over the same bounds. It reads the inputs and the cotangents of the outputs
where the nest wrote these, runs reverse mode through a copy of the body by the rules of numbers,
and adds at the input's subscripts. So derivatives of any order are nests.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import Block, Operation, SSAValue

from gradir.dialects.array.joining import pad_value
from gradir.dialects.base.interfaces import Cotangents
from gradir.dialects.base.op_rules import register_inactive, register_vjp, vjp_rule
from gradir.dialects.base.shapes import element_of, is_float, shape_of, tensor
from gradir.dialects.base.value import Emitter, Scalar, Value
from gradir.dialects.building import body as b
from gradir.dialects.building.nests import Read, argument_type, nest, view
from gradir.dialects.foreign.nest_domains import Domain, Room, domain_of, room_of
from gradir.dialects.foreign.nest_refusals import reached
from gradir.dialects.grad.borders import Borders
from gradir.dialects.grad.gates import Gates
from gradir.dialects.loopnest.loopnest import (
    CheckIndexOp,
    IndexOp,
    NestOp,
    Output,
    YieldOp,
)


def _vjp(
    op: NestOp, cts: Cotangents, results: Sequence[Value], operands: Sequence[Value]
) -> Cotangents:
    known = [k for k, ct in enumerate(cts) if ct is not None]
    inputs = [_input(op, k, known, cts, operands) for k in range(len(op.inputs))]
    return [*inputs, *(_start(op, k, cts[k]) for k in op.starting_outputs)]


def _start(op: NestOp, k: int, ct: Value | None) -> Value | None:
    """The cotangent of the initial value of output k: ct, or ct where nothing is written."""
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
    type_ = op.inputs[k].type
    if op.input_accesses[k] is None or not is_float(element_of(type_)):
        return None
    domain = domain_of(op, k)
    if 0 in domain.bounds:
        return None
    emitter = next(ct.emitter for ct in cts if ct is not None)
    block, flowing = _backward_body(op, k, known, domain, emitter)
    if flowing is None:
        return None
    room, output = _output(op, k, domain)
    end = b.to_compute(flowing, flowing.type) if output.combiner == "add" else flowing
    end.emitter.insert(YieldOp(end.ssa))
    made = _emitted(emitter, domain, _reads(op, known, cts, operands), output, block)
    if not any(room.first) and room.shape == shape_of(type_):
        return emitter.value(made)
    zero = pad_value(0, element_of(type_))
    return emitter.value(view(emitter, type_, made, room.back(), zero)[0])


def _output(op: NestOp, k: int, domain: Domain) -> tuple[Room, Output]:
    """Sums at the subscripts of input k; where each element has one summand, it is written."""
    access, type_ = op.input_accesses[k], op.inputs[k].type
    assert access is not None
    access = domain.moved(access)
    room = room_of(access, domain.bounds, shape_of(type_))
    is_one = access.is_injective(domain.bounds) and prod(domain.bounds) == prod(room.shape)
    made = tensor(room.shape, element_of(type_))
    return room, Output(made, room.moved(access), "none" if is_one else "add")


def _reads(
    op: NestOp, known: Sequence[int], cts: Cotangents, operands: Sequence[Value]
) -> list[Read]:
    """The inputs, and the cotangents where the nest wrote their outputs."""
    rows = zip(operands, op.input_accesses, op.input_pads, strict=False)
    reads = [Read(value.ssa, access, pad) for value, access, pad in rows]
    for j in known:
        ct = cts[j]
        assert ct is not None
        reads.append(Read(ct.ssa, op.output_accesses[j]))
    return reads


def _emitted(
    emitter: Emitter, domain: Domain, reads: Sequence[Read], output: Output, block: Block
) -> SSAValue:
    """A nest of a finished body, without operands that the body does not read."""
    for inner in reversed(list(block.ops)):
        if not isinstance(inner, YieldOp) and all(r.first_use is None for r in inner.results):
            inner.detach()
            inner.erase()
    kept = [r for r, a in zip(reads, block.args, strict=True) if a.first_use is not None]
    for argument in list(block.args):
        if argument.first_use is None:
            block.erase_arg(argument)
    accesses = [None if r.access is None else domain.moved(r.access) for r in kept]
    values, pads = [r.value for r in kept], [r.pad for r in kept]
    return emitter.insert(NestOp(domain.bounds, values, accesses, [output], block, pads)).results[0]


# Bodies.


def _backward_body(
    op: NestOp, k: int, known: Sequence[int], domain: Domain, emitter: Emitter
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
        if isinstance(each, IndexOp) and (first := domain.first[each.dim.value.data]):
            values[each.result] = (Scalar(values[each.result], inner) + first).ssa
    flowing: dict[SSAValue, Scalar] = {}
    active = reached(copies, [block.args[k]])
    for j, ct in zip(known, block.args[len(body.args) :], strict=True):
        end = values[op.yielded[j]]
        if end in active:
            _add(flowing, end, b.cast(Scalar(ct, inner), end.type))
    gates = Gates(Borders())
    for each in reversed(copies):
        _step_back(each, active, flowing, inner, gates)
    return block, flowing.get(block.args[k])


def _step_back(
    op: Operation,
    active: set[SSAValue],
    flowing: dict[SSAValue, Scalar],
    emitter: Emitter,
    gates: Gates,
) -> None:
    """Append the derivative of one op of a body, by its rule."""
    cts = [flowing.pop(r, None) for r in op.results]
    if not any(ct is not None for ct in cts):
        return
    rule = vjp_rule(op)
    assert rule is not None, f"{op.name} has no derivative"
    results, operands = ([Scalar(v, emitter) for v in vs] for vs in (op.results, op.operands))
    made = gates.flow(op, rule, cts, results, operands, lambda place: op.operands[place] in active)
    for operand, ct in zip(op.operands, made, strict=True):
        if ct is not None and operand in active:
            assert isinstance(ct, Scalar)
            _add(flowing, operand, ct)


def _add(flowing: dict[SSAValue, Scalar], value: SSAValue, ct: Scalar) -> None:
    flowing[value] = flowing[value] + ct if value in flowing else ct


register_vjp(NestOp, _vjp)
register_inactive(IndexOp)
register_inactive(CheckIndexOp)
