"""A contraction as two nests: one sums the products into scratch memory, one applies the body.

Where the body hands on the sum unchanged, one nest writes it to its place.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import cast

from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType, MemRefType, Signedness
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.rewriter import InsertPoint

from gradir.dialects.access import Access, Row
from gradir.dialects.loopnest import (
    ContractOp,
    LoopOp,
    NestOp,
    Output,
    ShapedType,
    YieldOp,
    scalar_type,
)
from gradir.lowering.kernel import Kernel, Phase
from gradir.lowering.nests import emit_nest, nest_scratch_bytes
from gradir.lowering.scalar_instructions import bits_of, is_float, kind_of
from gradir.lowering.target import Target

ALIGNMENT = 64


def emit_as_nests(op: ContractOp, name: str, target: Target) -> Kernel:
    """The kernel; its phases take the contraction's own arguments and hand on what a nest takes."""
    nests = _nests(op)
    kernels = [emit_nest(nest.op, f"{name}.{nest.label}", target) for nest in nests]
    phases: list[Phase] = []
    texts = [kernel.text for kernel in kernels]
    for nest, kernel in zip(nests, kernels, strict=True):
        for phase in kernel.phases:
            wrapper = f"{name}.{len(phases)}"
            texts.append(_wrapper(op, nest, phase.symbol, wrapper, target))
            phases.append(replace(phase, symbol=wrapper))
    last = kernels[-1]
    return Kernel(
        "\n".join(texts),
        tuple(phases),
        frozenset[tuple[str, int, int]]().union(*(k.functions for k in kernels)),
        frozenset[str]().union(*(k.declarations for k in kernels)),
        last.messages,
    )


def scratch_bytes_as_nests(op: ContractOp, target: Target) -> int:
    """The sums, and behind them what the nests want for themselves."""
    nests = _nests(op)
    inner = max(nest_scratch_bytes(nest.op, target) for nest in nests)
    return (_sum_bytes(op) if len(nests) > 1 else 0) + inner


@dataclass(frozen=True)
class _Nest:
    """A nest, and for each of its operands the argument of the contraction that it is."""

    label: str
    op: NestOp
    arguments: tuple[str, ...]
    scratch_offset: int


def _nests(op: ContractOp) -> list[_Nest]:
    if _hands_on_the_sum(op):
        arguments = ("%in0", "%in1", "%out0")
        target = Output(_memory(op.output_types[0]), op.output_accesses[0], "add")
        return [_Nest("sum", _sum_nest(op, target), arguments, 0)]
    outer = op.extents[:-1]
    sums = MemRefType(op.accumulator_type, outer)
    output = Output(sums, Access.of_dims(len(op.extents), range(len(outer))), "add")
    first = _Nest("sum", _sum_nest(op, output), ("%in0", "%in1", "%scratch"), _sum_bytes(op))
    others = [f"%in{k}" for k in range(2, len(op.inputs))]
    others += [f"%out{k}" for k in range(len(op.output_types))]
    second = _body_nest(op, sums)
    return [first, _Nest("body", second, ("%scratch", *others), _sum_bytes(op))]


def _hands_on_the_sum(op: ContractOp) -> bool:
    body = op.body.block
    dims = op.output_accesses[0].dims if op.output_accesses else None
    return (
        len(op.inputs) == 2
        and list(op.yielded) == [body.args[0]]
        and op.output_combiners == ["none"]
        and not op.starting_outputs
        and dims is not None
        and sorted(dims) == list(range(len(op.extents) - 1))
        and scalar_type(cast(ShapedType, op.output_types[0]).element_type) == body.args[0].type
    )


