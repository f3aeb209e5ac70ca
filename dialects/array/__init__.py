"""The array dialect: names and semantics of the Python Array API standard on ranked tensors."""

from xdsl.ir import Dialect

from gradir.dialects.array import (
    comparison,
    contraction,
    creation,
    elementwise,
    indexing,
    movement,
    reductions,
    slicing,
)

OPS = (
    *elementwise.OPS,
    *comparison.OPS,
    *creation.OPS,
    *reductions.OPS,
    *movement.OPS,
    *slicing.OPS,
    *indexing.OPS,
    *contraction.OPS,
)

Array = Dialect("array", list(OPS), [])
