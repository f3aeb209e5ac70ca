"""Modules of PyTorch as torch-mlir exports them, linalg on tensors: PyTorch's values and gradients.

torch-mlir is in no extra: it has a wheel for a few versions of PyTorch. Without it nothing runs.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import gradir

pytest.importorskip("torch_mlir.fx", reason="torch-mlir is not installed")

functional = nn.functional
Module = torch.nn.Module


class Function(Module):
    """A function of tensors and of parts that it is made with."""

    def __init__(self, function: Callable[..., Any], **parts: Module):
        super().__init__()
        self.function = function
        self.parts = nn.ModuleDict(parts)

    def forward(self, *tensors: Any) -> Any:
        return self.function(self.parts, *tensors)


def attention(parts: Any, x: Any) -> Any:
    q, k, v = (parts[name](x) for name in "qkv")
    shares = torch.softmax(q @ k.transpose(-1, -2) / 4, -1)
    return parts["norm"](x + shares @ v)


def joined(parts: Any, x: Any) -> Any:
    padded = functional.pad(x.cumsum(1), (1, 1))
    return torch.cat([torch.exp(x[:, :3]), padded], 1).amax(1).log().sum()


def convolved(parts: Any, x: Any) -> Any:
    return parts["out"](functional.max_pool2d(torch.relu(parts["conv"](x)), 2).flatten(1))


def normed(parts: Any, x: Any) -> Any:
    y = functional.gelu(parts["norm"](parts["conv"](x)))
    return functional.avg_pool2d(y, 2).mean((2, 3))


def modules() -> dict[str, tuple[Module, tuple[Any, ...]]]:
    linear, conv = nn.Linear, nn.Conv2d
    return {
        "mlp": (
            nn.Sequential(linear(8, 16), nn.ReLU(), linear(16, 4)),
            (torch.randn(5, 8),),
        ),
        "convolution": (
            Function(convolved, conv=conv(3, 8, 3, padding=1, stride=2), out=linear(32, 4)),
            (torch.randn(2, 3, 8, 8),),
        ),
        "attention": (
            Function(attention, **{n: linear(16, 16) for n in "qkv"}, norm=nn.LayerNorm(16)),
            (torch.randn(2, 6, 16),),
        ),
        "batch_norm": (
            Function(normed, conv=conv(3, 4, 3, bias=False), norm=nn.BatchNorm2d(4)).eval(),
            (torch.randn(2, 3, 8, 8),),
        ),
        "embedding": (
            Function(
                lambda parts, i: torch.log_softmax(parts["out"](parts["table"](i).sum(1)), -1),
                table=nn.Embedding(10, 6),
                out=linear(6, 3),
            ),
            (torch.randint(0, 10, (4, 3)),),
        ),
        "lstm_cell": (
            Function(lambda parts, x, h, c: parts["cell"](x, (h, c)), cell=nn.LSTMCell(4, 5)),
            (torch.randn(2, 4), torch.randn(2, 5), torch.randn(2, 5)),
        ),
        "loss": (
            Function(
                lambda parts, x, y: functional.mse_loss(torch.sigmoid(parts["out"](x)), y),
                out=linear(6, 3),
            ),
            (torch.randn(4, 6), torch.randn(4, 3)),
        ),
        "sums": (Function(joined), (torch.rand(4, 6),)),
        "transposed": (
            nn.Sequential(
                nn.ConvTranspose2d(3, 4, 3, stride=2), nn.Tanh(), conv(4, 4, 3, groups=4)
            ),
            (torch.randn(1, 3, 4, 4),),
        ),
    }


def exported(module: Module, inputs: tuple[Any, ...]) -> str:
    from torch_mlir.compiler_utils import OutputType  # pyrefly: ignore
    from torch_mlir.fx import export_and_import  # pyrefly: ignore

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kind = OutputType.LINALG_ON_TENSORS
        return str(export_and_import(module, *inputs, output_type=kind, func_name="net"))


def parameter_equal_to(module: Module, values: Any) -> Any:
    """The one parameter with these numbers; None where none has, or several parts have."""
    every = [*module.parameters(), *module.buffers()]
    equal = [p for p in every if np.array_equal(p.detach().numpy(), values)]
    return equal[0] if len(equal) == 1 and equal[0].requires_grad else None


def in_tuple(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


@pytest.mark.parametrize("name", modules())
def test_values_and_gradients(name: str) -> None:
    torch.manual_seed(0)
    module, inputs = modules()[name]
    program, weights = gradir.parse(exported(module, inputs)).lift_constants("net")
    moving = [k for k, x in enumerate(inputs) if x.is_floating_point()]
    tensors = [x.clone().requires_grad_(k in moving) for k, x in enumerate(inputs)]
    outputs = in_tuple(module(*tensors))
    cts = [torch.randn_like(y) for y in outputs]
    arrays = [x.detach().numpy() for x in tensors]
    every = [*moving, *range(len(arrays), len(arrays) + len(weights))]
    derivative = program.gradient("net", wrt=every, mode="vjp")
    run = gradir.compile(derivative, "net_vjp")
    found = run(*arrays, *weights.values(), *(ct.numpy() for ct in cts))
    for x, y in zip(found, outputs, strict=False):
        np.testing.assert_allclose(x, y.detach().numpy(), rtol=2e-4, atol=2e-5)
    owners = [parameter_equal_to(module, w) for w in weights.values()]
    wanted = [*(tensors[k] for k in moving), *(p for p in owners if p is not None)]
    slopes = iter(torch.autograd.grad(outputs, wanted, cts) if wanted else ())
    has_slope = [*(True for _ in moving), *(p is not None for p in owners)]
    for x, known in zip(found[len(outputs) :], has_slope, strict=True):
        if known:
            np.testing.assert_allclose(x, next(slopes).numpy(), rtol=2e-4, atol=2e-5)
