"""The functions around a driver: the entry, which hands it to threads, and the error record."""

from __future__ import annotations

from collections.abc import Sequence

from gradir.codegen.driver import pool
from gradir.codegen.text.callback_functions import POLL_SYMBOL
from gradir.codegen.text.kernel import ERROR_RECORD_BYTES
from gradir.codegen.text.table import TABLE_THREADS
from gradir.codegen.text.target import MachineTarget
from gradir.codegen.text.writer import FunctionWriter

ENTRY = "gradir_entry"


def entry_function(
    target: MachineTarget,
    records: Sequence[tuple[int, int]],
    ends: Sequence[str] = (),
    is_parallel: bool = False,
    polls: bool = False,
) -> str:
    """`@gradir_entry(ptr %table)`, if `is_parallel` with as many threads as the table asks for.

    `records` are the kernels' error records: their word in the table, and what to add to the code.
    `ends` are functions of the table that are called after the driver. `polls`: whether the call
    can be ended from outside, so that a thread that waits has to look.
    """
    f = FunctionWriter()
    if is_parallel:
        threads = f.load("i64", 1, f.address("i64", "%table", TABLE_THREADS))
        poll = f"@{POLL_SYMBOL}" if polls else "null"
        given = f"ptr @gradir_driver, ptr %table, i64 {threads}, ptr {poll}"
        f.call("void", f"@{pool.RUN}", given)
    else:
        f.call("void", "@gradir_driver", "ptr %table, i64 0, i64 1, ptr null")
    for name in (*(["gradir_errors"] if records else []), *ends):
        f.call("void", f"@{name}", "ptr %table")
    f.ret()
    entry = f.define(ENTRY, "ptr %table", target.attributes, linkage="")
    declared = [pool.DECLARATIONS] if is_parallel else []
    return "\n".join([*declared, entry, _errors(target, records)])


def _errors(target: MachineTarget, records: Sequence[tuple[int, int]]) -> str:
    """`@gradir_errors(ptr %table)` moves the first error of the program to the table's start; no
    function without records: LLVM takes as long for an empty one as for a small kernel."""
    if not records:
        return ""
    f = FunctionWriter()
    for word, base in records:
        record = f.address("i64", "%table", word)
        code = f.load("i64", 1, record)
        with f.when(f.compare("ne", "i64", 1, code, "0")):
            f.store("i64", 1, record, "0")
            earlier = f.load("i64", 1, "%table")
            with f.when(f.compare("eq", "i64", 1, earlier, "0")):
                f.store("i64", 1, "%table", f.binary("add", "i64", 1, code, str(base)))
                for offset in range(1, ERROR_RECORD_BYTES // 8):
                    here, there = (f.address("i64", at, offset) for at in (record, "%table"))
                    f.store("i64", 1, there, f.load("i64", 1, here))
    f.ret()
    return f.define("gradir_errors", "ptr %table", target.attributes)
