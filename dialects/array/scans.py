"""Scans: ops whose elements along one axis are computed one from another, and their lowering.

A scan carries a total along the axis. Rows (the last axis) are run eight at a time, so that their
additions overlap; along other axes the elements behind the axis are lanes of vectors. The order is
the definition's, one element after the other.

`grad.linear_recurrence` and `grad.shift` close the derivatives of cumulative products.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Sequence
from itertools import pairwise
from math import prod
from typing import Any, ClassVar

from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.array.movement import MovementOp
from gradir.dialects.array.slicing import pad_value
from gradir.dialects.array.supports import padded_support
from gradir.dialects.base.access import Access, dim_row
from gradir.dialects.base.attributes import Attributes, Types, flag, integer
from gradir.dialects.base.batch import Batch
from gradir.dialects.base.interfaces import Cotangents, TensorOp
from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.shapes import element_of, is_float, normalize_axis, shape_of, tensor
from gradir.dialects.base.support import Mask, Supports
from gradir.dialects.base.value import Emitter, Scalar, Value
from gradir.dialects.building import body as b
from gradir.dialects.building.kinds import require_elements, require_equal_types
from gradir.dialects.building.nests import view
from gradir.dialects.building.programs import ElementView, ScalarProgram, block_of, forall
from gradir.dialects.loopnest.loopnest import ReshapeOp as LoopnestReshapeOp

# Rows at a time: an addition takes four cycles or more, and two can start per cycle.
ROWS = 8
# Elements behind the axis per iteration: two accesses of them stay in the first-level cache.
COLUMNS = 256


class ScanOp(TensorOp, ABC):
    """Results like the first operand, each element from a total carried along `axis`.

    The axis may be left out where the rank is 1. `reverse` starts from the end.
    """

    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("axis", "reverse")
    DOMAIN: ClassVar[str] = "number"
    traits = traits_def(Pure())

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        require_equal_types(operands)
        require_elements(operands[0], cls.DOMAIN, cls.COMPLEX)
        scanned_axis(attributes, len(shape_of(operands[0])))
        for name in cls.ATTRIBUTES[1:]:
            flag(attributes, name, False)
        return [operands[0]]

    def reached(self, place: int, masks: Sequence[Value | None]) -> Value | None:
        from gradir.dialects.array.lines import lines_reached

        [mask] = masks
        return None if mask is None else lines_reached(mask, [self.axis], mask.shape)

    @property
    def axis(self) -> int:
        return scanned_axis(self.attributes, len(shape_of(self.operands[0].type)))

    @property
    def reverse(self) -> bool:
        return flag(self.attributes, "reverse", False)

    def start(self) -> float:
        """The total before the first element."""
        raise NotImplementedError(self.name)

    def step(self, here: ScanPosition, total: Scalar) -> tuple[Scalar, Scalar]:
        """The total after an element, and the element of the result."""
        raise NotImplementedError(self.name)

    def vmap(self, batch: Batch) -> Sequence[Value]:
        return batch.in_front(axis=self.axis - batch.operand_rank(0))

    def lower(self, emitter: Emitter, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        type_ = self.results[0].type
        shape, axis = shape_of(type_), self.axis
        cut = [prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :])]
        flat = tensor(cut, element_of(type_))
        inputs = [emitter.insert(LoopnestReshapeOp(v, flat)).result for v in operands]
        scan = _Scan(self, cut)
        if cut[2] == 1:
            rows = min(ROWS, max(cut[0], 1))
            [made] = forall(emitter, [-(-cut[0] // rows)], inputs, [flat], scan.rows)
        else:
            blocks = -(-cut[2] // COLUMNS)
            totals = tensor([cut[0], cut[2]], b.compute_type(element_of(type_)))
            made, _ = forall(emitter, [cut[0], blocks], inputs, [flat, totals], scan.columns)
        return [emitter.insert(LoopnestReshapeOp(made, type_)).result]


def scanned_axis(attributes: Attributes, rank: int) -> int:
    """The axis; VerifyException where there is none, or a choice."""
    if "axis" not in attributes and rank != 1:
        raise VerifyException(f"axis must be given for an operand of rank {rank}")
    return normalize_axis(integer(attributes, "axis", 0), rank)


class ScanPosition:
    """The current step of a scan: the operands' elements here and one step before."""

    def __init__(self, load: Callable[[int, Scalar], Scalar], at: Scalar, prior: Scalar):
        self._load, self._at, self._prior = load, at, prior

    def element(self, operand: int) -> Scalar:
        return self._load(operand, self._at)

    def element_before(self, operand: int) -> Scalar:
        """The element one step before; of the first element, itself."""
        return self._load(operand, self._prior)

    def unless_first(self, value: Scalar, first: Scalar) -> Scalar:
        """`value`, but `first` at the first element."""
        return b.select(b.equal(self._at, self._prior), first, value)


