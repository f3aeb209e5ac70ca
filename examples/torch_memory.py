"""Train a PyTorch module within half the memory that PyTorch keeps for its gradient.

    .venv/bin/pip install --editable '.[torch]'
    .venv/bin/python examples/torch_memory.py

`gradir.interop.torch.differentiable` takes the module as it is, with a limit in bytes; PyTorch has
the parameters and the optimizer. What each keeps between forward and backward is counted by
PyTorch's own hooks. Exit code 1 if the losses differ or more than half is kept.
"""

from __future__ import annotations

import copy
import sys
from importlib import import_module
from typing import Any

ROWS, WIDTH, BLOCKS, STEPS = 1024, 32, 10, 20


def network(torch: Any) -> Any:
    """Residual blocks of two layers, with norms."""
    nn = torch.nn

    class Block(nn.Module):
        """x and what two layers make of it."""

        def __init__(self) -> None:
            super().__init__()
            self.norm = nn.LayerNorm(WIDTH)
            self.wide, self.narrow = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

        def forward(self, x: Any) -> Any:
            return x + self.narrow(torch.tanh(self.wide(self.norm(x))))

    torch.manual_seed(0)
    blocks = [Block() for _ in range(BLOCKS)]
    return nn.Sequential(nn.Linear(2, WIDTH), *blocks, nn.Linear(WIDTH, 1))


def bytes_kept(torch: Any, model: Any, x: Any) -> int:
    """What is saved for backward, without the parameters."""
    own = {p.untyped_storage().data_ptr() for p in model.parameters()}
    found: dict[int, int] = {}

    def pack(tensor: Any) -> Any:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            found[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        results = model(x)
    del results
    return sum(found.values())


def trained(torch: Any, model: Any, x: Any, y: Any) -> list[float]:
    """The losses of some steps."""
    optimizer = torch.optim.Adam(model.parameters(), lr=0.002)
    losses: list[float] = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def main() -> int:
    """Count, train, compare; the exit code."""
    from gradir.interop.torch import differentiable

    torch: Any = import_module("torch")
    theirs = network(torch)
    x = torch.rand(ROWS, 2) * 4 - 2
    y = torch.sin(x[:, :1] * x[:, 1:])
    kept = bytes_kept(torch, theirs, x)
    ours = differentiable(copy.deepcopy(theirs), memory_limit=kept // 2)
    found = bytes_kept(torch, ours, x)
    print(f"kept for backward: {kept / 1e6:.2f} MB by PyTorch, {found / 1e6:.2f} MB by gradir")
    expected, losses = trained(torch, theirs, x, y), trained(torch, ours, x, y)
    for k in (0, STEPS // 2, STEPS - 1):
        print(f"step {k + 1:2}: loss {expected[k]:.5f} by PyTorch, {losses[k]:.5f} by gradir")
    apart = max(abs(a - b) for a, b in zip(losses, expected, strict=True))
    return int(found > kept // 2 or apart > 1e-3 or losses[-1] > 0.8 * losses[0])


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ImportError as error:
        sys.exit(f"error: {error}")
