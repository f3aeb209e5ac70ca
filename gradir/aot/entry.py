"""The code between a caller of C and a program: the same for all functions, as LLVM text.

    @gradir_call(function, in, out, workspace, status)
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
    ARRAY_INFO,
    BLOCK,
    BLOCK_BYTES,
    CODES,
    CONSTANT,
    FUNCTION,
    GROWING,
    INFO,
    MESSAGE,
    PROGRAM,
    STATUS,
    WORKSPACE_ALIGNMENT,
)
from gradir.aot.code import Code, constant_texts
from gradir.codegen.driver.growing_memory import NO_MEMORY, POINTER
from gradir.codegen.text.kernel import ERROR_BOUND, ERROR_CODE, ERROR_INDEX, NO_BOUND, PLAIN
from gradir.codegen.text.table import (
    RAISED,
    TABLE_ARGUMENTS,
    TABLE_ERROR,
    TABLE_RAISED,
    TABLE_STOP,
    TABLE_THREADS,
)

CALL, CPU_LEVEL, REALLOC = "gradir_call", "gradir_cpu_level", "gradir_realloc"

# The word of the table that holds the call's status: Python's calls keep an exception there.
TABLE_STATUS = TABLE_RAISED

_DECLARED = f"""
declare i32 @snprintf(ptr, i64, ptr, ...)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare i64 @{CPU_LEVEL}()
"""


@cache
def entry_functions() -> str:
    """The module, but for @gradir_cpu_level."""
    texts: dict[str, str] = {}
    parts = [
        _check_array(texts),
        _check_overlap(texts),
        _check_call(texts),
        _fill_table(texts),
        _report(texts),
        _report_program(texts),
        _free_grown(texts),
        _run(texts),
        _call(texts),
        _poll(texts),
    ]
    return "\n".join([_DECLARED, constant_texts(texts), *parts])


def _check_array(texts: dict[str, str]) -> str:
    """`@check_array(info, array, name, kind, number, argument, status)`: 0, or the code.

    `kind` is the text "in" or "out", `number` the array's, `argument` how the status says it.
    """
    f = Code(texts)
    of = [f"ptr %{n}" for n in ("name", "kind")]
    of += ["i64 %number", f"ptr {f.field(ARRAY_INFO, '%info', 'name')}"]

    def refuse(condition: str, code: str, text: str, *values: str) -> None:
        f.refuse_if(condition, code, f"%s: %s[%lld] (%s): {text}", [*of, *values], "%argument")

    def compare(field: str, code: str, text: str) -> str:
        wanted, got = f.field(ARRAY_INFO, "%info", field), f.field(ARRAY, "%array", field)
        differs = f.emit(f"icmp ne i64 {wanted}, {got}")
        refuse(differs, code, text, f"i64 {wanted}", f"i64 {got}")
        return wanted

    data = f.field(ARRAY, "%array", "data")
    size = f.field(ARRAY_INFO, "%info", "size")
    some = f.emit(f"icmp ne i64 {size}, 0")
    missing = f.emit(f"and i1 {some}, {f.is_null(data)}")
    refuse(missing, "null_pointer", "data is NULL")
    compare("dtype", "bad_dtype", "expected dtype %lld, got %lld")
    rank = compare("rank", "bad_shape", "expected rank %lld, got %lld")
    shape, wanted = f.field(ARRAY, "%array", "shape"), f.field(ARRAY_INFO, "%info", "shape")
    ranked = f.emit(f"icmp ne i64 {rank}, 0")
    refuse(f.emit(f"and i1 {ranked}, {f.is_null(shape)}"), "null_pointer", "shape is NULL")
    with f.loop("0", rank) as axis:
        extents = [f.load("i64", 1, f.address("i64", p, axis)) for p in (wanted, shape)]
        differs = f.emit(f"icmp ne i64 {extents[0]}, {extents[1]}")
        text = "axis %lld: expected extent %lld, got %lld"
        refuse(differs, "bad_shape", text, f"i64 {axis}", *(f"i64 {e}" for e in extents))
    compare("size", "bad_shape", "expected size %lld, got %lld")
    align = f.field(ARRAY_INFO, "%info", "alignment")
    address = f.emit(f"ptrtoint ptr {data} to i64")
    rest = f.emit(f"and i64 {address}, {f.emit(f'sub i64 {align}, 1')}")
    text = "data must be aligned to %lld bytes"
    refuse(f.emit(f"icmp ne i64 {rest}, 0"), "bad_alignment", text, f"i64 {align}")
    request = f.field(ARRAY_INFO, "%info", "request")
    got = f.field(ARRAY, "%array", "request")
    asked = f.emit(f"icmp ne i64 {request}, 0")
    differs = f.emit(f"and i1 {asked}, {f.emit(f'icmp ne i64 {request}, {got}')}")
    text = "expected request %lld, got %lld"
    refuse(differs, "bad_request", text, f"i64 {request}", f"i64 {got}")
    f.ret("i32 0")
    names = "ptr %info, ptr %array, ptr %name, ptr %kind, i64 %number, i64 %argument, ptr %status"
    return f.definition("check_array", names, linkage="internal ")


def _check_overlap(texts: dict[str, str]) -> str:
    """`@check_overlap(info, others, count, infos, begin, size, name, number, kind, status)`.

    Whether the bytes of `out[number]`, `size` from `begin` on, are in one of `count` other arrays.
    """
    f = Code(texts)
    end = f.emit("add i64 %begin, %size")
    # an empty array shares nothing
    is_some = f.emit("icmp ne i64 %size, 0")
    with f.loop("0", "%count") as k:
        other = f.emit(
            f"ptrtoint ptr {f.field(ARRAY, f.entry_of(ARRAY, '%others', k), 'data')} to i64"
        )
        size = f.field(ARRAY_INFO, f.entry_of(ARRAY_INFO, "%infos", k), "bytes")
        other_end = f.emit(f"add i64 {other}, {size}")
        parts = [f"icmp ult i64 %begin, {other_end}", f"icmp ult i64 {other}, {end}"]
        meets = f.emit(f"and i1 {', '.join(f.emit(p) for p in parts)}")
        some = f.emit(f"and i1 {is_some}, {f.emit(f'icmp ne i64 {size}, 0')}")
        text = "%s: out[%lld] shares memory with %s[%lld]"
        values = ["ptr %name", "i64 %number", "ptr %kind", f"i64 {k}"]
        argument = f.emit("sub i64 -1, %number")
        f.refuse_if(f.emit(f"and i1 {meets}, {some}"), "overlap", text, values, argument)
    f.ret("i32 0")
    names = (
        "ptr %others, i64 %count, ptr %infos, i64 %begin, i64 %size, ptr %name, i64 %number, "
        "ptr %kind, ptr %status"
    )
    return f.definition("check_overlap", names, linkage="internal ")


def _check_call(texts: dict[str, str]) -> str:
    """`@check_call(info, program, in, out, workspace, status)`: all that a call is given."""
    f = Code(texts)
    name = f"ptr {f.field(INFO, '%info', 'name')}"
    _check_workspace(f, name)
    counts = {kind: f.field(INFO, "%info", f"n_{kind}") for kind in ("in", "out")}
    infos = {kind: f.field(INFO, "%info", kind) for kind in ("in", "out")}
    for kind, count in counts.items():
        some = f.emit(f"icmp ne i64 {count}, 0")
        missing = f.emit(f"and i1 {some}, {f.is_null(f'%{kind}')}")
        f.refuse_if(missing, "null_pointer", f"%s: {kind} is NULL", [name])
    for kind, count in counts.items():
        with f.loop("0", count) as k:
            info = f.entry_of(ARRAY_INFO, infos[kind], k)
            array = f.entry_of(ARRAY, f"%{kind}", k)
            with f.when(f.emit(f"icmp ne i64 {_differences(f, info, array)}, 0")):
                number = k if kind == "in" else f.emit(f"sub i64 -1, {k}")
                arguments = (
                    f"ptr {info}, ptr {array}, {name}, ptr {f.text_of(kind)}, i64 {k}, "
                    f"i64 {number}, ptr %status"
                )
                _return_unless_0(f, f.call("i32", "@check_array", arguments))
    with f.loop("0", counts["out"]) as k:
        data = f.field(ARRAY, f.entry_of(ARRAY, "%out", k), "data")
        begin = f.emit(f"ptrtoint ptr {data} to i64")
        size = f.field(ARRAY_INFO, f.entry_of(ARRAY_INFO, infos["out"], k), "bytes")
        others = (("in", counts["in"]), ("out", k))
        meeting = [
            _meetings(f, f"%{kind}", infos[kind], count, begin, size) for kind, count in others
        ]
        with f.when(f.emit(f"icmp ne i64 {f.emit(f'or i64 {meeting[0]}, {meeting[1]}')}, 0")):
            for kind, count in others:
                arguments = (
                    f"ptr %{kind}, i64 {count}, ptr {infos[kind]}, i64 {begin}, i64 {size}, "
                    f"{name}, i64 {k}, ptr {f.text_of(kind)}, ptr %status"
                )
                _return_unless_0(f, f.call("i32", "@check_overlap", arguments))
    f.ret("i32 0")
    names = "ptr %info, ptr %program, ptr %in, ptr %out, ptr %workspace, ptr %status"
    return f.definition("check_call", names, linkage="internal ")


def _check_workspace(f: Code, name: str) -> None:
    """Refuse a %workspace that is missing, not aligned, or smaller than %program's."""
    bytes_ = f.field(PROGRAM, "%program", "workspace_bytes")
    text = f"%s: workspace: expected %lld bytes aligned to {WORKSPACE_ALIGNMENT}, got "
    values = [name, f"i64 {bytes_}"]
    f.refuse_if(f.is_null("%workspace"), "bad_workspace", text + "NULL", values)
    address = f.emit("ptrtoint ptr %workspace to i64")
    low = f.emit(f"and i64 {address}, {WORKSPACE_ALIGNMENT - 1}")
    told = text + "other memory"
    f.refuse_if(f.emit(f"icmp ne i64 {low}, 0"), "bad_workspace", told, values)
    given = f.field(STATUS, "%status", "workspace_bytes")
    small = f.emit(f"icmp ult i64 {given}, {bytes_}")
    small = f.emit(f"and i1 {small}, {f.emit(f'icmp ne i64 {given}, 0')}")
    told = text + "%lld"
    f.refuse_if(small, "bad_workspace", told, [*values, f"i64 {given}"])


