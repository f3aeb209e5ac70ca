"""The code between a caller of C and a program: the same for all functions, as LLVM text.

    @gradir_call(in, out, workspace, status, function)
        checks what it is given, fills the table of a call in the workspace, runs the program of a
        level that the processor has, and says what has failed
    @gradir_poll, @gradir_host, @gradir_realloc
        what programs call: whether to stop, a native operator, memory for tapes

It reads the records of `abi.py`. Nothing is kept between calls, so that many threads may call.
"""

from __future__ import annotations

from functools import cache

from gradir.aot.abi import (
    ABI,
    ALLOCATOR,
    ARRAY,
    CODES,
    CONSTANT,
    FUNCTION,
    INFO,
    PROGRAM,
    STATUS,
)
from gradir.aot.checks import check_functions, check_workspace
from gradir.aot.code import ATTRIBUTES, Code, constant_texts
from gradir.aot.collectives import END_SYMBOL
from gradir.aot.failures import report, report_program
from gradir.aot.growth import memory_functions
from gradir.aot.results import DELIVER, REDIRECT, result_functions
from gradir.codegen.text.table import (
    TABLE_ARGUMENTS,
    TABLE_ERROR,
    TABLE_RAISED,
    TABLE_STOP,
    TABLE_THREADS,
)

CALL, CPU_LEVEL = "gradir_call", "gradir_cpu_level"

# The word of the table that holds the call's status: Python's calls keep an exception there.
TABLE_STATUS = TABLE_RAISED

_DECLARED = """
declare i32 @snprintf(ptr, i64, ptr, ...) cold
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
"""


@cache
def entry_functions(grows: bool, communicates: bool) -> str:
    """The functions, but for @gradir_cpu_level. `grows`: tapes of programs allocate memory;
    `communicates`: programs have collectives."""
    texts: dict[str, str] = {}
    parts = [
        check_functions(texts),
        result_functions(),
        _fill_table(texts, grows),
        report(texts),
        report_program(texts),
        *([memory_functions(texts)] if grows else []),
        *([f"declare hidden void @{END_SYMBOL}(ptr, i64)"] if communicates else []),
        _run(texts, grows, communicates),
        _call(texts),
        _poll(texts),
    ]
    return "\n".join([_DECLARED, constant_texts(texts), *parts])


def _fill_table(texts: dict[str, str], grows: bool) -> str:
    """`@fill_table(info, program, in, out, workspace, status)`: the table of a call."""
    f = Code(texts)
    for word in range(0, TABLE_ARGUMENTS, 2):
        place = f.address("i64", "%workspace", word)
        f.line(f"store <2 x i64> zeroinitializer, ptr {place}, align 16")
    asked = f.maximum(f.number(STATUS, "%status", "threads"), 1)
    threads = f.minimum(asked, f.number(INFO, "%info", "threads"))
    f.store("i64", 1, f.address("i64", "%workspace", TABLE_THREADS), threads)
    f.store("ptr", 1, f.address("i64", "%workspace", TABLE_STATUS), "%status")
    arena = f.field(PROGRAM, "%program", "arena")
    with f.when(f.emit(f"icmp ne i64 {arena}, 0")):
        place = f.address("i64", "%workspace", TABLE_ARGUMENTS)
        f.store("ptr", 1, place, f.address("i8", "%workspace", arena))
    start = f.field(PROGRAM, "%program", "first")
    for kind in ("in", "out"):
        count = f.number(INFO, "%info", f"n_{kind}")
        words = f.address("i64", "%workspace", start)

        def put_address(k: str, kind: str = kind, words: str = words) -> None:
            data = f.field(ARRAY, f.entry_of(ARRAY, f"%{kind}", k), "data")
            f.store("ptr", 1, f.address("i64", words, k), data)

        f.each(count, put_address)
        start = f.add(start, count)
    with f.loop(start, f.field(PROGRAM, "%program", "words")) as word:
        f.store("i64", 1, f.address("i64", "%workspace", word), "0")
    constants = f.field(PROGRAM, "%program", "constants")
    with f.loop("0", f.field(PROGRAM, "%program", "n_constants")) as k:
        constant = f.entry_of(CONSTANT, constants, k)
        word = f.field(CONSTANT, constant, "word")
        data = f.field(CONSTANT, constant, "data")
        f.store("ptr", 1, f.address("i64", "%workspace", word), data)
    if grows:
        f.call("void", "@begin_growing", "ptr %program, ptr %workspace, ptr %status")
    f.ret()
    names = "ptr %info, ptr %program, ptr %in, ptr %out, ptr %workspace, ptr %status"
    return f.inlined("fill_table", names)


