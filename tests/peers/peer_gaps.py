"""Ops that no peer has, and rows that a peer refuses or means otherwise, with reasons."""

from __future__ import annotations

_OURS = "exists because of differentiation; the ops whose gradients it is part of are compared"

NOT_IN_PEERS: dict[str, str] = {
    "array.constant": "a literal",
    "grad.no_grad": _OURS,
    "grad.name": _OURS,
    "grad.negate_gradient": _OURS,
    "grad.start_checkpoint": _OURS,
    "grad.end_checkpoint": _OURS,
    "grad.barrier": _OURS,
    "grad.copy_to": _OURS,
    "grad.zero": _OURS,
    "grad.accumulate": _OURS,
    "grad.take_along_axis_backward": _OURS,
    "grad.nll_loss_backward": _OURS,
    "grad.polygamma": _OURS,
}

# PyTorch rounds constants of these to f32, also in float64.
IN_F32 = frozenset({"nn.celu", "nn.hardsigmoid"})

OTHER_IN_TORCH = frozenset(
    {
        # integers by zero: an error there, NumPy's values here
        "array.remainder-5-5",
        "array.floor_divide-5-5",
        # the inf norm of nothing: an error there, 0 here
        "array.norm-0-ord=inf",
        "array.norm-3x0-axis=[-1]-ord=inf",
        "array.norm-3x0-keepdims=True-ord=inf",
        # smoothing is cross entropy's alone there
        "nn.nll_loss-3x4-3-4-reduction=sum-label_smoothing=0.3",
        "nn.nll_loss-3x4-3-4-ignore_index=255-label_smoothing=0.1",
        "nn.nll_loss-3x4-3-label_smoothing=0.2",
        "nn.nll_loss-3x4-3-reduction=none-label_smoothing=1.0",
        "nn.nll_loss-2x4x3-2x3-label_smoothing=0.1",
    }
)

OTHER_IN_JAX = frozenset(
    {
        # integers by zero, and to negative powers
        "array.floor_divide-5-5",
        "array.pow-7-7",
        # the deviation of one number: its gradient is nan there, 0 here
        "array.std-0d",
        "array.std-3x4-axis=[]",
    }
)
