"""Networks for imported.py: modules of PyTorch, and the same written for gradir.nn and for JAX."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import harness
import numpy as np

WIDTHS = (64, 128, 256, 512)
HEADS = 4


@dataclass(frozen=True)
class Network:
    """A module whose result is its loss, its inputs, and the same on a dict of its parameters.

    `by_hand` takes functions (`Gradir` or `Jax`), the parameters by their names, and the inputs.
    """

    module: Any
    inputs: tuple[Any, ...]
    by_hand: Callable[..., Any]


# Functions of both libraries, by one name.


class Gradir:
    """The functions of gradir.nn."""

    def __init__(self) -> None:
        self.nn, self.np = harness.library("gradir.nn"), harness.library("gradir.numpy")
        self.linear, self.layer_norm = self.nn.linear, self.nn.layer_norm
        self.silu, self.gelu, self.cross_entropy = self.nn.silu, self.nn.gelu, self.nn.cross_entropy

    def conv(self, x: Any, weight: Any, stride: int) -> Any:
        return self.nn.conv2d(x, weight, stride=stride, padding=weight.shape[-1] // 2)

    def batch_norm(self, x: Any, scale: Any, shift: Any) -> Any:
        state = self.np.zeros_like(scale), self.np.ones_like(scale)
        return self.nn.batch_norm(x, scale, shift, state, training=True)[0]

    def attention(self, q: Any, k: Any, v: Any) -> Any:
        return self.nn.scaled_dot_product_attention(q, k, v, is_causal=True)


class Jax:
    """The functions of JAX."""

    def __init__(self) -> None:
        self.jax = harness.library("jax")
        self.np, self.silu = self.jax.numpy, self.jax.nn.silu

    def linear(self, x: Any, weight: Any, bias: Any) -> Any:
        return x @ weight.T + bias

    def gelu(self, x: Any) -> Any:
        return self.jax.nn.gelu(x, approximate=False)

    def _normal(self, x: Any, axes: Any) -> Any:
        centered = x - x.mean(axes, keepdims=True)
        return centered / self.np.sqrt(x.var(axes, keepdims=True) + 1e-5)

    def layer_norm(self, x: Any, scale: Any, shift: Any) -> Any:
        return self._normal(x, -1) * scale + shift

    def batch_norm(self, x: Any, scale: Any, shift: Any) -> Any:
        return self._normal(x, (0, 2, 3)) * scale[:, None, None] + shift[:, None, None]

    def conv(self, x: Any, weight: Any, stride: int) -> Any:
        pad = ((weight.shape[-1] // 2,) * 2,) * 2
        return self.jax.lax.conv_general_dilated(x, weight, (stride,) * 2, pad)

    def attention(self, q: Any, k: Any, v: Any) -> Any:
        steps = q.shape[-2]
        scores = q @ k.swapaxes(-1, -2) * q.shape[-1] ** -0.5
        mask = self.np.tril(self.np.ones((steps, steps), bool))
        return self.jax.nn.softmax(self.np.where(mask, scores, -self.np.inf)) @ v

    def cross_entropy(self, logits: Any, targets: Any) -> Any:
        logs = self.jax.nn.log_softmax(logits)
        return -self.np.mean(self.np.take_along_axis(logs, targets[:, None], -1))


class Formulas(Gradir):
    """gradir's functions in the formulas that `Jax` has for layers."""

    _normal, layer_norm, batch_norm = Jax._normal, Jax.layer_norm, Jax.batch_norm

    def linear(self, x: Any, weight: Any, bias: Any) -> Any:
        return x @ weight.T + bias

    def attention(self, q: Any, k: Any, v: Any) -> Any:
        steps = q.shape[-2]
        scores = q @ self.np.swapaxes(k, -1, -2) * q.shape[-1] ** -0.5
        mask = np.tril(np.ones((steps, steps), bool))
        return self.nn.softmax(self.np.where(mask, scores, -np.inf)) @ v

    def cross_entropy(self, logits: Any, targets: Any) -> Any:
        logs = self.nn.log_softmax(logits)
        return -self.np.mean(self.np.take_along_axis(logs, targets[:, None], -1))


# A network of ResNet's shape: convolutions, batch norms in train.


def residual(widths: tuple[int, ...], classes: int, size: int, batch: int) -> Network:
    """Two blocks of each width, on images of some size; (64, 128, 256, 512) is ResNet-18."""
    torch = harness.library("torch")
    torch.manual_seed(0)
    images = torch.from_numpy(
        np.random.default_rng(0).normal(size=(batch, 3, size, size)).astype("float32")
    )
    labels = torch.from_numpy(np.random.default_rng(1).integers(0, classes, batch))
    return Network(_residual_module(torch, widths, classes), (images, labels), residual_by_hand)


def residual_by_hand(f: Any, p: dict[str, Any], x: Any, labels: Any) -> Any:
    """The network, without a max_pool behind its stem."""

    def convolved(x: Any, name: str, stride: int) -> Any:
        x = f.conv(x, p[f"{name}.conv.weight"], stride)
        return f.batch_norm(x, p[f"{name}.norm.weight"], p[f"{name}.norm.bias"])

    x, k = f.silu(convolved(x, "stem", 2)), 0
    while f"blocks.{k}.first.conv.weight" in p:
        has_side = f"blocks.{k}.side.conv.weight" in p
        h = f.silu(convolved(x, f"blocks.{k}.first", 1 + has_side))
        side = convolved(x, f"blocks.{k}.side", 2) if has_side else x
        x, k = f.silu(convolved(h, f"blocks.{k}.second", 1) + side), k + 1
    logits = f.linear(f.np.mean(x, axis=(2, 3)), p["head.weight"], p["head.bias"])
    return f.cross_entropy(logits, labels)


