"""What has failed in a run of a program: the code, the message and the place, for the status.

The texts are those of gradir's own calls (gradir/runtime/messages.py).
"""

from __future__ import annotations

from gradir.aot.abi import MESSAGE, PROGRAM, STATUS
from gradir.aot.code import Code
from gradir.codegen.driver.growing_memory import NO_MEMORY
from gradir.codegen.text.kernel import ERROR_BOUND, ERROR_CODE, ERROR_INDEX, NO_BOUND, PLAIN
from gradir.codegen.text.table import RAISED, TABLE_ERROR


def report(texts: dict[str, str]) -> str:
    """`@report(message, status)`: the place of a message, as the status says it."""
    f = Code(texts)
    for name in ("file", "op"):
        f.put(STATUS, "%status", name, f.field(MESSAGE, "%message", name))
    for name in ("line", "column"):
        f.put_number(STATUS, "%status", name, f.field(MESSAGE, "%message", name))
    f.ret()
    return f.definition("report", "ptr %message, ptr %status", "void", "internal ")


def report_program(texts: dict[str, str]) -> str:
    """`@report_program(program, table, status)`: the error record of a run, as a code."""
    f = Code(texts)
    code, index, bound = (
        f.load("i64", 1, f.address("i64", "%table", TABLE_ERROR + word))
        for word in (ERROR_CODE, ERROR_INDEX, ERROR_BOUND)
    )
    stopped = f.emit(f"icmp eq i64 {code}, 0")
    f.refuse_if(stopped, "stopped", "the call was stopped", [])
    told, on = f.fresh("told"), f.fresh("on")
    # what a native operator says is in the status already
    f.branch(f.emit(f"icmp eq i64 {code}, {RAISED}"), told, on)
    f.label(told)
    f.ret(f"i32 {f.field(STATUS, '%status', 'code')}")
    f.label(on)
    messages = f.field(PROGRAM, "%program", "messages")
    message = f.entry_of(MESSAGE, messages, f.emit(f"sub i64 {code}, 1"))
    f.call("void", "@report", f"ptr {message}, ptr %status")
    text = f"ptr {f.field(MESSAGE, message, 'text')}"

    def refuse(condition: str, kind: str, format: str, *values: str) -> None:
        f.refuse_if(condition, kind, f"%s{format}", [text, *(f"i64 {v}" for v in values)])

    inside = "index %lld is out of range for a size of %lld"
    refuse(f.emit(f"icmp sge i64 {bound}, 0"), "out_of_range", f": {inside}", index, bound)
    refuse(f.emit(f"icmp eq i64 {bound}, {PLAIN}"), "failed", "")
    refuse(f.emit(f"icmp eq i64 {bound}, {NO_BOUND}"), "failed", ", got %lld", index)
    none = f.emit(f"icmp eq i64 {bound}, {NO_MEMORY}")
    refuse(none, "no_memory", " finds no memory for %lld bytes", index)
    limit = f.emit(f"sub i64 -4, {bound}")
    refuse("true", "no_memory", "'s limit is %lld bytes, needed %lld", limit, index)
    f.line("unreachable")
    names = "ptr %program, ptr %table, ptr %status"
    return f.definition("report_program", names, linkage="internal ")
