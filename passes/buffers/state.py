"""What gradir-bufferize knows while it walks: where each value lies, and what each buffer holds.

A buffer may be written to by an op if every value that it holds is read for the last time there.
Claims say in advance in which buffer a value would best be computed: a result's, or the one
that a loop carries it in.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from xdsl.dialects import memref, scf, tensor
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue

from gradir.dialects.base.access import Access
from gradir.dialects.base.kept_facts import kept_fact
from gradir.dialects.base.segments import SIZES, segment_sizes
from gradir.dialects.base.shapes import element_of, is_tensor, memref_type, shape_of
from gradir.dialects.loopnest.buffer_ops import WindowOp
from gradir.dialects.loopnest.forall import ForallOp
from gradir.dialects.loopnest.loopnest import (
    LoopOp,
    NestOp,
    Output,
    ReshapeOp,
    ViewOp,
    YieldOp,
    scalar_type,
)
from gradir.passes.analysis.liveness import Liveness

if TYPE_CHECKING:
    from gradir.passes.buffers.tapes import Tapes


@kept_fact
def buffer_type(type_: Attribute) -> MemRefType[Attribute]:
    return memref_type(shape_of(type_), element_of(type_))


def alloc_of(type_: Attribute) -> memref.AllocOp:
    """A new buffer of a memref type; IRDL's constructor takes ten times as long."""
    sizes: dict[str, Attribute] = {SIZES: segment_sizes(0, 0)}
    return memref.AllocOp.create(result_types=[type_], properties=sizes)


def root_of(buffer: SSAValue) -> SSAValue:
    """The buffer that reshapes and windows show a part of, or under another shape."""
    while isinstance(owner := buffer.owner, ViewOp | WindowOp):
        buffer = owner.operands[0]
    return buffer


