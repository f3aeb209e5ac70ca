"""A PyTorch module trained on several ranks: `mpiexec -n N python` on this file.

Each rank takes its part of a batch and the mean of all gradients, and compares that with PyTorch's
gradient of the whole batch.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

import gradir
import gradir.numpy as gnp
from gradir import comm
from gradir.interop.torch import functional

torch: Any = import_module("torch")


def main() -> None:
    torch.manual_seed(0)
    nn = torch.nn
    module = nn.Sequential(nn.Linear(3, 8), nn.LayerNorm(8), nn.GELU(), nn.Linear(8, 1)).double()
    rank = int(comm.axis_index())
    x = torch.randn(4 * comm.axis_size(), 3, dtype=torch.float64)
    mine = x[4 * rank :][:4]
    f = functional(module, mine)

    def loss(parameters: Any, x: Any) -> Any:
        return gnp.mean(f(parameters, x) ** 2)

    @gradir.jit
    def step(parameters: Any, x: Any) -> Any:
        return comm.pmean(gradir.grad(loss)(parameters, x))

    found = step(f.parameters, mine.numpy())
    (module(x) ** 2).mean().backward()
    for name, parameter in module.named_parameters():
        np.testing.assert_allclose(found[name], parameter.grad, atol=1e-13)
    print(f"agree {rank}\n", end="", flush=True)  # one write, which no rank cuts


if __name__ == "__main__":
    main()
