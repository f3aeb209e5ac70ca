"""Networks and layers: first calls, calls, memory limits, beside the best peer."""

from __future__ import annotations

from typing import Any

import harness
import numpy as np

from rows.libraries import Model, in_jax, in_torch, jitted
from rows.row import GRADIR, Asked, Measured, Row, Run, Setting
from rows.timing import (
    arena_of,
    compile_times,
    first_call,
    first_call_row,
    hot_parts,
    memory_of_peers,
    model_row,
    timed,
)

BLOCKS, CHANNELS, IMAGES, SIDE = 8, 16, (16, 3, 32, 32), 32
SHARES = (0.7, 0.5, 0.35)
HEADS, HEAD = 8, 64
TIME, BATCH, UNITS = 256, 16, 64


def limited_call(share: float) -> str:
    """The figure of a first call within so much of the arena."""
    return f"first call in {share:g} of the arena"


def normal(*shapes: tuple[int, ...], scale: float = 0.1) -> list[Any]:
    """Arrays of normal numbers in f32."""
    random = np.random.default_rng(0)
    return [(random.normal(size=shape) * scale).astype(np.float32) for shape in shapes]


# A residual network.


def resnet_of(number: int) -> Model:
    """Residual blocks of two 3 x 3 convolutions; the number makes it another program."""

    def resnet(xp: Any, x: Any, first: Any, *kernels: Any) -> Any:
        x = xp.relu(xp.conv(x, first))
        for one, other in zip(kernels[::2], kernels[1::2], strict=True):
            x = xp.relu(x + xp.conv(xp.relu(xp.conv(x, one)), other))
        return (x * x).mean() * (1 + number / 64)

    return resnet


def resnet_inputs() -> list[Any]:
    kernel = (CHANNELS, CHANNELS, 3, 3)
    return normal(IMAGES, (CHANNELS, 3, 3, 3), *[kernel] * (2 * BLOCKS))


RESNET_WRT = range(1, 2 + 2 * BLOCKS)


def measure_resnet(run: Run) -> Measured:
    """The first call, later ones, and first calls of programs with memory limits."""
    inputs, threads = resnet_inputs(), run.setting.threads
    compiled = jitted(resnet_of(0), RESNET_WRT, threads)
    contenders = [
        harness.Contender(GRADIR, lambda: lambda: compiled(*inputs)),
        harness.Contender("JAX", lambda: in_jax(resnet_of(0), inputs, RESNET_WRT), "jax"),
        harness.Contender("PyTorch", lambda: in_torch(resnet_of(0), inputs, RESNET_WRT), "torch"),
    ]
    figures = [first_call(contender) for contender in contenders]
    figures += timed(run, contenders)
    arena = arena_of(compiled.compiled(*inputs).executable)
    figures += [arena, *memory_of_peers(resnet_of(0), inputs, RESNET_WRT, ("JAX", "PyTorch"))]
    for number, share in enumerate(SHARES, 1):
        limit = int(share * (arena.value or 0.0) * 1e6)

        def limited(number: int = number, limit: int = limit) -> harness.Call:
            function = jitted(resnet_of(number), RESNET_WRT, threads, memory_limit=limit)
            return lambda: function(*inputs)

        contender = harness.Contender(GRADIR, limited)
        figures.append(first_call(contender, limited_call(share)))

    def explain() -> str:
        times = compile_times(jitted(resnet_of(9), RESNET_WRT, threads), inputs)
        return f"first call: {times}. Then: {hot_parts(compiled.profile(*inputs))}"

    return Measured(figures, explain)


# Attention.


def attention_of(causal: bool, number: int = 0) -> Model:
    def attention(xp: Any, q: Any, k: Any, v: Any) -> Any:
        return (xp.attention(q, k, v, causal) * (1 + number / 64)).sum()

    return attention


def attention_inputs(batch: int, tokens: int) -> list[Any]:
    return normal(*[(batch, HEADS, tokens, HEAD)] * 3, scale=1.0)


# An LSTM.


def lstm(xp: Any, xs: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any) -> Any:
    def step(state: Any, x: Any) -> Any:
        h, c = state
        i, f, g, o = xp.split(x @ w_ih.T + b_ih + h @ w_hh.T + b_hh, 4)
        c = xp.sigmoid(f) * c + xp.sigmoid(i) * xp.tanh(g)
        h = xp.sigmoid(o) * xp.tanh(c)
        return (h, c), h

    zero = xp.zeros_like(xs[0])
    # of all steps: the gradient of the last one alone fades to subnormal numbers on its way back,
    # which cost a hundred cycles each, and which JAX takes for 0
    return xp.scan(step, (zero, zero), xs)[1].sum()


def lstm_inputs() -> list[Any]:
    gates = 4 * UNITS
    return normal((TIME, BATCH, UNITS), (gates, UNITS), (gates, UNITS), (gates,), (gates,))


def torch_lstm() -> harness.Call:
    torch = harness.library("torch")
    xs, *weights = [torch.from_numpy(a) for a in lstm_inputs()]
    layer = torch.nn.LSTM(UNITS, UNITS)
    for parameter, weight in zip(layer.parameters(), weights, strict=True):
        parameter.data.copy_(weight)

    def call() -> object:
        value = layer(xs)[0].sum()
        return value, torch.autograd.grad(value, list(layer.parameters()))

    return call


