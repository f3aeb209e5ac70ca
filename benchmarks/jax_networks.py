"""Networks of JAX for imported.py, which are imported and never run: shapes alone count."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def gpt2_small(jax: Any) -> tuple[Callable[..., Any], tuple[Any, Any]]:
    """The loss of a network of GPT-2 small's shape, 128 tokens, and its arguments' shapes."""
    jnp, c = jax.numpy, 768

    def spec(*shape: int, dtype: str = "float32") -> Any:
        return jax.ShapeDtypeStruct(shape, dtype)

    def pair(*shape: int) -> Any:
        return spec(*shape), spec(shape[-1])

    def normal(x: Any, scale: Any, shift: Any) -> Any:
        centered = x - x.mean(-1, keepdims=True)
        return centered / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5) * scale + shift

    def loss(params: Any, tokens: Any) -> Any:
        steps = tokens.shape[1]
        mask = jnp.tril(jnp.ones((steps, steps), bool))
        x = params["tokens"][tokens] + params["places"][:steps]
        for each in params["blocks"]:
            weight, bias = each["qkv"]
            parts = jnp.split(normal(x, *each["first"]) @ weight + bias, 3, -1)
            q, k, v = (p.reshape(*p.shape[:2], 12, 64).transpose(0, 2, 1, 3) for p in parts)
            scores = jnp.where(mask, q @ k.swapaxes(-1, -2) / 8.0, -jnp.inf)
            mixed = (jax.nn.softmax(scores) @ v).transpose(0, 2, 1, 3).reshape(x.shape)
            x = x + mixed @ each["out"][0] + each["out"][1]
            h = jax.nn.gelu(normal(x, *each["second"]) @ each["up"][0] + each["up"][1])
            x = x + h @ each["down"][0] + each["down"][1]
        logits = normal(x, *params["last"]) @ params["tokens"].T
        logs = jax.nn.log_softmax(logits[:, :-1])
        return -jnp.mean(jnp.take_along_axis(logs, tokens[:, 1:, None], -1))

    line = spec(c), spec(c)
    block = {"first": line, "second": line, "qkv": pair(c, 3 * c), "out": pair(c, c),
             "up": pair(c, 4 * c), "down": pair(4 * c, c)}  # fmt: skip
    params = {"tokens": spec(50257, c), "places": spec(1024, c), "blocks": [block] * 12,
              "last": line}  # fmt: skip
    return loss, (params, spec(1, 128, dtype="int32"))


def resnet18(jax: Any) -> tuple[Callable[..., Any], tuple[Any, Any]]:
    """A network of ResNet-18's shape on 8 images, and its arguments' shapes."""
    jnp, lax = jax.numpy, jax.lax

    def spec(*shape: int) -> Any:
        return jax.ShapeDtypeStruct(shape, "float32")

    def convolved(x: Any, weights: Any, stride: int) -> Any:
        weight, line = weights
        numbers = ("NHWC", "HWIO", "NHWC")
        x = lax.conv_general_dilated(x, weight, (stride,) * 2, "SAME", dimension_numbers=numbers)
        apart = x - x.mean((0, 1, 2))
        return apart / jnp.sqrt(x.var((0, 1, 2)) + 1e-5) * line[0] + line[1]

    def network(params: Any, x: Any) -> Any:
        x = jax.nn.relu(convolved(x, params["stem"], 2))
        x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")
        for each in params["blocks"]:
            stride = 2 if "side" in each else 1
            h = jax.nn.relu(convolved(x, each["first"], stride))
            side = convolved(x, each["side"], 2) if "side" in each else x
            x = jax.nn.relu(convolved(h, each["second"], 1) + side)
        return jax.nn.log_softmax(x.mean((1, 2)) @ params["head"])

    def layer(size: int, inner: int, outer: int) -> Any:
        return spec(size, size, inner, outer), (spec(outer), spec(outer))

    made, before = list[dict[str, Any]](), 64
    for width in (64, 128, 256, 512):
        for k in range(2):
            block = {"first": layer(3, before, width), "second": layer(3, width, width)}
            if width > 64 and not k:
                block["side"] = layer(1, before, width)
            made.append(block)
            before = width
    params = {"stem": layer(7, 3, 64), "blocks": made, "head": spec(512, 1000)}
    return network, (params, spec(8, 224, 224, 3))
