"""array: functions of the Array API whose result shape depends on values; all are refused.

They are registered so that the error names a way out.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, var_operand_def, var_result_def
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.base.interfaces import TensorOp


class DataDependentOp(TensorOp):
    """An op that is always refused."""

    # The quantity that the result's shape counts, and the way out.
    COUNTS: ClassVar[str]
    INSTEAD: ClassVar[str]

    xs = var_operand_def()
    ys = var_result_def()

    def verify_(self) -> None:
        raise VerifyException(
            f"{self.name}: the result's shape must not depend on values, got one that counts "
            f"{self.COUNTS}; {self.INSTEAD}"
        )


@irdl_op_definition
class BooleanMaskOp(DataDependentOp):
    """The elements of x where a mask is true."""

    name = "array.boolean_mask"
    COUNTS: ClassVar[str] = "the true elements of the mask"
    INSTEAD: ClassVar[str] = "replace the other elements with array.where"


@irdl_op_definition
class NonzeroOp(DataDependentOp):
    """The indices of the elements of x that are not zero."""

    name = "array.nonzero"
    COUNTS: ClassVar[str] = "the elements that are not zero"
    INSTEAD: ClassVar[str] = (
        "mark them with array.not_equal for array.where, or bring a fixed number of them to the "
        "front with array.top_k"
    )


@irdl_op_definition
class UniqueOp(DataDependentOp):
    """The distinct elements of x."""

    name = "array.unique"
    COUNTS: ClassVar[str] = "the distinct elements"
    INSTEAD: ClassVar[str] = "bring equal elements together with array.sort"


REFUSED: tuple[type[TensorOp], ...] = (BooleanMaskOp, NonzeroOp, UniqueOp)
