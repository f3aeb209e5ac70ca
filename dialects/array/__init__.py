"""The array dialect: names and semantics of the Python Array API standard on ranked tensors."""

from xdsl.ir import Dialect

from gradir.dialects.array import (
    arithmetic,
    comparison,
    contraction,
    creation,
    elementwise,
    indexing,
    movement,
    random,
    reductions,
    slicing,
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
    *random.OPS,
    *reductions.OPS,
    *statistics.OPS,
    *movement.OPS,
    *slicing.OPS,
    *indexing.OPS,
    *contraction.OPS,
)

Array = Dialect("array", list(OPS), [])
