"""gradir-prove-bounds: a proof that ops of the loop-nest level stay inside of their tensors.

Ops on tensors check run-time indices themselves. Native code of a loop nest, or of a program of
loads and stores, reads and writes at the written places: text runs only if it is proven here, or
if its user trusts it. gradir's passes keep safe text safe.

Proven are subscripts that are affine in the loops (by their verifier) and indices whose range is
inside of the tensor: constants, loop indices, results of loopnest.check_index and arith ops on
these (`ranges.py`). Ops on buffers are never proven.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass

from gradir.dialects.base.diagnostics import PassError, value_name
from gradir.dialects.base.shapes import is_static, is_tensor, shape_of
from gradir.dialects.base.value import SOURCE_ATTRIBUTE
from gradir.dialects.loopnest import buffer_ops
from gradir.dialects.loopnest.body_ops import IndexOp, LanesOp, LoadOp, StoreOp
from gradir.dialects.loopnest.forall import ForallOp
from gradir.dialects.loopnest.host_invoke import HostInvokeOp
from gradir.dialects.loopnest.loopnest import ContractOp, LoopOp
from gradir.dialects.loopnest.rows import RowsOp
from gradir.passes.analysis.ranges import Ranges

WAY_OUT = "trust the text (trusted=True in gradir.parse, --trust-input) if it is your own"

LARGE = 1 << 62
"""Sums of indices and offsets below it do not overflow."""

_ON_BUFFERS = (*buffer_ops.OPS, HostInvokeOp, RowsOp)
_PREFIX = "gradir."


@dataclass(frozen=True)
class ProveBoundsPass(ModulePass):
    """Refuse loop nests and programs that are not proven to stay inside of their tensors."""

    name = "gradir-prove-bounds"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for doubt in doubts_of(op):
            raise doubt


def doubts_of(root: Operation) -> Iterator[PassError]:
    """The errors for the ops, of a verified module or function, that are not proven to be safe.

    In program order; one error per op.
    """
    pending: list[Operation] = [root]
    while pending:
        op = pending.pop()
        doubt = _doubt(op)
        if doubt is not None:
            yield doubt
        # regions of nests and programs are walked by their own rules
        if not isinstance(op, LoopOp | ForallOp):
            inner = (o for region in op.regions for block in region.blocks for o in block.ops)
            pending += reversed(list(inner))


def _doubt(op: Operation) -> PassError | None:
    """The first unproven access of an op; None if it is safe."""
    # the attribute of the source op's name is for messages alone
    names = (name for name in op.attributes if name != SOURCE_ATTRIBUTE)
    claims = [name for name in names if name.startswith(_PREFIX)]
    if claims:
        return PassError(
            f"{op.name}: {claims[0]} is what passes say of their own results; leave it out, or "
            f"{WAY_OUT}",
            op,
        )
    if isinstance(op, LoadOp | StoreOp | LanesOp | IndexOp):
        return PassError(f"{op.name}: must be inside of a nest or loopnest.forall", op)
    is_on_buffers = isinstance(op, _ON_BUFFERS) or op.dialect_name() == memref.MemRef.name
    if is_on_buffers or any(map(_is_buffer, _types_of(op))):
        return PassError(f"{op.name}: no op on buffers is proven to be safe; {WAY_OUT}", op)
    if isinstance(op, LoopOp):
        return next(_NestProof(op).doubts(), None)
    if isinstance(op, ForallOp):
        return next(_ProgramProof(op).doubts(), None)
    return None


def _types_of(op: Operation) -> Iterator[Attribute]:
    """The types of operands, results and arguments of blocks (a program owns its arguments)."""
    yield from op.operand_types
    yield from op.result_types
    if not isinstance(op, LoopOp | ForallOp):
        for region in op.regions:
            for block in region.blocks:
                yield from block.arg_types


def _is_buffer(type_: Attribute) -> bool:
    return isinstance(type_, MemRefType)


class _Proof:
    """A proof for the indices in one body."""

    def __init__(self, op: LoopOp | ForallOp):
        self.op = op
        self.ranges = Ranges()

    def index(self, op: IndexOp) -> None:
        self.ranges.set(op.result, (0, max(self.op.extents[op.dim.value.data] - 1, 0)))

    def operands(self) -> Iterator[PassError]:
        """Doubts about the operands of a nest or a program."""
        for type_ in (*self.op.operand_types, *self.op.result_types):
            if not is_tensor(type_) or not is_static(type_):
                yield PassError(
                    f"{self.op.name}: is proven on tensors of static shape only, got {type_}; "
                    f"{WAY_OUT}",
                    self.op,
                )

    def place(
        self, op: Operation, whole: SSAValue, indices: Sequence[SSAValue]
    ) -> Iterator[PassError]:
        """Doubts about indices into `whole`, a block argument for a tensor."""
        for k, (index, extent) in enumerate(zip(indices, shape_of(whole.type), strict=True)):
            yield from self.inside(op, f"index {k} ({value_name(index)})", index, extent)

    def inside(
        self, op: Operation, label: str, index: SSAValue, extent: int
    ) -> Iterator[PassError]:
        """The doubt about an index that may be outside of [0, extent)."""
        found = self.ranges.of(index)
        if found is None or found[0] < 0 or found[1] >= extent:
            got = "no integer" if found is None else f"numbers from {found[0]} to {found[1]}"
            yield PassError(
                f"{op.name}: {label} must be proven to be in [0, {extent}), got {got}; check it "
                f"by loopnest.check_index, or {WAY_OUT}",
                op,
            )


class _NestProof(_Proof):
    """A nest or a contraction: affine subscripts, a straight body, scattered indices."""

    op: LoopOp

    def doubts(self) -> Iterator[PassError]:
        """In program order."""
        yield from self.operands()
        if self.op.outputs or self.op.scratch:
            yield PassError(f"{self.op.name}: is proven on tensors only; {WAY_OUT}", self.op)
        yield from self.subscripts()
        # a contraction over an empty dimension still runs its body
        extents = self.op.extents
        if 0 in (extents[: self.op.free_dims] if isinstance(self.op, ContractOp) else extents):
            return
        for op in self.op.body.block.ops:
            if isinstance(op, IndexOp):
                self.index(op)
            elif isinstance(op, LoadOp):
                yield from self.place(op, op.source, op.indices)
            else:
                self.ranges.learn(op)
        yield from self.scattered()

    def subscripts(self) -> Iterator[PassError]:
        """Doubts about subscripts: their numbers must not overflow."""
        types = [*self.op.inputs.types, *self.op.output_types]
        accesses = [*self.op.input_accesses, *self.op.output_accesses]
        bounds = [max(n, 1) for n in self.op.extents]
        for type_, access in zip(types, accesses, strict=True):
            if access is None:
                continue
            step = 1
            for row, extent in zip(reversed(access.rows), reversed(shape_of(type_)), strict=True):
                sizes = [abs(c) * n for c, n in zip(row.coefficients, bounds, strict=True)]
                if step * (abs(row.constant) + sum(sizes)) >= LARGE:
                    yield PassError(
                        f"{self.op.name}: subscripts must stay below 2**62 elements; {WAY_OUT}",
                        self.op,
                    )
                step *= max(extent, 1)

    def scattered(self) -> Iterator[PassError]:
        """Doubts about the yielded indices of scattered outputs."""
        last = cast(Operation, self.op.body.block.last_op)
        indices = iter(self.op.yielded[len(self.op.output_types) :])
        for type_, access in zip(self.op.output_types, self.op.output_accesses, strict=True):
            rows = enumerate(access.rows)
            symbols = sorted((r.symbol, axis) for axis, r in rows if r.symbol is not None)
            for symbol, axis in symbols:
                label, extent = f"index s{symbol}", shape_of(type_)[axis]
                yield from self.inside(last, label, next(indices), extent)


class _ProgramProof(_Proof):
    """A loopnest.forall: loads and stores among loops and branches."""

    op: ForallOp

    def doubts(self) -> Iterator[PassError]:
        """In program order."""
        yield from self.operands()
        if self.op.outputs:
            yield PassError(f"{self.op.name}: is proven on tensors only; {WAY_OUT}", self.op)
        if 0 not in self.op.extents:
            yield from self.block(self.op.body.block)

    def block(self, block: Block) -> Iterator[PassError]:
        for op in block.ops:
            if isinstance(op, IndexOp):
                self.index(op)
            elif isinstance(op, LoadOp):
                yield from self.place(op, op.source, op.indices)
            elif isinstance(op, StoreOp):
                yield from self.place(op, op.target, op.indices)
            elif isinstance(op, LanesOp):
                yield from self.lanes(op)
            elif isinstance(op, scf.ForOp):
                yield from self.counted(op.body.block, op.lb, op.ub)
            elif isinstance(op, scf.IfOp):
                yield from self.branches(op)
            elif isinstance(op, scf.WhileOp):
                yield from self.loop(op)
            else:
                self.ranges.learn(op)

    def counted(self, body: Block, low: SSAValue, high: SSAValue) -> Iterator[PassError]:
        """The body of a loop, with the index below the upper bound; skipped if it never runs."""
        first, end = self.ranges.of(low), self.ranges.of(high)
        if first is None or end is None or first[0] < end[1]:
            if first is not None and end is not None:
                self.ranges.set(body.args[0], (first[0], end[1] - 1))
            yield from self.block(body)

    def lanes(self, op: LanesOp) -> Iterator[PassError]:
        for bound in (op.lower, op.upper):
            found = self.ranges.of(bound)
            if found is None or found[0] < -LARGE or found[1] > LARGE:
                yield PassError(
                    f"{op.name}: bounds must be proven to be below 2**62, got "
                    f"{value_name(bound)}; check it by loopnest.check_index, or {WAY_OUT}",
                    op,
                )
        yield from self.counted(op.body.block, op.lower, op.upper)

    def branches(self, op: scf.IfOp) -> Iterator[PassError]:
        ends: list[Sequence[tuple[int, int] | None]] = []
        for region, holds in ((op.true_region, True), (op.false_region, False)):
            if region.first_block is None:
                continue
            with self.ranges.given(self.ranges.when(op.cond, holds)):
                yield from self.block(region.block)
                last = cast(Operation, region.block.last_op)
                ends.append([self.ranges.of(v) for v in last.operands])
        for result, *given in zip(op.output, *ends, strict=False):
            lows = [r[0] for r in given if r is not None]
            highs = [r[1] for r in given if r is not None]
            if len(lows) == len(ends) == len(op.regions):
                self.ranges.set(result, (min(lows), max(highs)))

    def loop(self, op: scf.WhileOp) -> Iterator[PassError]:
        """The second region runs on the forwarded values where the condition is true."""
        before, after = op.before_region.block, op.after_region.block
        yield from self.block(before)
        decision = cast(scf.ConditionOp, before.last_op)
        for targets, holds in ((after.args, True), (op.res, False)):
            with self.ranges.given(self.ranges.when(decision.condition, holds)):
                found = [self.ranges.of(v) for v in decision.args]
            for target, range_ in zip(targets, found, strict=True):
                self.ranges.set(target, range_)
        yield from self.block(after)
