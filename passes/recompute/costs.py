"""The cost of an op in flops and bytes, read off its loop nests: no op declares its own.

Not the costs of code generation (`gradir/codegen/costs.py`), which passes do not know: these choose
what derivatives keep, on tensors, before there is code and alike on all machines.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import cast

from xdsl.dialects import arith
from xdsl.dialects.func import CallOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import ConstantLike

from gradir.dialects.base.access import Access
from gradir.dialects.base.interfaces import TensorOp
from gradir.dialects.base.op_rules import is_elementwise
from gradir.dialects.base.shapes import (
    byte_size,
    is_complex_tensor,
    is_float,
    is_scalar,
    is_static,
    is_tensor,
    shape_of,
)
from gradir.dialects.base.traced_sizes import int_of
from gradir.dialects.base.value import Emitter
from gradir.dialects.building.body import computes
from gradir.dialects.foreign.elements import is_on_tensors, lower_elements
from gradir.dialects.grad.host_call import HostCallOp
from gradir.dialects.loopnest.forall import ForallOp
from gradir.dialects.loopnest.loopnest import (
    ContractOp,
    KernelOp,
    LoopOp,
    NestOp,
    ShapedType,
    ViewOp,
    YieldOp,
)
from gradir.dialects.loopnest.rows import RowsOp
from gradir.passes.analysis.edits import replace_results
from gradir.passes.analysis.live_bytes import bytes_of
from gradir.passes.analysis.region_flow import trips
from gradir.passes.cleanup.decompose import decompose_block
from gradir.passes.cleanup.split_complex import split_block

# Flops and bytes per second of one core; only their ratio matters.
CONTRACTION_FLOPS, SCALAR_FLOPS, BYTES = 5e10, 5e9, 1e10
# Flops of a math function (exp, tanh, ...) in a body; an addition is 1.
MATH_FLOPS = 16
# Ops on floats that do no arithmetic.
MOVES = ("arith.select", "arith.extf", "arith.truncf", "arith.sitofp", "arith.uitofp")
# The assumed number of trips of a loop, where it is unknown.
ASSUMED_TRIPS = 1000
# The assumed seconds of a host call: the time of Python code is unknown.
HOST_SECONDS = 1e-3


@dataclass(frozen=True)
class Cost:
    """The cost of one run: flops in contractions and elsewhere, bytes read and written.

    `is_free`: it only moves elements, and fusion reads through it. `reduces`: it combines elements,
    so that readers wait for all of it.
    """

    contraction_flops: int = 0
    scalar_flops: int = 0
    bytes: int = 0
    is_free: bool = False
    reduces: bool = False

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.contraction_flops + other.contraction_flops,
            self.scalar_flops + other.scalar_flops,
            self.bytes + other.bytes,
            self.is_free and other.is_free,
            self.reduces or other.reduces,
        )

    def times(self, count: int) -> Cost:
        """The cost of `count` runs."""
        flops = self.contraction_flops * count, self.scalar_flops * count
        return Cost(*flops, self.bytes * count, self.is_free, self.reduces)

    @property
    def flops(self) -> int:
        return self.contraction_flops + self.scalar_flops

    @property
    def seconds(self) -> float:
        """A rough time on one core."""
        arithmetic = self.contraction_flops / CONTRACTION_FLOPS + self.scalar_flops / SCALAR_FLOPS
        return max(arithmetic, self.bytes / BYTES)


class Costs:
    """The costs of ops, cached by equal ops."""

    def __init__(self) -> None:
        self._known: dict[Hashable, Cost] = {}

    def of(self, op: Operation) -> Cost:
        """The cost of an op; with regions, the sum over their ops times their runs."""
        if isinstance(op, LoopOp):
            return replace(_of_nest(op), bytes=sum(map(bytes_of, (*op.operands, *op.results))))
        if op.regions:
            inner = [i for r in op.regions for b in r.blocks for i in b.ops if i.results]
            once = sum(map(self._inside, inner), Cost(is_free=True))
            return once.times(_trips(op))
        if isinstance(op, CallOp):
            return Cost(bytes=sum(map(bytes_of, (*op.operands, *op.results))))
        values = (*op.operands, *op.results)
        if isinstance(op, HostCallOp):
            flops = int(HOST_SECONDS * SCALAR_FLOPS)
            return Cost(scalar_flops=flops, bytes=sum(map(bytes_of, values)))
        is_op = isinstance(op, TensorOp) or is_on_tensors(op)
        if not is_op or op.has_trait(ConstantLike):
            return Cost(is_free=True)
        if not all(is_static(v.type) if is_tensor(v.type) else is_scalar(v.type) for v in values):
            return Cost()
        key = (
            type(op), tuple(v.type for v in op.operands), tuple(r.type for r in op.results),
            frozenset(op.attributes.items()), frozenset(op.properties.items()),
        )  # fmt: skip
        if key not in self._known:
            self._known[key] = _measured(op)
        return self._known[key]

    def _inside(self, op: Operation) -> Cost:
        """The cost of an op in a region; there ops on numbers count, as they may run often."""
        if is_elementwise(op) and not is_on_tensors(op):
            return Cost(scalar_flops=_flops(op))
        return self.of(op)


def _trips(op: Operation) -> int:
    """The runs of an op's regions: their bound, or the assumed number."""
    known = trips(op)
    return ASSUMED_TRIPS if known is None else known


