"""gradir.nn: PyTorch's layers and losses on traced or NumPy arrays, one function for each nn.* op.

The functions come from the op classes: operands in the op's order, its attributes as keyword
arguments. They return no hidden results, such as dropout's mask. `embedding_bag` is a composition
of ops; `batch_norm` takes and returns its state.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gradir.dialects import nn
from gradir.frontends.functions.batch_norm import batch_norm
from gradir.frontends.functions.embedding_bag import embedding_bag
from gradir.frontends.functions.op_functions import functions_of
from gradir.frontends.tracing.eager import eager

_FUNCTIONS: dict[str, Callable[..., Any]] = functions_of(nn.OPS, "gradir.nn")
_FUNCTIONS.update(batch_norm=batch_norm, embedding_bag=embedding_bag)

_FUNCTIONS.update({name: eager(function) for name, function in _FUNCTIONS.items()})
globals().update(_FUNCTIONS)

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...


__all__ = list(_FUNCTIONS)  # pyright: ignore[reportUnsupportedDunderAll]