def _run(texts: dict[str, str], grows: bool, communicates: bool) -> str:
    """`@run(function, program, in, out, workspace, status)`: a call of a program."""
    f = Code(texts)
    info = f.field(FUNCTION, "%function", "info")
    arguments = f"ptr {info}, ptr %program, ptr %in, ptr %out, ptr %workspace"
    if grows:
        _check_allocator(f, info)
    moved = _check_and_fill(f, info, arguments)
    threads = f.load("i64", 1, f.address("i64", "%workspace", TABLE_THREADS))
    several = f.emit(f"icmp sgt i64 {threads}, 1")
    parallel = f.emit(f"icmp ne i64 {f.field(PROGRAM, '%program', 'is_parallel')}, 0")
    with f.when(f.emit(f"and i1 {several}, {parallel}")):
        f.call("void", f.field(FUNCTION, "%function", "grow"), f"i64 {threads}")
    f.call("void", f.field(PROGRAM, "%program", "entry"), "ptr %workspace")
    error = f.load("i64", 1, f.address("i64", "%workspace", TABLE_ERROR))
    stop = f.load("i64", 1, f.address("i64", "%workspace", TABLE_STOP))
    failed = f.emit(f"icmp ne i64 {f.emit(f'or i64 {error}, {stop}')}, 0")
    if communicates:
        # MPI reads and writes the memory of calls under way
        with f.when(failed):
            requests = f.address("i8", "%workspace", f.field(PROGRAM, "%program", "requests"))
            count = f.field(PROGRAM, "%program", "n_requests")
            f.call("void", f"@{END_SYMBOL}", f"ptr {requests}, i64 {count}")
    if grows:
        f.call("void", "@free_grown", "ptr %program, ptr %workspace")
    f.branch(failed, "failed", "done")
    f.label("done")
    with f.when(moved):
        f.call("void", f"@{DELIVER}", arguments)
    f.ret("i32 0")
    f.label("failed")
    given = "ptr %program, ptr %workspace, ptr %status"
    f.ret("i32 " + f.call("i32", "@report_program", given))
    names = "ptr %function, ptr %program, ptr %in, ptr %out, ptr %workspace, ptr %status"
    return f.inlined("run", names, "i32")


def _check_allocator(f: Code, info: str) -> None:
    """Refuse an allocator without its function, also where a call would not come to need it."""
    allocator = f.field(STATUS, "%status", "allocator")
    with f.when(f.emit(f"icmp ne ptr {allocator}, null")):
        missing = f.is_null(f.field(ALLOCATOR, allocator, "resize"))
        name = f"ptr {f.field(INFO, info, 'name')}"
        f.refuse_if(missing, "null_pointer", "%s: status->allocator: resize is NULL", [name])


def _check_and_fill(f: Code, info: str, arguments: str) -> str:
    """Check a call and fill its table; whether results may be elsewhere than in their place."""

    def name() -> str:
        return f"ptr {f.field(INFO, info, 'name')}"

    check_workspace(f, name)
    counts = {kind: f.number(INFO, info, f"n_{kind}") for kind in ("in", "out")}
    for kind, count in counts.items():
        with f.when(f.is_null(f"%{kind}")):
            some = f.emit(f"icmp ne i64 {count}, 0")
            f.refuse_if(some, "null_pointer", f"%s: {kind} is NULL", lambda: [name()])
    given = "ptr %function, ptr %in, ptr %out, ptr %workspace"
    differ = f.call("i64", f.field(PROGRAM, "%program", "differ"), given)
    moved = f.emit(f"icmp ne i64 {differ}, 0")
    with f.when(moved):
        f.return_unless_0(f.call("i32", "@check_call", f"{arguments}, ptr %status"))
    f.call("void", "@fill_table", f"{arguments}, ptr %status")
    with f.when(moved):
        f.call("void", f"@{REDIRECT}", arguments)
    return moved