def _meetings(f: Code, arrays: str, infos: str, count: str, begin: str, size: str) -> str:
    """An i64 that is 0 if none of some arrays has bytes in common with those from `begin` on.

    Without a branch for each array, which @check_overlap has; an empty one may count.
    """
    end, result = f.emit(f"add i64 {begin}, {size}"), f.allocate_early()
    f.store("i64", 1, result, "0")
    with f.loop("0", count) as k:
        data = f.field(ARRAY, f.entry_of(ARRAY, arrays, k), "data")
        other = f.emit(f"ptrtoint ptr {data} to i64")
        bytes_ = f.field(ARRAY_INFO, f.entry_of(ARRAY_INFO, infos, k), "bytes")
        after = f.emit(f"icmp ult i64 {begin}, {f.emit(f'add i64 {other}, {bytes_}')}")
        meets = f.emit(f"and i1 {after}, {f.emit(f'icmp ult i64 {other}, {end}')}")
        before = f.load("i64", 1, result)
        found = f.emit(f"zext i1 {meets} to i64")
        f.store("i64", 1, result, f.emit(f"or i64 {before}, {found}"))
    return f.load("i64", 1, result)


def _differences(f: Code, info: str, array: str) -> str:
    """An i64 that is 0 if an array is as its description says; if it is not 0 it may be, too.

    Without a branch for each question, which @check_array asks one by one.
    """

    def differ(field: str, kind: str) -> str:
        one, other = (
            f.load(kind, 1, f.place(struct, base, field))
            for struct, base in ((ARRAY_INFO, info), (ARRAY, array))
        )
        found = f.emit(f"xor {kind} {one}, {other}")
        return found if kind == "i64" else f.emit(f"zext {kind} {found} to i64")

    data = f.emit(f"ptrtoint ptr {f.field(ARRAY, array, 'data')} to i64")
    low = f.emit(f"sub i64 {f.field(ARRAY_INFO, info, 'alignment')}, 1")
    found = [f.emit(f"and i64 {data}, {low}"), differ("size", "i64")]
    # rank and dtype stand side by side
    found.append(differ("rank", "i64"))
    request = f.field(ARRAY_INFO, info, "request")
    other = f.emit(f"xor i64 {request}, {f.field(ARRAY, array, 'request')}")
    is_read = f.emit(f"icmp eq i64 {request}, 0")
    found.append(f.emit(f"select i1 {is_read}, i64 0, i64 {other}"))
    found.append(f.emit(f"zext i1 {f.emit(f'icmp eq i64 {data}, 0')} to i64"))
    total = found[0]
    for each in found[1:]:
        total = f.emit(f"or i64 {total}, {each}")
    return f.emit(f"or i64 {total}, {_extents_differ(f, info, array)}")


