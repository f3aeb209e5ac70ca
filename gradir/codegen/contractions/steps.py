"""A contraction in several steps that hand on values in scratch memory.

`nest_steps`: one nest sums the products, another applies the body; where the body hands on the sum
unchanged, one nest writes it to its place. `tiled_steps`: nests before and after a contraction that
the tiled kernel can do, which copy factors and apply the body.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import TypeAlias, cast

from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType, MemRefType, StringAttr, i1
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.rewriter import InsertPoint

from gradir.codegen.bodies.emitter import element_kind
from gradir.codegen.text.kernel import Kernel, KernelPhase
from gradir.codegen.text.kinds import bits_of, is_float, kind_of
from gradir.codegen.text.target import MachineTarget
from gradir.codegen.text.writer import FunctionWriter
from gradir.dialects.base.access import Access, Row, dim_row
from gradir.dialects.base.shapes import is_unsigned, memref_type
from gradir.dialects.loopnest.body_ops import memory_type
from gradir.dialects.loopnest.loopnest import (
    ContractOp,
    LoopOp,
    NestOp,
    Output,
    ShapedType,
    YieldOp,
    scalar_type,
)

ALIGNMENT = 64

# The name of an argument of the contraction, the same and an offset in bytes, or an offset in its
# scratch memory.
OperandPlace: TypeAlias = str | tuple[str, int] | int


@dataclass(frozen=True)
class ContractionStep:
    """A part of a contraction, and where each of its operands lies.

    `resumes` says that a contraction's chains go on from what its output holds, `flushes` that
    the step runs with subnormal results as zeros.
    """

    label: str
    op: NestOp | ContractOp
    operands: tuple[OperandPlace, ...]
    resumes: bool = False
    flushes: bool = False


@dataclass
class Steps:
    """The steps in order. Their own scratch memory follows the first `scratch_bytes`."""

    steps: list[ContractionStep] = field(default_factory=list[ContractionStep])
    scratch_bytes: int = 0

    def allocate(self, type_: MemRefType[Attribute]) -> int:
        """The offset of a new buffer in scratch."""
        offset = self.scratch_bytes
        size = max(1, bits_of(element_kind(type_)) // 8) * prod(type_.get_shape())
        self.scratch_bytes += -(-size // ALIGNMENT) * ALIGNMENT
        return offset

    def add(
        self,
        label: str,
        op: NestOp | ContractOp,
        operands: Iterable[OperandPlace],
        resumes: bool = False,
        flushes: bool = False,
    ) -> None:
        self.steps.append(ContractionStep(label, op, tuple(operands), resumes, flushes))


def emit_steps(
    op: ContractOp,
    steps: Steps,
    name: str,
    target: MachineTarget,
    emit: Callable[[ContractionStep, str], Kernel],
) -> Kernel:
    """The kernel; its phases take the contraction's arguments and hand on what a step takes.

    Steps of one op have one code.
    """
    of_op: dict[NestOp | ContractOp, Kernel] = {}
    for step in steps.steps:
        if step.op not in of_op:
            of_op[step.op] = emit(step, f"{name}.{step.label}")
    kernels = list(of_op.values())
    phases: list[KernelPhase] = []
    texts = [kernel.text for kernel in kernels]
    for step in steps.steps:
        for phase in of_op[step.op].phases:
            wrapper = f"{name}.{len(phases)}"
            texts.append(_wrapper(op, step, steps.scratch_bytes, phase.symbol, wrapper, target))
            phases.append(replace(phase, symbol=wrapper))
    return Kernel(
        "\n".join(texts),
        tuple(phases),
        frozenset[tuple[str, int, int]]().union(*(k.functions for k in kernels)),
        # only one step has the body, and with it messages
        next((k.messages for k in kernels if k.messages), ()),
    )


def nest_steps(op: ContractOp) -> Steps:
    """A nest for the sum and one for the body, or one for both."""
    steps = Steps()
    if hands_on_the_sum(op):
        output = Output(memory_type(op.output_types[0]), op.output_accesses[0], "add")
        steps.add("sum", _sum_nest(op, output), ["%in0", "%in1", "%out0"])
        return steps
    sums = sums_of(op, "add")
    place = steps.allocate(sums.type)
    steps.add("sum", _sum_nest(op, sums.output), ["%in0", "%in1", place])
    steps.add("body", body_nest(op, sums.type), [place, *epilogue_names(op)])
    return steps


def tiled_steps(
    op: ContractOp, copied: Sequence[int], has_plain_epilogue: bool, reserved: int = 0
) -> Steps:
    """Copies of some factors, the contraction, and where its epilogue is not plain the body.

    The first `reserved` bytes of scratch memory are left alone.
    """
    steps = Steps(scratch_bytes=reserved)
    places: list[OperandPlace] = ["%in0", "%in1"]
    types = [memory_type(v.type) for v in op.inputs[:2]]
    accesses = [cast(Access, a) for a in op.input_accesses[:2]]
    for index in copied:
        nest, accesses[index] = _copy_nest(op, index)
        types[index] = cast(MemRefType[Attribute], nest.outputs[0].type)
        places[index] = steps.allocate(types[index])
        steps.add(f"copy{index}", nest, [f"%in{index}", places[index]])
    if has_plain_epilogue:
        product = product_of(op, types, accesses, None)
        steps.add("product", product, [*places, *epilogue_names(op)])
        return steps
    sums = sums_of(op, "none")
    place = steps.allocate(sums.type)
    product = product_of(op, types, accesses, sums)
    steps.add("product", product, [*places, place])
    steps.add("body", body_nest(op, sums.type), [place, *epilogue_names(op)])
    return steps


@dataclass(frozen=True)
class Sums:
    """A buffer of the sums over (batch, m, n)."""

    type: MemRefType[Attribute]
    output: Output


def sums_of(op: ContractOp, combiner: str) -> Sums:
    """A buffer for the sums of a contraction."""
    rank, free = len(op.extents), op.free_dims
    type_ = memref_type(op.extents[:free], op.accumulator_type)
    return Sums(type_, Output(type_, Access.of_dims(rank, range(free)), combiner))


def epilogue_names(op: ContractOp) -> list[str]:
    """The names of a contraction's epilogue inputs and of its outputs."""
    names = [f"%in{k}" for k in range(2, len(op.inputs))]
    return names + [f"%out{k}" for k in range(len(op.output_types))]


