"""PyTorch modules that gradir imports: each with inputs of float64, and its random ops left out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

torch: Any = import_module("torch")
nn: Any = torch.nn
functional: Any = torch.nn.functional
_loops: Any = import_module("torch._higher_order_ops")


@dataclass(frozen=True)
class TorchCase:
    """A module, and inputs for it; `orders` of derivatives are compared.

    `reference` is a function of a module and its inputs that PyTorch differentiates, where the
    module itself is one that it does not, or not twice.
    """

    make: Callable[[], Any]
    inputs: Callable[[], tuple[Any, ...]]
    orders: int = 2
    rtol: float = 1e-9
    reference: Callable[..., Any] | None = None


def floats(*shape: int) -> Any:
    return torch.randn(*shape, dtype=torch.float64)


class Block(nn.Module):
    """A residual block of convolutions with batch norms."""

    def __init__(self, channels: int, stride: int = 1):
        super().__init__()
        self.first = nn.Conv2d(channels, 2 * channels, 3, stride, 1, bias=False)
        self.first_norm = nn.BatchNorm2d(2 * channels)
        self.second = nn.Conv2d(2 * channels, 2 * channels, 3, 1, 1, bias=False)
        self.second_norm = nn.BatchNorm2d(2 * channels)
        self.short = nn.Sequential(
            nn.Conv2d(channels, 2 * channels, 1, stride, bias=False), nn.BatchNorm2d(2 * channels)
        )

    def forward(self, x: Any) -> Any:
        y = functional.relu(self.first_norm(self.first(x)), inplace=True)
        y = self.second_norm(self.second(y))
        y += self.short(x)
        return functional.gelu(y)


class Recurrent(nn.Module):
    """A recurrent layer; the last state, and all outputs."""

    def __init__(self, kind: str, **options: Any):
        super().__init__()
        self.layer = getattr(nn, kind)(3, 4, **options)

    def forward(self, x: Any) -> Any:
        return self.layer(x)


class Attention(nn.Module):
    """Scaled dot products, causal and with a mask."""

    def forward(self, q: Any, k: Any, v: Any) -> Any:
        causal = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        mask = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).tril(1)
        return causal + functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=0.3)


class GptBlock(nn.Module):
    """A block of GPT-2, with its embeddings and tied weights, and a loss."""

    def __init__(self, vocabulary: int = 11, width: int = 8, heads: int = 2, length: int = 6):
        super().__init__()
        self.heads = heads
        self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attend, self.project = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.tokens.weight
        self.register_buffer(
            "mask", torch.tril(torch.ones(length, length)).bool(), persistent=False
        )

    def forward(self, ids: Any) -> Any:
        count, length = ids.shape
        x = self.tokens(ids) + self.places(torch.arange(length))
        q, k, v = self.attend(self.first(x)).split(x.shape[-1], dim=2)
        q, k, v = (y.view(count, length, self.heads, -1).transpose(1, 2) for y in (q, k, v))
        scores = (q @ k.transpose(-2, -1)) / q.shape[-1] ** 0.5
        scores = scores.masked_fill(~self.mask[:length, :length], float("-inf"))
        y = (functional.softmax(scores, dim=-1) @ v).transpose(1, 2).contiguous()
        x = x + self.project(y.view(count, length, -1))
        x = x + self.narrow(functional.gelu(self.wide(self.second(x)), approximate="tanh"))
        logits = self.head(x)
        return functional.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten())


class Newton(nn.Module):
    """A root by a while loop, whose number of steps depends on the values."""

    def forward(self, x: Any) -> Any:
        def goes_on(y: Any, n: Any) -> Any:
            return ((y * y - x).abs().max() > 1e-13) & (n < 50)

        def step(y: Any, n: Any) -> Any:
            return y - (y * y - x) / (2 * y), n + 1

        start = torch.ones_like(x), torch.zeros((), dtype=torch.int64)
        return _loops.while_loop(goes_on, step, start)[0]

    def root(self, x: Any) -> Any:
        return x.sqrt()


class Branches(nn.Module):
    """A branch by the values, with weights in it."""

    def __init__(self) -> None:
        super().__init__()
        self.left, self.right = nn.Linear(3, 3), nn.Linear(3, 3)

    def forward(self, x: Any) -> Any:
        return torch.cond(x.sum() > 0, lambda x: self.left(x).sin(), lambda x: self.right(x), (x,))

    def chosen(self, x: Any) -> Any:
        return self.left(x).sin() if x.sum() > 0 else self.right(x)


class RunningSum(nn.Module):
    """A scan with a carried value and rows."""

    def forward(self, x: Any) -> Any:
        def step(carry: Any, row: Any) -> Any:
            made = carry * 0.9 + row.sin()
            return made, made * row

        return _loops.scan(step, torch.zeros_like(x[0]), x)

    def one_by_one(self, x: Any) -> Any:
        carry, rows = torch.zeros_like(x[0]), list[Any]()
        for row in x:
            carry = carry * 0.9 + row.sin()
            rows.append(carry * row)
        return carry, torch.stack(rows)


class Rows(nn.Module):
    """A function of each row."""

    def forward(self, x: Any) -> Any:
        return _loops.map(lambda row: row.sin() * row.sum(), x)

    def one_by_one(self, x: Any) -> Any:
        return torch.stack([row.sin() * row.sum() for row in x])


class Heads(nn.Module):
    """Attention with all that it returns."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.MultiheadAttention(8, 2, batch_first=True, add_bias_kv=True)

    def forward(self, x: Any) -> Any:
        return self.layer(x, x, x, average_attn_weights=False)