def _extents_differ(f: Code, info: str, array: str) -> str:
    """1 if the extents of an array are others than its description's, or not there, else 0."""
    rank = f.field(ARRAY_INFO, info, "rank")
    shapes = [f.field(ARRAY_INFO, info, "shape"), f.field(ARRAY, array, "shape")]
    is_same = f.emit(f"icmp eq ptr {shapes[0]}, {shapes[1]}")
    known = f.emit(f"or i1 {is_same}, {f.is_null(shapes[1])}")
    # of another rank, whose extents may end before
    other = f.emit(f"icmp ne i64 {rank}, {f.field(ARRAY, array, 'rank')}")
    known = f.emit(f"or i1 {known}, {other}")
    count = f.emit(f"select i1 {known}, i64 0, i64 {rank}")
    result = f.allocate_early()
    missing = f.emit(f"and i1 {f.is_null(shapes[1])}, {f.emit(f'icmp ne i64 {rank}, 0')}")
    f.store("i64", 1, result, f.emit(f"zext i1 {missing} to i64"))
    with f.loop("0", count) as axis:
        one, other = (f.load("i64", 1, f.address("i64", shape, axis)) for shape in shapes)
        differs = f.emit(f"zext i1 {f.emit(f'icmp ne i64 {one}, {other}')} to i64")
        before = f.load("i64", 1, result)
        f.store("i64", 1, result, f.emit(f"or i64 {before}, {differs}"))
    return f.load("i64", 1, result)


