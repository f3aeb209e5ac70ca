"""The grad dialect: the ops of differentiation, of all files that have some.

It is loaded to read or list programs; other code imports the files of the ops that it needs.
"""

from xdsl.ir import Dialect

from gradir.dialects.array import (
    cofactors,
    factor_systems,
    linear_systems,
    polar,
    polynomial,
    scans,
    spectral,
    sylvester,
)
from gradir.dialects.array.gamma import PolygammaOp
from gradir.dialects.array.triangles import DiagonalBackwardOp
from gradir.dialects.base.attributes import ExtentAttr
from gradir.dialects.base.interfaces import TensorOp
from gradir.dialects.base.slice_type import SlicesType
from gradir.dialects.grad import (
    accumulation,
    attention,
    bits,
    centering,
    checkpoint,
    custom_vjp,
    derivative,
    dropout,
    extent,
    grad,
    host_call,
    saturation,
    slices,
)
from gradir.dialects.grad.loop_policy import LoopPolicyAttr
from gradir.dialects.grad.nll import ClassIndexOp, NllLossBackwardOp
from gradir.dialects.grad.tape import TAPE_OPS, TapeType
from gradir.dialects.spatial import convolution, pooling, resampling

OPS: tuple[type[TensorOp], ...] = (
    *grad.OPS,
    NllLossBackwardOp,
    ClassIndexOp,
    PolygammaOp,
    DiagonalBackwardOp,
    *pooling.OPS,
    *resampling.OPS,
    *convolution.GRAD_OPS,
    *attention.OPS,
    *centering.OPS,
    *saturation.OPS,
    *accumulation.OPS,
    *bits.OPS,
    *dropout.OPS,
    *scans.OPS,
    *linear_systems.GRAD_OPS,
    *cofactors.GRAD_OPS,
    *factor_systems.GRAD_OPS,
    *polar.GRAD_OPS,
    *polynomial.GRAD_OPS,
    *spectral.GRAD_OPS,
    *sylvester.GRAD_OPS,
)

Grad = Dialect(
    "grad",
    [
        *OPS,
        *TAPE_OPS,
        *checkpoint.OPS,
        *custom_vjp.OPS,
        *slices.OPS,
        *host_call.OPS,
        *derivative.OPS,
        *extent.OPS,
    ],
    [TapeType, LoopPolicyAttr, SlicesType, ExtentAttr],
)
