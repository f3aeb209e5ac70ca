"""Train a classifier of handwritten digits on several processes, to the same bits on any number.

    pip install 'gradir[mpi]'
    mpiexec -n 4 python examples/digits_mpi.py [EPOCHS]

The program is that of one machine; `mpi=True` makes it that of a rank. A batch has four shards, so
that 1, 2 and 4 ranks give one result, which digits_mpi.svg shows. Exit code 1 if it is a bad one.
"""

from __future__ import annotations

import hashlib
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import gradir
import gradir.nn as nn
import gradir.numpy as gnp
from gradir import comm, optim

DATA = Path(__file__).parent / "data" / "digits.npz"
SHARDS, BATCH, RATE, MOMENTUM = 4, 64, 0.1, 0.9
WANTED_ACCURACY = 0.95

Array = np.ndarray[Any, Any]


def network(params: dict[str, Any], images: Any) -> Any:
    hidden = nn.relu(nn.linear(images, params["w1"], params["b1"]))
    return nn.linear(hidden, params["w2"], params["b2"])


def loss(params: dict[str, Any], images: Any, labels: Any) -> Any:
    return nn.cross_entropy(network(params, images), labels)


def initial_parameters(random: np.random.Generator) -> dict[str, Array]:
    shapes = {"w1": (64, 64), "b1": (64,), "w2": (10, 64), "b2": (10,)}
    return {
        name: (random.normal(size=shape) * (0.2 if name[0] == "w" else 0)).astype(np.float32)
        for name, shape in shapes.items()
    }


def accuracy(params: dict[str, Any], images: Any, labels: Any) -> Any:
    hits = gnp.argmax(network(params, images), axis=1) == labels
    return gnp.mean(gnp.astype(hits, "float32"))


def main(epochs: int = 10) -> int:
    """Train; rank 0 reports and draws. The exit code."""
    with np.load(DATA) as data:
        images, labels = data["images"].astype(np.float32) / 16, data["labels"]
        train, held_out = data["train"], data["held_out"]
    trainer = gradir.Trainer(
        *(loss, optim.sgd(RATE, momentum=MOMENTUM), initial_parameters(np.random.default_rng(0))),
        metrics={"accuracy": accuracy},
        mpi=True,
        deterministic=SHARDS,
    )
    start = time.perf_counter()
    history = trainer.fit(
        (images[train], labels[train]),
        epochs,
        BATCH,
        drop_last=True,
        held_out=(images[held_out], labels[held_out]),
        progress=False,
    )
    seconds, reached = time.perf_counter() - start, history.epochs["held_out_accuracy"][-1]
    params = trainer.params
    digest = hashlib.sha256(b"".join(params[name].tobytes() for name in sorted(params)))
    if comm.axis_index() == 0:
        print(f"{comm.axis_size()} ranks, {seconds:.1f} s, loss {history.epochs['loss'][-1]:.4f}")
        print(f"held-out accuracy: {reached:.1%}")
        print(f"parameters: {digest.hexdigest()[:16]}")
        history.write_svg("digits_mpi.svg")
    return 0 if reached >= WANTED_ACCURACY else 1


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
