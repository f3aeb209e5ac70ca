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
    convolutions,
    distances,
    dropouts,
    embedding,
    embedding_bag,
    grids,
    interpolation,
    losses,
    margin_losses,
    pools,
    rearrangements,
)
from gradir.frontends.functions.arguments import checked
from gradir.frontends.functions.missing_names import missing
from gradir.frontends.functions.op_functions import functions_of
from gradir.frontends.tracing.eager import eager

_FAMILIES = (
    activations,
    adaptive_pools,
    attention,
    batch_norm,
    convolutions,
    distances,
    dropouts,
    embedding,
    embedding_bag,
    grids,
    interpolation,
    losses,
    margin_losses,
    pools,
    rearrangements,
)
_FUNCTIONS: dict[str, Callable[..., Any]] = functions_of(nn.OPS, "gradir.nn")
_HINTS = {
    "batch_norm": batch_norm.HINT,
    **{f.__name__: dropouts.HINT for f in dropouts.FUNCTIONS},
}
"""What PyTorch's users are told whose arguments are not ours."""
_OF_COMPLEX = {
    *rearrangements.FUNCTIONS, *convolutions.FUNCTIONS, activations.softsign,
    activations.tanhshrink, distances.normalize, distances.pairwise_distance, distances.pdist,
    distances.bilinear, dropouts.dropout, dropouts.dropout1d, dropouts.dropout2d,
    dropouts.dropout3d, losses.l1_loss, margin_losses.triplet_margin_loss,
    margin_losses.triplet_margin_with_distance_loss,
}  # fmt: skip
"""Those with a meaning on complex numbers; the ops of others refuse them themselves."""
_FUNCTIONS.update(
    (
        f.__name__,
        checked(
            f, f"nn.{f.__name__}", "gradir.nn", _HINTS.get(f.__name__, ""),
            takes_complex=f in _OF_COMPLEX,
        ),
    )
    for family in _FAMILIES
    for f in family.FUNCTIONS
)  # fmt: skip
# PyTorch's names beside the ops' own.
_FUNCTIONS.update(
    (name, checked(function, f"nn.{name}", "gradir.nn"))
    for name, function in {
        "binary_cross_entropy": losses.bce_loss,
        "binary_cross_entropy_with_logits": losses.bce_with_logits,
    }.items()
)
ABSENT = {name: reason for reason, names in {
    "arrays do not change: the same name without _ makes another": (
        "celu_ elu_ hardtanh_ leaky_relu_ relu_ rrelu_ selu_ threshold_"
    ),
    "return_indices=True of the pool without _with_indices gives them": (
        "adaptive_max_pool1d_with_indices adaptive_max_pool2d_with_indices "
        "adaptive_max_pool3d_with_indices max_pool1d_with_indices max_pool2d_with_indices "
        "max_pool3d_with_indices"
    ),
    "windows of random places are not there: max_pool2d and adaptive_max_pool2d": (
        "fractional_max_pool2d fractional_max_pool3d fractional_max_pool2d_with_indices "
        "fractional_max_pool3d_with_indices"
    ),
    "it is interpolate, with align_corners=True where it is bilinear": (
        "upsample upsample_bilinear upsample_nearest"
    ),
    "it is multi_head_attention": "multi_head_attention_forward",
    "it is cross_entropy of linear; a stage recomputes its logits": "linear_cross_entropy",
    "it is conv1d of permuted axes": "conv_tbc",
    "layers are functions of arrays here; a torch.nn.Module runs as it is by "
    "gradir.interop.torch.differentiable": "Module ModuleDict ModuleList Parameter Sequential",
    "its functions are those of gradir.nn": "functional",
    "it is channel_shuffle": "native_channel_shuffle",
    "it is gradir.numpy.matmul, of rows that are split or scaled before": (
        "grouped_mm scaled_mm scaled_grouped_mm"
    ),
    "it is gradir.numpy.tanh": "tanh",
    "it is gradir.numpy.logsumexp": "logsumexp",
    "JAX's name of silu": "swish",
    "JAX's names of hardswish": "hard_swish hard_silu",
    "JAX's name of hardtanh": "hard_tanh",
    "JAX's name of hardsigmoid": "hard_sigmoid",
    "JAX's name of logsigmoid": "log_sigmoid",
    "JAX's name of softsign": "soft_sign",
}.items() for name in names.split()}  # fmt: skip
"""Functions of torch.nn.functional and jax.nn that are not here, and why."""
__all__: list[str] = []


def register(functions: Mapping[str, Callable[..., Any]]) -> None:
    """More functions of this module, by their names."""
    globals().update(functions)
    __all__.extend(functions)


register({name: eager(function) for name, function in _FUNCTIONS.items()})

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...

else:
    __getattr__ = missing("gradir.nn", ABSENT)
