"""The array dialect: names and semantics of the Python Array API standard on ranked tensors."""

from xdsl.ir import Dialect

from gradir.dialects.array import (
    arithmetic,
    assembly,
    comparison,
    contraction,
    creation,
    cumulative,
    dynamic_slices,
    elementwise,
    gather_scatter,
    indexing,
    movement,
    random,
    reductions,
    slicing,
    statistics,
    transcendental,
    triangles,
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
    *assembly.OPS,
    *dynamic_slices.OPS,
    *triangles.OPS,
    *indexing.OPS,
    *gather_scatter.OPS,
    *contraction.OPS,
    *cumulative.OPS,
)

Array = Dialect("array", list(OPS), [])