def _return_unless_0(f: Code, code: str) -> None:
    failed, on = f.fresh("failed"), f.fresh("on")
    f.branch(f.emit(f"icmp ne i32 {code}, 0"), failed, on)
    f.label(failed)
    f.ret(f"i32 {code}")
    f.label(on)


def _fill_table(texts: dict[str, str]) -> str:
    """`@fill_table(info, program, in, out, workspace, status)`: the table of a call."""
    f = Code(texts)
    words = f.field(PROGRAM, "%program", "words")
    cleared = f"ptr %workspace, i8 0, i64 {f.multiply(words, 8)}, i1 false"
    f.line(f"call void @llvm.memset.p0.i64({cleared})")
    asked = f.maximum(f.field(STATUS, "%status", "threads"), 1)
    threads = f.minimum(asked, f.field(INFO, "%info", "threads"))
    f.store("i64", 1, f.address("i64", "%workspace", TABLE_THREADS), threads)
    f.store("ptr", 1, f.address("i64", "%workspace", TABLE_STATUS), "%status")
    arena = f.field(PROGRAM, "%program", "arena")
    with f.when(f.emit(f"icmp ne i64 {arena}, 0")):
        place = f.address("i64", "%workspace", TABLE_ARGUMENTS)
        f.store("ptr", 1, place, f.address("i8", "%workspace", arena))
    first = f.field(PROGRAM, "%program", "first")
    inputs = f.field(INFO, "%info", "n_in")
    second = f.add(first, inputs)
    for kind, count, start in (
        ("in", inputs, first),
        ("out", f.field(INFO, "%info", "n_out"), second),
    ):
        with f.loop("0", count) as k:
            data = f.field(ARRAY, f.entry_of(ARRAY, f"%{kind}", k), "data")
            f.store("ptr", 1, f.address("i64", "%workspace", f.add(start, k)), data)
    constants = f.field(PROGRAM, "%program", "constants")
    with f.loop("0", f.field(PROGRAM, "%program", "n_constants")) as k:
        constant = f.entry_of(CONSTANT, constants, k)
        word = f.field(CONSTANT, constant, "word")
        data = f.field(CONSTANT, constant, "data")
        f.store("ptr", 1, f.address("i64", "%workspace", word), data)
    growing = f.field(PROGRAM, "%program", "growing")
    with f.loop("0", f.field(PROGRAM, "%program", "n_growing")) as k:
        record = f.entry_of(GROWING, growing, k)
        block = f.address("i8", "%workspace", f.field(GROWING, record, "place"))
        f.put(BLOCK, block, "allocator", f.field(STATUS, "%status", "allocator"))
        f.put(BLOCK, block, "bytes", "0")
        word = f.add(f.field(GROWING, record, "word"), POINTER)
        memory = f.address("i8", block, BLOCK_BYTES)
        f.store("ptr", 1, f.address("i64", "%workspace", word), memory)
    f.ret()
    names = "ptr %info, ptr %program, ptr %in, ptr %out, ptr %workspace, ptr %status"
    return f.definition("fill_table", names, "void", "internal ")


