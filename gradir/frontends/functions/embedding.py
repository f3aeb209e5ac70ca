"""nn.embedding, in our order of arguments and in PyTorch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradir.dialects.base.shapes import is_float
from gradir.dialects.nn.embedding import EmbeddingOp
from gradir.frontends.functions.op_functions import apply
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import element, lifted


def in_order(table: Any, ids: Any) -> tuple[Tracer, Tracer]:
    """The table and the ids, which PyTorch has the other way round: the table holds floats."""
    first, second = lifted(table), lifted(ids)
    if is_float(element(second)) and not is_float(element(first)):
        return second, first
    return first, second


def embedding(table: Any, ids: Any, padding_idx: int | None = None) -> Tracer:
    """Row id of the table [rows, width] for each of ids, integers of any shape.

    Both may be given in PyTorch's order too, ids first. An id in [-rows, 0) counts from the end;
    one outside of [-rows, rows) is an error at run time. The row `padding_idx` gets no gradient.
    The op is nn.embedding.
    """
    table, ids = in_order(table, ids)
    return apply(EmbeddingOp, {"table": table, "ids": ids, "padding_idx": padding_idx})


FUNCTIONS: tuple[Callable[..., Any], ...] = (embedding,)
