"""gradir.nn: PyTorch's layers and losses on traced or NumPy arrays.

One function for each nn.* op comes from its class: operands in the op's order, its attributes as
keyword arguments, without hidden results such as dropout's mask. The others, in the files beside
this one, are compositions of ops.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from gradir.dialects import nn
from gradir.frontends.functions import (
    activations,
    adaptive_pools,
    attention,
    batch_norm,
    distances,
    dropouts,
    embedding_bag,
    grids,
    interpolation,
    losses,
    margin_losses,
    pools,
    rearrangements,
)
from gradir.frontends.functions.arguments import checked
from gradir.frontends.functions.op_functions import functions_of
from gradir.frontends.tracing.eager import eager

_FAMILIES = (
    activations,
    adaptive_pools,
    attention,
    batch_norm,
    distances,
    dropouts,
    embedding_bag,
    grids,
    interpolation,
    losses,
    margin_losses,
    pools,
    rearrangements,
)
_FUNCTIONS: dict[str, Callable[..., Any]] = functions_of(nn.OPS, "gradir.nn")
_FUNCTIONS.update(
    (f.__name__, checked(f, f"nn.{f.__name__}", "gradir.nn"))
    for family in _FAMILIES
    for f in family.FUNCTIONS
)
__all__: list[str] = []  # pyright: ignore[reportUnsupportedDunderAll]


def register(functions: Mapping[str, Callable[..., Any]]) -> None:
    """More functions of this module, by their names."""
    globals().update(functions)
    __all__.extend(functions)


register({name: eager(function) for name, function in _FUNCTIONS.items()})

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...
