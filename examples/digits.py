"""Train a classifier of handwritten digits: text in, its gradient by a pass, native code out.

    .venv/bin/python examples/digits.py [digits_mlp.mlir | lenet.mlir]

The networks are programs beside this file, and so is the step of training, once two passes have
joined the loss, its gradient and the optimizer. The loop knows of a network that it has a function
that takes a step, one that predicts, and the shapes of its weights.
Writes the course of the training as digits_loss.svg to the current folder. Exit code 1 if the
result is a bad one.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import gradir
from gradir import optim
from gradir.frontends.training.chart import Curve, Panel, chart

HERE = Path(__file__).parent
CHART = Path("digits_loss.svg")

SEED = 0
BATCH, PIXELS, DIGITS = 64, 64, 10
EPOCHS, RATE, MOMENTUM = 30, 0.1, 0.9
# The programs, and the held-out accuracy that each must reach.
WANTED_ACCURACY = {"digits_mlp.mlir": 0.97, "lenet.mlir": 0.98}

Array = np.ndarray[Any, Any]


class Part(NamedTuple):
    """Images as rows of 64 numbers from 0 to 1, and the digits that they show."""

    images: Array
    labels: Array


class Epoch(NamedTuple):
    """What one pass over the training images came to."""

    loss: float
    accuracy: float
    seconds: float


def read_data() -> tuple[Part, Part]:
    """The training and the held-out part."""
    with np.load(HERE / "data" / "digits.npz") as data:
        images = data["images"].astype(np.float32) / 16
        labels, train, held_out = data["labels"], data["train"], data["held_out"]
    return Part(images[train], labels[train]), Part(images[held_out], labels[held_out])


def initial_parameters(
    shapes: Sequence[tuple[int, ...]], random: np.random.Generator
) -> list[Array]:
    """Weights and biases in turn: He's normal weights, biases of zero."""
    parameters: list[Array] = []
    for weight, bias in zip(shapes[::2], shapes[1::2], strict=True):
        fan_in = math.prod(weight) // math.prod(bias)
        values = random.normal(0, math.sqrt(2 / fan_in), weight)
        parameters += [values.astype(np.float32), np.zeros(bias, np.float32)]
    return parameters


class Trainer:
    """Stochastic gradient descent with momentum; of `steps` an epoch, each is one native call."""

    def __init__(self, module: gradir.Module, steps: int, random: np.random.Generator):
        self.predict = gradir.compile(module, "predict")
        _, *weights = self.predict.inputs
        self.parameters = initial_parameters([w.shape for w in weights], random)
        # the step size falls from epoch to epoch, linearly to zero
        optimizer = optim.chain(
            optim.scale_by_learning_rate(lambda count: RATE * (1 - count // steps / EPOCHS)),
            optim.trace(MOMENTUM),
        )
        program = module.merge(optim.to_module(optimizer, self.parameters))
        # @main_step takes a batch; parameters and momentum lie in the buffers of its first results
        self.step = gradir.compile(program.train_step("main", in_place=True), "main_step")
        state = gradir.compile(program, "init")(*self.parameters)
        self.out = [*self.parameters, *state, np.empty((), np.float32)]
        self.x = np.zeros((BATCH, PIXELS), np.float32)
        self.logits = np.empty((BATCH, DIGITS), np.float32)

    def epoch(self, part: Part, order: Array) -> float:
        """Take one step for each batch, in this order; the mean loss."""
        total, batches = 0.0, order.reshape(-1, BATCH)
        for batch in batches:
            *_, loss = self.step(part.images[batch], part.labels[batch], out=self.out)
            total += float(loss)
        return total / len(batches)

    def accuracy(self, part: Part) -> float:
        """The share of images whose digit has the largest logit."""
        correct = 0
        for begin in range(0, len(part.images), BATCH):
            images = part.images[begin : begin + BATCH]
            # the last batch is not full: the rows behind it are computed and not looked at
            self.x[: len(images)] = images
            self.predict(self.x, *self.parameters, out=self.logits)
            digits = self.logits[: len(images)].argmax(axis=1)
            correct += np.count_nonzero(digits == part.labels[begin : begin + BATCH])
        return correct / len(part.images)


def train(
    trainer: Trainer, data: Part, held_out: Part, random: np.random.Generator
) -> Iterator[Epoch]:
    """All epochs, one at a time."""
    for _ in range(EPOCHS):
        order = random.permutation(len(data.images))
        start = time.perf_counter()
        loss = trainer.epoch(data, order)
        seconds = time.perf_counter() - start
        yield Epoch(loss, trainer.accuracy(held_out), seconds)


def show_progress(number: int, epoch: Epoch) -> None:
    """A bar that is drawn over and over on a terminal, otherwise a line now and then."""
    text = f"loss {epoch.loss:.4f}  held-out accuracy {epoch.accuracy:.1%}"
    if sys.stdout.isatty():
        bar = ("#" * round(30 * number / EPOCHS)).ljust(30, ".")
        end = "\n" if number == EPOCHS else ""
        print(f"\r[{bar}] {number:2}/{EPOCHS}  {text}", end=end, flush=True)
    elif number % 5 == 0 or number in (1, EPOCHS):
        print(f"epoch {number:2}/{EPOCHS}  {text}")


def curves(epochs: Sequence[Epoch]) -> str:
    """Two panels as SVG: the training loss, and the held-out accuracy."""
    losses = [(n, each.loss) for n, each in enumerate(epochs, 1)]
    accuracies = [(n, 100 * each.accuracy) for n, each in enumerate(epochs, 1)]
    panels = [
        Panel("Training loss", [Curve("", losses)]),
        Panel("Held-out accuracy in %", [Curve("", accuracies)]),
    ]
    return chart(panels, "epoch")


def main(program: str = "digits_mlp.mlir") -> int:
    """Train, report, draw; the exit code."""
    random = np.random.default_rng(SEED)
    data, held_out = read_data()
    module = gradir.parse(HERE / program)
    start = time.perf_counter()
    trainer = Trainer(module, len(data.images) // BATCH, random)
    print(f"differentiated and compiled in {time.perf_counter() - start:.2f} s")

    epochs: list[Epoch] = []
    for epoch in train(trainer, data, held_out, random):
        epochs.append(epoch)
        show_progress(len(epochs), epoch)

    accuracy = epochs[-1].accuracy
    rate = EPOCHS * len(data.images) / sum(epoch.seconds for epoch in epochs)
    print(f"held-out accuracy: {accuracy:.1%} of {len(held_out.images)} images")
    print(f"training speed: {rate:,.0f} examples per second")
    CHART.write_text(curves(epochs))
    print(f"wrote {CHART}")
    if accuracy < (wanted := WANTED_ACCURACY[program]):
        print(f"error: expected an accuracy of at least {wanted:.0%}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
