"""nn: rows of a table, with PyTorch's semantics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from xdsl.dialects.builtin import StringAttr, i64
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.array.comparison import WhereOp
from gradir.dialects.array.indexing import ScatterAddOp, TakeOp, check_not_empty, wrapped
from gradir.dialects.array.movement import BroadcastToOp, reshaped
from gradir.dialects.array.reductions import narrowed
from gradir.dialects.base.attributes import Attributes, Types, integer
from gradir.dialects.base.batch import Batch
from gradir.dialects.base.interfaces import Cotangents, TensorOp
from gradir.dialects.base.shapes import DYNAMIC, element_count, element_of, shape_of, tensor
from gradir.dialects.base.value import SOURCE_ATTRIBUTE, Value
from gradir.dialects.building.kinds import require_elements
from gradir.dialects.grad.slices import taken_rows


@irdl_op_definition
class EmbeddingOp(TensorOp):
    """Row id of the table [rows, width] for each of ids, integers of any shape.

    An id in [-rows, 0) counts from the end; one outside of [-rows, rows) is an error at run time.
    The row `padding_idx`, which may count from the end too, gets no gradient.
    vjp: scatter_add of ct into zeros; the rows of repeated ids add up
    """

    name = "nn.embedding"
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("padding_idx",)
    CHECKS_INDICES: ClassVar[bool] = True

    table = operand_def()
    ids = operand_def()
    y = result_def()
    traits = traits_def(Pure())

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        table, ids = operands
        require_elements(table, "float")
        require_elements(ids, "integer")
        if len(shape_of(table)) != 2:
            raise VerifyException(f"table must be a matrix, got {table}")
        rows, width = shape_of(table)
        check_not_empty(rows, ids)
        if "padding_idx" in attributes:
            padding = integer(attributes, "padding_idx")
            if rows != DYNAMIC and not -rows <= padding < rows:
                raise VerifyException(
                    f"padding_idx must be a row of the table, got {padding} for {table}"
                )
        return [tensor([*shape_of(ids), width], element_of(table))]

    def vjp(self, ct: Value, y: Value, table: Value, ids: Value) -> Cotangents:
        ct = self._flowing(ct, table, ids)
        total = ScatterAddOp.of([table.full(0).ssa, ids.ssa, ct.ssa], axis=0)
        # the user wrote no scatter_add
        total.attributes[SOURCE_ATTRIBUTE] = StringAttr(self.source_name)
        return [ct.emitter.value(ct.emitter.insert(total).y), None]

    def row_slices(self, ct: Value, y: Value, *operands: Value) -> Value | None:
        table, ids = operands
        return taken_rows(self._flowing(ct, table, ids), table, ids)

    @property
    def slice_count(self) -> int | None:
        return element_count(self.ids.type)

    def _flowing(self, ct: Value, table: Value, ids: Value) -> Value:
        """ct with zeros for ids of the padding row."""
        if "padding_idx" not in self.attributes:
            return ct
        is_padding = reshaped(self._is_padding(table, ids), [*ids.shape, 1])
        wide = BroadcastToOp.on(is_padding, type=tensor(ct.shape, is_padding.element))
        return WhereOp.on(wide, ct.full(0), ct)

    def _is_padding(self, table: Value, ids: Value) -> Value:
        """A mask of the ids equal to `padding_idx`, counted from either end."""
        rows = table.shape[0]
        row = integer(self.attributes, "padding_idx") % rows
        # compared in i64: the ids' type may not hold both numbers
        ids = narrowed(ids, tensor(ids.shape, i64))
        return ids.equal(row).apply("logical_or", ids.equal(row - rows))

    def vmap(self, batch: Batch) -> Sequence[Value] | None:
        return None if batch.has_rows[0] else batch.same_op(batch.operands)

    def decompose(self, table: Value, ids: Value) -> Value:
        return TakeOp.on(table, ids, axis=0)

    def numpy(self, table: Any, ids: Any) -> Any:
        return table[wrapped(ids, table.shape[0])]


OPS: tuple[type[TensorOp], ...] = (EmbeddingOp,)
