"""The functions of models by the same names in gradir, JAX and PyTorch."""

from __future__ import annotations

from typing import Any

import harness


def swapped(rank: int, a: int, b: int) -> tuple[int, ...]:
    """The axes of an array with two in each other's place."""
    axes = list(range(rank))
    axes[a], axes[b] = axes[b], axes[a]
    return tuple(axes)


class Names:
    """Functions that all libraries have under one name come from `arrays`, as `exp` and `tanh`."""

    arrays: Any

    def __getattr__(self, name: str) -> Any:
        return getattr(self.arrays, name)


class GradirNames(Names):
    def __init__(self) -> None:
        self.arrays = harness.library("gradir.numpy")
        self.nn = harness.library("gradir.nn")
        gradir = harness.library("gradir")
        self.scan, self.checkpoint = gradir.scan, gradir.checkpoint
        self.relu, self.gelu, self.sigmoid = self.nn.relu, self.nn.gelu, self.nn.sigmoid
        self.layer_norm, self.cross_entropy = self.nn.layer_norm, self.nn.cross_entropy

    def sum(self, x: Any, axis: int) -> Any:
        return self.arrays.sum(x, axis=axis)

    def take(self, table: Any, ids: Any) -> Any:
        return self.arrays.take(table, ids, axis=0)

    def softmax(self, x: Any) -> Any:
        return self.nn.softmax(x, axis=len(x.shape) - 1)

    def logsumexp(self, x: Any) -> Any:
        return self.arrays.logsumexp(x, axis=len(x.shape) - 1)

    def swap(self, x: Any, a: int, b: int) -> Any:
        return self.arrays.permute_dims(x, swapped(len(x.shape), a, b))

    def conv(self, x: Any, w: Any) -> Any:
        return self.nn.conv2d(x, w, padding=1)

    def attention(self, q: Any, k: Any, v: Any, causal: bool) -> Any:
        return self.nn.attention(q, k, v, causal=causal)

    def split(self, x: Any, n: int) -> Any:
        return self.arrays.split(x, n, axis=1)


class JaxNames(Names):
    def __init__(self) -> None:
        self.jax = harness.library("jax")
        self.arrays, self.nn = self.jax.numpy, self.jax.nn
        self.erf, self.scan = self.jax.scipy.special.erf, self.jax.lax.scan
        self.checkpoint = self.jax.checkpoint
        self.relu, self.sigmoid, self.softmax = self.nn.relu, self.nn.sigmoid, self.nn.softmax
        self.swap = self.arrays.swapaxes

    def gelu(self, x: Any) -> Any:
        return self.nn.gelu(x, approximate=False)

    def take(self, table: Any, ids: Any) -> Any:
        return table[ids]

    def logsumexp(self, x: Any) -> Any:
        return self.nn.logsumexp(x, axis=-1)

    def layer_norm(self, x: Any, scale: Any, bias: Any) -> Any:
        centered = x - x.mean(-1, keepdims=True)
        variance = (centered**2).mean(-1, keepdims=True)
        return centered / self.arrays.sqrt(variance + 1e-5) * scale + bias

    def cross_entropy(self, logits: Any, targets: Any) -> Any:
        rows = self.nn.log_softmax(logits)
        return -self.arrays.take_along_axis(rows, targets[:, None], axis=1).mean()

    def conv(self, x: Any, w: Any) -> Any:
        return self.jax.lax.conv(x, w, (1, 1), "SAME")

    def attention(self, q: Any, k: Any, v: Any, causal: bool) -> Any:
        turned = [self.swap(x, 1, 2) for x in (q, k, v)]
        return self.swap(self.nn.dot_product_attention(*turned, is_causal=causal), 1, 2)

    def split(self, x: Any, n: int) -> Any:
        return self.arrays.split(x, n, axis=1)


class TorchNames(Names):
    def __init__(self) -> None:
        self.arrays = harness.library("torch")
        self.f = self.arrays.nn.functional
        self.gelu, self.cross_entropy = self.f.gelu, self.f.cross_entropy
        self.swap = self.arrays.swapaxes

    def take(self, table: Any, ids: Any) -> Any:
        return table[ids]

    def softmax(self, x: Any) -> Any:
        return self.arrays.softmax(x, -1)

    def logsumexp(self, x: Any) -> Any:
        return self.arrays.logsumexp(x, -1)

    def layer_norm(self, x: Any, scale: Any, bias: Any) -> Any:
        return self.f.layer_norm(x, x.shape[-1:], scale, bias)

    def conv(self, x: Any, w: Any) -> Any:
        return self.f.conv2d(x, w, padding=1)

    def attention(self, q: Any, k: Any, v: Any, causal: bool) -> Any:
        return self.f.scaled_dot_product_attention(q, k, v, is_causal=causal)