def _sum_bytes(op: ContractOp) -> int:
    kind = kind_of(op.accumulator_type)
    size = max(1, bits_of(kind) // 8) * prod(op.extents[:-1])
    return -(-size // ALIGNMENT) * ALIGNMENT


def _memory(type_: Attribute) -> MemRefType[Attribute]:
    """The buffer type of a tensor or buffer."""
    shaped = cast(ShapedType, type_)
    return MemRefType(shaped.element_type, shaped.get_shape())


def _sum_nest(op: ContractOp, output: Output) -> NestOp:
    """`sum over k of lhs * rhs` into `output`."""
    factors = list(op.inputs[:2])
    elements = [scalar_type(cast(ShapedType, v.type).element_type) for v in factors]
    body = Block(arg_types=elements)
    builder = Builder(InsertPoint.at_end(body))
    left, right = (
        _widened(builder, argument, cast(ShapedType, factor.type).element_type, op.accumulator_type)
        for argument, factor in zip(body.args, factors, strict=True)
    )
    multiply = arith.MulfOp if is_float(kind_of(op.accumulator_type)) else arith.MuliOp
    builder.insert(YieldOp(builder.insert(multiply(left, right)).result))
    operands = Block(arg_types=[*(_memory(v.type) for v in factors), output.type]).args
    return NestOp(
        op.extents,
        operands[:2],
        op.input_accesses[:2],
        [output],
        body,
        op.input_pads[:2],
        buffers=operands[2:],
    )


def _widened(
    builder: Builder, value: SSAValue, element: Attribute, accumulator: Attribute
) -> SSAValue:
    """A factor's element in the accumulator's type; unsigned elements are extended with zeros."""
    if value.type == accumulator:
        return value
    if is_float(kind_of(accumulator)):
        return builder.insert(arith.ExtFOp(value, accumulator)).result
    integer = cast(IntegerType, element)
    is_unsigned = integer.signedness.data == Signedness.UNSIGNED or integer.width.data == 1
    extend = arith.ExtUIOp if is_unsigned else arith.ExtSIOp
    return builder.insert(extend(value, cast(IntegerType, accumulator))).result


def _body_nest(op: ContractOp, sums: MemRefType[Attribute]) -> NestOp:
    """The contraction's body over (batch, m, n), with the sums as its first input."""
    rank = len(op.extents) - 1
    types = [sums, *(_memory(v.type) for v in op.inputs[2:])]
    types += [_memory(t) for t in op.output_types]
    operands = Block(arg_types=types).args
    inputs = len(op.inputs) - 1
    accesses = [Access.identity(rank), *map(_without_k, op.input_accesses[2:])]
    outputs = [
        Output(_memory(o.type), cast(Access, _without_k(o.access)), o.combiner)
        for o in op.output_list
    ]
    return NestOp(
        op.extents[:-1],
        operands[:inputs],
        accesses,
        outputs,
        op.body.clone(),
        [None, *op.input_pads[2:]],
        buffers=operands[inputs:],
        init_outputs=op.starting_outputs,
    )


def _without_k(access: Access | None) -> Access | None:
    """The access on the dimensions before k, which the epilogue's accesses do not use."""
    if access is None:
        return None
    rows = (Row(row.coefficients[:-1], row.constant, row.symbol) for row in access.rows)
    return Access(access.num_dims - 1, tuple(rows))


def _wrapper(op: LoopOp, nest: _Nest, symbol: str, name: str, target: Target) -> str:
    arguments = [f"%in{k}" for k in range(len(op.inputs))]
    arguments += [f"%out{k}" for k in range(len(op.output_types))]
    parameters = ", ".join(f"ptr {a}" for a in [*arguments, "%scratch", "%error"])
    handed_on = ", ".join(f"ptr {a}" for a in [*nest.arguments, "%inner", "%error"])
    return (
        f'define internal void @"{name}"({parameters}, i64 %begin, i64 %end) '
        f"{target.attributes} {{\n"
        f"  %inner = getelementptr i8, ptr %scratch, i64 {nest.scratch_offset}\n"
        f'  call void @"{symbol}"({handed_on}, i64 %begin, i64 %end)\n'
        "  ret void\n}\n"
    )
