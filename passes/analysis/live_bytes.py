"""The memory of a block's tensors, op by op, before bufferization.

An estimate on values: views share the memory of their sources, arguments and results lie outside,
and an op may write its result over an operand that dies there.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.traits import ConstantLike

from gradir.dialects.base.access import Access
from gradir.dialects.base.interfaces import has_trait, is_terminator
from gradir.dialects.base.kept_facts import kept_fact
from gradir.dialects.base.shapes import byte_size, element_of, is_static, is_tensor, shape_of
from gradir.dialects.base.slice_type import is_slices
from gradir.dialects.base.traced_sizes import int_of
from gradir.dialects.grad.tape import TapeNewOp, TapeType, record_bytes
from gradir.dialects.loopnest.loopnest import ContractOp, LoopOp, ViewOp
from gradir.passes.analysis.contraction_chains import may_overwrite
from gradir.passes.analysis.regions import values_read


class BlockMemory:
    """The bytes of the values of a block, and their readers."""

    def __init__(self, block: Block):
        self.block = block
        self.ops = list(block.ops)
        self._size: dict[SSAValue, int] = {}
        self._reads: dict[Operation, Sequence[SSAValue]] = {}
        self.readers: dict[SSAValue, list[Operation]] = {}
        outside: set[SSAValue] = set()
        for op in self.ops:
            read = dict.fromkeys(self.root(v) for v in values_read(op))
            self._reads[op] = list(read)
            for value in read:
                self.readers.setdefault(value, []).append(op)
            if is_terminator(op):
                outside.update(read)
        for op in self.ops:
            for result in op.results:
                if not isinstance(op, ViewOp) and result not in outside:
                    self._size[result] = 0 if has_trait(op, ConstantLike) else bytes_of(result)

    def root(self, value: SSAValue) -> SSAValue:
        """The source of a view, or the value itself."""
        while isinstance(owner := value.owner, ViewOp):
            value = owner.operand
        return value

    def size(self, value: SSAValue) -> int:
        """The bytes of a value in the block; 0 for arguments, results and views."""
        return self._size.get(value, 0)

    def result_bytes(self, op: Operation) -> int:
        """The bytes of an op's results."""
        return sum(map(self.size, op.results))

    def read(self, op: Operation) -> Sequence[SSAValue]:
        """The values that an op reads, through views."""
        return self._reads[op]

    def operands(self, op: Operation) -> Sequence[SSAValue]:
        """The values that an op reads, views included."""
        return values_read(op)

    def outermost(self, op: Operation) -> Operation:
        """The op of the block that is, or contains, an op."""
        while op.parent is not self.block:
            around = op.parent_op()
            assert around is not None
            op = around
        return op

    def peak(self, order: Sequence[Operation]) -> int:
        """The most live bytes at a time, for an order of the ops."""
        left = {value: len(readers) for value, readers in self.readers.items()}
        live = peak = 0
        for op in order:
            dying: list[SSAValue] = []
            for value in self.read(op):
                left[value] -= 1
                if not left[value] and self.size(value):
                    dying.append(value)
            handed_over = self._handed_over(op, dying)
            peak = max(peak, live + self.result_bytes(op) - handed_over)
            live += self.result_bytes(op) - sum(map(self.size, dying))
            live -= sum(self.size(r) for r in op.results if r not in left)
        return peak

    def _handed_over(self, op: Operation, dying: Sequence[SSAValue]) -> int:
        """The bytes of results written over dying operands."""
        if not isinstance(op, LoopOp) or set(op.output_combiners) != {"none"}:
            return 0
        inputs = [self.root(v) for v in op.inputs]
        places = {v: inputs.index(v) for v in dying if inputs.count(v) == 1}
        total = 0
        for result, access in zip(op.results, op.output_accesses, strict=True):
            size = self.size(result)
            fitting = (v for v, k in places.items() if self.size(v) == size and size
                       and _may_overwrite(op, k, access))  # fmt: skip
            if (value := next(fitting, None)) is not None:
                del places[value]
                total += size
        return total


def _may_overwrite(op: LoopOp, read: int, access: Access) -> bool:
    """Whether a result with this access may be written over a dying input."""
    if isinstance(op, ContractOp) and read < op.HIDDEN_INPUTS:
        return may_overwrite(op, read, access)
    return op.input_accesses[read] == access and op.input_pads[read] is None


def bytes_of(value: SSAValue) -> int:
    """The bytes of a tensor of static shape, or of row slices; 0 for others."""
    return bytes_of_type(value.type)


@kept_fact
def bytes_of_type(type_: Attribute) -> int:
    """The bytes of a tensor type of static shape, or of both tensors of row slices; 0 for other
    types. Of sizes that are values, those of this call: what is decided by them changes no bit."""
    if is_slices(type_):
        return bytes_of_type(type_.indices) + bytes_of_type(type_.values)
    if not is_tensor(type_) or not is_static(type_):
        return 0
    return int_of(byte_size(element_of(type_)) * prod(shape_of(type_)))


def held_bytes(value: SSAValue) -> int:
    """The bytes of a value during its life; a tape's are its capacity's, 0 for a growing or new
    one."""
    return 0 if isinstance(value.owner, TapeNewOp) else held_bytes_of_type(value.type)


def held_bytes_of_type(type_: Attribute) -> int:
    """As `held_bytes`, for a value of a type."""
    if isinstance(type_, TapeType):
        return record_bytes(type_) * (type_.records or 0)
    return bytes_of_type(type_)
