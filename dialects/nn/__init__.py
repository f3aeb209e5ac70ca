"""The nn dialect: layers and losses with PyTorch's semantics."""

from xdsl.ir import Dialect

from gradir.dialects.nn import (
    activations,
    attention,
    batch_norm,
    dropout,
    embedding,
    gated,
    layers,
    losses,
    norms,
    pools,
    rectifiers,
    recurrent,
    regression_losses,
    resize,
)
from gradir.dialects.spatial import transposed_convolution
from gradir.dialects.spatial.convolution import NN_OPS as CONVOLUTIONS

OPS = (
    *activations.OPS,
    *rectifiers.OPS,
    *gated.OPS,
    *layers.OPS,
    *CONVOLUTIONS,
    *transposed_convolution.OPS,
    *norms.OPS,
    *batch_norm.OPS,
    *pools.OPS,
    *resize.OPS,
    *attention.OPS,
    *embedding.OPS,
    *recurrent.OPS,
    *dropout.OPS,
    *losses.OPS,
    *regression_losses.OPS,
)

NN = Dialect("nn", list(OPS), [])
