"""Caffe2-style nets: operators on named blobs, with gradient operators, as programs of gradir."""

from gradir.frontends.caffe2 import (
    control,
    elementwise,
    fills,
    layers,
    losses,
    rates,
    shapes,
    sources,
    updates,
    windows,
)
from gradir.frontends.caffe2.errors import (
    NetDefError,
    OperatorError,
    OrphanError,
    VersionError,
)
from gradir.frontends.caffe2.ir import IR
from gradir.frontends.caffe2.net import Net
from gradir.frontends.caffe2.operator import GradientSlice, Operator
from gradir.frontends.caffe2.table import register

OPERATOR_MODULES = (
    *(elementwise, shapes, layers, windows, losses),
    *(sources, fills, rates, updates, control),
)
"""The modules that fill the table of operator types."""

__all__ = [
    "IR",
    "GradientSlice",
    "Net",
    "NetDefError",
    "Operator",
    "OperatorError",
    "OrphanError",
    "VersionError",
    "register",
]
