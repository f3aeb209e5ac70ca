"""mlir-opt's flags on gradir-opt: other names of flags, dumps of the program, passes as flags.

`--canonicalize --gradir-gradient='function=f mode=vjp'` is the pipeline of these passes, in order.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Collection, Sequence
from typing import IO

from xdsl.dialects.builtin import ModuleOp

from gradir.errors import ArgumentError
from gradir.text.printer import FaithfulPrinter, program_text

SAME = {
    "--mlir-print-op-generic": "--print-op-generic",
    "--mlir-print-debuginfo": "--print-debuginfo",
    "--mlir-timing": "--time-passes",
}
"""Flags that have another name in xdsl-opt."""

MEANINGLESS = {
    "--mlir-disable-threading": "passes run in one thread",
    "--mlir-print-local-scope": "attributes are printed where they stand",
    "--verify-each": "programs are verified before and after each pass; --disable-verify does not",
    "--mlir-print-op-on-diagnostic": "errors show their line of the source",
    "--mlir-print-stacktrace-on-diagnostic": "--traceback shows the place in gradir",
}
"""Flags that are taken and change nothing, and why."""


def add_mlir_options(parser: argparse.ArgumentParser) -> None:
    """Add the flags that have a meaning of their own."""
    group = parser.add_argument_group(
        "mlir-opt's options",
        "A pass is a flag too: --gradir-gradient='function=f mode=vjp'. "
        + ", ".join(f"{ours} is {theirs}" for ours, theirs in SAME.items())
        + ". Taken, without effect: "
        + ", ".join(MEANINGLESS),
    )
    for when in ("before", "after"):
        group.add_argument(
            f"--mlir-print-ir-{when}-all",
            action="store_true",
            help=f"Print the program {when} each pass on standard error",
        )
        group.add_argument(
            f"--mlir-print-ir-{when}",
            metavar="PASSES",
            action="append",
            default=[],
            help=f"Print the program {when} these passes, separated by commas",
        )
    group.add_argument(
        "--mlir-print-ir-after-change",
        action="store_true",
        help="Print it after a pass only where the pass changed it",
    )
    group.add_argument(
        "--mlir-print-ir-after-failure",
        action="store_true",
        help="Print the program where a pass failed, as far as it came",
    )
    group.add_argument(
        "--mlir-elide-elementsattrs-if-larger",
        metavar="N",
        type=int,
        help="Print constants of more elements as dense_resource<__elided__>, for reading alone",
    )
    group.add_argument(
        "--dump-pass-pipeline",
        action="store_true",
        help="Print the pipeline on standard error before it runs",
    )
    group.add_argument(
        "--verify-roundtrip",
        action="store_true",
        help="Check that the printed program, read again, prints the same text",
    )
    group.add_argument("--show-dialects", action="store_true", help="List the known dialects")


def in_own_spelling(arguments: Sequence[str], passes: Collection[str]) -> list[str]:
    """The command line with passes as -p, and without mlir-opt's other names.

    Passes as flags stand together: ArgumentError where -p or --pass-pipeline is there too.
    """
    made, named = list[str](), list[str]()
    for argument in arguments:
        flag, equals, value = argument.partition("=")
        name = flag.lstrip("-")
        long = f"--{name}"
        if not flag.startswith("-") or not name:
            made.append(argument)
        elif name in passes:
            named.append(name + ("{" + value + "}" if equals and value else ""))
        elif long in SAME:
            made.append(SAME[long])
        elif long not in MEANINGLESS:
            made.append(argument)
    if not named:
        return made
    if any(a in ("-p", "--passes") or a.startswith(("--pass-pipeline", "--passes=")) for a in made):
        raise ArgumentError(
            f"error: passes as flags ({', '.join(named)}) and a pipeline: give one of both"
        )
    return [*made, "-p", ",".join(named)]


class Dumps:
    """The programs that a run prints between passes, as its options ask."""

    def __init__(self, options: argparse.Namespace, stream: IO[str] | None = None):
        self._options = options
        self._stream = stream
        self._last: str | None = None

    def before(self, name: str, module: ModuleOp) -> None:
        """A pass begins."""
        if self._options.mlir_print_ir_after_change and self._last is None:
            self._last = program_text(module)
        if self._options.mlir_print_ir_before_all or self._asks("before", name):
            self._print(f"IR Dump Before {name}", module)

    def after(self, name: str, module: ModuleOp) -> None:
        """A pass has ended."""
        if self._options.mlir_print_ir_after_change:
            text = program_text(module)
            changed, self._last = text != self._last, text
            if not changed:
                return
        elif not (self._options.mlir_print_ir_after_all or self._asks("after", name)):
            return
        self._print(f"IR Dump After {name}", module)

    def failed(self, name: str | None, module: ModuleOp) -> None:
        """A pass has failed."""
        if self._options.mlir_print_ir_after_failure and name is not None:
            self._print(f"IR Dump After {name} Failed", module)

    def _asks(self, when: str, name: str) -> bool:
        asked: Sequence[str] = getattr(self._options, f"mlir_print_ir_{when}")
        return any(name in each.split(",") for each in asked)

    def _print(self, title: str, module: ModuleOp) -> None:
        stream = self._stream or sys.stderr
        print(f"// -----// {title} //----- //", file=stream)
        printer = FaithfulPrinter(stream=stream)
        printer.largest_constant = self._options.mlir_elide_elementsattrs_if_larger
        printer.print_op(module)
        print("\n", file=stream)


def require_roundtrip(text: str, parse: Callable[[str], str]) -> None:
    """ArgumentError unless a text, read and printed, is the same."""
    again = parse(text)
    if again.strip() != text.strip():
        pairs = zip(text.splitlines(), again.splitlines(), strict=False)
        line = next((k for k, (a, b) in enumerate(pairs, 1) if a != b), 0)
        raise ArgumentError(f"error: --verify-roundtrip: line {line} of the output reads otherwise")
