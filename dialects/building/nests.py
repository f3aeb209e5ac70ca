"""Building loop nests from Python functions on scalars, for the `lower` of an op."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, cast

from xdsl.dialects.builtin import ArrayAttr, FusedLoc, LocationAttr, NoneAttr, StringAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue

from gradir.dialects.base.access import Access, constant_row, dim_row
from gradir.dialects.base.shapes import element_of, is_float, shape_of, tensor
from gradir.dialects.base.value import Emitter, Scalar
from gradir.dialects.building import body as b
from gradir.dialects.loopnest.loopnest import (
    LoopOp,
    NestOp,
    Output,
    YieldOp,
    scalar_type,
)


class Read(NamedTuple):
    """An input of a nest: a value, its subscripts (None: whole), its value outside of bounds."""

    value: SSAValue
    access: Access | None
    pad: Attribute | None = None

    @property
    def element(self) -> Attribute:
        return element_of(self.value.type)


Body = Callable[..., Scalar | Sequence[Scalar]]


def nest(
    emitter: Emitter,
    bounds: Sequence[int],
    reads: Sequence[Read],
    outputs: Sequence[Output],
    body: Body,
) -> list[SSAValue]:
    """Emit a `loopnest.nest`; `body` gets one scalar per read, of the stored type."""
    block = Block(arg_types=[argument_type(r) for r in reads])
    return emit_loop(emitter, NestOp, bounds, reads, outputs, block, body)


def emit_loop(
    emitter: Emitter,
    op_class: type[LoopOp],
    bounds: Sequence[int],
    reads: Sequence[Read],
    outputs: Sequence[Output],
    block: Block,
    body: Body,
    roles: str | None = None,
    precision: str | None = None,
) -> list[SSAValue]:
    """Emit a loop op; `block` has the body's arguments. The last two are those of a contraction."""
    inner = Emitter(block, emitter.location)
    if not block.args:
        # A body without inputs starts from an index, so that it has a place to emit at.
        place = Scalar(cast(SSAValue, None), inner)
        yielded = body(b.index(place, 0) if bounds else place)
    else:
        yielded = body(*b.values_of(block.args, inner))
    values = [yielded] if isinstance(yielded, Scalar) else list(yielded)
    inner.insert(YieldOp(*(v.ssa for v in values)))
    op = op_class(
        bounds,
        [r.value for r in reads],
        [r.access for r in reads],
        outputs,
        block,
        [r.pad for r in reads],
        roles=StringAttr(roles) if roles else None,
        precision=StringAttr(precision) if precision else None,
    )
    return list(emitter.insert(op).results)


def argument_type(read: Read) -> Attribute:
    return read.value.type if read.access is None else scalar_type(read.element)


def elementwise(
    emitter: Emitter, type_: Attribute, operands: Sequence[SSAValue], body: Callable[..., Scalar]
) -> list[SSAValue]:
    """One output element from the operands' elements at the same place, in compute types."""
    shape = shape_of(type_)
    reads = [Read(o, Access.identity(len(shape))) for o in operands]
    output = Output(type_, Access.identity(len(shape)))
    on_elements = body_on_elements(body, [r.element for r in reads], element_of(type_))
    return nest(emitter, shape, reads, [output], on_elements)


def body_on_elements(
    body: Callable[..., Scalar], operands: Sequence[Attribute], result: Attribute
) -> Callable[..., Scalar]:
    """A body on compute types as one on the stored elements of operands and of a result."""

    def on_elements(*xs: Scalar) -> Scalar:
        wide = [b.to_compute(x, e) for x, e in zip(xs, operands, strict=True)]
        return b.from_compute(body(*wide), result)

    return on_elements


def fused_location(ops: Sequence[Operation]) -> LocationAttr:
    """The places of all ops, the last one's first: it is the one that messages name."""
    places = list(dict.fromkeys(op.location for op in reversed(ops)))
    return places[0] if len(places) == 1 else FusedLoc(ArrayAttr(places), NoneAttr())


def view(
    emitter: Emitter,
    type_: Attribute,
    operand: SSAValue,
    access: Access,
    pad: Attribute | None = None,
) -> list[SSAValue]:
    """A copy of an operand's elements: `result[d...] = operand[access(d...)]`."""
    shape = shape_of(type_)
    output = Output(type_, Access.identity(len(shape)))
    return nest(emitter, shape, [Read(operand, access, pad)], [output], unchanged)


def add_at(
    emitter: Emitter,
    base: SSAValue,
    access: Access,
    bounds: Sequence[int],
    reads: Sequence[Read],
    body: Body,
) -> list[SSAValue]:
    """`base` with the first value of a nest's body added at `access` and its yielded indices.

    Places may repeat: f16 and bf16 are added in f32 and rounded once.
    """
    type_, element = base.type, element_of(base.type)
    wide = tensor(shape_of(type_), b.compute_type(element) if is_float(element) else element)
    if wide == type_:
        return nest(emitter, bounds, reads, [Output(type_, access, "add", base)], body)

    def widened(*xs: Scalar) -> Sequence[Scalar]:
        update, *places = cast(Sequence[Scalar], body(*xs))
        return [b.to_compute(update, element), *places]

    [start] = elementwise(emitter, wide, [base], unchanged)
    [sums] = nest(emitter, bounds, reads, [Output(wide, access, "add", start)], widened)
    return elementwise(emitter, type_, [sums], unchanged)


def unchanged(x: Scalar) -> Scalar:
    """The body of a copy."""
    return x


__all__ = ["Read", "constant_row", "dim_row", "elementwise", "nest", "view"]
