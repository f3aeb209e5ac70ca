"""comm: collectives, which all ranks of a group call in one order, each with its part.

The sum of all ranks' losses is differentiated: a rank's cotangent says how that sum changes
with this rank's value. So the derivative of a sum over the ranks is the sum of their cotangents.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, ClassVar

from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.array.comparison import AstypeOp
from gradir.dialects.array.dynamic_slices import DynamicSliceOp, DynamicUpdateSliceOp
from gradir.dialects.array.movement import ReshapeOp
from gradir.dialects.array.reductions import MaxOp, MinOp, SumOp, narrowed, widened
from gradir.dialects.array.rows import empty_rows
from gradir.dialects.array.slicing import ConcatOp, SliceOp
from gradir.dialects.base import extrema
from gradir.dialects.base.attributes import Attributes, Types, flag, text
from gradir.dialects.base.batch import Batch
from gradir.dialects.base.interfaces import Cotangents
from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.shapes import DYNAMIC, AnyTensor, element_of, shape_of, tensor
from gradir.dialects.base.value import Emitter, Value
from gradir.dialects.building.gate import gated, zero_or_nan
from gradir.dialects.building.kinds import require_elements
from gradir.dialects.comm.comm_op import CommOp, axis_of, moved, rank_of, ranks_of
from gradir.dialects.comm.messages import RankOp
from gradir.dialects.comm.worlds import current

KINDS = ("sum", "mean", "max", "min")


@irdl_op_definition
class AllReduceOp(CommOp):
    """The sum over all ranks of x, element by element, on all; or by `kind` the mean, max, min.

    f16 and bf16 are summed in f32. Sums are in the order of the MPI library; with `ordered`
    neighbours are added, and then their sums: 4 ranks give (x0 + x1) + (x2 + x3). So a
    rank that adds the values of neighbours beforehand changes no bit. That gathers all ranks'
    values. max: 0 above -0, nan where one is nan; min likewise.

    vjp: sum: the sum over all ranks of ct; mean: its mean; max, min: that sum to the ranks that
    hold the extremum, split evenly at ties; nan to nan
    """

    name = "comm.all_reduce"
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("kind", *CommOp.ATTRIBUTES, "ordered")
    DIFFERS_BY_RANK: ClassVar[bool] = False
    DOMAIN: ClassVar[str] = "number"

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        found = super().infer_types(operands, attributes)
        flag(attributes, "ordered", False)
        kind = text(attributes, "kind", "sum", KINDS)
        if kind != "sum":
            is_mean = kind == "mean"
            require_elements(operands[0], "float" if is_mean else cls.DOMAIN, or_complex=is_mean)
        return found

    @property
    def kind(self) -> str:
        return text(self.attributes, "kind", "sum", KINDS)

    @property
    def is_ordered(self) -> bool:
        return flag(self.attributes, "ordered", False)

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        if self.kind in ("sum", "mean"):
            return [self._sum(ct, self.kind)]
        tied = x.equal(y)
        wide = widened(ct)
        holders = self._sum(AstypeOp.on(tied, type=wide.type))
        share = narrowed(self._sum(wide) / holders, ct.type)
        return [gated(share, tied, zero_or_nan(x))]

    def _sum(self, x: Value, kind: str = "sum") -> Value:
        attributes = {"kind": None if kind == "sum" else kind, "ordered": self.is_ordered or None}
        return self.again(AllReduceOp, x, **attributes)

    def of_rows(self, batch: Batch, emitter: Emitter) -> Sequence[Value]:
        [x], [has_rows] = batch.operands, batch.has_rows
        if self.kind in ("max", "min"):
            extremum = MaxOp if self.kind == "max" else MinOp
            return [extremum.on(x, axis=[0]) if has_rows else x]
        if self.kind == "sum":
            return [sum_of_rows(batch)]
        mean = SumOp.on(widened(x), axis=[0]) / self.ranks if has_rows else x
        return [narrowed(mean, self.y.type)]

    def numpy(self, x: Any) -> Any:
        parts = self.collected(x)
        if self.kind == "max":
            return extrema.largest(np.stack(parts), [0], False)
        if self.kind == "min":
            return extrema.smallest(np.stack(parts), [0], False)
        total = sum_of_neighbours(parts)
        return total / np.asarray(self.ranks, total.dtype) if self.kind == "mean" else total

    def decompose(self, x: Value) -> Value:
        if self.kind in ("max", "min"):
            extremum = MaxOp if self.kind == "max" else MinOp
            return extremum.on(self._gathered(x), axis=[0])
        wide = widened(x)
        if self.is_ordered and self.ranks > 1:
            parts = self._gathered(x)
            total = sum_of_neighbours([self._part(parts, k, wide) for k in range(self.ranks)])
        else:
            total = self.run(wide, "all_reduce", wide.type)
        return narrowed(total / self.ranks if self.kind == "mean" else total, x.type)

    def _gathered(self, x: Value) -> Value:
        return self.run(x, "all_gather", tensor([self.ranks, *x.shape], x.element))

    def _part(self, parts: Value, k: int, like: Value) -> Value:
        rest = parts.shape[1:]
        part = SliceOp.on(parts, start=[k, *(0 for _ in rest)], stop=[k + 1, *rest])
        return widened(ReshapeOp.on(part, type=tensor(rest, parts.element)))


def sum_of_rows(batch: Batch) -> Value:
    """The sum of the rows of the operand, which are alike if it has none."""
    [x], [has_rows] = batch.operands, batch.has_rows
    wide = widened(x)
    return narrowed(
        SumOp.on(wide, axis=[0]) if has_rows else wide * batch.size, batch.op.operands[0].type
    )


def sum_of_neighbours(parts: Sequence[Any]) -> Any:
    """The sum of values, by sums of neighbours, then sums of neighbouring sums."""
    while len(parts) > 1:
        parts = [reduce(lambda a, b: a + b, parts[k : k + 2]) for k in range(0, len(parts), 2)]
    return parts[0]


class _RootedOp(CommOp):
    """The base of collectives with a special rank, `root`."""

    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("root", *CommOp.ATTRIBUTES)

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        rank_of(attributes, "root")
        return super().infer_types(operands, attributes)

    @property
    def root(self) -> int:
        return rank_of(self.attributes, "root")


@irdl_op_definition
class ReduceOp(_RootedOp):
    """The sum over all ranks of x on the rank `root`, 0 on the others; f16 and bf16 in f32.

    vjp: ct of the root, on every rank
    """

    name = "comm.reduce"
    DOMAIN: ClassVar[str] = "number"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [self.again(BroadcastOp, ct, root=self.root)]

    def of_rows(self, batch: Batch, emitter: Emitter) -> Sequence[Value]:
        total = sum_of_rows(batch)

        def rows(count: int) -> AnyTensor:
            return tensor([count, *total.shape], total.element)

        others = [empty_rows(rows(n), emitter) for n in (self.root, self.ranks - self.root - 1)]
        parts = [others[0], ReshapeOp.on(total, type=rows(1)), others[1]]
        return [ConcatOp.on(*parts, axis=0)]

    def numpy(self, x: Any) -> Any:
        total = sum_of_neighbours(self.collected(x))
        return total if current().rank(self.group) == self.root else np.zeros_like(x)

    def decompose(self, x: Value) -> Value:
        wide = widened(x)
        return narrowed(self.run(wide, "reduce", wide.type, self.root), x.type)


@irdl_op_definition
class BroadcastOp(_RootedOp):
    """x of the rank `root`, on every rank; x of the others is not read.

    vjp: the sum over all ranks of ct on the root, 0 on the others
    """

    name = "comm.broadcast"
    DIFFERS_BY_RANK: ClassVar[bool] = False

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [self.again(ReduceOp, ct, root=self.root)]

    def of_rows(self, batch: Batch, emitter: Emitter) -> Sequence[Value]:
        [x], [has_rows] = batch.operands, batch.has_rows
        if not has_rows:
            return [x]
        rest = x.shape[1:]
        start, stop = [self.root, *(0 for _ in rest)], [self.root + 1, *rest]
        return [ReshapeOp.on(SliceOp.on(x, start=start, stop=stop), type=self.y.type)]

    def numpy(self, x: Any) -> Any:
        return self.collected(x)[self.root]

    def decompose(self, x: Value) -> Value:
        return self.run(x, "broadcast", x.type, self.root)


@irdl_op_definition
class AllGatherOp(CommOp):
    """x of all ranks, one behind the other along `axis`, on every rank.

    vjp: reduce_scatter of ct along `axis`
    """

    name = "comm.all_gather"
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("axis", *CommOp.ATTRIBUTES)
    SAME_TYPE: ClassVar[bool] = False
    DIFFERS_BY_RANK: ClassVar[bool] = False

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        require_elements(operands[0], cls.DOMAIN, cls.COMPLEX)
        shape, axis = list(shape_of(operands[0])), axis_of(attributes, operands[0])
        shape[axis] = DYNAMIC if shape[axis] == DYNAMIC else shape[axis] * ranks_of(attributes)
        return [tensor(shape, element_of(operands[0]))]

    @property
    def axis(self) -> int:
        return axis_of(self.attributes, self.x.type)

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [self.again(ReduceScatterOp, ct, axis=self.axis)]

    def vmap(self, batch: Batch) -> Sequence[Value]:
        return batch.same_op(batch.operands, axis=self.axis + 1)

    def of_rows(self, batch: Batch, emitter: Emitter) -> Sequence[Value]:
        return [ReshapeOp.on(moved(batch.with_rows(0), 0, self.axis), type=self.y.type)]

    def numpy(self, x: Any) -> Any:
        return np.concatenate(self.collected(x), axis=self.axis)

    def decompose(self, x: Value) -> Value:
        parts = self.run(x, "all_gather", tensor([self.ranks, *x.shape], x.element))
        return ReshapeOp.on(moved(parts, 0, self.axis), type=self.y.type)


class _PartOp(CommOp):
    """The base of ops that give each rank its part of equal parts along `axis`."""

    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("axis", *CommOp.ATTRIBUTES)
    SAME_TYPE: ClassVar[bool] = False

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        require_elements(operands[0], cls.DOMAIN, cls.COMPLEX)
        shape, axis = list(shape_of(operands[0])), axis_of(attributes, operands[0])
        ranks = ranks_of(attributes)
        if shape[axis] == DYNAMIC:
            return [tensor(shape, element_of(operands[0]))]
        shape[axis], rest = divmod(shape[axis], ranks)
        if rest:
            raise VerifyException(
                f"axis {axis} must be in equal parts for {ranks} ranks, got {operands[0]}"
            )
        return [tensor(shape, element_of(operands[0]))]

    @property
    def axis(self) -> int:
        return axis_of(self.attributes, self.x.type)

    def vmap(self, batch: Batch) -> Sequence[Value]:
        return batch.same_op(batch.operands, axis=self.axis + 1)


@irdl_op_definition
class PartOp(_PartOp):
    """This rank's part of x, of equal parts along `axis`; nothing is communicated.

    Where x is alike on all ranks all_gather of the parts is x.

    vjp: ct in its place, and 0 in the other parts
    """

    name = "comm.part"
    traits = traits_def(Pure())

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [DynamicUpdateSliceOp.on(x.full(0), ct, *self._starts(ct))]

    def numpy(self, x: Any) -> Any:
        world = current()
        self.located(lambda: self.check_ranks(world))
        rank: int = self.located(lambda: world.rank(self.group))
        parts: list[Any] = np.split(x, self.ranks, axis=self.axis)
        return parts[rank]

    def decompose(self, x: Value) -> Value:
        return DynamicSliceOp.on(x, *self._starts(x), sizes=shape_of(self.y.type))

    def _starts(self, near: Value) -> list[Value]:
        """Where this rank's part begins."""
        emitter, group = near.emitter, self.attributes.get("group")
        rank = emitter.value(emitter.insert(RankOp.of([], group=group, ranks=self.ranks)).y)
        begin = rank * shape_of(self.y.type)[self.axis]
        return [begin if d == self.axis else rank.full(0) for d in range(len(near.shape))]


