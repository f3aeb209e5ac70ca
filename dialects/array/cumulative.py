"""array: cumulative sums and products along one axis."""

from __future__ import annotations

from typing import Any, ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, result_def

from gradir.dialects.array.reductions import narrowed, widened
from gradir.dialects.array.scans import (
    LinearRecurrenceOp,
    ScanOp,
    ScanPosition,
    ShiftOp,
    start_of_sum,
)
from gradir.dialects.array.supports import scattered_support
from gradir.dialects.base.attributes import flag
from gradir.dialects.base.interfaces import Cotangents, TensorOp
from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.shapes import element_of
from gradir.dialects.base.support import Mask, Supports
from gradir.dialects.base.value import Scalar, Value


class _CumulativeOp(ScanOp):
    """The base of sums and products: `exclusive` leaves out the element itself."""

    SAME_TYPE: ClassVar[bool] = True
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("axis", "exclusive", "reverse")

    x = operand_def()
    y = result_def()

    @property
    def exclusive(self) -> bool:
        return flag(self.attributes, "exclusive", False)

    def combined(self, total: Scalar, x: Scalar) -> Scalar:
        """The total with one element more."""
        raise NotImplementedError(self.name)

    def step(self, here: ScanPosition, total: Scalar) -> tuple[Scalar, Scalar]:
        following = self.combined(total, here.element(0))
        return following, total if self.exclusive else following

    def along(self, x: Any, accumulate: Any) -> Any:
        """NumPy's `accumulate` in the op's direction; without the element itself if exclusive."""
        line = np.moveaxis(x, self.axis, 0)
        line = line[::-1] if self.reverse else line
        result = accumulate(line, axis=0, dtype=x.dtype)
        if self.exclusive:
            first = np.full_like(line[:1], self.start())
            result = np.concatenate([first, result[:-1]])
        return np.moveaxis(result[::-1] if self.reverse else result, 0, self.axis)


@irdl_op_definition
class CumulativeSumOp(_CumulativeOp):
    """y[i] = x[0] + ... + x[i] along `axis`; {exclusive} without x[i], {reverse} from the end.

    f16 and bf16 are summed in f32.
    vjp: the cumulative sum of ct in the other direction
    """

    name = "array.cumulative_sum"
    COMPLEX: ClassVar[bool] = True

    def start(self) -> float:
        return start_of_sum(element_of(self.y.type), self.exclusive)

    def combined(self, total: Scalar, x: Scalar) -> Scalar:
        return total + x

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        back = not self.reverse
        return [CumulativeSumOp.on(ct, axis=self.axis, exclusive=self.exclusive, reverse=back)]

    def support(self, of: Supports) -> Mask | None:
        mask = of.of(self.x)
        if mask is None and not self.exclusive:
            return None
        return scattered_support(self, self.x, of)

    def numpy(self, x: Any) -> Any:
        found = self.along(x, np.cumsum)
        # a sum from 0 on is never -0
        return found + np.zeros((), x.dtype) if self.exclusive else found


@irdl_op_definition
class CumulativeProdOp(_CumulativeOp):
    """y[i] = x[0] * ... * x[i] along `axis`; {exclusive} without x[i], {reverse} from the end.

    f16 and bf16 are multiplied in f32.
    vjp: P * R, where P[j] is the product of the elements before j, and R sums over the results from
    j on: R[j] = ct[j] + x[j+1] * R[j+1]. There is no division, so that zeros need no exception.
    """

    name = "array.cumulative_prod"

    def start(self) -> float:
        return 1.0

    def combined(self, total: Scalar, x: Scalar) -> Scalar:
        return total * x

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        axis, reverse = self.axis, self.reverse
        wide, wide_ct = widened(x), widened(ct)
        before = CumulativeProdOp.on(wide, axis=axis, exclusive=True, reverse=reverse)
        if self.exclusive:
            wide_ct = ShiftOp.on(wide_ct, axis=axis, by=1 if reverse else -1)
        behind = LinearRecurrenceOp.on(wide, wide_ct, axis=axis, reverse=not reverse, lagged=True)
        return [narrowed(before * behind, x.type)]

    def numpy(self, x: Any) -> Any:
        return self.along(x, np.cumprod)


OPS: tuple[type[TensorOp], ...] = (CumulativeSumOp, CumulativeProdOp)
