"""New processes: the import, the first compilations, and a program whose code is on disk."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile

from rows.row import GRADIR, Asked, Figure, Measured, Row, Run

CODE = """
import json, sys, time
import numpy as np
times = []
def mark():
    times.append(time.perf_counter())
mark()
import {library}, {library}.numpy as xnp
mark()
first = {library}.jit(lambda x: xnp.sum(xnp.sin(x)))
first(np.ones(16, np.float32))
mark()
second = {library}.jit(lambda x: xnp.sum(xnp.exp(x) * x))
second(np.ones(16, np.float32))
mark()
print(json.dumps([b - a for a, b in zip(times, times[1:])]))
"""
KEPT = """
import json, time
import numpy as np
import gradir, gradir.numpy as xnp
gradir.jit(lambda x: xnp.sum(x))(np.ones(16, np.float32))
x, w = np.ones((64, 64), np.float32), np.ones((64, 64), np.float32)
def model(k):
    def loss(w, x):
        for _ in range(k + 2):
            x = xnp.tanh(x @ w)
        return xnp.sum(x * x)
    return loss
start = time.perf_counter()
for k in range(4):
    gradir.jit(gradir.value_and_grad(model(k)))(w, x)
print(json.dumps([(time.perf_counter() - start) / 4]))
"""
STEPS = ("import", "first jit", "second jit")


def process(code: str, **variables: str) -> list[float]:
    """What a new process prints."""
    command = [sys.executable, "-c", code]
    made = subprocess.run(
        command, env=os.environ | variables, check=True, capture_output=True, text=True
    )
    return json.loads(made.stdout.splitlines()[-1])


def processes(rounds: int, code: str, **variables: str) -> list[float]:
    """The medians of several processes."""
    runs = [process(code, **variables) for _ in range(rounds)]
    return [statistics.median(each) for each in zip(*runs, strict=True)]


def measure_start(run: Run) -> Measured:
    figures: list[Figure] = []
    for who, library in ((GRADIR, "gradir"), ("JAX", "jax")):
        try:
            times = processes(min(run.rounds, 5), CODE.format(library=library))
            figures += [Figure(who, w, t, "s") for w, t in zip(STEPS, times, strict=True)]
        except subprocess.CalledProcessError as error:
            note = error.stderr.strip().splitlines()[-1]
            figures += [Figure(who, what, None, "s", note) for what in STEPS]
    return Measured(figures, lambda: "Python's import of modules: python -X importtime tells")


def measure_kept(run: Run) -> Measured:
    """The same program twice: the second start finds its code."""
    with tempfile.TemporaryDirectory() as folder:
        kept = {"GRADIR_CACHE": "1", "GRADIR_CACHE_DIR": folder}
        cold = process(KEPT, **kept)
        (warm,) = processes(min(run.rounds, 5), KEPT, **kept)
    return Measured(
        [
            Figure(GRADIR, "a function", warm, "s"),
            Figure(f"{GRADIR}, first start", "a function", cold[0], "s"),
        ],
        lambda: "tracing and the derivative, which are not kept, and loading the object",
    )


ROWS = (
    Row(
        "a new process, NumPy loaded: import, jit of sum(sin(x)), another jit",
        measure_start,
        [Asked("import", 0.17), Asked("first jit", 0.09), Asked("second jit", 0.02)],
    ),
    Row(
        "second start of a program whose code is on disk: a function",
        measure_kept,
        [Asked("a function", 0.05)],
    ),
)