class Cells(nn.Module):
    """Steps of recurrent layers."""

    def __init__(self) -> None:
        super().__init__()
        self.gru, self.lstm = nn.GRUCell(3, 4), nn.LSTMCell(4, 3, bias=False)

    def forward(self, x: Any) -> Any:
        return self.lstm(self.gru(x))


class InPlace(nn.Module):
    """Writes in place: to views, by masks and places, of buffers, and without gradients."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.register_buffer("count", torch.zeros(4))
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64))

    def forward(self, x: Any) -> Any:
        with torch.no_grad():
            still = self.layer(x) * 2
            self.count += still[0]
            self.steps += 1
        y = self.layer(x) + still.detach() + self.count
        y[0] = 3.0
        y[:, 1:3].mul_(2).add_(x[:, :1])
        y.t()[3] += x[0, 0] ** 2
        part = y.view(-1)[2:6]
        part -= 1
        left, right = y[:, :2], y[:, 2:]
        right.copy_((left + 0).sin() * x[:, 2:])
        z = y.clone()
        z[torch.tensor([0, 2])] = x[:2]
        z.masked_fill_(x > 1, 0.5)
        z.diagonal().zero_()
        return z * y, part


class Detached(nn.Module):
    """Values that change behind the back of gradients."""

    def forward(self, x: Any) -> Any:
        y = x * 2
        with torch.no_grad():
            y.add_(1)
        z = y.sin()
        z.detach().mul_(3)
        with torch.no_grad(), torch.enable_grad():
            w = x * z
        return w + y.detach() * x


class Images(nn.Module):
    """Convolutions of one and three axes, transposed ones, pools, and images of another size."""

    def __init__(self) -> None:
        super().__init__()
        self.line = nn.Conv1d(2, 4, 3, padding="same", dilation=2)
        self.cube = nn.Conv3d(2, 2, 2, stride=2)
        self.back = nn.ConvTranspose2d(2, 3, 3, stride=2, padding=1, output_padding=1)
        self.lines = nn.ConvTranspose1d(4, 2, 3, groups=2)

    def forward(self, line: Any, cube: Any, image: Any) -> Any:
        image = self.back(image)
        image = functional.max_pool2d(image, 2) + functional.avg_pool2d(image, 2, ceil_mode=True)
        image = functional.interpolate(image, scale_factor=2, mode="bilinear")
        image = functional.adaptive_avg_pool2d(image, (2, 3))
        return self.lines(self.line(line)), self.cube(cube), functional.pad(image, (1, 2))


class Norms(nn.Module):
    """Norms of groups, layers, instances, and root mean squares."""

    def __init__(self) -> None:
        super().__init__()
        self.group = nn.GroupNorm(2, 4)
        self.instance = nn.InstanceNorm1d(4, affine=True, track_running_stats=True)
        self.layer, self.root = nn.LayerNorm((4, 5)), nn.RMSNorm(5)

    def forward(self, x: Any) -> Any:
        return self.root(self.layer(self.group(x) + self.instance(x)))


class Factors(nn.Module):
    """LU factors, and systems solved by them."""

    def forward(self, square: Any, wide: Any) -> Any:
        packed, pivots = torch.linalg.lu_factor(square)
        ahead = torch.linalg.lu_solve(packed, pivots, wide)
        back = torch.linalg.lu_solve(packed, pivots, wide.mT, left=False, adjoint=True)
        tall = torch.linalg.lu(wide.mT)
        return ahead, back, *tall, *torch.lu_unpack(*torch.linalg.lu_factor(wide)), pivots


class Losses(nn.Module):
    """Losses with weights, smoothing and reductions."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(5, 4)
        self.weights = nn.Parameter(torch.rand(4), requires_grad=False)

    def forward(self, x: Any, classes: Any) -> Any:
        logits = self.layer(x)
        shares = functional.softmax(logits.detach() * 2, dim=1)
        return (
            functional.cross_entropy(logits, classes, self.weights, label_smoothing=0.1),
            functional.nll_loss(functional.log_softmax(logits, 1), classes, reduction="none"),
            functional.binary_cross_entropy_with_logits(logits, shares),
            functional.smooth_l1_loss(logits, shares, reduction="sum"),
            {"kl": functional.kl_div(functional.log_softmax(logits, 1), shares)},
        )


def sequential(*layers: Any) -> Callable[[], Any]:
    return lambda: nn.Sequential(*(make() for make in layers))


