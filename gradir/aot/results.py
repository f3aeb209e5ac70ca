"""Results that a program does not write in their place, as LLVM text.

They are written into room behind the workspace of the program, and delivered when it has run: a
result that nobody wants is not, one that is added to is read, added and written, one in the place
of an argument is copied. So no program needs to know of them, and none pays for them.

    @room(info, in, out)                             the bytes of this room
    @redirect(info, program, in, out, workspace)     has the program write there
    @deliver(info, program, in, out, workspace)      after it has run
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from gradir.aot.abi import ADD, ARRAY, ARRAY_INFO, INFO, PROGRAM, WORKSPACE_ALIGNMENT
from gradir.aot.code import Code
from gradir.codegen.text.kinds import is_float
from gradir.runtime.native_blocks import DTYPES

NEEDS_ROOM, ROOM, REDIRECT, DELIVER = "needs_room", "room", "redirect", "deliver"

_KINDS: Mapping[str, str] = MappingProxyType(
    {"float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64"}
    | {f"{sign}int{bits}": f"i{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
)
ADDED_DTYPES: Mapping[int, str] = MappingProxyType(
    {DTYPES.index(name): kind for name, kind in _KINDS.items()}
)
"""The dtypes, by their numbers, that are added, and their kinds in LLVM's text."""
_NAMES = "ptr %info, ptr %program, ptr %in, ptr %out, ptr %workspace"


def result_functions() -> str:
    """The functions of this file."""
    return "\n".join([_needs_room(), _room(), _redirect(), _add(), _deliver()])


def _needs_room() -> str:
    """`@needs_room(info, result, array, in)`, where `result` describes `array`."""
    f = Code({})
    data = f.field(ARRAY, "%array", "data")
    request = f.number(ARRAY, "%array", "request")
    found = f.allocate_early()
    other = f.emit(f"icmp ne i64 {request}, {f.number(ARRAY_INFO, '%result', 'request')}")
    asked = f.emit(f"or i1 {other}, {f.is_null(data)}")
    f.store("i64", 1, found, f.emit(f"zext i1 {asked} to i64"))
    size = f.number(ARRAY_INFO, "%result", "bytes")
    infos = f.field(INFO, "%info", "in")
    with f.loop("0", f.number(INFO, "%info", "n_in")) as k:
        given = f.field(ARRAY, f.entry_of(ARRAY, "%in", k), "data")
        bytes_ = f.number(ARRAY_INFO, f.entry_of(ARRAY_INFO, infos, k), "bytes")
        tests = f"icmp eq ptr {given}, {data}", f"icmp eq i64 {bytes_}, {size}"
        same = f.emit(f"and i1 {', '.join(f.emit(test) for test in tests)}")
        with f.when(same):
            f.store("i64", 1, found, "1")
    some = f.emit(f"icmp ne i64 {size}, 0")
    needs = f.emit(f"icmp ne i64 {f.load('i64', 1, found)}, 0")
    f.ret(f"i1 {f.emit(f'and i1 {some}, {needs}')}")
    names = "ptr %info, ptr %result, ptr %array, ptr %in"
    return f.definition(NEEDS_ROOM, names, "i1", "internal ")


def _asks(f: Code, k: str) -> tuple[str, str, str]:
    """The description of a result, its array, and whether it needs room."""
    info = f.entry_of(ARRAY_INFO, f.field(INFO, "%info", "out"), k)
    array = f.entry_of(ARRAY, "%out", k)
    given = f"ptr %info, ptr {info}, ptr {array}, ptr %in"
    return info, array, f.call("i1", f"@{NEEDS_ROOM}", given)


def _room_of(f: Code, info: str) -> str:
    rounded = f.emit(f"add i64 {f.number(ARRAY_INFO, info, 'bytes')}, {WORKSPACE_ALIGNMENT - 1}")
    return f.emit(f"and i64 {rounded}, {-WORKSPACE_ALIGNMENT}")


def _room() -> str:
    f = Code({})
    total = f.allocate_early()
    f.store("i64", 1, total, "0")
    with f.loop("0", f.number(INFO, "%info", "n_out")) as k:
        info, _, needs = _asks(f, k)
        with f.when(needs):
            f.store("i64", 1, total, f.add(f.load("i64", 1, total), _room_of(f, info)))
    f.ret(f"i64 {f.load('i64', 1, total)}")
    return f.definition(ROOM, "ptr %info, ptr %in, ptr %out", "i64", "internal ")