def _epilogue_operands(op: ContractOp) -> tuple[list[SSAValue], list[SSAValue]]:
    """Stand-ins for the other inputs and the outputs; a buffer that is both remains one value."""
    others = list(op.inputs[2:])
    outputs: list[SSAValue | None] = [*op.outputs] or [None] * len(op.output_types)
    values = [*others, *outputs]
    types = [memory_type(v.type) for v in others] + [memory_type(t) for t in op.output_types]
    block = Block(arg_types=types)
    stand_ins: dict[SSAValue, SSAValue] = {}
    found = [
        argument if value is None else stand_ins.setdefault(value, argument)
        for value, argument in zip(values, block.args, strict=True)
    ]
    return found[: len(others)], found[len(others) :]


def hands_on_the_sum(op: ContractOp) -> bool:
    """Whether the result is the sums, as they are."""
    body = op.body.block
    dims = op.output_accesses[0].dims if op.output_accesses else None
    return (
        len(op.inputs) == 2
        and list(op.yielded) == [body.args[0]]
        and op.output_combiners == ["none"]
        and not op.starting_outputs
        and dims is not None
        and sorted(dims) == list(range(op.free_dims))
        and scalar_type(cast(ShapedType, op.output_types[0]).element_type) == body.args[0].type
    )


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
    operands = Block(arg_types=[*(memory_type(v.type) for v in factors), output.type]).args
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
    extend = arith.ExtUIOp if is_unsigned(element) or integer == i1 else arith.ExtSIOp
    return builder.insert(extend(value, cast(IntegerType, accumulator))).result


def _copy_nest(op: ContractOp, index: int) -> tuple[NestOp, Access]:
    """Copies a factor, with its padding, to a buffer; returns how the contraction reads that.

    The copy is of the accumulator's type, which the tiled kernel has the least work with.
    """
    access = cast(Access, op.input_accesses[index])
    copied, read = min(by_dims(op, access), by_rows(op, access), key=copied_elements)
    source = memory_type(op.inputs[index].type)
    target = memref_type(copied.shape, op.accumulator_type)
    body = Block(arg_types=[source.element_type])
    builder = Builder(InsertPoint.at_end(body))
    value = _widened(builder, body.args[0], source.element_type, op.accumulator_type)
    builder.insert(YieldOp(value))
    operands = Block(arg_types=[source, target]).args
    nest = NestOp(
        target.get_shape(),
        operands[:1],
        [copied.access],
        [Output(target, Access.identity(len(copied.shape)))],
        body,
        [op.input_pads[index]],
        buffers=operands[1:],
    )
    return nest, read


@dataclass(frozen=True)
class FactorCopy:
    """The shape of a copy, and the sources of its elements."""

    shape: tuple[int, ...]
    access: Access


def copied_elements(choice: tuple[FactorCopy, Access]) -> int:
    return prod(choice[0].shape)


def by_dims(op: ContractOp, access: Access) -> tuple[FactorCopy, Access]:
    """One element for each iteration of the dimensions that a factor varies along."""
    roles = op.dim_roles
    used = access.used | {d for d, role in enumerate(roles) if role == "k"}
    # columns last, as the tiled kernel reads them as vectors
    dims = sorted(used, key=lambda d: (roles[d] == "n", d))
    rows = (
        Row(tuple(row.coefficients[d] for d in dims), row.constant, row.symbol)
        for row in access.rows
    )
    shape = tuple(op.extents[d] for d in dims)
    copied = FactorCopy(shape, Access(len(dims), tuple(rows)))
    return copied, Access.of_dims(len(op.extents), dims)


