"""Write the digits network for C: the library, its header, and the images as plain numbers.

    .venv/bin/python examples/ahead_of_time/export.py FOLDER
    cc -O2 -IFOLDER examples/ahead_of_time/train.c FOLDER/libdigits.so -lm -o train
    ./train FOLDER/digits.bin

train.c and train.cpp then train it in a process without Python. CMakeLists.txt does all of that.
"""

from __future__ import annotations

import struct
import sys
from pathlib import Path

import numpy as np

import gradir

EXAMPLES = Path(__file__).parents[1]
FUNCTIONS = {"main_grad": "digits_grad", "predict": "digits_predict"}


def write_data(path: Path) -> None:
    """Two parts, each its number of images, then these as rows of 64 f32, and labels as i64."""
    with np.load(EXAMPLES / "data" / "digits.npz") as data:
        images = data["images"].astype("<f4") / np.float32(16)
        labels = data["labels"].astype("<i8")
        parts = [data["train"], data["held_out"]]
    with path.open("wb") as file:
        for part in parts:
            file.write(struct.pack("<q", len(labels[part])))
            file.write(images[part].astype("<f4").tobytes() + labels[part].tobytes())


def main(folder: Path) -> None:
    """Write all files to a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    module = gradir.parse(EXAMPLES / "digits_mlp.mlir").gradient("main", mode="grad")
    made = gradir.export_library(module, folder / "libdigits.so", functions=FUNCTIONS)
    write_data(folder / "digits.bin")
    print(f"{made.library}: {made.library.stat().st_size} bytes, {', '.join(made.functions)}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