def _residual_module(torch: Any, widths: tuple[int, ...], classes: int) -> Any:
    nn, silu = torch.nn, torch.nn.functional.silu

    class Convolved(nn.Module):
        def __init__(self, inner: int, outer: int, size: int, stride: int) -> None:
            super().__init__()
            self.conv = nn.Conv2d(inner, outer, size, stride, size // 2, bias=False)
            self.norm = nn.BatchNorm2d(outer)

        def forward(self, x: Any) -> Any:
            return self.norm(self.conv(x))

    class Block(nn.Module):
        def __init__(self, inner: int, outer: int) -> None:
            super().__init__()
            stride = 1 if inner == outer else 2
            self.first = Convolved(inner, outer, 3, stride)
            self.second = Convolved(outer, outer, 3, 1)
            self.side = Convolved(inner, outer, 1, 2) if inner != outer else nn.Identity()

        def forward(self, x: Any) -> Any:
            return silu(self.second(silu(self.first(x))) + self.side(x))

    class Residual(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stem = Convolved(3, widths[0], 7, 2)
            inner = [widths[0], *(w for w in widths for _ in range(2))]
            self.blocks = nn.Sequential(*map(Block, inner[:-1], inner[1:]))
            self.head = nn.Linear(widths[-1], classes)

        def forward(self, x: Any, labels: Any) -> Any:
            x = self.blocks(silu(self.stem(x))).mean((2, 3))
            return nn.functional.cross_entropy(self.head(x), labels)

    return Residual()


# A network of GPT-2's shape.


def transformer(layers: int, width: int, heads: int, words: int, shape: tuple[int, int]) -> Network:
    """Blocks of causal attention on tokens of a shape; 12, 768, 12, 50257 is GPT-2 small."""
    torch = harness.library("torch")
    torch.manual_seed(0)
    tokens = torch.from_numpy(np.random.default_rng(1).integers(0, words, shape))

    def by_hand(f: Any, p: dict[str, Any], tokens: Any) -> Any:
        return transformer_by_hand(f, p, tokens, layers, heads)

    return Network(_transformer_module(torch, layers, width, heads, words), (tokens,), by_hand)


def transformer_by_hand(f: Any, p: dict[str, Any], tokens: Any, layers: int, heads: int) -> Any:
    """The cross entropy of each next token."""
    batch, steps = tokens.shape

    def layer(x: Any, name: str, function: Any) -> Any:
        return function(x, p[f"{name}.weight"], p[f"{name}.bias"])

    x = p["tokens.weight"][tokens] + p["places.weight"][:steps]
    width = x.shape[-1]
    for k in range(layers):
        h = layer(x, f"blocks.{k}.first", f.layer_norm)
        parts = f.np.split(layer(h, f"blocks.{k}.qkv", f.linear), 3, axis=-1)
        shape = batch, steps, heads, width // heads
        q, k_, v = (f.np.transpose(f.np.reshape(part, shape), (0, 2, 1, 3)) for part in parts)
        mixed = f.np.transpose(f.attention(q, k_, v), (0, 2, 1, 3))
        x = x + layer(f.np.reshape(mixed, x.shape), f"blocks.{k}.out", f.linear)
        h = layer(layer(x, f"blocks.{k}.second", f.layer_norm), f"blocks.{k}.up", f.linear)
        x = x + layer(f.gelu(h), f"blocks.{k}.down", f.linear)
    x = layer(x, "last", f.layer_norm)[:, :-1]
    logits = f.np.reshape(x, (-1, width)) @ f.np.transpose(p["tokens.weight"], (1, 0))
    return f.cross_entropy(logits, f.np.reshape(tokens[:, 1:], (-1,)))


def _transformer_module(torch: Any, layers: int, width: int, heads: int, words: int) -> Any:
    nn, functional = torch.nn, torch.nn.functional

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x: Any) -> Any:
            shape = *x.shape[:2], heads, width // heads
            parts = self.qkv(self.first(x)).chunk(3, -1)
            q, k, v = (part.reshape(shape).transpose(1, 2) for part in parts)
            mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(mixed.transpose(1, 2).reshape(x.shape))
            return x + self.down(functional.gelu(self.up(self.second(x))))

    class Transformer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tokens, self.places = nn.Embedding(words, width), nn.Embedding(1024, width)
            self.blocks = nn.Sequential(*(Block() for _ in range(layers)))
            self.last = nn.LayerNorm(width)

        def forward(self, tokens: Any) -> Any:
            places = torch.arange(tokens.shape[1])
            x = self.blocks(self.tokens(tokens) + self.places(places))
            logits = self.last(x)[:, :-1].flatten(0, 1) @ self.tokens.weight.t()
            return functional.cross_entropy(logits, tokens[:, 1:].flatten())

    return Transformer()


STEPS: dict[str, Callable[[], Network]] = {
    "ResNet of 8 blocks, 32 to 128 channels, 8 x 3 x 64 x 64": lambda: residual(
        (32, 64, 96, 128), 10, 64, 8
    ),
    "GPT of 4 blocks, 128 wide, 4 x 64 of 512 tokens": lambda: transformer(
        4, 128, HEADS, 512, (4, 64)
    ),
}
IMPORTS: dict[str, Callable[[], Network]] = {
    "ResNet-18": lambda: residual(WIDTHS, 1000, 224, 2),
    "GPT-2 small": lambda: transformer(12, 768, 12, 50257, (1, 128)),
}