class _Scan:
    """The program of a scan over shapes (outer, extent, inner)."""

    def __init__(self, op: ScanOp, cut: Sequence[int]):
        self.op = op
        self.outer, self.extent, self.inner = cut

    def positions(self, p: ScalarProgram, k: Scalar) -> tuple[Scalar, Scalar]:
        """The places along the axis of step k and of the step before."""
        before = b.maximum(k - 1, p.integer(0))
        if not self.op.reverse:
            return k, before
        last = self.extent - 1
        return last - k, last - before

    def rows(self, p: ScalarProgram, *values: ElementView) -> None:
        *inputs, out = values
        count = min(ROWS, max(self.outer, 1))
        first = p.index(0) * count
        numbers = [first + k for k in range(count)]
        if self.outer % count:
            # the last iteration repeats its last row
            numbers = [b.minimum(n, p.integer(self.outer - 1)) for n in numbers]

        def step(k: Scalar, *totals: Scalar) -> list[Scalar]:
            at, before = self.positions(p, k)
            made = [
                self.op.step(self.place(inputs, (row,), (p.integer(0),), at, before), total)
                for row, total in zip(numbers, totals, strict=True)
            ]
            for row, (_, result) in zip(numbers, made, strict=True):
                out[row, at, 0] = result
            return [total for total, _ in made]

        p.for_loop(0, self.extent, step, [p.number(self.op.start(), out.compute)] * count)

    def columns(self, p: ScalarProgram, *values: ElementView) -> None:
        *inputs, out, totals = values
        row, span = p.index(0), block_of(p, p.index(1), self.inner, COLUMNS)

        def begin(j: Scalar) -> None:
            totals[row, j] = p.number(self.op.start(), out.compute)

        def step(k: Scalar) -> None:
            at, before = self.positions(p, k)

            def column(j: Scalar) -> None:
                here = self.place(inputs, (row,), (j,), at, before)
                totals[row, j], out[row, at, j] = self.op.step(here, totals[row, j])

            p.lanes(*span, column)

        p.lanes(*span, begin)
        p.for_loop(0, self.extent, step)

    def place(
        self,
        inputs: Sequence[ElementView],
        outer: tuple[Scalar],
        inner: tuple[Scalar],
        at: Scalar,
        before: Scalar,
    ) -> ScanPosition:
        def load(operand: int, place: Scalar) -> Scalar:
            return inputs[operand][*outer, place, *inner]

        return ScanPosition(load, at, before)


@irdl_op_definition
class LinearRecurrenceOp(ScanOp):
    """y[i] = u[i] + a[i] * y[i-1] along `axis`, y[-1] = 0; {lagged} with a[i-1] in place of a[i].

    The first element is u's.
    vjp: for u, L, the recurrence on ct in the other direction, lagged if this one is not; for a
    L[i] * y[i-1], lagged L[i+1] * y[i]
    """

    name = "grad.linear_recurrence"
    SAME_TYPE: ClassVar[bool] = True
    DOMAIN: ClassVar[str] = "float"
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("axis", "reverse", "lagged")

    a = operand_def()
    u = operand_def()
    y = result_def()

    @property
    def lagged(self) -> bool:
        return flag(self.attributes, "lagged", False)

    def start(self) -> float:
        return 0.0

    def step(self, here: ScanPosition, total: Scalar) -> tuple[Scalar, Scalar]:
        factor = here.element_before(0) if self.lagged else here.element(0)
        added = here.element(1)
        # the factor before the first element must not count, even if it is infinite
        total = here.unless_first(added + factor * total, added)
        return total, total

    def vjp(self, ct: Value, y: Value, a: Value, u: Value) -> Cotangents:
        axis, reverse = self.axis, self.reverse
        back = LinearRecurrenceOp.on(a, ct, axis=axis, reverse=not reverse, lagged=not self.lagged)
        by = -1 if reverse else 1
        if self.lagged:
            return [ShiftOp.on(back, axis=axis, by=-by) * y, back]
        return [back * ShiftOp.on(y, axis=axis, by=by), back]

    def numpy(self, a: Any, u: Any) -> Any:
        axis = self.axis
        factors, added = (np.moveaxis(v, axis, 0) for v in (a, u))
        result = np.array(added)
        places = range(len(added))[:: -1 if self.reverse else 1]
        for before, at in pairwise(places):
            factor = factors[before if self.lagged else at]
            result[at] = added[at] + factor * result[before]
        return np.moveaxis(result, 0, axis)


@irdl_op_definition
class ShiftOp(MovementOp):
    """x moved `by` places along `axis`, to higher indices where positive; zeros move in.

    vjp: ct moved back
    """

    name = "grad.shift"
    COMPLEX: ClassVar[bool] = True
    SAME_TYPE: ClassVar[bool] = True
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("axis", "by")

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        scanned_axis(attributes, len(shape_of(operands[0])))
        integer(attributes, "by")
        return [operands[0]]

    @property
    def axis(self) -> int:
        return scanned_axis(self.attributes, len(shape_of(self.x.type)))

    @property
    def by(self) -> int:
        return integer(self.attributes, "by")

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [ShiftOp.on(ct, axis=self.axis, by=-self.by)]

    def support(self, of: Supports) -> Mask | None:
        return padded_support(self, of)

    def access(self) -> Access:
        rank = len(shape_of(self.x.type))
        shifts = (-self.by if d == self.axis else 0 for d in range(rank))
        return Access(rank, tuple(dim_row(rank, d, 1, s) for d, s in enumerate(shifts)))

    def vmap(self, batch: Batch) -> Sequence[Value]:
        return batch.in_front(axis=self.axis - batch.operand_rank(0))

    def lower(self, emitter: Emitter, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        pad = pad_value(0.0, element_of(self.y.type))
        return view(emitter, self.y.type, operands[0], self.access(), pad)

    def numpy(self, x: Any) -> Any:
        extent = x.shape[self.axis]
        source = np.moveaxis(x, self.axis, 0)
        result = np.zeros_like(source)
        moved = min(abs(self.by), extent)
        if self.by > 0:
            result[moved:] = source[: extent - moved]
        else:
            result[: extent - moved] = source[moved:]
        return np.moveaxis(result, 0, self.axis)


def start_of_sum(element: Attribute, exclusive: bool) -> float:
    """The start that keeps the first element's bits: -0.0; an empty sum is 0.0."""
    return -0.0 if is_float(element) and not exclusive else 0.0


OPS: tuple[type[TensorOp], ...] = (LinearRecurrenceOp, ShiftOp)
