"""Native operators of a library: the records of their calls, and the code that makes them.

The call is that of `native_operators.py`; a failure goes to the status, with the op's place.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gradir.aot.abi import MESSAGE, STATUS
from gradir.aot.code import Code, constant_texts
from gradir.aot.entry import TABLE_STATUS
from gradir.aot.objects import ObjectCode, Symbol
from gradir.aot.program import CompiledFunction, PlacedMessage
from gradir.aot.records import DataRecords
from gradir.codegen.text.callback_functions import ACTIONS, HOST_RECORDS, HOST_SYMBOL
from gradir.codegen.text.kernel import ERROR_CODE
from gradir.codegen.text.native_operators import (
    HOST_RECORD,
    NATIVE_DECLARATION,
    native_function,
)
from gradir.codegen.text.structs import Struct
from gradir.codegen.text.table import RAISED, TABLE_ERROR, TABLE_STOP
from gradir.runtime.host_calls import HostCall
from gradir.runtime.native_functions import NativeFunction

# As programs have it, but that `object` points to a FAILURE in place of an object of Python's.
FAILURE = Struct("failure", (*MESSAGE.fields, ("place", "i64")))
"""A message, and where the operator's own text is in the block of a call."""


def host_function() -> str:
    """The module with `@gradir_host(records, number, buffers, table)`."""
    texts: dict[str, str] = {}
    f = Code(texts)
    number = f.emit(f"udiv i64 %number, {ACTIONS}")
    record = f.entry_of(HOST_RECORD, "%records", number)
    function = f.field(HOST_RECORD, record, "function")
    size = f.field(HOST_RECORD, record, "block_size")
    block = f.emit(f"alloca i8, i64 {size}, align 16")
    given = f"ptr {function}, ptr {block}, ptr {record}, ptr %buffers"
    code = f.call("i32", "@native", given)
    stop = f.address("i64", "%table", TABLE_STOP)
    with f.when(f.emit(f"icmp ne i32 {code}, 0")):
        failure = f.field(HOST_RECORD, record, "object")
        f.line(f"%status = load ptr, ptr {f.address('i64', '%table', TABLE_STATUS)}")
        for name in ("file", "op"):
            f.put(STATUS, "%status", name, f.field(FAILURE, failure, name))
        for name in ("line", "column"):
            f.put_number(STATUS, "%status", name, f.field(FAILURE, failure, name))
        told = f.address("i8", block, f.field(FAILURE, failure, "place"))
        text = f"ptr {f.field(FAILURE, failure, 'text')}"
        f.tell("operator_failed", "%s: %s (%d)", [text, f"ptr {told}", f"i32 {code}"])
        place = f.address("i64", "%table", TABLE_ERROR + ERROR_CODE)
        f.store("i64", 1, place, str(RAISED))
        f.line(f"store atomic i64 1, ptr {stop} release, align 8")
    f.ret("i64 " + f.emit(f"load atomic i64, ptr {stop} monotonic, align 8"))
    names = "ptr %records, i64 %number, ptr %buffers, ptr %table"
    made = f.definition(HOST_SYMBOL, names, "i64")
    declared = "declare i32 @snprintf(ptr, i64, ptr, ...)\n" + NATIVE_DECLARATION
    return "\n".join([declared, constant_texts(texts), native_function(), made])


def host_records(calls: Sequence[HostCall], machine: int) -> ObjectCode:
    """The array of records that the objects of a program refer to."""
    records = DataRecords(machine)
    rows = [_row(call, records) for call in calls]
    records.structs(HOST_RECORD, rows, HOST_RECORDS, is_global=True)
    return records.object_code()


def _row(call: HostCall, records: DataRecords) -> dict[str, int | Symbol | None]:
    block = None if call.operator is None else call.operator.native
    assert block is not None
    made = block.contents
    shapes = {place: records.words(shape or (0,)) for place, shape in made.shapes.items()}
    message = PlacedMessage.of(call.place)
    failure = records.structs(
        FAILURE,
        [
            {
                "text": records.text(message.text),
                "file": records.text(message.file),
                "op": records.text(message.op),
                "line": message.line,
                "column": message.column,
                "place": made.message,
            }
        ],
    )
    return {
        "object": failure,
        "function": Symbol(symbol_of(block.function), None),
        "template": records.block(made.template, shapes, "template"),
        "template_size": len(made.template),
        "block_size": made.block_size,
        "moved": records.words(made.moved or (0,)),
        "moved_count": len(made.moved) // 2,
        "buffers": records.words(made.buffers or (0,)),
        "buffer_count": len(made.buffers),
    }


def symbol_of(function: NativeFunction) -> str:
    """The symbol of a native operator, which another library has."""
    assert function.source is not None
    return function.source[1]


def library_of(function: NativeFunction) -> str:
    """The name by which the loader looks for that library."""
    assert function.source is not None
    return function.source[0].replace("\\", "/").rpartition("/")[2]


def operator_files(functions: Iterable[CompiledFunction]) -> list[str]:
    """The libraries of the native operators of functions, as they were named."""
    blocks = [
        call.operator.native
        for function in functions
        for level in function.levels
        for call in level.calls
        if call.operator is not None and call.operator.native is not None
    ]
    return [block.function.source[0] for block in blocks if block.function.source is not None]
