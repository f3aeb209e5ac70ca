"""Loops, with gradients: an ODE, a scan of many scalars, an LSTM, and Newton's iteration."""

from __future__ import annotations

import ctypes
import math
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import harness
import numpy as np

STEPS, STEP_SIZE = 100_000, 1e-4
# What the ODE is given in one row; a state for each step takes 1.6 times as much.
MEMORY_LIMIT = 1_000_000
LEAVES, SCANNED = 60, 614
TIME, BATCH, UNITS = 256, 16, 64

# Values and gradients as one would write them by hand.
C_SOURCE = """
#include <math.h>
#include <stdlib.h>
void ode(double y, double w, double *out) {
  static double ys[STEPS];
  for (int i = 0; i < STEPS; ++i) {
    ys[i] = y;
    y = y + STEP_SIZE * (w * sin(y) - y);
  }
  double ct = 1.0, w_ct = 0.0;
  for (int i = STEPS - 1; i >= 0; --i) {
    double h = STEP_SIZE * ct;
    w_ct += h * sin(ys[i]);
    ct += h * (w * cos(ys[i]) - 1.0);
  }
  out[0] = y, out[1] = ct, out[2] = w_ct;
}
void newton(double a, double *out) {
  double xs[64], x = a;
  int n = 0;
  while (fabs(x * x - a) > 1e-12) {
    xs[n++] = x;
    x = 0.5 * (x + a / x);
  }
  double ct = 1.0, a_ct = 0.0;
  out[0] = x;
  while (n--) {
    double half = 0.5 * ct;
    a_ct += half / xs[n];
    ct = half - half * a / (xs[n] * xs[n]);
  }
  out[1] = a_ct + ct;
}
"""


