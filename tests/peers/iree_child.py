"""A program of IREE's in a process of its own, which a fault of its code ends.

It reads code and arguments from its input, and writes the results of @main, both pickled.
"""

from __future__ import annotations

import pickle
import sys
from importlib import import_module
from typing import Any

import ml_dtypes as ml_dtypes  # so that NumPy has bfloat16
import numpy as np


def main() -> None:
    """Run one program."""
    runtime: Any = import_module("iree.runtime")
    code, arrays = pickle.load(sys.stdin.buffer)
    program = runtime.load_vm_flatbuffer(code, driver="local-sync")
    made = program.main(*arrays)
    results = made if isinstance(made, tuple) else (made,)
    pickle.dump([np.asarray(each.to_host()) for each in results], sys.stdout.buffer)


if __name__ == "__main__":
    main()
