"""Whole programs against PyTorch: the examples, and what their derivatives come to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from torch_ops import F, torch

import gradir

EXAMPLES = Path(__file__).parent.parent.parent / "examples"


def lenet(x: Any, t: Any, k1: Any, c1: Any, k2: Any, c2: Any, w3: Any, b3: Any, w4: Any, b4: Any):
    p1 = F.max_pool2d(F.relu(F.conv2d(x.reshape(64, 1, 8, 8), k1, c1, padding=2)), 2)
    p2 = F.max_pool2d(F.relu(F.conv2d(p1, k2, c2, padding=1)), 2)
    h3 = F.relu(F.linear(p2.reshape(64, 128), w3, b3))
    return F.cross_entropy(F.linear(h3, w4, b4), t)


def transformer_block(
    x: Any, target: Any, s1: Any, b1: Any, w_qkv: Any, w_out: Any, s2: Any, b2: Any, w_up: Any,
    b_up: Any, w_down: Any, b_down: Any,
) -> Any:  # fmt: skip
    qkv = F.linear(F.layer_norm(x, (64,), s1, b1), w_qkv).reshape(2, 32, 3, 4, 16)
    heads = F.scaled_dot_product_attention(*qkv.permute(2, 0, 3, 1, 4), is_causal=True)
    x1 = x + F.linear(heads.permute(0, 2, 1, 3).reshape(2, 32, 64), w_out)
    up = F.gelu(F.linear(F.layer_norm(x1, (64,), s2, b2), w_up, b_up))
    return F.mse_loss(x1 + F.linear(up, w_down, b_down), target)


@pytest.mark.parametrize("program", [lenet, transformer_block])
def test_example(program: Any) -> None:
    module = gradir.parse(EXAMPLES / f"{program.__name__}.mlir").gradient("main", mode="grad")
    compiled = gradir.compile(module, "main_grad")
    random = np.random.default_rng(1)
    arrays = [
        random.normal(0, 0.2, spec.shape).astype(np.float32)
        if spec.dtype.kind == "f"
        else random.integers(0, 10, spec.shape)
        for spec in compiled.inputs
    ]
    tensors = [torch.tensor(a) for a in arrays]
    # gradients of all floating arguments that are not marked as data
    wanted = [t for k, t in enumerate(tensors) if k not in _data(program)]
    for tensor in wanted:
        tensor.requires_grad_()
    loss = program(*tensors)
    loss.backward()
    found = compiled(*arrays)
    expected = [loss.detach(), *(t.grad for t in wanted)]
    for one, other in zip(found, expected, strict=True):
        scale = float(other.abs().max())
        np.testing.assert_allclose(one, other.numpy(), rtol=1e-4, atol=1e-5 * scale)


def _data(program: Any) -> tuple[int, ...]:
    """The arguments that are data."""
    return (0, 1) if program is lenet else (1,)
