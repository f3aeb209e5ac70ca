"""What a call of a gradir function costs in PyTorch."""

from collections.abc import Iterator
from typing import Any

import harness
import numpy as np


def make_tensor() -> Any:
    """The one argument."""
    torch = harness.library("torch")
    return torch.from_numpy(np.linspace(-1, 1, 16, dtype=np.float32)).requires_grad_()


def polynomial(x: Any) -> Any:
    """The function, for any library's arrays."""
    return x * x + x


def eager() -> Any:
    """PyTorch's operations, each of them a node of autograd."""
    return polynomial


def one_node() -> Any:
    """The same operations as one node: `torch.autograd.Function`, in Python."""
    torch = harness.library("torch")

    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return polynomial(x)

    def backward(ctx: Any, cotangent: Any) -> Any:
        (x,) = ctx.saved_tensors
        return cotangent * (2 * x + 1)

    members = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    made: Any = type("Polynomial", (torch.autograd.Function,), members)
    return made.apply


def wrapped(**options: Any) -> Any:
    """gradir's function, by `gradir.interop.torch.wrap`."""
    from gradir.interop.torch import wrap

    return wrap(polynomial, **options)


def round_trip(function: Any) -> harness.Call:
    """Forward and backward."""
    torch = harness.library("torch")
    x = make_tensor()
    ct = torch.ones(16)
    return lambda: torch.autograd.grad(function(x), x, ct)


def without_gradient(function: Any) -> harness.Call:
    """Forward of a tensor that requires no gradient."""
    x = make_tensor().detach()
    return lambda: function(x)


def workloads(threads: int) -> Iterator[harness.Workload]:
    """With and without a gradient."""
    chosen = {
        "PyTorch eager": eager,
        "torch.autograd.Function": one_node,
        "gradir": wrapped,
        "gradir, one backward": lambda: wrapped(once_differentiable=True),
    }
    for title, call, names in (
        ("forward and backward", round_trip, list(chosen)),
        ("without a gradient", without_gradient, list(chosen)[:3]),
    ):
        contenders = [
            harness.Contender(name, lambda name=name, call=call: call(chosen[name]()), "torch")
            for name in names
        ]
        full = f"x * x + x of 16 elements in PyTorch, f32: {title}"
        yield harness.Workload(full, contenders, reference="torch.autograd.Function")


if __name__ == "__main__":
    harness.main(workloads)
