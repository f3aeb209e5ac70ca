"""Steps of training that read a few rows of a large table: value, gradient and update of the rows.

A contender has a table of its own, and changes it at each call. The first two batches are the same,
so that the loss that is compared, of the second call, tells the update of the first.
"""

from collections.abc import Callable, Iterator
from itertools import cycle
from typing import Any

import harness
import numpy as np

ROWS, WIDTH, BATCH = 1_000_000, 64, 4096
OTHER_ROWS = (100_000, 400_000, ROWS, 4_000_000)
OTHER_BATCHES = (1024, 4096, 16384)
RATE, ADAGRAD_RATE = 40.0, 0.01
# SparseAdam adds eps to a larger root: it is so small here that steps are the same.
ADAM = {"lr": 0.01, "eps": 1e-12}
# Rows that caches still hold from the step before would make the update seem faster than it is.
BATCHES = 64


def make_table(rows: int) -> np.ndarray[Any, Any]:
    """A table with rows of length 1, about."""
    table = np.random.default_rng(0).standard_normal((rows, WIDTH), dtype=np.float32)
    table *= np.float32(WIDTH**-0.5)
    return table


def make_batches(rows: int, size: int = BATCH) -> list[tuple[Any, Any]]:
    """Indices of rows, and the squared length that each row is to have."""
    random = np.random.default_rng(1)
    made = [
        (random.integers(0, rows, size), random.uniform(0.5, 1.5, size).astype(np.float32))
        for _ in range(BATCHES)
    ]
    return [made[0], *made]


def loss_of_rows(rows: Any, targets: Any) -> Any:
    """The mean squared error of the rows' squared lengths, for any library's arrays."""
    return (((rows * rows).sum(-1) - targets) ** 2).mean()


def loss(table: Any, indices: Any, targets: Any) -> Any:
    return loss_of_rows(table[indices], targets)


# SGD.


def gradir_sgd(threads: int, rows: int = ROWS) -> harness.Call:
    """As a user writes it: the rows of the gradient, added to the table in place."""
    gradir = harness.library("gradir")

    def step(table: Any, indices: Any, targets: Any) -> Any:
        value, ct = gradir.value_and_grad(loss, sparse_argnums=0)(table, indices, targets)
        return table.at[ct.indices].add(-RATE * ct.values), value

    step = gradir.jit(step, threads=threads, donate_argnums=0)
    return repeated(step, make_table(rows), make_batches(rows))


def repeated(step: Callable[..., Any], table: Any, batches: list[tuple[Any, Any]]) -> harness.Call:
    """The call of (table, *batch) -> (table, loss) with one batch after the other."""
    rest = cycle(batches)
    state = [table]

    def call() -> object:
        state[0], value = step(state[0], *next(rest))
        return value

    return call


def jax_sgd(by_rows: bool) -> harness.Call:
    """`jax.jit` with donation: of the dense gradient, or of the rows' gradient and `at[].add`."""
    jax = harness.library("jax")

    def dense(table: Any, indices: Any, targets: Any) -> Any:
        value, ct = jax.value_and_grad(loss)(table, indices, targets)
        return table - RATE * ct, value

    def of_rows(table: Any, indices: Any, targets: Any) -> Any:
        value, ct = jax.value_and_grad(loss_of_rows)(table[indices], targets)
        return table.at[indices].add(-RATE * ct), value

    step = jax.jit(of_rows if by_rows else dense, donate_argnums=0)
    batches = [(jax.numpy.asarray(i), jax.numpy.asarray(t)) for i, t in make_batches(ROWS)]
    call = repeated(step, jax.numpy.asarray(make_table(ROWS)), batches)
    return lambda: jax.block_until_ready(call())


def torch_step(make_optimizer: Callable[[Any], Any]) -> harness.Call:
    """`nn.Embedding(sparse=True)` and an optimizer of torch.optim."""
    torch = harness.library("torch")
    table = torch.nn.Embedding.from_pretrained(
        torch.from_numpy(make_table(ROWS)), freeze=False, sparse=True
    )
    optimizer = make_optimizer(table.parameters())
    tensor: Callable[[Any], Any] = torch.from_numpy
    batches = cycle([(tensor(i), tensor(t)) for i, t in make_batches(ROWS)])

    def call() -> object:
        indices, targets = next(batches)
        optimizer.zero_grad()
        value = loss_of_rows(table(indices), targets)
        value.backward()
        optimizer.step()
        return value

    return call


