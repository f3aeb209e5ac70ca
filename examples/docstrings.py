"""Tell from a sentence which library it documents, by a table of word vectors.

    .venv/bin/python examples/docstrings.py

The data are docstrings of installed packages, read from their source files: Python's standard
library (PSF licence) and NumPy (BSD 3-clause licence). Nothing of them is stored here. One sentence
in five is held out, by a checksum of its text.

A batch reads a few thousand of the table's 32768 rows. The network is trained twice: with a dense
gradient of the table, and with row slices, which write no other row. The losses and accuracies are
drawn as docstrings_loss.svg in the current folder. Exit code 1 if a result is a bad one.
"""

from __future__ import annotations

import ast
import re
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

import gradir
import gradir.nn as nn
import gradir.numpy as gnp
from gradir import optim

STANDARD = ("asyncio", "email", "http", "importlib", "logging", "_pydecimal", "xml")
NUMPY = ("numpy.fft", "numpy.linalg", "numpy.ma", "numpy.polynomial")
LIBRARIES = (*STANDARD, *NUMPY)
CHART = Path("docstrings_loss.svg")

WORDS, ROWS, WIDTH = 32, 1 << 15, 32  # of a sentence, of the table
BATCH, EPOCHS, RATE = 128, 12, 8.0
WANTED_ACCURACY = 0.8


def sentences(library: str) -> set[str]:
    """The sentences of five words or more in the docstrings of a package or module."""
    spec = find_spec(library)
    if spec is None or spec.origin is None or not spec.has_location:
        raise SystemExit(f"error: this Python has no source of {library}")
    folders = spec.submodule_search_locations
    files = Path(folders[0]).rglob("*.py") if folders else [Path(spec.origin)]
    found: set[str] = set()
    for file in files:
        for docstring in docstrings(ast.parse(file.read_bytes())):
            parts = re.split(r"\n\s*\n|(?<=[.:;])\s", docstring)
            found.update(" ".join(p.split()) for p in parts if len(words(p)) >= 5)
    return found


def docstrings(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node) or ""


def words(sentence: str) -> list[str]:
    return re.findall(r"[a-z_]+", sentence.lower())[:WORDS]


def read_data() -> tuple[Any, Any]:
    """The training and the held-out part: rows of the table, 0 where a sentence ends; libraries."""
    parts: tuple[list[Any], list[Any]] = [], []
    for label, library in enumerate(LIBRARIES):
        for sentence in sorted(sentences(library)):
            ids = [crc32(word.encode()) % (ROWS - 1) + 1 for word in words(sentence)]
            ids += [0] * (WORDS - len(ids))
            parts[crc32(sentence.encode()) % 5 == 0].append((ids, label))
    train, held_out = (tuple(map(np.array, zip(*part, strict=True))) for part in parts)
    return train, held_out


def logits(params: Any, ids: Any) -> Any:
    """The mean of the words' vectors, and a linear layer."""
    is_word = gnp.astype(ids != 0, "float32")
    vectors = params["table"][ids] * is_word[..., None]
    mean = gnp.sum(vectors, axis=1) / gnp.sum(is_word, axis=1, keepdims=True)
    return nn.linear(mean, params["weight"], params["bias"])


def loss(params: Any, ids: Any, labels: Any) -> Any:
    return nn.cross_entropy(logits(params, ids), labels)


def accuracy(params: Any, ids: Any, labels: Any) -> Any:
    """The share of sentences whose library has the largest logit."""
    return gnp.mean(gnp.astype(gnp.argmax(logits(params, ids), axis=1) == labels, "float32"))


def trainers() -> dict[str, gradir.Trainer]:
    random = np.random.default_rng(0)
    params = {
        "table": random.normal(0, 0.1, (ROWS, WIDTH)).astype(np.float32),
        "weight": random.normal(0, 0.1, (len(LIBRARIES), WIDTH)).astype(np.float32),
        "bias": np.zeros(len(LIBRARIES), np.float32),
    }
    return {
        name: gradir.Trainer(
            *(loss, optim.sgd(RATE), params),
            sparse={"table": is_sparse, "weight": False, "bias": False},
            metrics={"accuracy": accuracy},
        )
        for name, is_sparse in {"dense": False, "row slices": True}.items()
    }


def main() -> int:
    """Train both ways, report, draw; the exit code."""
    train, held_out = read_data()
    print(f"{len(train[0])} sentences of {len(LIBRARIES)} libraries, {len(held_out[0])} held out")
    made = trainers()
    for name, trainer in made.items():
        trainer.fit(train, 1, BATCH, drop_last=True, held_out=held_out)  # and compile
        start = time.perf_counter()
        history = trainer.fit(train, EPOCHS, BATCH, drop_last=True, held_out=held_out)
        seconds = time.perf_counter() - start
        accuracy = history.epochs["held_out_accuracy"][-1]
        print(f"{name}: held-out accuracy {accuracy:.1%}, {EPOCHS - 1} epochs in {seconds:.2f} s")
    histories = {name: trainer.history for name, trainer in made.items()}
    histories.pop("dense").write_svg(CHART, name="dense", beside=histories)
    print(f"wrote {CHART}")
    accuracies = [each.history.epochs["held_out_accuracy"][-1] for each in made.values()]
    if min(accuracies) < WANTED_ACCURACY or max(accuracies) - min(accuracies) > 0.01:
        wanted = f"an accuracy of at least {WANTED_ACCURACY:.0%}, and the same both times"
        print(f"error: expected {wanted}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
