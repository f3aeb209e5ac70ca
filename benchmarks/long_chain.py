"""Compile time of a chain of 1,000 and of 10,000 operations: parse, gradient, verify.

Both chains are run as often as makes the same number of operations, so that the ratio of the times
is that of the times per operation: 1 is a stage that takes linear time.
"""

from collections.abc import Callable, Iterator

import harness

LENGTHS = (1_000, 10_000)


def chain(length: int) -> str:
    """A function of that many operations, each of the one before."""
    tensor = "tensor<16xf32>"
    kinds = ("array.multiply %v{0}, %x", "array.add %v{0}, %x", "array.exp %v{0}")
    lines = [f"func.func @main(%x: {tensor}) -> {tensor} {{"]
    lines += [f"  %v1 = array.negative %x : {tensor}"]
    for index in range(1, length):
        operation = kinds[index % len(kinds)].format(index)
        lines.append(f"  %v{index + 1} = {operation} : {tensor}")
    return "\n".join([*lines, f"  func.return %v{length} : {tensor}", "}", ""])


Stage = Callable[[str], harness.Call]
"""From a program's text to a call that runs one stage on it."""


def parse(text: str) -> harness.Call:
    """Text to a verified module."""
    gradir = harness.library("gradir")
    return lambda: gradir.parse(text)


def gradient(mode: str) -> Stage:
    """A module to one with its gradient, verified: what `Module.gradient` does."""

    def stage(text: str) -> harness.Call:
        module = harness.library("gradir").parse(text)
        return lambda: module.gradient("main", wrt=[0], mode=mode)

    return stage


def verify(text: str) -> harness.Call:
    """The verifier alone, on the module with its gradient."""
    module = harness.library("gradir").parse(text).gradient("main", wrt=[0], mode="vjp")
    verify_module = harness.library("gradir.passes.verify.verify").verify
    return lambda: verify_module(module.op)


STAGES: dict[str, Stage] = {
    "parse": parse,
    "gradient, mode vjp": gradient("vjp"),
    "gradient, mode split": gradient("split"),
    "gradient, mode grad": gradient("grad"),
    "verify the gradient": verify,
}


def stage_workload(name: str, stage: Stage) -> harness.Workload:
    """One stage on chains of all lengths, each as often as makes the same number of operations."""

    def contender(length: int) -> harness.Contender:
        times = LENGTHS[-1] // length

        def prepare() -> harness.Call:
            call = stage(chain(length))
            return lambda: [call() for _ in range(times)]

        return harness.Contender(f"{times} x {length:,} operations", prepare, "gradir")

    contenders = [contender(length) for length in LENGTHS]
    reference = contenders[0].name
    title = f"Long chain: {name}"
    return harness.Workload(title, contenders, reference, tolerance=None, operations=LENGTHS[-1])


def workloads(threads: int) -> Iterator[harness.Workload]:
    """One workload per stage; no stage uses a second thread."""
    del threads
    return (stage_workload(name, stage) for name, stage in STAGES.items())


if __name__ == "__main__":
    harness.main(workloads, threads=(1,))