def torch_sgd() -> harness.Call:
    return torch_step(lambda p: harness.library("torch").optim.SGD(p, lr=RATE))


# Adaptive optimizers.


def gradir_step(threads: int, make_optimizer: Callable[[Any], Any]) -> harness.Call:
    """`optim.train_step` with row slices and an optimizer that changes their rows alone."""
    gradir = harness.library("gradir")
    optimizer = make_optimizer(gradir.optim)
    step = gradir.optim.train_step(loss, optimizer, sparse=True)
    step = gradir.jit(step, threads=threads, donate_argnums=(0, 1))

    def pair(both: Any, *batch: Any) -> Any:
        table, state, value = step(*both, *batch)
        return (table, state), value

    table = make_table(ROWS)
    return repeated(pair, (table, optimizer.init(table)), make_batches(ROWS))


def lazy_adam(threads: int) -> list[harness.Contender]:
    def torchs() -> harness.Call:
        return torch_step(lambda p: harness.library("torch").optim.SparseAdam(p, **ADAM))

    def ours() -> harness.Call:
        return gradir_step(
            threads, lambda optim: optim.adam(ADAM["lr"], eps=ADAM["eps"], lazy=True)
        )

    return [
        harness.Contender("PyTorch SparseAdam", torchs, "torch"),
        harness.Contender("gradir", ours, "gradir"),
    ]


def adagrad(threads: int) -> list[harness.Contender]:
    def torchs() -> harness.Call:
        return torch_step(lambda p: harness.library("torch").optim.Adagrad(p, lr=ADAGRAD_RATE))

    def ours() -> harness.Call:
        return gradir_step(threads, lambda optim: optim.adagrad(ADAGRAD_RATE, 0.0, 0.0))

    return [
        harness.Contender("PyTorch Adagrad", torchs, "torch"),
        harness.Contender("gradir", ours, "gradir"),
    ]


def bytes_by_batch(threads: int) -> str:
    """The bytes of the gradient, and of the step's arena, by the rows of a batch."""
    gradir = harness.library("gradir")
    gradient = gradir.jit(gradir.grad(loss, sparse_argnums=0), threads=threads)
    table = make_table(OTHER_ROWS[0])
    lines = [f"\nBytes of the gradient of a table of {table.nbytes:,} bytes"]
    for size in OTHER_BATCHES:
        rows = gradient(table, *make_batches(len(table), size)[0])
        total = rows.indices.nbytes + rows.values.nbytes
        lines.append(f"batch of {size:6}: {total:10,} bytes, {total / size:.0f} a row")
    return "\n".join(lines)


def workloads(threads: int) -> Iterator[harness.Workload]:
    """The table of a million rows, tables of other sizes, and adaptive optimizers."""
    shape = f"of {ROWS:,} x {WIDTH} f32, batch {BATCH}"
    sgd = [
        harness.Contender("PyTorch sparse", torch_sgd, "torch"),
        harness.Contender("JAX dense gradient", lambda: jax_sgd(False), "jax"),
        harness.Contender("JAX rows by hand", lambda: jax_sgd(True), "jax"),
        harness.Contender("gradir", lambda: gradir_sgd(threads), "gradir"),
    ]
    yield harness.Workload(f"SGD step on a table {shape}", sgd, "PyTorch sparse")
    sizes = [
        harness.Contender(f"gradir, {n:,} rows", lambda n=n: gradir_sgd(threads, n), "gradir")
        for n in OTHER_ROWS
    ]
    title = f"The same on tables of other sizes, batch {BATCH}"
    yield harness.Workload(title, sizes, f"gradir, {ROWS:,} rows", tolerance=None)
    title = f"Lazy Adam on a table {shape}"
    yield harness.Workload(title, lazy_adam(threads), "PyTorch SparseAdam")
    title = f"Adagrad on a table {shape}"
    yield harness.Workload(title, adagrad(threads), "PyTorch Adagrad")
    print(bytes_by_batch(threads), flush=True)


if __name__ == "__main__":
    harness.main(workloads)