def by_rows(op: ContractOp, access: Access) -> tuple[FactorCopy, Access]:
    """The part of the tensor that is read, each element once, with the padding around it."""
    if any(row.symbol is not None for row in access.rows) or 0 in op.extents:
        return by_dims(op, access)
    ranges = [row.interval(op.extents) for row in access.rows]
    shape = tuple(high - low + 1 for low, high in ranges)
    rank = len(shape)
    moved = tuple(dim_row(rank, d, 1, low) for d, (low, _) in enumerate(ranges))
    rows = (
        replace(row, constant=row.constant - low)
        for row, (low, _) in zip(access.rows, ranges, strict=True)
    )
    return FactorCopy(shape, Access(rank, moved)), Access(access.num_dims, tuple(rows))


def product_of(
    op: ContractOp,
    types: Sequence[Attribute],
    accesses: Sequence[Access],
    sums: Sums | None,
    extents: Sequence[int] = (),
    precision: StringAttr | None = None,
) -> ContractOp:
    """The contraction of factors that lie elsewhere, with its own body or into `sums`.

    `extents` are those of words of factors, `precision` that of the copies.
    """
    extents = extents or op.extents
    factors = Block(arg_types=types).args
    if sums is not None:
        body = Block(arg_types=[op.accumulator_type])
        body.add_op(YieldOp(body.args[0]))
        buffers = Block(arg_types=[sums.type]).args
        written = [sums.output]
        return ContractOp(
            extents,
            factors,
            accesses,
            written,
            body,
            buffers=buffers,
            roles=op.roles,
            precision=precision,
        )
    others, buffers = _epilogue_operands(op)
    written = [Output(memory_type(o.type), o.access) for o in op.output_list]
    return ContractOp(
        extents,
        [*factors, *others],
        [*accesses, *op.input_accesses[2:]],
        written,
        op.body.clone(),
        buffers=buffers,
        roles=op.roles,
        precision=precision,
    )


def body_nest(op: ContractOp, sums: MemRefType[Attribute]) -> NestOp:
    """The contraction's body over (batch, m, n), with the sums as its first input."""
    free = op.free_dims
    others, buffers = _epilogue_operands(op)
    accesses = [Access.identity(free), *(_without_k(a, free) for a in op.input_accesses[2:])]
    outputs = [
        Output(memory_type(o.type), cast(Access, _without_k(o.access, free)), o.combiner)
        for o in op.output_list
    ]
    return NestOp(
        op.extents[:free],
        [*Block(arg_types=[sums]).args, *others],
        accesses,
        outputs,
        op.body.clone(),
        [None, *op.input_pads[2:]],
        buffers=buffers,
        init_outputs=op.starting_outputs,
    )


def _without_k(access: Access | None, free: int) -> Access | None:
    """The access on the dimensions before k, which the epilogue's accesses do not use."""
    if access is None:
        return None
    rows = (Row(row.coefficients[:free], row.constant, row.symbol) for row in access.rows)
    return Access(free, tuple(rows))


def _wrapper(
    op: LoopOp, step: ContractionStep, reserved: int, symbol: str, name: str, target: MachineTarget
) -> str:
    """A function of the contraction's parameters that calls a step's function."""
    f = FunctionWriter()

    def pointer(place: OperandPlace) -> str:
        if isinstance(place, str):
            return place
        base, offset = place if isinstance(place, tuple) else ("%scratch", place)
        return f.address("i8", base, offset)

    handed_on = [f"ptr {pointer(place)}" for place in (*step.operands, reserved)]
    arguments = ", ".join([*handed_on, "ptr %error", "i64 %begin", "i64 %end"])
    if step.flushes:
        _call_flushing(f, symbol, arguments)
    else:
        f.call("void", f"@{symbol}", arguments)
    f.ret()
    head = f"{parameters(op)}, i64 %begin, i64 %end"
    return f.define(name, head, target.attributes, linkage="")


# The bit of MXCSR by which x86 makes subnormal results zeros of their sign.
_FLUSHES = 0x8000


def _call_flushing(f: FunctionWriter, symbol: str, arguments: str) -> None:
    """A call in which subnormal results are zeros; inlined it might move out of that."""
    place = f.allocate("i32", 2, 4, "mxcsr")
    changed = f.element("i32", place, 1)
    f.line(f"call void @llvm.x86.sse.stmxcsr(ptr {place})")
    own = f.load("i32", 1, place)
    f.store("i32", 1, changed, f.binary("or", "i32", 1, own, str(_FLUSHES)))
    f.line(f"call void @llvm.x86.sse.ldmxcsr(ptr {changed})")
    f.line(f"call void @{symbol}({arguments}) noinline")
    f.line(f"call void @llvm.x86.sse.ldmxcsr(ptr {place})")


def parameters(op: LoopOp) -> str:
    """The parameters of a phase of a contraction, but for its items."""
    names = [f"%in{k}" for k in range(len(op.inputs))]
    names += [f"%out{k}" for k in range(len(op.output_types))]
    return ", ".join(f"ptr {a}" for a in [*names, "%scratch", "%error"])
