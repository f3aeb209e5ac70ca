"""The array dialect: names and semantics of the Python Array API standard on ranked tensors."""

from xdsl.ir import Dialect

from gradir.dialects.array import (
    affine,
    arithmetic,
    assembly,
    bits,
    comparison,
    contraction,
    creation,
    cumulative,
    data_dependent,
    dot_general,
    dynamic_slices,
    einsum,
    elementwise,
    factorizations,
    gather_scatter,
    indexing,
    linear_systems,
    movement,
    random,
    reductions,
    slicing,
    sorting,
    statistics,
    transcendental,
    triangles,
    triangular,
)
from gradir.dialects.array.gamma import LgammaOp

OPS = (
    *elementwise.OPS,
    *transcendental.OPS,
    LgammaOp,
    *arithmetic.OPS,
    *comparison.OPS,
    *bits.OPS,
    *creation.OPS,
    *random.OPS,
    *reductions.OPS,
    *statistics.OPS,
    *movement.OPS,
    *slicing.OPS,
    *affine.OPS,
    *assembly.OPS,
    *dynamic_slices.OPS,
    *triangles.OPS,
    *indexing.OPS,
    *gather_scatter.OPS,
    *contraction.OPS,
    *cumulative.OPS,
    *dot_general.OPS,
    *einsum.OPS,
    *sorting.OPS,
    *triangular.OPS,
    *factorizations.OPS,
    *linear_systems.OPS,
)

Array = Dialect("array", [*OPS, *data_dependent.REFUSED], [])
