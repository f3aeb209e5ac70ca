"""Rules of vectorization of the comm ops: all rows go in one message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from gradir.dialects.base.value import Value
from gradir.dialects.batching.arrays import in_front
from gradir.dialects.batching.rows import Batched, register
from gradir.dialects.comm import collectives
from gradir.dialects.comm.comm_op import CommOp


def along_axis(one: Batched) -> Sequence[Value]:
    return one.same(one.operands, {"axis": cast(Any, one.op).axis + 1})


register(in_front, CommOp)
register(along_axis, collectives.AllGatherOp, collectives.PartOp, collectives.ReduceScatterOp)
