"""Train a transformer to continue a text, letter by letter: the licence of this project.

    .venv/bin/python examples/character_model.py

The parameters are objects of two dataclasses. A step of Adam is one compiled call, and so is the
continuation of a text. Writes character_model.svg. Exit code 1 if the model did not learn.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import gradir
import gradir.nn as nn
import gradir.numpy as gnp
from gradir import optim
from gradir.frontends.training.chart import Curve, Panel, chart

LAYERS, WIDTH, HEADS, TOKENS = 2, 64, 4, 64
BATCH, STEPS, RATE, WARMUP = 16, 600, 8e-3, 40
PROMPT, LETTERS_MORE = "You may reproduce and distribute copies of the Work or Derivativ", 96
WANTED_BITS = 1.0


@gradir.tree.register_dataclass
@dataclass
class Block:
    """Attention, then a network of two layers, each beside a way that leads around it."""

    scale1: Any
    qkv: Any
    out: Any
    scale2: Any
    up: Any
    down: Any

    def __call__(self, x: Any) -> Any:
        y = nn.layer_norm(x, self.scale1)
        heads = (y @ self.qkv).reshape(*x.shape[:-1], 3, HEADS, WIDTH // HEADS)
        q, k, v = gnp.moveaxis(heads, (-3, -2), (0, -3))
        mixed = nn.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + gnp.swapaxes(mixed, -3, -2).reshape(x.shape) @ self.out
        return x + nn.gelu(nn.layer_norm(x, self.scale2) @ self.up) @ self.down


@gradir.tree.register_dataclass
@dataclass
class Model:
    """Letters [..., TOKENS] to scores of the letters that follow [..., TOKENS, letters]."""

    letters: Any
    places: Any
    blocks: list[Block]
    scale: Any

    def __call__(self, tokens: Any) -> Any:
        x = self.letters[tokens] + self.places
        for block in self.blocks:
            x = gradir.checkpoint(block)(x)
        return nn.layer_norm(x, self.scale) @ self.letters.T


def new_model(letters: int, random: np.random.Generator) -> Model:
    def matrix(*shape: int) -> Any:
        return random.normal(size=shape) / np.sqrt(shape[0])

    def block() -> Block:
        return Block(
            np.ones(WIDTH), matrix(WIDTH, 3 * WIDTH), matrix(WIDTH, WIDTH) / 4,
            np.ones(WIDTH), matrix(WIDTH, 4 * WIDTH), matrix(4 * WIDTH, WIDTH) / 4,
        )  # fmt: skip

    table, places = random.normal(0, 0.1, (letters, WIDTH)), random.normal(0, 0.1, (TOKENS, WIDTH))
    return Model(table, places, [block() for _ in range(LAYERS)], np.ones(WIDTH))


def loss(model: Model, windows: Any) -> Any:
    """The mean surprise by the next letter in windows of TOKENS + 1 letters, in bits."""
    scores = model(windows[:, :-1])
    return nn.cross_entropy(
        scores.reshape(-1, scores.shape[-1]), windows[:, 1:].reshape(-1)
    ) / np.log(2)


@gradir.jit
def continued(model: Model, tokens: Any) -> Any:
    """The likeliest LETTERS_MORE letters behind TOKENS of them, each chosen before the next."""

    def following(window: Any, _: Any) -> Any:
        letter = gnp.argmax(model(window)[-1])
        return gnp.concatenate([window[1:], letter[None]]), letter

    return gradir.scan(following, tokens, gnp.arange(LETTERS_MORE))[1]


def main() -> None:
    """Train, and continue the prompt."""
    text = (Path(__file__).resolve().parent.parent / "LICENSE").read_text()
    text = " ".join(text.split())
    alphabet = sorted(set(text))
    codes = np.array([alphabet.index(letter) for letter in text])
    random = np.random.default_rng(0)
    model = new_model(len(alphabet), random)
    schedule = optim.warmup_cosine_decay_schedule(0.0, RATE, WARMUP, STEPS)
    optimizer = optim.chain(optim.clip_by_global_norm(1.0), optim.adam(schedule))
    step = gradir.jit(optim.train_step(loss, optimizer), donate_argnums=(0, 1))
    state = optimizer.init(model)
    bits: list[tuple[float, float]] = []
    for number in range(STEPS):
        starts = random.integers(0, len(codes) - TOKENS, BATCH)
        windows = np.stack([codes[s : s + TOKENS + 1] for s in starts])
        model, state, value = step(model, state, windows)
        bits.append((number, float(value)))
        if number in (0, 99, 399, STEPS - 1):
            print(f"step {number + 1:3}: {bits[-1][1]:.1f} bits a letter")
    start = np.array([alphabet.index(letter) for letter in PROMPT])
    more: list[int] = continued(model, start).tolist()
    print(PROMPT + "".join(alphabet[k] for k in more))
    Path("character_model.svg").write_text(
        chart([Panel("Bits a letter", [Curve("", bits)])], "step")
    )
    if bits[-1][1] > WANTED_BITS:
        sys.exit(f"error: expected less than {WANTED_BITS} bits a letter")


if __name__ == "__main__":
    main()
