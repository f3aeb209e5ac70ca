"""array: sorting along an axis. All sorts are stable: equal elements keep their order.

NaN is larger than every number. So it comes last in ascending order, as in NumPy, and first in
descending order. Zeros are equal, but where no indices tell which one is which, -0 is below 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, ClassVar

from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.array.sort_rows import RowSort
from gradir.dialects.base import extrema
from gradir.dialects.base.access import Access, dim_row
from gradir.dialects.base.attributes import Attributes, Types, flag, integer
from gradir.dialects.base.batch import Batch
from gradir.dialects.base.interfaces import Cotangents, TensorOp
from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.shapes import DYNAMIC, element_of, normalize_axis, shape_of, tensor
from gradir.dialects.base.value import Emitter, Value
from gradir.dialects.building.kinds import require_elements
from gradir.dialects.building.nests import view
from gradir.dialects.loopnest.loopnest import ReshapeOp as LoopnestReshapeOp


class _SortOp(TensorOp):
    """Sorts lines of x along `axis` (the last where absent)."""

    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("axis", "descending")
    DOMAIN: ClassVar[str] = "number"

    x = operand_def()
    y = result_def()
    traits = traits_def(Pure())

    @property
    def axis(self) -> int:
        return sorted_axis(self.operands[0].type, self.attributes)

    @property
    def descending(self) -> bool:
        return flag(self.attributes, "descending", False)

    def sorted_lines(
        self, emitter: Emitter, x: SSAValue, count: int, values: bool, indices: bool
    ) -> list[SSAValue]:
        """The first `count` values of each line in order, and their indices, as wanted."""
        shape, axis = shape_of(x.type), self.axis
        *_, extent = to_last = [n for d, n in enumerate(shape) if d != axis] + [shape[axis]]
        moved = _moved(emitter, x, axis, len(shape) - 1)
        flat = tensor([prod(to_last[:-1]), extent], element_of(x.type))
        rows = emitter.insert(LoopnestReshapeOp(moved, flat)).result
        found = RowSort(flat, self.descending, count, values, indices).lower(emitter, rows)
        lines: list[SSAValue] = []
        for one in found:
            type_ = tensor([*to_last[:-1], count], element_of(one.type))
            back = emitter.insert(LoopnestReshapeOp(one, type_)).result
            lines.append(_moved(emitter, back, len(shape) - 1, axis))
        return lines

    def vmap(self, batch: Batch) -> Sequence[Value]:
        return batch.in_front(axis=self.axis - batch.operand_rank(0))


def sorted_axis(x: Attribute, attributes: Attributes) -> int:
    return normalize_axis(integer(attributes, "axis", -1), len(shape_of(x)))


def _moved(emitter: Emitter, x: SSAValue, source: int, target: int) -> SSAValue:
    """x with one axis moved to another place."""
    if source == target:
        return x
    shape = list(shape_of(x.type))
    dims = list(range(len(shape)))
    shape.insert(target, shape.pop(source))
    dims.insert(source, dims.pop(target))
    access = Access(len(dims), tuple(dim_row(len(dims), d) for d in dims))
    return view(emitter, tensor(shape, element_of(x.type)), x, access)[0]


@irdl_op_definition
class SortOp(_SortOp):
    """The elements along `axis` (-1) in ascending order, or {descending}; NaN is the largest.

    -0 comes before 0 (after it where descending), though array.argsort takes them for equal.

    vjp: ct at the elements' places in x, by argsort
    """

    name = "array.sort"
    SAME_TYPE: ClassVar[bool] = True

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        require_elements(operands[0], cls.DOMAIN)
        sorted_axis(operands[0], attributes)
        flag(attributes, "descending", False)
        return [operands[0]]

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        from gradir.dialects.grad.grad import TakeAlongAxisBackwardOp

        order = ArgsortOp.on(x, axis=self.axis, descending=self.descending)
        return [TakeAlongAxisBackwardOp.on(ct, order, type=x.type, axis=self.axis)]

    def lower(self, emitter: Emitter, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        count = shape_of(operands[0].type)[self.axis]
        return self.sorted_lines(emitter, operands[0], count, values=True, indices=False)

    def numpy(self, x: Any) -> Any:
        line = extrema.ascending(x, self.axis)
        return np.flip(line, self.axis) if self.descending else line


@irdl_op_definition
class ArgsortOp(_SortOp):
    """The indices (i64) that sort x along `axis` (-1), ascending or {descending}; inactive."""

    name = "array.argsort"
    INACTIVE: ClassVar[bool] = True

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        [x] = SortOp.infer_types(operands, attributes)
        return [tensor(shape_of(x), i64)]

    def lower(self, emitter: Emitter, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        count = shape_of(operands[0].type)[self.axis]
        return self.sorted_lines(emitter, operands[0], count, values=False, indices=True)

    def numpy(self, x: Any) -> Any:
        return ordering(x, self.axis, self.descending)


@irdl_op_definition
class TopKOp(_SortOp):
    """The `k` largest elements along `axis` (-1), in descending order, and their indices (i64).

    With {largest = false} the smallest, in ascending order. Of equal elements the first ones are
    taken.
    vjp: ct of the values at their places in x
    """

    name = "array.top_k"
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("k", "axis", "largest")

    x = operand_def()
    y = result_def()
    indices = result_def()

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        x = operands[0]
        require_elements(x, cls.DOMAIN)
        axis, k = sorted_axis(x, attributes), integer(attributes, "k")
        flag(attributes, "largest", True)
        extent = shape_of(x)[axis]
        if k < 0 or (k > extent and extent != DYNAMIC):
            raise VerifyException(f"k must be in [0, {extent}], got {k}")
        shape = [k if d == axis else n for d, n in enumerate(shape_of(x))]
        return [tensor(shape, element_of(x)), tensor(shape, i64)]

    @property
    def descending(self) -> bool:
        return flag(self.attributes, "largest", True)

    def vjp_all(
        self, cts: Cotangents, results: Sequence[Value], operands: Sequence[Value]
    ) -> Cotangents:
        from gradir.dialects.grad.grad import TakeAlongAxisBackwardOp

        [x], ct = operands, cts[0]
        if ct is None:
            return [None]
        return [TakeAlongAxisBackwardOp.on(ct, results[1], type=x.type, axis=self.axis)]

    def lower(self, emitter: Emitter, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        k = integer(self.attributes, "k")
        return self.sorted_lines(emitter, operands[0], k, values=True, indices=True)

    def numpy(self, x: Any) -> Any:
        k = integer(self.attributes, "k")
        order = ordering(x, self.axis, self.descending)
        first = np.take(order, range(k), axis=self.axis)
        return np.take_along_axis(x, first, axis=self.axis), first


def ordering(x: Any, axis: int, descending: bool) -> Any:
    """NumPy's stable argsort; descending keeps the order of equal elements."""
    if not descending:
        return np.argsort(x, axis=axis, kind="stable")
    backwards = np.flip(x, axis)
    order = np.flip(np.argsort(backwards, axis=axis, kind="stable"), axis)
    return x.shape[axis] - 1 - order


OPS: tuple[type[TensorOp], ...] = (SortOp, ArgsortOp, TopKOp)
