"""gradir.interop.torch.differentiable and trace: PyTorch's modules, their values and gradients."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from typing import Any

import pytest
from torch_programs import CASES, TorchCase, torch

from gradir.interop.torch import differentiable

import_module("torch.nn.attention")
tree: Any = torch.utils._pytree
pytestmark = pytest.mark.filterwarnings("ignore")


def is_floating(x: Any) -> bool:
    return isinstance(x, torch.Tensor) and bool(x.is_floating_point())


def tensors_of(results: Any) -> list[Any]:
    return [x for x in tree.tree_leaves(results) if isinstance(x, torch.Tensor)]


def total(results: Sequence[Any], seed: int) -> Any:
    """The sum of floating results times fixed numbers."""
    made: Any = 0.0
    generator = torch.Generator().manual_seed(seed)
    for x in results:
        if is_floating(x):
            weights = torch.rand(x.shape, generator=generator, dtype=torch.float64) + 0.5
            made = made + (x * weights).sum()
    return made


def derivatives(function: Any, module: Any, inputs: Sequence[Any], orders: int) -> list[list[Any]]:
    """The results of a call, and the gradients of each order in parameters and inputs."""
    given = [x.clone().requires_grad_() if is_floating(x) else x for x in inputs]
    wrt = [p for p in module.parameters() if p.requires_grad]
    wrt += [x for x in given if is_floating(x)]
    found = tensors_of(function(*given))
    every = [found]
    for order in range(orders):
        value = total(every[-1], order)
        if not isinstance(value, torch.Tensor) or not value.requires_grad:
            every.append([torch.zeros_like(x) for x in wrt])
            continue
        more = order < orders - 1
        grads = torch.autograd.grad(value, wrt, create_graph=more, allow_unused=True)
        every.append([torch.zeros_like(x) if g is None else g for g, x in zip(grads, wrt, strict=True)])
    return every


def same(found: Any, expected: Any, rtol: float, what: str) -> None:
    assert len(found) == len(expected), what
    for one, other in zip(found, expected, strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype), what
        size = other.detach().double().abs()
        scale = max(float(size.max()) if size.numel() else 0.0, 1.0)
        torch.testing.assert_close(one, other, rtol=rtol, atol=rtol * scale,
                                   msg=lambda text: f"{what}: {text}")  # fmt: skip


def compare(case: TorchCase, trains: bool, dtype: Any = torch.float64, rtol: float = 0.0) -> None:
    torch.manual_seed(0)
    theirs = case.make().to(dtype).train(trains)
    inputs = [x.to(dtype) if is_floating(x) else x for x in case.inputs()]
    module = copy.deepcopy(theirs)
    ours = differentiable(module)
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        known = theirs if case.reference is None else partial(case.reference, theirs)
        expected = derivatives(known, theirs, inputs, case.orders)
    found = derivatives(ours, module, inputs, case.orders)
    for order, (one, other) in enumerate(zip(found, expected, strict=True)):
        same(one, other, rtol or case.rtol * 10**order, f"order {order}")
    same(list(module.buffers()), list(theirs.buffers()), rtol or case.rtol, "buffers")


@pytest.mark.parametrize("trains", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("name", CASES)
def test_modules(name: str, trains: bool) -> None:
    """Results, gradients and buffers are PyTorch's, in train and eval."""
    compare(CASES[name], trains)


@pytest.mark.parametrize("name", ["mlp", "resnet block", "encoder layer", "gpt block"])
def test_single_precision(name: str) -> None:
    compare(CASES[name], True, torch.float32, 2e-4)