def compiled_c() -> ctypes.CDLL:
    """The functions above, compiled as fast as the compiler knows how without changing results."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise harness.UnavailableError("needs a C compiler")
    folder = Path(tempfile.mkdtemp())
    (folder / "loops.c").write_text(C_SOURCE)
    defines = [f"-DSTEPS={STEPS}", f"-DSTEP_SIZE={STEP_SIZE}"]
    options = ["-O3", "-march=native", "-shared", "-fPIC", *defines]
    files = ["-o", str(folder / "loops.so"), str(folder / "loops.c")]
    subprocess.run([compiler, *options, *files, "-lm"], check=True)
    return ctypes.CDLL(str(folder / "loops.so"))


def prepare_c(name: str, *inputs: float) -> harness.Call:
    function = getattr(compiled_c(), name)
    out = np.zeros(1 + len(inputs))
    arguments = [*(ctypes.c_double(x) for x in inputs), ctypes.c_void_p(out.ctypes.data)]

    def call() -> object:
        function(*arguments)
        return list(out)

    return call


def prepare_numba(make: Callable[[Any], Callable[..., Any]], *inputs: float) -> harness.Call:
    """The call of a function that `make` compiles with Numba."""
    function = make(harness.library("numba").njit)
    return lambda: function(*inputs)


# An ODE.


def ode_for_numba(compiled: Any) -> Callable[..., Any]:
    """The C function above, for Numba."""

    @compiled
    def ode(y: float, w: float) -> tuple[float, float, float]:
        ys = np.empty(STEPS)
        for i in range(STEPS):
            ys[i] = y
            y += STEP_SIZE * (w * math.sin(y) - y)
        ct, w_ct = 1.0, 0.0
        for i in range(STEPS - 1, -1, -1):
            h = STEP_SIZE * ct
            w_ct += h * math.sin(ys[i])
            ct += h * (w * math.cos(ys[i]) - 1.0)
        return y, ct, w_ct

    return ode


def prepare_ode_jax() -> harness.Call:
    jax = harness.library("jax")
    jax.config.update("jax_enable_x64", True)

    def solve(y0: Any, w: Any) -> Any:
        def step(y: Any, _: Any) -> Any:
            return y + STEP_SIZE * (w * jax.numpy.sin(y) - y), None

        return jax.lax.scan(step, y0, None, length=STEPS)[0]

    compiled = jax.jit(jax.value_and_grad(solve, argnums=(0, 1)))
    return lambda: jax.block_until_ready(compiled(2.0, 2.0))


# A scan of many scalars.


def leaves_program() -> str:
    """Each of the scalars moves a little towards the sine of the next one."""
    names = range(LEAVES)
    types = ", ".join(["f64"] * LEAVES)
    body: list[str] = []
    for k in names:
        body += [
            f"    %s{k} = math.sin %x{(k + 1) % LEAVES} : f64",
            f"    %d{k} = arith.subf %s{k}, %x{k} : f64",
            f"    %m{k} = arith.mulf %rate, %d{k} : f64",
            f"    %y{k} = arith.addf %x{k}, %m{k} : f64",
        ]
    starts = ", ".join(f"%x{k} = %a{k}" for k in names)
    return "\n".join(
        [
            f"func.func @main({', '.join(f'%a{k}: f64' for k in names)}) -> f64 {{",
            "  %first = arith.constant 0 : index",
            "  %one = arith.constant 1 : index",
            f"  %last = arith.constant {SCANNED} : index",
            "  %rate = arith.constant 1.0e-2 : f64",
            f"  %r:{LEAVES} = scf.for %i = %first to %last step %one iter_args({starts}) "
            f"-> ({types}) {{",
            *body,
            f"    scf.yield {', '.join(f'%y{k}' for k in names)} : {types}",
            "  }",
            *(
                f"  %t{k} = arith.addf {f'%t{k - 1}' if k > 1 else '%r#0'}, %r#{k} : f64"
                for k in range(1, LEAVES)
            ),
            f"  func.return %t{LEAVES - 1} : f64",
            "}",
        ]
    )


def make_leaves() -> list[np.ndarray[Any, Any]]:
    return list(np.random.default_rng(0).uniform(-1, 1, LEAVES))


def prepare_leaves() -> harness.Call:
    gradir = harness.library("gradir")
    module = gradir.parse(leaves_program()).gradient("main", mode="grad")
    compiled = gradir.compile(module, "main_grad", threads=1)
    leaves = make_leaves()
    return lambda: compiled(*leaves)


def prepare_leaves_jax() -> harness.Call:
    jax = harness.library("jax")
    jax.config.update("jax_enable_x64", True)

    def run(xs: Any) -> Any:
        def step(xs: Any, _: Any) -> Any:
            moved = [
                x + 1e-2 * (jax.numpy.sin(y) - x) for x, y in zip(xs, [*xs[1:], xs[0]], strict=True)
            ]
            return moved, None

        return sum(jax.lax.scan(step, xs, None, length=SCANNED)[0])

    compiled = jax.jit(jax.value_and_grad(run))
    leaves = make_leaves()

    def call() -> object:
        value, gradients = jax.block_until_ready(compiled(leaves))
        return (value, *gradients)

    return call


# Newton's iteration.


def newton_for_numba(compiled: Any) -> Callable[..., Any]:
    """The C function above, for Numba."""

    @compiled
    def newton(a: float) -> tuple[float, float]:
        xs, x, n = np.empty(64), a, 0
        while abs(x * x - a) > 1e-12:
            xs[n] = x
            n += 1
            x = 0.5 * (x + a / x)
        ct, a_ct = 1.0, 0.0
        for k in range(n - 1, -1, -1):
            half = 0.5 * ct
            a_ct += half / xs[k]
            ct = half - half * a / (xs[k] * xs[k])
        return x, a_ct + ct

    return newton


# An LSTM.


def make_lstm() -> list[np.ndarray[Any, Any]]:
    random = np.random.default_rng(0)
    shapes = [(TIME, BATCH, UNITS), (4 * UNITS, UNITS), (4 * UNITS, UNITS)]
    shapes += [(4 * UNITS,), (4 * UNITS,)]
    return [random.normal(0, 0.3, shape).astype(np.float32) for shape in shapes]


def prepare_lstm_torch() -> harness.Call:
    torch = harness.library("torch")
    xs, *weights = [torch.from_numpy(a) for a in make_lstm()]
    lstm = torch.nn.LSTM(UNITS, UNITS)
    for parameter, weight in zip(lstm.parameters(), weights, strict=True):
        parameter.data.copy_(weight)
    parameters = list(lstm.parameters())

    def call() -> object:
        value = lstm(xs)[0][-1].sum()
        return (value, *torch.autograd.grad(value, parameters))

    return call


def prepare_lstm_jax() -> harness.Call:
    jax = harness.library("jax")
    xs, *weights = [jax.numpy.asarray(a) for a in make_lstm()]

    def run(w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any) -> Any:
        def step(state: Any, x: Any) -> Any:
            h, c = state
            gates = x @ w_ih.T + b_ih + h @ w_hh.T + b_hh
            i, f, g, o = jax.numpy.split(gates, 4, axis=1)
            sigmoid = jax.nn.sigmoid
            c = sigmoid(f) * c + sigmoid(i) * jax.numpy.tanh(g)
            return (sigmoid(o) * jax.numpy.tanh(c), c), None

        zero = jax.numpy.zeros((BATCH, UNITS), jax.numpy.float32)
        return jax.lax.scan(step, (zero, zero), xs)[0][0].sum()

    compiled = jax.jit(jax.value_and_grad(run, argnums=(0, 1, 2, 3)))

    def call() -> object:
        value, gradients = jax.block_until_ready(compiled(*weights))
        return (value, *gradients)

    return call


def workloads(threads: int) -> Iterator[harness.Workload]:
    """Four loops; the scalar ones are serial."""
    scalars = [np.float64(2), np.float64(2)]

    def gradir(
        program: str, inputs: Any, wrt: Any, count: int = 1, limit: int | None = None
    ) -> harness.Contender:
        def prepare() -> harness.Call:
            return harness.compiled_gradient(program, inputs, wrt, count, memory_limit=limit)

        name = "gradir" if limit is None else f"gradir, in {limit:,} bytes"
        return harness.Contender(name, prepare, "gradir")

    yield harness.Workload(
        f"Scalar ODE, {STEPS:,} steps, f64: value and 2 gradients",
        [
            harness.Contender("JAX scan", prepare_ode_jax, "jax"),
            harness.Contender("C by hand", lambda: prepare_c("ode", 2.0, 2.0)),
            harness.Contender(
                "Numba by hand", lambda: prepare_numba(ode_for_numba, 2.0, 2.0), "numba"
            ),
            gradir("ode.mlir", scalars, [0, 1]),
            gradir("ode.mlir", scalars, [0, 1], limit=MEMORY_LIMIT),
        ],
        reference="C by hand",
    )
    yield harness.Workload(
        f"Scan of {LEAVES} scalars, {SCANNED} steps, f64: value and {LEAVES} gradients",
        [
            harness.Contender("JAX scan", prepare_leaves_jax, "jax"),
            harness.Contender("gradir", prepare_leaves, "gradir"),
        ],
        reference="JAX scan",
    )
    yield harness.Workload(
        f"LSTM, {TIME} steps, batch {BATCH}, {UNITS} units, f32: value and 4 gradients",
        [
            harness.Contender("PyTorch nn.LSTM", prepare_lstm_torch, "torch"),
            harness.Contender("JAX scan", prepare_lstm_jax, "jax"),
            gradir("lstm.mlir", make_lstm(), [1, 2, 3, 4], threads),
        ],
        reference="PyTorch nn.LSTM",
        tolerance=1e-3,
    )
    yield harness.Workload(
        "Newton's iteration until it is exact, f64: value and gradient",
        [
            harness.Contender("C by hand", lambda: prepare_c("newton", 2.0)),
            harness.Contender(
                "Numba by hand", lambda: prepare_numba(newton_for_numba, 2.0), "numba"
            ),
            gradir("newton.mlir", scalars[:1], [0]),
        ],
        reference="C by hand",
    )


if __name__ == "__main__":
    harness.main(workloads)
