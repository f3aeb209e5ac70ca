"""Building scalar programs from Python functions, for the `lower` of an op with loops of its own.

    def running_sum(p: ScalarProgram, x: ElementView, out: ElementView) -> None:
        row = p.index(0)

        def step(column: Scalar, total: Scalar) -> Scalar:
            total = total + x[row, column]
            out[row, column] = total
            return total

        p.for_loop(0, 5, step, [p.number(0, x.compute)])

    return forall(emitter, [4], [x], [type_], running_sum)

A function that writes a region is called once, with the region's arguments, and returns the yielded
values of the region: a scalar, several, or nothing. Inside, `dialects.body` and operators emit as
in bodies of nests. Elements are in compute types: f32 for f16 and bf16, which are rounded when
stored. Carried values are unsigned where their first ones are.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

from xdsl.dialects import scf
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from gradir.dialects.base.shapes import element_of, shape_of
from gradir.dialects.base.value import Emitter, Scalar
from gradir.dialects.building import body as b
from gradir.dialects.building.control_flow import make_while
from gradir.dialects.loopnest.body_ops import IndexOp, LanesOp, LoadOp, StoreOp, memory_type
from gradir.dialects.loopnest.body_ops import YieldOp as LoopnestYieldOp
from gradir.dialects.loopnest.forall import ForallOp

Index = Scalar | int
Scalars = Scalar | Sequence[Scalar] | None


class ScalarProgram:
    """Writes the body of a program: constants, indices, control flow; at the current block."""

    def __init__(self, block: Block, emitter: Emitter):
        # all scalars share the emitter, which appends to the block being written
        self.emitter = Emitter(block, emitter.location)

    def emit(self, op: Operation) -> list[Scalar]:
        """Append an op; gives its results."""
        return [Scalar(r, self.emitter) for r in self.emitter.insert(op).results]

    def integer(self, number: Index) -> Scalar:
        """A Python number, or a scalar as it is, as i64."""
        if isinstance(number, Scalar):
            return number
        return self.emit(ConstantOp(IntegerAttr(number, i64)))[0]

    def number(self, number: float, type_: Attribute) -> Scalar:
        """A constant of a scalar type."""
        return b.literal(self.integer(0), number, type_)

    def index(self, dim: int) -> Scalar:
        """The current value of an outer dimension."""
        return self.emit(IndexOp(dim))[0]

    # Control flow.

    def for_loop(
        self,
        lower: Index,
        upper: Index,
        body: Callable[..., Scalars],
        carried: Sequence[Scalar] = (),
        step: Index = 1,
    ) -> list[Scalar]:
        """`body(i, *carried)` returns the next carried values; the last ones are the results."""
        first, last, stride = (self.integer(v).ssa for v in (lower, upper, step))
        block = Block(arg_types=[i64, *(c.ssa.type for c in carried)])
        self._fill(block, lambda values: scf.YieldOp(*values), body, [Scalar, *map(type, carried)])
        op = scf.ForOp(first, last, stride, [c.ssa for c in carried], Region(block))
        return _like(carried, self.emit(op))

    def lanes(self, lower: Index, upper: Index, body: Callable[[Scalar], None]) -> None:
        """`body(i)` for independent iterations, several at a time in a vector."""
        first, last = self.integer(lower).ssa, self.integer(upper).ssa
        block = Block(arg_types=[i64])
        self._fill(block, lambda values: LoopnestYieldOp(), body)
        self.emit(LanesOp(first, last, block))

    def if_(
        self,
        condition: Scalar,
        then: Callable[[], Scalars],
        otherwise: Callable[[], Scalars] | None = None,
    ) -> list[Scalar]:
        """The results of the taken branch's function."""
        first, second = Block(), Block()
        found = self._fill(first, lambda values: scf.YieldOp(*values), then)
        other = Region()
        if otherwise is not None:
            self._fill(second, lambda values: scf.YieldOp(*values), otherwise)
            other = Region(second)
        types = [x.ssa.type for x in found]
        return _like(found, self.emit(scf.IfOp(condition.ssa, types, Region(first), other)))

    def while_(
        self,
        carried: Sequence[Scalar],
        condition: Callable[..., Scalar],
        body: Callable[..., Scalars],
    ) -> list[Scalar]:
        """While `condition(*carried)` is true, `body(*carried)` returns the next carried values."""
        types = [c.ssa.type for c in carried]
        before, after = Block(arg_types=types), Block(arg_types=types)
        kinds = list(map(type, carried))

        def decide(values: list[SSAValue]) -> Operation:
            return scf.ConditionOp(values[0], *before.args)

        self._fill(before, decide, condition, kinds)
        self._fill(after, lambda values: scf.YieldOp(*values), body, kinds)
        return _like(carried, self.emit(make_while([c.ssa for c in carried], before, after)))

    def _fill(
        self,
        block: Block,
        end: Callable[[list[SSAValue]], Operation],
        body: Callable[..., Scalars],
        kinds: Sequence[type[Scalar]] = (Scalar,),
    ) -> list[Scalar]:
        """Write a region's block, with arguments of these kinds; returns the yielded scalars."""
        with self._inside(block):
            arguments = zip(kinds, block.args, strict=False)
            found = body(*(kind(a, self.emitter) for kind, a in arguments))
            scalars = [found] if isinstance(found, Scalar) else list(found or ())
            self.emitter.insert(end([s.ssa for s in scalars]))
        return scalars

    @contextmanager
    def _inside(self, block: Block) -> Generator[None]:
        outer, self.emitter.block = self.emitter.block, block
        yield
        self.emitter.block = outer