def _report(texts: dict[str, str]) -> str:
    """`@report(message, status)`: the place of a message, as the status says it."""
    f = Code(texts)
    for name in ("file", "op"):
        f.put(STATUS, "%status", name, f.field(MESSAGE, "%message", name))
    for name in ("line", "column"):
        number = f.field(MESSAGE, "%message", name)
        f.put(STATUS, "%status", name, f.emit(f"trunc i64 {number} to i32"))
    f.ret()
    return f.definition("report", "ptr %message, ptr %status", "void", "internal ")


def _report_program(texts: dict[str, str]) -> str:
    """`@report_program(program, table, status)`: the error record of a run, as a code.

    The texts are those of gradir's own calls (gradir/runtime/messages.py).
    """
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
    f.ret(f"i32 {f.field(STATUS, '%status', 'code', wide=False)}")
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


def _free_grown(texts: dict[str, str]) -> str:
    """`@free_grown(program, table)`: memory that has grown is given back."""
    f = Code(texts)
    growing = f.field(PROGRAM, "%program", "growing")
    with f.loop("0", f.field(PROGRAM, "%program", "n_growing")) as k:
        word = f.add(f.field(GROWING, f.entry_of(GROWING, growing, k), "word"), POINTER)
        memory = f.load("ptr", 1, f.address("i64", "%table", word))
        block = f.address("i8", memory, -BLOCK_BYTES)
        size = f.field(BLOCK, block, "bytes")
        with f.when(f.emit(f"icmp ne i64 {size}, 0")):
            allocator = f.field(BLOCK, block, "allocator")
            f.call("ptr", "@resize", f"ptr {allocator}, ptr {block}, i64 {size}, i64 0")
    f.ret()
    parts = [f.definition("free_grown", "ptr %program, ptr %table", "void", "internal ")]
    return "\n".join([_resize(texts), _realloc(texts), *parts])


def _resize(texts: dict[str, str]) -> str:
    """`@resize(allocator, memory, old, new)`: the caller's allocator, or the C library's."""
    f = Code(texts)
    own, free, given = "own", "free", "given"
    f.branch(f.is_null("%allocator"), own, given)
    f.label(given)
    function = f.field(ALLOCATOR, "%allocator", "resize")
    context = f.field(ALLOCATOR, "%allocator", "context")
    f.ret("ptr " + f.call("ptr", function, f"ptr {context}, ptr %memory, i64 %old, i64 %new"))
    f.label(own)
    f.branch(f.emit("icmp eq i64 %new, 0"), free, "more")
    f.label(free)
    f.call("void", "@free", "ptr %memory")
    f.ret("ptr null")
    f.label("more")
    f.ret("ptr " + f.call("ptr", "@realloc", "ptr %memory, i64 %new"))
    names = "ptr %allocator, ptr %memory, i64 %old, i64 %new"
    declared = "declare ptr @realloc(ptr, i64)\ndeclare void @free(ptr)\n"
    return declared + f.definition("resize", names, "ptr", "internal ")


def _realloc(texts: dict[str, str]) -> str:
    """`@gradir_realloc(memory, bytes)`: the block before the memory knows whose it is.

    The first block of a call is in its workspace; its record holds nothing yet.
    """
    f = Code(texts)
    block = f.address("i8", "%memory", -BLOCK_BYTES)
    allocator, old = (f.field(BLOCK, block, n) for n in ("allocator", "bytes"))
    is_first = f.emit(f"icmp eq i64 {old}, 0")
    before = f.emit(f"select i1 {is_first}, ptr null, ptr {block}")
    size = f.emit(f"add i64 %bytes, {BLOCK_BYTES}")
    given = f"ptr {allocator}, ptr {before}, i64 {old}, i64 {size}"
    made = f.call("ptr", "@resize", given)
    f.branch(f.is_null(made), "none", "some")
    f.label("none")
    f.ret("ptr null")
    f.label("some")
    f.put(BLOCK, made, "allocator", allocator)
    f.put(BLOCK, made, "bytes", size)
    f.ret(f"ptr {f.address('i8', made, BLOCK_BYTES)}")
    return f.definition(REALLOC, "ptr %memory, i64 %bytes", "ptr")


