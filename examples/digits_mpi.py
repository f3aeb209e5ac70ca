"""Train a classifier of handwritten digits on several processes, to the same bits on any number.

    pip install 'gradir[mpi]'
    mpiexec -n 4 python examples/digits_mpi.py [EPOCHS]

The program is that of one machine; `gradir.comm.data_parallel` makes it that of a rank. A batch has
four shards, so that 1, 2 and 4 ranks give one result. Exit code 1 if it is a bad one.
"""

from __future__ import annotations

import hashlib
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import gradir.nn as nn
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


def main(epochs: int = 10) -> int:
    """Train; rank 0 reports. The exit code."""
    rank, ranks = int(comm.axis_index()), comm.axis_size()
    with np.load(DATA) as data:
        images, labels = data["images"].astype(np.float32) / 16, data["labels"]
        train, held_out = data["train"], data["held_out"]
    # equal seeds, so equal parameters and batches on all ranks
    random = np.random.default_rng(0)
    params = initial_parameters(random)
    optimizer = optim.sgd(RATE, momentum=MOMENTUM)
    state = optimizer.init(params)
    step = comm.data_parallel(optim.train_step(loss, optimizer), deterministic=SHARDS)
    start, value = time.perf_counter(), np.array(np.inf)
    for _ in range(epochs):
        order = random.permutation(train)
        for batch in order[: len(order) // BATCH * BATCH].reshape(-1, BATCH):
            mine = np.split(batch, ranks)[rank]
            params, state, value = step(params, state, images[mine], labels[mine])
    seconds = time.perf_counter() - start
    logits: Array = network(params, images[held_out])
    hits: Array = logits.argmax(axis=1) == labels[held_out]
    accuracy = float(hits.mean())
    digest = hashlib.sha256(b"".join(params[name].tobytes() for name in sorted(params)))
    if rank == 0:
        print(f"{ranks} ranks, {seconds:.1f} s, loss {float(value):.4f}")
        print(f"held-out accuracy: {accuracy:.1%}")
        print(f"parameters: {digest.hexdigest()[:16]}")
    return 0 if accuracy >= WANTED_ACCURACY else 1


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