@irdl_op_definition
class ReduceScatterOp(_PartOp):
    """The sum over all ranks of x; each rank gets its part of equal parts along `axis`.

    f16 and bf16 are summed in f32.   vjp: all_gather of ct along `axis`
    """

    name = "comm.reduce_scatter"
    DOMAIN: ClassVar[str] = "number"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [self.again(AllGatherOp, ct, axis=self.axis)]

    def of_rows(self, batch: Batch, emitter: Emitter) -> Sequence[Value]:
        return [self._parts(sum_of_rows(batch), shape_of(self.y.type))]

    def numpy(self, x: Any) -> Any:
        total = sum_of_neighbours(self.collected(x))
        return np.split(total, self.ranks, axis=self.axis)[current().rank(self.group)]

    def decompose(self, x: Value) -> Value:
        part, wide = shape_of(self.y.type), widened(x)
        rows = self._parts(wide, part)
        found = self.run(rows, "reduce_scatter", tensor(part, wide.element))
        return narrowed(found, self.y.type)

    def _parts(self, x: Value, part: Sequence[int]) -> Value:
        """The parts of all ranks along a new axis in front."""
        axis = self.axis
        split = [*x.shape[:axis], self.ranks, part[axis], *x.shape[axis + 1 :]]
        return moved(ReshapeOp.on(x, type=tensor(split, x.element)), axis, 0)


OPS: tuple[type[CommOp], ...] = (
    AllReduceOp,
    ReduceOp,
    BroadcastOp,
    AllGatherOp,
    PartOp,
    ReduceScatterOp,
)