def _run(texts: dict[str, str]) -> str:
    """`@run(function, program, in, out, workspace, status)`: a checked call."""
    f = Code(texts)
    info = f.field(FUNCTION, "%function", "info")
    arguments = f"ptr {info}, ptr %program, ptr %in, ptr %out, ptr %workspace, ptr %status"
    _return_unless_0(f, f.call("i32", "@check_call", arguments))
    f.call("void", "@fill_table", arguments)
    threads = f.load("i64", 1, f.address("i64", "%workspace", TABLE_THREADS))
    several = f.emit(f"icmp sgt i64 {threads}, 1")
    parallel = f.emit(f"icmp ne i64 {f.field(PROGRAM, '%program', 'is_parallel')}, 0")
    with f.when(f.emit(f"and i1 {several}, {parallel}")):
        f.call("void", f.field(FUNCTION, "%function", "grow"), f"i64 {threads}")
    f.call("void", f.field(PROGRAM, "%program", "entry"), "ptr %workspace")
    f.call("void", "@free_grown", "ptr %program, ptr %workspace")
    error = f.load("i64", 1, f.address("i64", "%workspace", TABLE_ERROR))
    stop = f.load("i64", 1, f.address("i64", "%workspace", TABLE_STOP))
    f.branch(f.emit(f"icmp eq i64 {f.emit(f'or i64 {error}, {stop}')}, 0"), "done", "failed")
    f.label("done")
    f.ret("i32 0")
    f.label("failed")
    given = "ptr %program, ptr %workspace, ptr %status"
    f.ret("i32 " + f.call("i32", "@report_program", given))
    names = "ptr %function, ptr %program, ptr %in, ptr %out, ptr %workspace, ptr %status"
    return f.definition("run", names, linkage="internal ")


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
    abi = f.field(STATUS, "%given", "abi")
    f.branch(f.emit(f"icmp eq i64 {abi}, {ABI}"), "begin", "other")
    f.label("other")
    f.ret(f"i32 {CODES.index('bad_abi')}")
    f.label("begin")
    f.line(f"%status = select i1 {missing}, ptr {own}, ptr %given")
    for name in ("code", "used_level", "argument", "line", "column"):
        f.put(STATUS, "%status", name, "0")
    for name in ("op", "file"):
        f.put(STATUS, "%status", name, "null")
    f.store("i8", 1, f.place(STATUS, "%status", "message"), "0")
    info = f.field(FUNCTION, "%function", "info")
    programs = f.field(FUNCTION, "%function", "programs")
    has = f.call("i64", f"@{CPU_LEVEL}", "")
    most = f.field(STATUS, "%status", "level")
    chosen = f.allocate("i64", 1, 8)
    f.store("i64", 1, chosen, "-1")
    with f.loop("0", f.field(INFO, info, "n_levels")) as k:
        least = f.field(PROGRAM, f.entry_of(PROGRAM, programs, k), "least")
        allowed = f.emit(f"or i1 {f.emit(f'icmp eq i64 {most}, 0')}, "
                         f"{f.emit(f'icmp slt i64 {k}, {most}')}")  # fmt: skip
        runs = f.emit(f"and i1 {allowed}, {f.emit(f'icmp sle i64 {least}, {has}')}")
        with f.when(runs):
            f.store("i64", 1, chosen, k)
    level = f.load("i64", 1, chosen)
    none = f.emit(f"icmp slt i64 {level}, 0")
    name = f"ptr {f.field(INFO, info, 'name')}"
    lowest = f"ptr {f.load('ptr', 1, f.field(INFO, info, 'levels'))}"
    text = "%s: this processor lacks instructions of %s, the lowest level of the library"
    f.refuse_if(none, "bad_cpu", text, [name, lowest])
    shown = f.emit(f"trunc i64 {f.add(level, 1)} to i32")
    f.put(STATUS, "%status", "used_level", shown)
    program = f.entry_of(PROGRAM, programs, level)
    given = f"ptr %function, ptr {program}, ptr %in, ptr %out, ptr %workspace, ptr %status"
    f.ret("i32 " + f.call("i32", "@run", given))
    names = "ptr %function, ptr %in, ptr %out, ptr %workspace, ptr %given"
    return f.definition(CALL, names)


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
