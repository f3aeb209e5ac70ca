"""Native operators and collectives of a library: records of calls, and the code that makes them.

The call is that of `native_operators.py`; a failure goes to the status, with the op's place.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gradir.aot import elf
from gradir.aot.abi import MESSAGE, STATUS
from gradir.aot.code import Code, constant_texts
from gradir.aot.collectives import KINDS, START_SYMBOL, WAIT_SYMBOL, CollectiveCall, elements
from gradir.aot.entry import TABLE_STATUS
from gradir.aot.groups import WORLD, Groups
from gradir.aot.mpi import MpiLibrary
from gradir.aot.mpi_code import GROUP, HANDLES_SYMBOL, REQUESTS, SITE
from gradir.aot.objects import DATA, ObjectCode, Symbol
from gradir.aot.program import CompiledFunction, LibraryCall, PlacedMessage
from gradir.aot.records import DataRecords
from gradir.codegen.text.callback_functions import ACTIONS, HOST_RECORDS, HOST_SYMBOL, WAIT
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


def host_function(has_operators: bool, has_collectives: bool) -> str:
    """The module with `@gradir_host(records, number, buffers, table)`.

    A record without a function is a collective's, which is started, and waited for later.
    """
    texts: dict[str, str] = {}
    f = Code(texts)
    stop = f.address("i64", "%table", TABLE_STOP)
    record = f.entry_of(HOST_RECORD, "%records", f.emit(f"udiv i64 %number, {ACTIONS}"))
    function = f.field(HOST_RECORD, record, "function")
    f.line(f"%status = load ptr, ptr {f.address('i64', '%table', TABLE_STATUS)}")
    f.branch(f.is_null(function), "collective", "operator")
    f.label("operator")
    if has_operators:
        _call_operator(f, record, function)
    f.jump("done")
    f.label("collective")
    if has_collectives:
        _call_collective(f, record)
    f.jump("done")
    f.label("done")
    f.ret("i64 " + f.emit(f"load atomic i64, ptr {stop} monotonic, align 8"))
    names = "ptr %records, i64 %number, ptr %buffers, ptr %table"
    parts = ["declare i32 @snprintf(ptr, i64, ptr, ...)", constant_texts(texts)]
    if has_operators:
        parts += [NATIVE_DECLARATION, native_function()]
    if has_collectives:
        parts.append(f"declare hidden i32 @{START_SYMBOL}(ptr, ptr, ptr, ptr)")
        parts.append(f"declare hidden i32 @{WAIT_SYMBOL}(ptr, ptr, ptr)")
    return "\n".join([*parts, f.definition(HOST_SYMBOL, names, "i64")])


def _call_collective(f: Code, record: str) -> None:
    site = f.field(HOST_RECORD, record, "template")
    action = f.emit(f"urem i64 %number, {ACTIONS}")
    f.branch(f.emit(f"icmp eq i64 {action}, {WAIT}"), "wait", "start")
    codes: list[tuple[str, str]] = []
    for label, symbol, buffers in (("wait", WAIT_SYMBOL, ""), ("start", START_SYMBOL, "%buffers")):
        f.label(label)
        given = [f"ptr {name}" for name in (site, buffers, "%table", "%status") if name]
        codes.append((f.call("i32", f"@{symbol}", ", ".join(given)), label))
        f.jump("ended")
    f.label("ended")
    code = f.phi("i32", codes)
    with f.when(f.emit(f"icmp ne i32 {code}, 0")):
        _fail(f, record)


def _call_operator(f: Code, record: str, function: str) -> None:
    size = f.field(HOST_RECORD, record, "block_size")
    block = f.emit(f"alloca i8, i64 {size}, align 16")
    given = f"ptr {function}, ptr {block}, ptr {record}, ptr %buffers"
    code = f.call("i32", "@native", given)
    with f.when(f.emit(f"icmp ne i32 {code}, 0")):
        failure = f.field(HOST_RECORD, record, "object")
        told = f.address("i8", block, f.field(FAILURE, failure, "place"))
        text = f"ptr {f.field(FAILURE, failure, 'text')}"
        f.tell("operator_failed", "%s: %s (%d)", [text, f"ptr {told}", f"i32 {code}"])
        _fail(f, record)


def _fail(f: Code, record: str) -> None:
    """End the call, whose code and message are in the status, with the place of the op."""
    failure = f.field(HOST_RECORD, record, "object")
    for name in ("file", "op"):
        f.put(STATUS, "%status", name, f.field(FAILURE, failure, name))
    for name in ("line", "column"):
        f.put_number(STATUS, "%status", name, f.field(FAILURE, failure, name))
    f.store("i64", 1, f.address("i64", "%table", TABLE_ERROR + ERROR_CODE), str(RAISED))
    stop = f.address("i64", "%table", TABLE_STOP)
    f.line(f"store atomic i64 1, ptr {stop} release, align 8")


def host_records(
    calls: Sequence[LibraryCall], machine: int, mpi: MpiLibrary, requests: int
) -> ObjectCode:
    """The array of records that the objects of a program refer to; `requests` is the place in the
    workspace of the collectives' requests."""
    records, rows = DataRecords(machine), list[dict[str, int | Symbol | None]]()
    for call in calls:
        if isinstance(call, CollectiveCall):
            rows.append(_collective_row(call, records, mpi, requests))
            requests += REQUESTS.size
        else:
            rows.append(_operator_row(call, records))
    records.structs(HOST_RECORD, rows, HOST_RECORDS, is_global=True)
    return records.object_code()