def _like(kinds: Sequence[Scalar], values: Sequence[Scalar]) -> list[Scalar]:
    """Values, each unsigned where the scalar that it came from is."""
    return [type(k)(v.ssa, v.emitter) for k, v in zip(kinds, values, strict=True)]


class ElementView:
    """An input or a result of a program by its elements: `x[i, j]`, and `out[i, j] = value`."""

    def __init__(self, ssa: SSAValue, program: ScalarProgram):
        self.ssa = ssa
        self.program = program
        self.element = element_of(ssa.type)
        self.shape = shape_of(ssa.type)

    @property
    def compute(self) -> Attribute:
        """The type of elements in the program."""
        return b.compute_type(self.element)

    def __getitem__(self, at: Index | Sequence[Index]) -> Scalar:
        loaded = self.program.emit(LoadOp(self.ssa, self._places(at)))[0]
        return b.to_compute(loaded, self.element)

    def __setitem__(self, at: Index | Sequence[Index], value: Scalar) -> None:
        stored = b.from_compute(value, self.element)
        self.program.emit(StoreOp(stored.ssa, self.ssa, self._places(at)))

    def _places(self, at: Index | Sequence[Index]) -> list[SSAValue]:
        indices = [at] if isinstance(at, Scalar | int) else at
        return [self.program.integer(i).ssa for i in indices]


def block_of(p: ScalarProgram, number: Scalar, extent: int, size: int) -> tuple[Index, Index]:
    """The bounds of block `number` of `size` elements; plain numbers for the only block."""
    if extent <= size:
        return 0, extent
    low = number * size
    high = low + size
    return low, b.minimum(high, p.integer(extent)) if extent % size else high


def forall(
    emitter: Emitter,
    bounds: Sequence[int],
    inputs: Sequence[SSAValue],
    types: Sequence[Attribute],
    body: Callable[..., None],
) -> list[SSAValue]:
    """Emit a `loopnest.forall`; `body(program, *inputs, *results)` writes one outer iteration."""
    block = Block(arg_types=[*(v.type for v in inputs), *map(memory_type, types)])
    program = ScalarProgram(block, emitter)
    body(program, *(ElementView(a, program) for a in block.args))
    program.emit(LoopnestYieldOp())
    return list(emitter.insert(ForallOp(bounds, inputs, types, block)).results)


__all__ = ["ElementView", "Index", "ScalarProgram", "Scalars", "block_of", "forall"]
