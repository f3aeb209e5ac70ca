"""Random programs of views, writes in place and parts without gradients, as PyTorch runs them.

    python tests/peers/test_torch_fuzz.py [SEEDS] [FIRST]

Programs that PyTorch refuses (a value that a gradient needs was changed) are left out.
"""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))

from torch_programs import torch

import gradir
from gradir.interop.torch import trace
from gradir.interop.torch_types import array_of

pytestmark = pytest.mark.filterwarnings("ignore")
COUNT = 24
"""The programs that a test runs."""


def view(random: Random, x: Any) -> Any:
    """A view of x, or a copy where PyTorch says so."""
    d = random.randrange(x.ndim) if x.ndim else 0
    kinds = ["alias", "reshape", "detach", "contiguous"]
    if x.ndim:
        kinds += ["select", "slice", "flip", "transpose", "unsqueeze", "split", "step", "flatten"]
    if x.ndim > 1:
        kinds += ["diagonal", "permute", "unbind"]
    kind = random.choice(kinds)
    n = x.shape[d] if x.ndim else 1
    return {
        "alias": lambda: x.view_as(x),
        "reshape": lambda: x.reshape(-1),
        "detach": lambda: x.detach(),
        "contiguous": lambda: x.contiguous(),
        "select": lambda: x.select(d, random.randrange(n)),
        "slice": lambda: x.narrow(d, n // 2, n - n // 2),
        "flip": lambda: x.flip(d),
        "transpose": lambda: x.transpose(d, 0),
        "unsqueeze": lambda: x.unsqueeze(d),
        "split": lambda: x.split(max(n - 1, 1), d)[0],
        "step": lambda: x[(slice(None),) * d + (slice(None, None, 2),)],
        "flatten": lambda: x.flatten(),
        "diagonal": lambda: x.diagonal(0, 0, x.ndim - 1),
        "permute": lambda: x.permute(*range(1, x.ndim), 0),
        "unbind": lambda: x.unbind(d)[-1],
    }[kind]()


def write(random: Random, x: Any, other: Any) -> None:
    """A change of x in place, by another tensor or a number."""
    amount = other.sum() * 0.1
    kind = random.randrange(8)
    if kind == 0:
        x.mul_(1.5)
    elif kind == 1:
        x.add_(amount)
    elif kind == 2:
        x.copy_(x * 0.5 + amount)
    elif kind == 3:
        x.sub_(x.detach() * 0.3)
    elif kind == 4:
        x.masked_fill_(x.detach() > 0.4, 0.25)
    elif kind == 5:
        x.fill_(amount)
    elif kind == 6 and x.ndim:
        x[0] = amount
    else:
        x.clamp_(-2.0, 2.0)


class RandomProgram(torch.nn.Module):
    """A program that a seed makes."""

    def __init__(self, seed: int):
        super().__init__()
        self.seed = seed

    def forward(self, x: Any) -> Any:
        random = Random(self.seed)
        every = [x * 1.0, x.sin()]
        for _ in range(random.randint(4, 12)):
            what, one, other = random.randrange(6), random.choice(every), random.choice(every)
            is_still = random.random() < 0.25
            with torch.set_grad_enabled(not is_still):
                if what < 2:
                    every.append(view(random, one))
                elif what < 5:
                    write(random, one, other)
                else:
                    every.append(one + other.mean())
        return tuple(y.clone() for y in every)


def result_of(seed: int) -> tuple[Any, Any, Any] | None:
    """The input, the results and the gradient of a program; None where PyTorch refuses it."""
    torch.manual_seed(seed)
    x = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
    try:
        results = RandomProgram(seed)(x)
        y = sum((k + 1) * (r * r).sum() for k, r in enumerate(results) if r.requires_grad)
        (grad,) = torch.autograd.grad(y, x)
    except RuntimeError:
        return None
    return x, results, grad


def check(seed: int) -> bool:
    """Whether a program is compared; AssertionError where it differs."""
    known = result_of(seed)
    if known is None:
        return False
    x, results, grad = known
    module = trace(RandomProgram(seed), x.detach())
    name = "RandomProgram"
    for one, other in zip(gradir.interpret(module, name, array_of(x)), results, strict=True):
        np.testing.assert_allclose(one, array_of(other), rtol=1e-9, atol=1e-9)
    active = [k for k, r in enumerate(results) if r.requires_grad]
    cts = [2 * (k + 1) * array_of(results[k]) for k in active]
    derived = module.gradient(name, [0], "vjp", active)
    found = gradir.interpret(derived, f"{name}_vjp", array_of(x), *cts)[-1]
    np.testing.assert_allclose(found, array_of(grad), rtol=1e-9, atol=1e-9)
    return True


def test_random_programs() -> None:
    compared = sum(check(seed) for seed in range(COUNT))
    assert compared > COUNT // 4


def main(count: int = 1000, first: int = 0) -> None:
    """Run many programs, and print those that differ."""
    compared = 0
    for seed in range(first, first + count):
        try:
            compared += check(seed)
        except Exception as error:
            print(f"seed {seed}: {type(error).__name__}: {' '.join(str(error).split())[:300]}")
    print(f"{compared} of {count} programs compared")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