def _failure(place: str, told: int, records: DataRecords) -> Symbol:
    """The FAILURE of a call, whose place and name are a text."""
    message = PlacedMessage.of(place)
    row = {
        "text": records.text(message.text),
        "file": records.text(message.file),
        "op": records.text(message.op),
        "line": message.line,
        "column": message.column,
        "place": told,
    }
    return records.structs(FAILURE, [row])


def _operator_row(call: HostCall, records: DataRecords) -> dict[str, int | Symbol | None]:
    block = None if call.operator is None else call.operator.native
    assert block is not None
    made = block.contents
    shapes = {place: records.words(shape or (0,)) for place, shape in made.shapes.items()}
    return {
        "object": _failure(call.place, made.message, records),
        "function": Symbol(symbol_of(block.function), None),
        "template": records.block(made.template, shapes, "template"),
        "template_size": len(made.template),
        "block_size": made.block_size,
        "moved": records.words(made.moved or (0,)),
        "moved_count": len(made.moved) // 2,
        "buffers": records.words(made.buffers or (0,)),
        "buffer_count": len(made.buffers),
    }


def _collective_row(
    call: CollectiveCall, records: DataRecords, mpi: MpiLibrary, requests: int
) -> dict[str, int | Symbol | None]:
    summed = call.summed
    fields: dict[str, int | str | Symbol | None] = {
        "kind": [*KINDS].index(call.kind),
        "ranks": call.ranks,
        "reads": len(call.inputs),
        "operand": sum(spec.nbytes for spec in call.inputs),
        "result": sum(spec.nbytes for spec in call.outputs),
        "count": 0 if summed is None else elements(summed),
        "type": 0 if summed is None else mpi.types[summed.dtype.name],
        "other": call.other,
        "pairs": records.words(call.pairs or (0,)),
        "n_pairs": len(call.pairs) // 2,
        "text": records.text(PlacedMessage.of(call.place).text),
        "group": None if call.group == WORLD else Symbol(_group_symbol(call.group), None),
        "requests": requests,
    }
    site = records.mixed([_handle(fields[name]) for name in SITE.offsets], "collective")
    return {"object": _failure(call.place, 0, records), "template": site}


def _group_symbol(group: str) -> str:
    return f"gradir_group.{group}"


def handles(
    machine: int, mpi: MpiLibrary, calls: Iterable[LibraryCall], groups: Groups
) -> ObjectCode:
    """What collectives read of the MPI library, and the groups of calls."""
    records = DataRecords(machine)
    words = [_handle(each) for each in (mpi.world, mpi.sum, mpi.byte)]
    records.mixed(words, HANDLES_SYMBOL, is_global=True)
    for group in named_groups(calls):
        row = {
            "lists": records.halves(groups.words(group)),
            "name": records.text(group),
            "ranks": groups.most(group),
        }
        records.structs(GROUP, [row], _group_symbol(group), is_global=True, kind=DATA)
    return records.object_code()


def _handle(word: int | str | Symbol | None) -> int | Symbol | None:
    return Symbol(word, None, type=elf.OBJECT) if isinstance(word, str) else word


def named_groups(calls: Iterable[LibraryCall]) -> list[str]:
    """The groups among calls, but for the world."""
    found = {call.group for call in calls if isinstance(call, CollectiveCall)}
    return sorted(found - {WORLD})


def operators_of(calls: Iterable[LibraryCall]) -> list[NativeFunction]:
    """The native operators among calls."""
    found: list[NativeFunction] = []
    for call in calls:
        if not isinstance(call, CollectiveCall):
            block = None if call.operator is None else call.operator.native
            assert block is not None
            found.append(block.function)
    return found


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
    calls = [call for function in functions for level in function.levels for call in level.calls]
    return [f.source[0] for f in operators_of(calls) if f.source is not None]
