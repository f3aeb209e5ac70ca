"""A net of 1,000 operators: the time to append its gradient operators, and a run of the net.

The same program written for `gradir.jit` runs beside it.
"""

from collections.abc import Iterator
from typing import Any

import harness
import numpy as np

OPERATORS = 1000
Array = np.ndarray[Any, np.dtype[np.float32]]


def make_inputs() -> tuple[Array, Array]:
    """x and w, of 4096 elements; w is near 1, so that no number becomes subnormal."""
    random = np.random.default_rng(0)
    x, w = random.uniform(0.5, 1.5, 4096), random.uniform(0.99, 1.01, 4096)
    return x.astype(np.float32), w.astype(np.float32)


def make_net() -> Any:
    """sin(w * ...), 499 times, then a sum."""
    net = harness.library("gradir.frontends.caffe2").Net("chain")
    x = "x"
    for k in range(OPERATORS // 2 - 1):
        net.Mul([x, "w"], [f"m{k}"])
        net.Sin([f"m{k}"], [f"s{k}"])
        x = f"s{k}"
    net.Sum([x, "w"], ["sum"])
    net.SumElements(["sum"], ["loss"])
    return net


def prepare_gradient_operators() -> harness.Call:
    """`AddGradientOperators` on a copy of the net."""
    net = make_net()

    def run() -> int:
        made = net.copy()
        made.AddGradientOperators(["loss"])
        return len(made.ops)

    return run


def prepare_net(threads: int) -> harness.Call:
    """The compiled net: the loss and the gradients of x and w."""
    net = make_net()
    found = net.AddGradientOperators(["loss"])
    names = ["loss", found["x"], found["w"]]
    run = net.compile(names, threads)
    x, w = make_inputs()
    feeds = {"x": x, "w": w}

    def call() -> list[Any]:
        values = run(feeds)
        return [values[name] for name in names]

    return call


def prepare_traced(threads: int) -> harness.Call:
    """The same program by `gradir.jit`."""
    gradir, gnp = harness.library("gradir"), harness.library("gradir.numpy")

    def loss(x: Any, w: Any) -> Any:
        for _ in range(OPERATORS // 2 - 1):
            x = gnp.sin(x * w)
        return gnp.sum(x + w)

    fn = gradir.jit(gradir.value_and_grad(loss, argnums=(0, 1)), threads=threads)
    x, w = make_inputs()

    def call() -> list[Any]:
        value, grads = fn(x, w)
        return [value, *grads]

    return call


def workloads(threads: int) -> Iterator[harness.Workload]:
    """The gradient operators, on one thread, and the run."""
    if threads == 1:
        title = f"Net of {OPERATORS} operators: its gradient operators"
        made = [harness.Contender("gradir", prepare_gradient_operators)]
        yield harness.Workload(title, made, reference="gradir")
    title = f"Net of {OPERATORS} operators on 4096 elements, f32: value and two gradients"
    contenders = [
        harness.Contender("gradir, traced", lambda: prepare_traced(threads), "gradir"),
        harness.Contender("gradir, net", lambda: prepare_net(threads), "gradir"),
    ]
    yield harness.Workload(title, contenders, reference="gradir, traced")


if __name__ == "__main__":
    harness.main(workloads)
