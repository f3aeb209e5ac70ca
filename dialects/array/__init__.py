"""The array dialect: names and semantics of the Python Array API standard on ranked tensors."""

from xdsl.ir import Dialect

from gradir.dialects.array import (
    arithmetic,
    comparison,
    contraction,
    creation,
    cumulative,
    elementwise,
    indexing,
    movement,
    reductions,
    slicing,
    sorting,
    statistics,
    transcendental,
)
from gradir.dialects.gamma import LgammaOp

OPS = (
    *elementwise.OPS,
    *transcendental.OPS,
    LgammaOp,
    *arithmetic.OPS,
    *comparison.OPS,
    *creation.OPS,
    *reductions.OPS,
    *statistics.OPS,
    *movement.OPS,
    *slicing.OPS,
    *indexing.OPS,
    *contraction.OPS,
    *cumulative.OPS,
    *sorting.OPS,
)

Array = Dialect("array", list(OPS), [])