def measure_lstm(run: Run) -> Measured:
    inputs, compiled = lstm_inputs(), jitted(lstm, range(1, 5), run.setting.threads)
    contenders = [
        harness.Contender(GRADIR, lambda: lambda: compiled(*inputs)),
        harness.Contender("JAX", lambda: in_jax(lstm, inputs, range(1, 5)), "jax"),
        harness.Contender("PyTorch", torch_lstm, "torch"),
    ]
    figures = timed(run, contenders)
    figures.append(arena_of(compiled.compiled(*inputs).executable))
    figures += memory_of_peers(lstm, inputs, range(1, 5), ("JAX",))
    return Measured(figures, lambda: hot_parts(compiled.profile(*inputs)))


# Layers, beside the best peer.


def norm_mlp(xp: Any, x: Any, w1: Any, s: Any, b: Any, w2: Any) -> Any:
    y = xp.gelu(xp.layer_norm(x @ w1, s, b)) @ w2
    return (y * y).mean()


def norm_mlp_inputs() -> list[Any]:
    return normal((256, 256), (256, 512), (512,), (512,), (512, 256))


def mlp(xp: Any, x: Any, labels: Any, *weights: Any) -> Any:
    for w, b in zip(weights[:-2:2], weights[1:-2:2], strict=True):
        x = xp.relu(x @ w + b)
    return xp.cross_entropy(x @ weights[-2] + weights[-1], labels)


def mlp_inputs() -> list[Any]:
    x, *weights = normal((64, 784), (784, 256), (256,), (256, 256), (256,), (256, 10), (10,))
    return [x, np.random.default_rng(1).integers(0, 10, 64), *weights]


def encoder(xp: Any, x: Any, *p: Any) -> Any:
    """A block of an encoder: attention of 4 heads and a gelu network, norms before."""
    q, k, v, o, s1, b1, s2, b2, up, down = p
    batch, tokens, width = x.shape
    y = xp.layer_norm(x, s1, b1)
    heads = [xp.swap((y @ w).reshape((batch, tokens, 4, width // 4)), 1, 2) for w in (q, k, v)]
    x = x + xp.swap(xp.attention(*heads, False), 1, 2).reshape((batch, tokens, width)) @ o
    x = x + xp.gelu(xp.layer_norm(x, s2, b2) @ up) @ down
    return (x * x).mean()


def encoder_inputs() -> list[Any]:
    width, square = 128, (128, 128)
    vectors = [(width,)] * 4
    return normal((8, 64, width), *[square] * 4, *vectors, (width, 4 * width), (4 * width, width))


def conv(xp: Any, x: Any, w: Any) -> Any:
    y = xp.conv(x, w)
    return (y * y).mean()


def conv_inputs() -> list[Any]:
    return normal((16, 64, 28, 28), (64, 64, 3, 3))


_EVERY = ("JAX", "PyTorch", "torch.compile")
_LIMITS = tuple(limited_call(share) for share in SHARES)

ROWS = (
    Row(
        "ResNet of 8 blocks, 16 x 3 x 32 x 32, value and gradient",
        measure_resnet,
        [Asked("first call", 2.0), Asked("time", 28.0), *(Asked(what, 5.0) for what in _LIMITS)],
    ),
    Row(
        "attention, 1 x 8 heads x 1024 x 64: first call",
        first_call_row(
            lambda n: attention_of(False, n), lambda: attention_inputs(1, 1024), (0, 1, 2)
        ),
        [Asked("first call", 0.8)],
    ),
    Row(
        "attention, 8 x 8 heads x 128 x 64, causal, value and gradient",
        model_row(attention_of(True), lambda: attention_inputs(8, 128), (0, 1, 2)),
        [Asked("time", 2.2)],
    ),
    Row(
        "attention, 1 x 8 heads x 1024 x 64, value and gradient",
        model_row(attention_of(False), lambda: attention_inputs(1, 1024), (0, 1, 2), arena=True),
        [Asked("time", 27.0)],
    ),
    Row(
        "LSTM traced, 256 steps, batch 16, 64 units, value and gradient",
        measure_lstm,
        [Asked("time", 6.5), Asked("arena", 8.0)],
    ),
    Row(
        "layer_norm MLP, 256 x 256, hidden 512, value and gradient",
        model_row(norm_mlp, norm_mlp_inputs, range(1, 5), "us", _EVERY),
        [Asked("time", peers=1.15)],
        [Setting(), Setting(threads=1)],
        quick=[Setting()],
    ),
    Row(
        "MLP 64 x 784-256-256-10, value and gradient",
        model_row(mlp, mlp_inputs, range(2, 8), "us", _EVERY),
        [Asked("time", peers=1.2)],
        [Setting(), Setting(threads=1), Setting(busy=2)],
        quick=[Setting()],
    ),
    Row(
        "encoder block, 8 x 64 x 128, 4 heads, value and gradient",
        model_row(encoder, encoder_inputs, range(1, 11), "us", _EVERY),
        [Asked("time", peers=1.2)],
        [Setting(), Setting(threads=1), Setting(busy=2)],
        quick=[Setting()],
    ),
    Row(
        "convolution 3 x 3, 16 x 64 x 28 x 28 to 64 channels, value and gradient",
        model_row(conv, conv_inputs, (0, 1), "ms", _EVERY),
        [Asked("time", peers=1.1)],
        [Setting(), Setting(threads=1)],
        quick=[Setting()],
    ),
)
