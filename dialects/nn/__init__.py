"""The nn dialect: layers and losses with PyTorch's semantics."""

from xdsl.ir import Dialect

from gradir.dialects.nn import activations, layers, losses

OPS = (*activations.OPS, *layers.OPS, *losses.OPS)

NN = Dialect("nn", list(OPS), [])
