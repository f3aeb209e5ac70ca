"""The nn dialect: layers and losses with PyTorch's semantics."""

from xdsl.ir import Dialect

from gradir.dialects.nn import (
    activations,
    batch_norm,
    dropout,
    gated,
    layers,
    losses,
    norms,
    rectifiers,
    regression_losses,
)

OPS = (
    *activations.OPS,
    *rectifiers.OPS,
    *gated.OPS,
    *layers.OPS,
    *norms.OPS,
    *batch_norm.OPS,
    *dropout.OPS,
    *losses.OPS,
    *regression_losses.OPS,
)

NN = Dialect("nn", list(OPS), [])
