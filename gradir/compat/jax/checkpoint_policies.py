"""jax.checkpoint_policies, as gradir's names of policies."""

from typing import TYPE_CHECKING

from gradir.compat.jax import absent

everything_saveable = "keep_all"
nothing_saveable = "keep_none"
checkpoint_dots = dots_saveable = "keep_matmuls"
checkpoint_dots_with_no_batch_dims = dots_with_no_batch_dims_saveable = "keep_matmuls"

__all__ = [
    "checkpoint_dots",
    "checkpoint_dots_with_no_batch_dims",
    "dots_saveable",
    "dots_with_no_batch_dims_saveable",
    "everything_saveable",
    "nothing_saveable",
]

if not TYPE_CHECKING:
    __getattr__ = absent.missing(
        "gradir.compat.jax.checkpoint_policies",
        absent.POLICIES,
        lambda: __all__,
    )
