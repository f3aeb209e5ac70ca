"""Find how a rod conducts heat, with a solver in C as an op of the program.

    .venv/bin/python examples/native_op/diffusion.py

Heat spreads along a rod by implicit steps in time, each of which solves a tridiagonal system:
`tridiagonal.c` beside this file, compiled here and called from native code without Python. The
conductivity of each piece of the rod is learnt from temperatures before and after. The gradient
goes through all steps, by the adjoint solver. Exit code 1 if it is not found, or without a C
compiler.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import gradir
import gradir.numpy as gnp
from gradir import optim
from gradir.testing import check_grads

CELLS, RODS, TIMES, DT = 48, 32, 20, 0.5
STEPS, RATE = 300, 0.05
WANTED_ERROR = 0.02

Array = np.ndarray[Any, Any]


def compiled(source: Path, folder: Path) -> Path:
    """The shared library of a C file."""
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if compiler is None:
        sys.exit(f"error: no C compiler (cc, gcc, clang) is installed to compile {source.name}")
    library = folder / "tridiagonal.so"
    options = "-std=c11", "-O2", "-shared", "-fPIC", f"-I{gradir.include_dir()}"
    subprocess.run([compiler, *options, source, "-o", library], check=True)
    return library


def solution_spec(lower: Any, diagonal: Any, upper: Any, b: gradir.Spec) -> gradir.Spec:
    """The type of the result."""
    return b


def solver(library: Path) -> Any:
    """The op; its backward function reads all but b."""
    return gradir.custom_op(
        gradir.native(library, "solve"),
        solution_spec,
        gradir.native(library, "solve_back"),
        needs=("cotangents", "in0", "in1", "in2", "outputs"),
        pure=True,
        name="tridiagonal_solve",
    )


def spread(solve: Any, log_conductivity: Any, heat: Any) -> Any:
    """Temperatures of rods [RODS, CELLS] after TIMES steps; the ends are insulated."""
    flow = DT * gnp.exp(log_conductivity)
    none = gnp.zeros(1)
    left, right = gnp.concat([none, flow]), gnp.concat([flow, none])
    diagonal = 1 + left + right

    def step(_: Any, heat: Any) -> Any:
        return solve(-left, diagonal, -right, heat)

    return gradir.fori_loop(0, TIMES, step, heat)


def main() -> None:
    """Check the op, learn, compare."""
    with tempfile.TemporaryDirectory() as folder:
        solve = solver(compiled(Path(__file__).with_name("tridiagonal.c"), Path(folder)))
    random = np.random.default_rng(0)
    bands = [random.normal(size=5), 4 + random.random(5), random.normal(size=5)]
    dense = np.diag(bands[0][1:], -1) + np.diag(bands[1]) + np.diag(bands[2][:-1], 1)
    b = random.normal(size=(3, 5))
    np.testing.assert_allclose(solve(*bands, b), np.linalg.solve(dense, b.T).T)

    def energy(*arrays: Any) -> Any:
        return gnp.sum(solve(*arrays) ** 2)

    check_grads(energy, [*bands, b], order=1)
    print("the solver agrees with a dense one, its gradient with central differences")

    truth = np.exp(0.8 * np.sin(np.linspace(0, 7, CELLS - 1)))
    before = random.normal(size=(RODS, CELLS)).cumsum(axis=1)
    after = gradir.jit(partial(spread, solve))(np.log(truth), before)

    def loss(log_conductivity: Any, before: Any, after: Any) -> Any:
        return gnp.mean((spread(solve, log_conductivity, before) - after) ** 2)

    optimizer = optim.adam(optim.cosine_decay_schedule(RATE, STEPS))
    step = gradir.jit(optim.train_step(loss, optimizer))
    found: Array = np.zeros(CELLS - 1)
    state = optimizer.init(found)
    start = time.perf_counter()
    for k in range(STEPS):
        found, state, value = step(found, state, before, after)
        if k % 100 == 0 or k == STEPS - 1:
            print(f"step {k + 1:3}: loss {value:.1e}")
    seconds = time.perf_counter() - start
    error = float(np.linalg.norm(np.exp(found) - truth) / np.linalg.norm(truth))
    print(f"the conductivity is found but for {100 * error:.3f}%, in {seconds:.1f} s")
    if not error <= WANTED_ERROR:
        sys.exit(f"error: expected at most {100 * WANTED_ERROR}%")


if __name__ == "__main__":
    main()