def _word_of(f: Code, k: str) -> str:
    """The place in the table of the address of result k."""
    first = f.field(PROGRAM, "%program", "first")
    words = f.address("i64", "%workspace", f.add(first, f.number(INFO, "%info", "n_in")))
    return f.address("i64", words, k)


def _redirect() -> str:
    f = Code({})
    place = f.allocate_early()
    f.store("i64", 1, place, f.field(PROGRAM, "%program", "workspace_bytes"))
    with f.loop("0", f.number(INFO, "%info", "n_out")) as k:
        info, array, needs = _asks(f, k)
        with f.when(needs):
            start = f.load("i64", 1, place)
            memory = f.address("i8", "%workspace", start)
            f.store("ptr", 1, _word_of(f, k), memory)
            f.store("i64", 1, place, f.add(start, _room_of(f, info)))
            # a program that reads the contents of a result
            read = f.emit(f"icmp eq i64 {f.number(ARRAY_INFO, info, 'request')}, {ADD}")
            with f.when(read):
                _copy(f, memory, f.field(ARRAY, array, "data"), info)
    f.ret()
    return f.definition(REDIRECT, _NAMES, "void", "internal ")


def _copy(f: Code, target: str, source: str, info: str) -> None:
    size = f.number(ARRAY_INFO, info, "bytes")
    given = f"ptr {target}, ptr {source}, i64 {size}, i1 false"
    f.line(f"call void @llvm.memcpy.p0.p0.i64({given})")


def _deliver() -> str:
    f = Code({})
    with f.loop("0", f.number(INFO, "%info", "n_out")) as k:
        info = f.entry_of(ARRAY_INFO, f.field(INFO, "%info", "out"), k)
        array = f.entry_of(ARRAY, "%out", k)
        data, made = f.field(ARRAY, array, "data"), f.load("ptr", 1, _word_of(f, k))
        request = f.number(ARRAY, array, "request")
        moved = f.emit(f"icmp ne ptr {data}, {made}")
        wanted = f.emit(f"icmp ne i64 {request}, 0")
        has = f.emit(f"icmp ne ptr {data}, null")
        with f.when(f.emit(f"and i1 {moved}, {f.emit(f'and i1 {wanted}, {has}')}")):
            asked = f.emit(f"icmp eq i64 {request}, {ADD}")
            other = f.emit(f"icmp ne i64 {request}, {f.number(ARRAY_INFO, info, 'request')}")
            add, copy, on = f.fresh("add"), f.fresh("copy"), f.fresh("on")
            f.branch(f.emit(f"and i1 {asked}, {other}"), add, copy)
            f.label(add)
            dtype, size = (f.number(ARRAY_INFO, info, name) for name in ("dtype", "size"))
            f.call("void", "@add", f"i64 {dtype}, ptr {data}, ptr {made}, i64 {size}")
            f.jump(on)
            f.label(copy)
            _copy(f, data, made, info)
            f.jump(on)
            f.label(on)
    f.ret()
    return f.definition(DELIVER, _NAMES, "void", "internal ")


def _add() -> str:
    """`@add(dtype, target, source, size)`: sums, of integers without their overflow."""
    f = Code({})
    kinds = dict.fromkeys(ADDED_DTYPES.values())
    f.switch("%dtype", "done", [(n, f"of.{kind}") for n, kind in ADDED_DTYPES.items()])
    for kind in kinds:
        f.label(f"of.{kind}")
        with f.loop("0", "%size") as k:
            places = [f.address(kind, p, k) for p in ("%target", "%source")]
            one, other = (f.load(kind, 1, place) for place in places)
            f.store(kind, 1, places[0], _sum(f, kind, one, other))
        f.jump("done")
    f.label("done")
    f.ret()
    names = "i64 %dtype, ptr %target, ptr %source, i64 %size"
    return f.definition("add", names, "void", "internal ")


def _sum(f: Code, kind: str, one: str, other: str) -> str:
    """A sum in the way of `array.add`: halves are added in f32, and rounded."""
    if not is_float(kind):
        return f.binary("add", kind, 1, one, other)
    via = "f64" if kind == "f64" else "f32"
    wide = [f.resize_float(kind, via, 1, value) for value in (one, other)]
    return f.resize_float(via, kind, 1, f.binary("fadd", via, 1, *wide))
