"""The array dialect: names and semantics of the Python Array API standard on ranked tensors."""

from xdsl.ir import Dialect

from gradir.dialects.array import (
    contraction,
    creation,
    elementwise,
    indexing,
    movement,
    reductions,
)

OPS = (
    *elementwise.OPS,
    *creation.OPS,
    *reductions.OPS,
    *movement.OPS,
    *indexing.OPS,
    *contraction.OPS,
)

Array = Dialect("array", list(OPS), [])