class BufferState:
    """The function on tensors, the one on buffers that is made of it, and how they correspond.

    `values` maps tensors to buffers and scalars to scalars. `destinations` are claims. The maker of
    the state sets `tapes`, the memory of tapes, which refers to the state.
    """

    tapes: Tapes

    def __init__(self, module: ModuleOp, function: FuncOp):
        self.module, self.function = module, function
        self.source = function.body.block
        self.block = Block()
        self.live = Liveness(self.source)
        self.values: dict[SSAValue, SSAValue] = {}
        self.destinations: dict[SSAValue, SSAValue] = {}
        # The insertions whose part was computed in its place.
        self.windows: set[Operation] = set()
        # Of the buffers that may be written to, the values that are in them, by root.
        self._holders: dict[SSAValue, set[SSAValue]] = {}

    # What buffers hold.

    def own(self, buffer: SSAValue) -> None:
        """A buffer that may be written to, and holds nothing yet."""
        self._holders[buffer] = set()

    def is_writable(self, buffer: SSAValue) -> bool:
        return root_of(buffer) in self._holders

    def holders(self, buffer: SSAValue) -> set[SSAValue]:
        return self._holders.get(root_of(buffer), set())

    def place(self, value: SSAValue, buffer: SSAValue, beside: bool = False) -> None:
        """`value` lies in `buffer` now; in place of other values there, unless `beside`."""
        self.values[value] = buffer
        root = root_of(buffer)
        if root in self._holders:
            self._holders[root] = {value} | (self._holders[root] if beside else set())

    def is_free(self, buffer: SSAValue, op: Operation, inside: bool = True) -> bool:
        """`buffer` may be written to by `op`, or in its regions: nothing in it is read later."""
        return self.is_writable(buffer) and all(
            self.live.dies(value, op, inside) for value in self.holders(buffer)
        )

    def is_free_before(self, buffer: SSAValue, op: Operation) -> bool:
        """Nothing in it is read by `op` or later."""
        return self.is_free(buffer, op, inside=False) and not any(
            value in op.operands for value in self.holders(buffer)
        )

    @contextmanager
    def inside(self, block: Block) -> Generator[None]:
        """Emit into a block of a region; what buffers hold is as before afterwards."""
        outer, held = self.block, {root: set(values) for root, values in self._holders.items()}
        self.block = block
        yield
        self.block = outer
        self._holders = held

    # Claims.

    def seen_as(self, buffer: SSAValue, type_: Attribute, op: Operation) -> SSAValue:
        """A buffer under the type of a tensor; itself if it has that, as behind a barrier."""
        wanted = buffer_type(type_)
        return (
            buffer if buffer.type == wanted else self.emit(ReshapeOp(buffer, wanted), op).results[0]
        )

    def claim(self, value: SSAValue, buffer: SSAValue) -> None:
        """Claim `buffer` for `value`, for its reshapes, and for the tensors that it updates."""
        if value in self.destinations or value in self.values or not isinstance(value, OpResult):
            return
        op = value.owner
        if isinstance(op, ViewOp):
            inner = op.operand
            if isinstance(inner.owner, LoopOp | ForallOp | ViewOp) and not self._is_known(inner):
                self.claim(inner, self.seen_as(buffer, inner.type, op))
                if inner in self.destinations:
                    self.destinations[value] = buffer
            return
        self.destinations[value] = buffer
        start = start_of(value)
        if start is not None and is_read_once(start):
            self.claim(start, buffer)

    def _is_known(self, value: SSAValue) -> bool:
        return value in self.destinations or value in self.values

    # Emission.

    def emit(self, op: Operation, source: Operation) -> Operation:
        op.location = source.location
        self.block.add_op(op)
        return op

    def alloc(self, type_: Attribute, source: Operation, hint: str | None = None) -> SSAValue:
        """A new buffer for a tensor."""
        buffer = self.emit(alloc_of(buffer_type(type_)), source).results[0]
        buffer.name_hint = hint
        self.own(buffer)
        return buffer

    def alloc_for(self, value: OpResult, op: Operation) -> SSAValue:
        """A buffer to compute `value` in, not made from others: the one claimed, else a new one."""
        claimed = self.destinations.get(value)
        if claimed is not None and self.is_free_before(claimed, op):
            return claimed
        return self.alloc(value.type, op, value.name_hint)

    def copy(self, source: SSAValue, target: SSAValue) -> None:
        type_, shape = target.type, shape_of(target.type)
        body = Block(arg_types=[scalar_type(element_of(source.type))])
        body.add_op(YieldOp(body.args[0]))
        identity = Access.identity(len(shape))
        copy = NestOp(
            shape, [source], [identity], [Output(type_, identity)], body, buffers=[target]
        )
        self.emit(copy, self.function)

    def copy_all(self, moves: Iterable[tuple[SSAValue, SSAValue]]) -> None:
        """Copies that happen together: none reads what another has written."""
        pending = [(s, t) for s, t in moves if not _is_same_memory(s, t)]
        while pending:
            sources = [root_of(s) for s, _ in pending]
            for k, (source, target) in enumerate(pending):
                if root_of(target) not in sources[:k] + sources[k + 1 :]:
                    self.copy(source, target)
                    del pending[k]
                    break
            else:
                source, target = pending[0]
                aside = self.alloc(source.type, self.function, "aside")
                self.copy(source, aside)
                pending[0] = (aside, target)

    def scalars(self, values: Sequence[SSAValue]) -> list[SSAValue]:
        """The scalars on buffers for the scalars among some values."""
        return [self.values[v] for v in values if not is_tensor(v.type)]


def _is_same_memory(one: SSAValue, other: SSAValue) -> bool:
    return one is other or (
        root_of(one) is root_of(other) and not (is_window(one) or is_window(other))
    )


def is_window(buffer: SSAValue) -> bool:
    """The buffer is a part of another one."""
    while isinstance(owner := buffer.owner, ViewOp):
        buffer = owner.operands[0]
    return isinstance(buffer.owner, WindowOp)


def start_of(value: SSAValue) -> SSAValue | None:
    """The operand that an op updates to make `value`: in place if it has no other reader."""
    if not isinstance(value, OpResult):
        return None
    op = value.owner
    match op:
        case LoopOp():
            return op.output_list[value.index].init
        case tensor.InsertOp() | tensor.InsertSliceOp():
            return op.dest
        case scf.ForOp():
            return op.iter_args[value.index]
        case _:
            return None


def is_read_once(value: SSAValue) -> bool:
    """The value has one reader, and so has each value that it reshapes."""
    while len(list(value.uses)) == 1:
        if not isinstance(owner := value.owner, ViewOp):
            return True
        value = owner.operand
    return False