def dense(width: int, out: int) -> Callable[[], Any]:
    return lambda: nn.Linear(width, out)


def ids(*shape: int, most: int = 10) -> Any:
    return torch.randint(0, most, shape)


CASES: dict[str, TorchCase] = {
    "mlp": TorchCase(sequential(dense(3, 5), nn.Tanh, dense(5, 2)), lambda: (floats(4, 3),)),
    "resnet block": TorchCase(lambda: Block(2, 2), lambda: (floats(3, 2, 6, 6),)),
    "encoder layer": TorchCase(
        lambda: nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True),
        lambda: (floats(2, 5, 8),),
    ),
    "decoder layer": TorchCase(
        lambda: nn.TransformerDecoderLayer(8, 2, 16, dropout=0.0, activation="gelu"),
        lambda: (floats(4, 2, 8), floats(5, 2, 8)),
        orders=1,
    ),
    "lstm": TorchCase(
        lambda: Recurrent("LSTM", num_layers=2, batch_first=True, bidirectional=True),
        lambda: (floats(2, 5, 3),),
        orders=1,
    ),
    "projected lstm": TorchCase(
        lambda: Recurrent("LSTM", num_layers=2, proj_size=2, bias=False),
        lambda: (floats(4, 2, 3),),
        orders=1,
    ),
    "gru": TorchCase(lambda: Recurrent("GRU", bias=False), lambda: (floats(4, 2, 3),), orders=1),
    "rnn": TorchCase(lambda: Recurrent("RNN", num_layers=2), lambda: (floats(4, 3),), orders=1),
    "embedding bag": TorchCase(
        lambda: nn.EmbeddingBag(10, 3, mode="sum", padding_idx=2), lambda: (ids(4, 5),)
    ),
    "embedding": TorchCase(
        sequential(lambda: nn.Embedding(10, 4, padding_idx=1), dense(4, 2)), lambda: (ids(2, 3),)
    ),
    "transposed convolution": TorchCase(Images, lambda: (
        floats(2, 2, 7), floats(1, 2, 4, 4, 4), floats(2, 2, 3, 4)), orders=1),
    "attention": TorchCase(
        Attention, lambda: (floats(2, 3, 4, 5), floats(2, 3, 4, 5), floats(2, 3, 4, 5))
    ),
    "gpt block": TorchCase(GptBlock, lambda: (ids(2, 6, most=11),)),
    "while loop": TorchCase(
        Newton, lambda: (floats(3).abs() + 0.5,), rtol=1e-9, reference=Newton.root),
    "cond": TorchCase(Branches, lambda: (floats(2, 3),), reference=Branches.chosen),
    "scan": TorchCase(RunningSum, lambda: (floats(5, 2),), reference=RunningSum.one_by_one),
    "map": TorchCase(Rows, lambda: (floats(5, 2),), reference=Rows.one_by_one),
    "heads": TorchCase(Heads, lambda: (floats(2, 5, 8),), orders=1),
    "cells": TorchCase(Cells, lambda: (floats(2, 3),), orders=1),
    "transformer": TorchCase(
        lambda: nn.Transformer(8, 2, 1, 1, 16, dropout=0.0),
        lambda: (floats(5, 2, 8), floats(4, 2, 8)),
        orders=1,
    ),
    "spectral norm": TorchCase(
        lambda: nn.utils.parametrizations.spectral_norm(nn.Linear(3, 4)),
        lambda: (floats(2, 3),),
        orders=1,
    ),
    # PyTorch's second derivative is not that of differences: -1.42 where they have -2.65
    "weight norm": TorchCase(
        lambda: nn.utils.parametrizations.weight_norm(nn.Linear(3, 4)),
        lambda: (floats(2, 3),),
        orders=1,
    ),
    "super resolution": TorchCase(
        sequential(
            lambda: nn.Conv2d(2, 8, 3),
            lambda: nn.PixelShuffle(2),
            lambda: nn.Upsample(scale_factor=1.5, mode="bicubic"),
        ),
        lambda: (floats(1, 2, 5, 5),),
        orders=1,
    ),
    "batch norm": TorchCase(
        sequential(lambda: nn.BatchNorm1d(3), dense(3, 2)), lambda: (floats(6, 3),)
    ),
    "norms": TorchCase(Norms, lambda: (floats(2, 4, 5),), orders=1),
    "in place": TorchCase(InPlace, lambda: (floats(4, 4),)),
    "detached": TorchCase(Detached, lambda: (floats(4),), orders=1),
    "factors": TorchCase(Factors, lambda: (floats(2, 3, 3), floats(3, 4))),
    "losses": TorchCase(Losses, lambda: (floats(6, 5), ids(6, most=4)), orders=1),
    "dropout left out": TorchCase(
        sequential(dense(3, 4), lambda: nn.Dropout(0.0), lambda: nn.PReLU(), dense(4, 2)),
        lambda: (floats(4, 3),),
    ),
}  # fmt: skip
