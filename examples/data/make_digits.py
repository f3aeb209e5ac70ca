"""Make digits.npz from scikit-learn's copy of the UCI data set of handwritten digits.

The result is stored beside this file, so only someone who changes it needs scikit-learn:

    pip install scikit-learn && python examples/data/make_digits.py
"""

import importlib
from pathlib import Path
from typing import Any

import numpy as np

SEED = 0
BATCH = 64
TRAIN = 22 * BATCH  # whole batches, so that one static batch shape covers an epoch


def main() -> None:
    """Write digits.npz: images, labels, and the indices of the two parts of the split."""
    datasets: Any = importlib.import_module("sklearn.datasets")
    digits = datasets.load_digits()
    order = np.random.default_rng(SEED).permutation(len(digits.target))
    np.savez_compressed(
        Path(__file__).with_name("digits.npz"),
        images=digits.data.astype(np.uint8),
        labels=digits.target.astype(np.int64),
        train=order[:TRAIN].astype(np.int64),
        held_out=order[TRAIN:].astype(np.int64),
    )


if __name__ == "__main__":
    main()
