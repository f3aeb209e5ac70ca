"""Films that people would like: a matrix of ratings, most of them unknown, as a product of two.

    .venv/bin/python examples/recommender.py

A batch of ratings reads few rows of the two tables, and the gradient has these rows alone (row
slices), so a step costs the same for any number of people. The ratings are made from tastes that
the training does not see, with noise. Writes recommender.svg. Exit code 1 if held-out ratings are
further off than the noise allows.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import gradir
import gradir.numpy as gnp
from gradir import optim

PEOPLE, FILMS, TASTES, RATINGS, NOISE = 20_000, 2_000, 4, 1_000_000, 0.3
BATCH, EPOCHS, RATE, DECAY = 4_096, 9, 0.02, 0.01


def ratings() -> tuple[Any, Any]:
    """(people, films, ratings) to train with, and a twentieth that is held out."""
    random = np.random.default_rng(0)
    tastes = random.normal(0, TASTES**-0.25, (PEOPLE, TASTES))
    kinds = random.normal(0, TASTES**-0.25, (FILMS, TASTES))
    quality = random.normal(3, 0.5, FILMS)
    people, films = random.integers(0, PEOPLE, RATINGS), random.integers(0, FILMS, RATINGS)
    values = quality[films] + np.sum(tastes[people] * kinds[films], axis=1)
    values += random.normal(0, NOISE, RATINGS)
    every = people, films, values.astype(np.float32)
    held_out = RATINGS // 20
    return tuple(a[held_out:] for a in every), tuple(a[:held_out] for a in every)


def predicted(p: Any, people: Any, films: Any) -> tuple[Any, Any, Any]:
    """The ratings, and the rows that they follow from."""
    taste, kind = p["tastes"][people], p["kinds"][films]
    return p["quality"][films] + gnp.sum(taste * kind, axis=1), taste, kind


def loss(p: Any, people: Any, films: Any, values: Any) -> Any:
    """Mean squared error, and a pull of the rows towards 0."""
    found, taste, kind = predicted(p, people, films)
    pull = gnp.mean(gnp.sum(taste**2, axis=1) + gnp.sum(kind**2, axis=1))
    return gnp.mean((found - values) ** 2) + DECAY * pull


def squared_error(p: Any, people: Any, films: Any, values: Any) -> Any:
    return gnp.mean((predicted(p, people, films)[0] - values) ** 2)


def start() -> dict[str, Any]:
    random = np.random.default_rng(1)
    tables = {
        "tastes": random.normal(0, 0.3, (PEOPLE, TASTES)),
        "kinds": random.normal(0, 0.3, (FILMS, TASTES)),
        "quality": np.full(FILMS, 3.0),
    }
    return {name: values.astype(np.float32) for name, values in tables.items()}


def main() -> None:
    """Train, and compare with the noise."""
    train, held_out = ratings()
    slope = gradir.jit(gradir.grad(loss, sparse=True))(start(), *(a[:BATCH] for a in train))
    print(f"a gradient of the table of people: {slope['tastes']!r}")
    trainer = gradir.Trainer(
        *(loss, optim.adam(RATE), start()), sparse=True, metrics={"error": squared_error}
    )
    history = trainer.fit(train, EPOCHS, BATCH, drop_last=True, held_out=held_out)
    errors = np.sqrt(history.epochs["held_out_error"])
    for epoch in (0, EPOCHS - 1):
        print(f"epoch {epoch + 1}: held-out ratings are {errors[epoch]:.2f} off")
    print(f"the noise is {NOISE}, the deviation of all ratings {np.std(held_out[2]):.2f}")
    history.write_svg("recommender.svg")
    if errors[-1] > 1.25 * NOISE:
        sys.exit("error: expected ratings close to the noise")


if __name__ == "__main__":
    main()