def _measured(op: Operation) -> Cost:
    """The cost of the nests of one op, lowered beside the program."""
    block = Block(arg_types=[o.type for o in op.operands])
    copy = type(op).create(
        operands=list(block.args),
        result_types=[r.type for r in op.results],
        attributes=op.attributes,
        properties=op.properties,
    )
    block.add_op(copy)
    if any(is_complex_tensor(v.type) for v in (*copy.operands, *copy.results)):
        split_block(block)
    decompose_block(block)
    for inner in list(block.ops):
        emitter = Emitter(block, inner.location, before=inner)
        if isinstance(inner, TensorOp) and not inner.has_trait(ConstantLike):
            made = inner.lower(emitter, inner.operands)
        elif is_on_tensors(inner):
            made = [lower_elements(emitter, inner)]
        else:
            continue
        replace_results(inner, made)
    ops = [inner for inner in block.ops if not isinstance(inner, ViewOp)]
    cost = sum(map(_of_nest, ops), Cost(is_free=True))
    outside = sum(map(bytes_of, (*op.operands, *op.results)))
    return replace(cost, bytes=outside)


def _of_nest(op: Operation) -> Cost:
    if isinstance(op, ForallOp):
        # one pass over all elements; its loops' visits per element are unknown
        elements = int_of(sum(prod(shape_of(v.type)) for v in (*op.operands, *op.results)))
        return Cost(scalar_flops=elements * len(list(op.body.walk())), reduces=True)
    if not isinstance(op, LoopOp):
        return Cost(is_free=True)
    points = int_of(prod(op.extents))
    moves = isinstance(op, NestOp) and not computes(op.body.block) and _is_view(op)
    if moves:
        return Cost(is_free=True)
    if isinstance(op, ContractOp):
        return Cost(contraction_flops=2 * points, reduces=True)
    body = [i for i in op.body.block.ops if not isinstance(i, YieldOp | arith.ConstantOp)]
    flops = points * max(sum(map(_flops, body)), 1)
    return Cost(scalar_flops=flops, reduces=any(c != "none" for c in op.output_combiners))


def _flops(op: Operation) -> int:
    """The flops of one op on numbers."""
    return MATH_FLOPS if op.name.startswith("math.") else 1


def kernel_cost(op: KernelOp) -> Cost:
    """The flops of a loop op on floats, and the bytes of the elements it touches, each once.

    The trips of a ForallOp's loops are not known: it has no flops, and the bytes of its buffers.
    """
    if isinstance(op, LoopOp):
        points, reads = int_of(prod(op.extents)), _touched(op, _uses(op)[0])
        size = reads + _touched(op, _uses(op)[1])
        body = sum(map(_float_flops, op.body.block.ops))
        if isinstance(op, ContractOp):
            epilogue = int_of(prod(op.extents[: op.free_dims])) * body
            return Cost(contraction_flops=2 * points, scalar_flops=epilogue, bytes=size)
        sums = zip(op.output_combiners, op.yielded, strict=False)
        body += sum(combiner != "none" and is_float(v.type) for combiner, v in sums)
        return Cost(scalar_flops=points * body, bytes=size)
    if isinstance(op, RowsOp):
        nests = [inner for inner in op.body.block.ops if isinstance(inner, LoopOp)]
        once = sum(map(kernel_cost, nests), Cost())
        return replace(once.times(op.blocks), bytes=_all_bytes((*op.inputs, *op.outputs)))
    return Cost(bytes=_all_bytes((*op.inputs, *op.outputs, *op.results)))


Uses = Sequence[tuple[SSAValue, Access | None]]


def _uses(op: LoopOp) -> tuple[Uses, Uses]:
    """What a nest reads and what it writes, with accesses."""
    written = list(zip(op.outputs or op.results_, op.output_accesses, strict=True))
    reads = list(zip(op.inputs, op.input_accesses, strict=True))
    return [*reads, *(written[k] for k in op.starting_outputs)], written


def _touched(op: LoopOp, uses: Uses) -> int:
    """The bytes of elements: no more of a tensor than it has, or than there are points."""
    elements: dict[SSAValue, int] = {}
    for value, access in uses:
        dims = range(len(op.extents))
        if access is not None and all(row.symbol is None for row in access.rows):
            dims = access.used
        points = int_of(prod(op.extents[d] for d in dims))
        elements[value] = min(elements.get(value, 0) + points, prod(_shape(value)))
    return sum(count * _element_bytes(value) for value, count in elements.items())


def _all_bytes(values: Iterable[SSAValue]) -> int:
    return sum(prod(_shape(v)) * _element_bytes(v) for v in dict.fromkeys(values))


def _shape(value: SSAValue) -> Sequence[int]:
    """The extents, in numbers of this call where they are values: a cost decides no bit."""
    return tuple(map(int_of, cast(ShapedType, value.type).get_shape()))


def _element_bytes(value: SSAValue) -> int:
    return byte_size(cast(ShapedType, value.type).get_element_type())


def _float_flops(op: Operation) -> int:
    """The flops of one op on numbers; 0 unless it is arithmetic on floats."""
    is_arithmetic = op.name.startswith(("arith.", "math.")) and not op.has_trait(ConstantLike)
    computes_float = is_arithmetic and is_float(op.results[0].type) and op.name not in MOVES
    return _flops(op) if computes_float else 0


def _is_view(op: NestOp) -> bool:
    return op.output_combiners == ["none"] and op.output_accesses[0].is_identity and not op.inits