def _call(texts: dict[str, str]) -> str:
    f = Code(texts)
    own = f.allocate("i8", STATUS.size, 8)
    missing = f.is_null("%given")
    f.branch(missing, "new", "check")
    f.label("new")
    start = STATUS.offsets["message"] + 1
    f.line(f"call void @llvm.memset.p0.i64(ptr {own}, i8 0, i64 {start}, i1 false)")
    f.jump("begin")
    f.label("check")
    abi = f.number(STATUS, "%given", "abi")
    f.branch(f.emit(f"icmp eq i64 {abi}, {ABI}"), "begin", "other")
    f.label("other")
    f.ret(f"i32 {CODES.index('bad_abi')}")
    f.label("begin")
    f.line(f"%status = phi ptr [ {own}, %new ], [ %given, %check ]")
    for name in ("code", "used_level", "argument", "line", "column"):
        f.put(STATUS, "%status", name, "0")
    for name in ("op", "file"):
        f.put(STATUS, "%status", name, "null")
    f.store("i8", 1, f.place(STATUS, "%status", "message"), "0")
    program = _program_of_level(f)
    given = f"ptr %function, ptr {program}, ptr %in, ptr %out, ptr %workspace, ptr %status"
    f.ret("i32 " + f.call("i32", "@run", given))
    names = "ptr %in, ptr %out, ptr %workspace, ptr %given, ptr %function"
    # the few words of a table are cleared here: a call of memset takes longer
    return f.define(CALL, names, f'{ATTRIBUTES} "no-builtins"', linkage="", result="i32")


def _program_of_level(f: Code) -> str:
    """The program of the highest level that the processor has and the status allows."""
    info = f.field(FUNCTION, "%function", "info")
    count = f.number(INFO, info, "n_levels")

    def level_name(number: str) -> str:
        levels = f.field(INFO, info, "levels")
        return f"ptr {f.load('ptr', 1, f.address('i64', levels, number))}"

    def name() -> str:
        return f"ptr {f.field(INFO, info, 'name')}"

    most = f.number(STATUS, "%status", "level")
    text = "%s: level %lld: expected 0 for the best level, or one from 1 (%s) to %lld (%s)"
    f.refuse_if(
        f.emit(f"icmp slt i64 {most}, 0"),
        "bad_cpu",
        text,
        lambda: [
            name(),
            f"i64 {most}",
            level_name("0"),
            f"i64 {count}",
            level_name(f.add(count, -1)),
        ],
    )
    has = f.call("i64", f"@{CPU_LEVEL}", "")
    programs = f.field(FUNCTION, "%function", "programs")
    first, over = f.current_label, f.fresh("over")
    # from the highest on, by branches: the processor goes on before it has compared
    some, look, runs, lacks, less = (f.fresh(n) for n in ("some", "look", "runs", "lacks", "less"))
    f.branch(f.emit(f"icmp eq i64 {most}, 0"), look, some)
    f.label(some)
    above = f.maximum(f.emit(f"sub i64 {count}, {most}"), 0)
    f.jump(over)
    f.label(over)
    f.jump(look)
    f.label(look)
    f.line(f"%above = phi i64 [ 0, %{first} ], [ {above}, %{over} ], [ %following, %{less} ]")
    program = f.entry_of(PROGRAM, programs, "%above")
    f.branch(f.emit(f"icmp sle i64 {f.field(PROGRAM, program, 'least')}, {has}"), runs, lacks)
    f.label(lacks)
    f.line("%following = add i64 %above, 1")
    text = "%s: this processor lacks instructions of %s, the lowest level of the library"
    is_lowest = f.emit(f"icmp eq i64 %following, {count}")
    f.refuse_if(is_lowest, "bad_cpu", text, lambda: [name(), level_name("0")])
    f.jump(less)
    f.label(less)
    f.jump(look)
    f.label(runs)
    f.put_number(STATUS, "%status", "used_level", f.emit(f"sub i64 {count}, %above"))
    return program


def _poll(texts: dict[str, str]) -> str:
    """`@gradir_poll(table)`: not 0 where the caller has set the status's `stop`."""
    f = Code(texts)
    status = f.load("ptr", 1, f.address("i64", "%table", TABLE_STATUS))
    place = f.place(STATUS, status, "stop")
    asked = f.emit(f"load atomic i32, ptr {place} monotonic, align 4")
    stop = f.address("i64", "%table", TABLE_STOP)
    with f.when(f.emit(f"icmp ne i32 {asked}, 0")):
        f.line(f"store atomic i64 1, ptr {stop} monotonic, align 8")
    f.ret("i64 " + f.emit(f"load atomic i64, ptr {stop} monotonic, align 8"))
    return f.definition("gradir_poll", "ptr %table", "i64")
