"""Compile time of a chain of 1,000 and of 10,000 operations: parse, gradient, verify."""

from collections.abc import Iterator

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


def chain_workload(length: int) -> harness.Workload:
    """The stages as contenders, on one chain."""
    text = chain(length)

    def parse() -> harness.Call:
        gradir = harness.library("gradir")
        return lambda: gradir.parse(text)

    def gradient() -> harness.Call:
        module = harness.library("gradir").parse(text)
        return lambda: module.gradient("main", wrt=[0], mode="grad")

    def verify() -> harness.Call:
        module = harness.library("gradir").parse(text).gradient("main", wrt=[0], mode="grad")
        verify_module = harness.library("gradir.passes.verify").verify
        return lambda: verify_module(module.op)

    contenders = [
        harness.Contender("parse", parse, "gradir"),
        harness.Contender("gradient", gradient, "gradir"),
        harness.Contender("verify the gradient", verify, "gradir"),
    ]
    title = f"Chain of {length:,} operations: compile-time stages"
    return harness.Workload(title, contenders, reference="parse", tolerance=None, operations=length)


def workloads(threads: int) -> Iterator[harness.Workload]:
    """One workload per length; no stage uses a second thread."""
    del threads
    return (chain_workload(length) for length in LENGTHS)


if __name__ == "__main__":
    harness.main(workloads, threads=(1,))
