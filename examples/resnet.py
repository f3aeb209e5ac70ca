"""A residual network that learns to read digits, within half the memory of its gradient.

    .venv/bin/python examples/resnet.py

The network is trained twice, without a limit and with half the bytes that the first took: the
compiler then computes parts of the forward pass once more. Losses are the same to the last bit.
Writes resnet.svg. Exit code 1 if the memory, the losses or the accuracy are not as they should be.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

import gradir
import gradir.nn as nn
import gradir.numpy as gnp
from gradir import optim

HERE = Path(__file__).parent
CHANNELS, BLOCKS, BATCH, EPOCHS, RATE = 16, 4, 64, 8, 0.005


def normed(p: Any, carried: Any, x: Any, name: str, training: bool) -> tuple[Any, Any]:
    """A convolution of 3 x 3 and its batch norm; beside it the next running statistics."""
    x = nn.conv2d(x, p[name], padding=1)
    scale, bias = p[f"{name}.scale"], p[f"{name}.bias"]
    x, carried[name] = nn.batch_norm(x, scale, bias, carried[name], training=training)
    return x, carried


def logits(p: Any, carried: Any, images: Any, training: bool) -> tuple[Any, Any]:
    """A convolution, blocks that add to what comes in, the mean of each channel."""
    carried = dict(carried)
    x, carried = normed(p, carried, images, "first", training)
    x = nn.relu(x)
    for k in range(BLOCKS):
        y, carried = normed(p, carried, x, f"{k}.a", training)
        y, carried = normed(p, carried, nn.relu(y), f"{k}.b", training)
        x = nn.relu(x + y)
    return nn.linear(gnp.mean(x, axis=(2, 3)), p["out"], p["out.bias"]), carried


def loss(p: Any, carried: Any, images: Any, labels: Any) -> tuple[Any, Any]:
    out, carried = logits(p, carried, images, training=True)
    return nn.cross_entropy(out, labels), carried


def accuracy(p: Any, carried: Any, images: Any, labels: Any) -> Any:
    """The share of digits whose logit is the largest."""
    out, _ = logits(p, carried, images, training=False)
    return gnp.mean(gnp.astype(gnp.argmax(out, axis=1) == labels, "float32"))


def start() -> tuple[Any, Any]:
    """Parameters, and the running statistics of batch norm."""
    random = np.random.default_rng(0)
    names = ["first", *(f"{k}.{part}" for k in range(BLOCKS) for part in "ab")]
    p: dict[str, Any] = {}
    carried: dict[str, Any] = {}
    for name in names:
        into = 1 if name == "first" else CHANNELS
        p[name] = random.normal(0, (2 / (9 * into)) ** 0.5, (CHANNELS, into, 3, 3))
        p[f"{name}.scale"], p[f"{name}.bias"] = np.ones(CHANNELS), np.zeros(CHANNELS)
        carried[name] = (np.zeros(CHANNELS, np.float32), np.ones(CHANNELS, np.float32))
    p["out"], p["out.bias"] = random.normal(0, 0.1, (10, CHANNELS)), np.zeros(10)
    return {name: values.astype(np.float32) for name, values in p.items()}, carried


def read_data() -> tuple[Any, Any]:
    """The training and the held-out part: images [n, 1, 8, 8] of numbers from 0 to 1, labels."""
    with np.load(HERE / "data" / "digits.npz") as data:
        images = data["images"].astype(np.float32).reshape(-1, 1, 8, 8) / 16
        labels, train, held_out = data["labels"], data["train"], data["held_out"]
    return (images[train], labels[train]), (images[held_out], labels[held_out])


def arena(memory_limit: int | None) -> int:
    """The bytes of the gradient's arena for a batch."""
    by_params = gradir.value_and_grad(loss, has_aux=True, memory_limit=memory_limit)
    batch = gradir.Spec((BATCH, 1, 8, 8), "float32"), gradir.Spec((BATCH,), "int64")
    return by_params.compiled(*start(), *batch).executable.plan.peak_bytes


def train(memory_limit: int | None) -> tuple[gradir.Trainer, gradir.History]:
    """The network trained within a limit."""
    data, held_out = read_data()
    params, carried = start()
    trainer = gradir.Trainer(
        *(loss, optim.adam(RATE), params),
        carried=carried,
        memory_limit=memory_limit,
        metrics={"accuracy": accuracy},
    )
    history = trainer.fit(data, EPOCHS, BATCH, drop_last=True, held_out=held_out)
    found = history.epochs["held_out_accuracy"][-1]
    print(f"  held-out accuracy {found:.0%} after {EPOCHS} epochs")
    return trainer, history


def main() -> None:
    """Train both ways, compare, draw."""
    all_of_it = arena(None)
    print(f"without a limit: {all_of_it / 1e6:.2f} MB")
    _, free = train(None)
    limit = all_of_it // 2
    print(f"within half of it: {arena(limit) / 1e6:.2f} MB")
    _, bounded = train(limit)
    same = free.steps["loss"] == bounded.steps["loss"]
    print("losses of all steps:", "the same bits" if same else "differ")
    free.write_svg("resnet.svg")
    if not same or arena(limit) > limit or free.epochs["held_out_accuracy"][-1] < 0.97:
        sys.exit("error: expected half the memory, the same losses, and digits read")


if __name__ == "__main__":
    main()
