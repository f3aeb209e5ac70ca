"""Ops of other packages as functions of NumPy and traced arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from gradir.dialects.base.interfaces import TensorOp
from gradir.errors import ArgumentTypeError
from gradir.frontends.functions.op_functions import function_of
from gradir.frontends.tracing.eager import eager
from gradir.frontends.tracing.source_locations import named_options


@named_options
def op_function(op_class: type[TensorOp]) -> Callable[..., Any]:
    """The function of a tensor op: its operands, then its attributes, are the parameters.

    Operands of elementwise ops are promoted and broadcast, as NumPy does; of others they are taken
    as they are. Outside of a trace the function takes NumPy arrays and gives new ones, by the op's
    `numpy`. Its results are the op's, a tuple of several, without hidden ones.
    """
    if not (isinstance(cast(object, op_class), type) and issubclass(op_class, TensorOp)):
        raise ArgumentTypeError(f"op_function: expected a class of tensor ops, got {op_class!r}")
    return eager(function_of(op_class, op_class.__module__))
