"""Costs are numbers of speed alone; the numbers that fix bits are held, and are no costs."""

import os
import subprocess
import sys

from gradir.codegen import costs
from gradir.dialects.base import sum_order

# Sums of every kind, products, a sort, a loop and a softmax, and their derivatives, with all costs
# multiplied by factors of their own between 1/8 and 8. Prints hashes of the bits and of the code.
PROGRAM = """
import hashlib, random, sys
from gradir.codegen import costs
draw = random.Random(sys.argv[1])
for name, value in list(vars(costs).items()):
    if name.isupper() and sys.argv[1] != "as they are":
        setattr(costs, name, type(value)(value * 8 ** draw.uniform(-1, 1)))
import numpy as np
import gradir, gradir.numpy as gnp
def f(x, w, v):
    y = gnp.tanh(x @ w) * gnp.sum(x.T @ x)
    y = y / gnp.sum(gnp.exp(y - gnp.max(y, axis=1, keepdims=True)), axis=1, keepdims=True)
    z = gradir.fori_loop(0, 9, lambda i, c: gnp.sin(c) * v[:100] + gnp.sum(c), v[:100])
    return gnp.sum(y) + gnp.sum(gnp.sort(v)[::3] ** 2) + gnp.mean(z) + gnp.sum(v) + v @ v
numbers = np.random.default_rng(0)
arrays = [numbers.normal(size=s).astype(np.float32) for s in ((5000, 40), (40, 60), (150000,))]
module = gradir.trace(f, *arrays)
name = module.functions[0]
derived = module.gradient(name, mode="vjp")
fn = gradir.compile(derived, derived.functions[-1], threads=2)
results = fn(*arrays, np.float32(1))
for text in (b"".join(r.tobytes() for r in results), fn.llvm_ir.encode()):
    print(hashlib.sha256(text).hexdigest())
"""


def hashes(seed: str) -> list[str]:
    """The hashes of the results and of the code."""
    environment = {**os.environ, "GRADIR_CACHE": "0"}
    command = [sys.executable, "-c", PROGRAM, seed]
    run = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return run.stdout.split()


def test_costs_do_not_fix_bits() -> None:
    bits, code = hashes("as they are")
    others = [hashes(seed) for seed in ("1", "2")]
    assert {each[0] for each in others} == {bits}
    assert code not in {each[1] for each in others}


def test_costs_are_positive_numbers() -> None:
    numbers = [value for name, value in vars(costs).items() if name.isupper()]
    assert all(isinstance(n, int | float) and n > 0 for n in numbers)


HELD = {
    "LONG_SUM": 32, "PART_STEPS": 4096, "FACTORS_OVER_PARTS": 32, "ACCUMULATED_VECTORS": 4,
    "LARGEST_WINDOW": 16, "WINDOW_ROW": 4, "WINDOW_COLUMNS": 4, "LANE_MULTIPLE": 256,
    "ENOUGH_ITEMS": 16, "ENOUGH_COLUMNS": 8192, "MOST_CHUNKS": 64, "CHUNK_ROWS": 128,
    "CHUNK_ELEMENTS": 16384, "LEAST_CHUNKS": 4, "LEAST_VECTORS": 16, "LEAST_READ": 16,
    "LEAF_STEPS": 64, "CHAIN_STEPS": 128, "CHUNK_STEPS": 16, "FOLD_LANES": 64, "LEAST_STEPS": 16,
}  # fmt: skip


def test_numbers_that_fix_bits_are_held() -> None:
    """Who changes one changes results: it takes a note in CHANGELOG.md, and a new value here."""
    assert {name: n for name, n in vars(sum_order).items() if name.isupper()} == HELD
