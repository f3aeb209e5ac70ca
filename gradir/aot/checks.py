"""What is wrong with a call, question by question, as LLVM text.

    @check_call(info, program, in, out, workspace, status)
        0, or a code with its message: the call is refused before anything is written

An array of `out` that nobody wants (request null, or no data) is not looked at.
"""

from __future__ import annotations

from collections.abc import Callable

from gradir.aot.abi import (
    ADD,
    ARRAY,
    ARRAY_INFO,
    INFO,
    NULL,
    PROGRAM,
    STATUS,
    WORKSPACE_ALIGNMENT,
    WRITE,
)
from gradir.aot.code import Code
from gradir.aot.results import ADDED_DTYPES, ROOM


def check_functions(texts: dict[str, str]) -> str:
    """The functions of this file."""
    parts = [_check_array(texts), _check_request(texts), _check_overlap(texts)]
    return "\n".join([*parts, _check_result_overlaps(texts), _check_call(texts)])


def _check_array(texts: dict[str, str]) -> str:
    """`@check_array(info, array, name, kind, number, argument, status)`: 0, or the code.

    `kind` is the text "in" or "out", `number` the array's, `argument` how the status says it.
    """
    f = Code(texts)

    def refuse(condition: str, code: str, text: str, *values: str) -> None:
        _refuse_array(f, condition, code, text, *values)

    def compare(field: str, code: str, text: str) -> str:
        wanted, got = f.number(ARRAY_INFO, "%info", field), f.number(ARRAY, "%array", field)
        differs = f.emit(f"icmp ne i64 {wanted}, {got}")
        refuse(differs, code, text, f"i64 {wanted}", f"i64 {got}")
        return wanted

    data = f.field(ARRAY, "%array", "data")
    is_some = f.emit(f"icmp ne i64 {f.number(ARRAY_INFO, '%info', 'size')}, 0")
    missing = f.emit(f"and i1 {is_some}, {f.is_null(data)}")
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
    align = f.number(ARRAY_INFO, "%info", "alignment")
    address = f.emit(f"ptrtoint ptr {data} to i64")
    rest = f.emit(f"and i64 {address}, {f.emit(f'sub i64 {align}, 1')}")
    odd = f.emit(f"and i1 {is_some}, {f.emit(f'icmp ne i64 {rest}, 0')}")
    refuse(odd, "bad_alignment", "data must be aligned to %lld bytes", f"i64 {align}")
    f.ret("i32 0")
    return f.definition("check_array", _ARRAY_NAMES, linkage="internal ")


_ARRAY_NAMES = (
    "ptr %info, ptr %array, ptr %name, ptr %kind, i64 %number, i64 %argument, ptr %status"
)


def _refuse_array(f: Code, condition: str, code: str, text: str, *values: str) -> None:
    """Refuse %array, in a function of `_ARRAY_NAMES`."""
    of = [f"ptr %{n}" for n in ("name", "kind")]
    of += ["i64 %number", f"ptr {f.field(ARRAY_INFO, '%info', 'name')}"]
    f.refuse_if(condition, code, f"%s: %s[%lld] (%s): {text}", [*of, *values], "%argument")


def _check_request(texts: dict[str, str]) -> str:
    """`@check_request`, as `@check_array`: what a call may do with a result."""
    f = Code(texts)
    wanted, got = f.number(ARRAY_INFO, "%info", "request"), f.number(ARRAY, "%array", "request")
    is_added = f.emit(f"icmp eq i64 {wanted}, {ADD}")
    other = f.emit(f"and i1 {is_added}, {f.emit(f'icmp ne i64 {got}, {ADD}')}")
    text = f"expected request {ADD} (add: its contents are read), got %lld"
    _refuse_array(f, other, "bad_request", text, f"i64 {got}")
    unknown = f.emit(f"icmp ugt i64 {got}, {ADD}")
    text = f"expected request {NULL} (null), {WRITE} (write) or {ADD} (add), got %lld"
    _refuse_array(f, unknown, "bad_request", text, f"i64 {got}")
    asks = f.emit(f"icmp ne i64 {wanted}, {got}")
    adds = f.emit(f"and i1 {asks}, {f.emit(f'icmp eq i64 {got}, {ADD}')}")
    dtype = f.number(ARRAY_INFO, "%info", "dtype")
    bit = f.emit(f"shl i64 1, {dtype}")
    known = f.emit(f"and i64 {bit}, {sum(1 << number for number in ADDED_DTYPES)}")
    cannot = f.emit(f"and i1 {adds}, {f.emit(f'icmp eq i64 {known}, 0')}")
    text = "a result of dtype %lld cannot be added to another one"
    _refuse_array(f, cannot, "bad_request", text, f"i64 {dtype}")
    f.ret("i32 0")
    return f.definition("check_request", _ARRAY_NAMES, linkage="internal ")


def _check_overlap(texts: dict[str, str]) -> str:
    """`@check_overlap(result, bytes, other, other_bytes, may_be_same, name, number, kind,
    other_number, status)`.

    Whether the memory of `out[number]` meets another one, which it may be as a whole.
    """
    f = Code(texts)
    begin, other = (f.emit(f"ptrtoint ptr %{name} to i64") for name in ("result", "other"))
    # an empty array shares nothing
    parts = ["icmp ne i64 %bytes, 0", "icmp ne i64 %other_bytes, 0"]
    parts.append(f"icmp ult i64 {begin}, {f.emit(f'add i64 {other}, %other_bytes')}")
    parts.append(f"icmp ult i64 {other}, {f.emit(f'add i64 {begin}, %bytes')}")
    meets = f.emit(parts[0])
    for part in parts[1:]:
        meets = f.emit(f"and i1 {meets}, {f.emit(part)}")
    one, same = (f.emit(f"icmp eq i64 {a}, {b}") for a, b in
                 ((begin, other), ("%bytes", "%other_bytes")))  # fmt: skip
    is_same = f.emit(f"and i1 %may_be_same, {f.emit(f'and i1 {one}, {same}')}")
    wrong = f.emit(f"and i1 {meets}, {f.emit(f'xor i1 {is_same}, true')}")
    values = ["ptr %name", "i64 %number", "ptr %kind", "i64 %other_number"]
    argument = f.emit("sub i64 -1, %number")
    f.refuse_if(wrong, "overlap", "%s: out[%lld] shares memory with %s[%lld]", values, argument)
    f.ret("i32 0")
    names = (
        "ptr %result, i64 %bytes, ptr %other, i64 %other_bytes, i1 %may_be_same, ptr %name, "
        "i64 %number, ptr %kind, i64 %other_number, ptr %status"
    )
    return f.definition("check_overlap", names, linkage="internal ")


def _check_result_overlaps(texts: dict[str, str]) -> str:
    """`@check_result_overlaps(info, in, out, name, status)`: results against other arrays."""
    f = Code(texts)
    infos = {kind: f.field(INFO, "%info", kind) for kind in ("in", "out")}
    inputs, results = (f.number(INFO, "%info", f"n_{kind}") for kind in ("in", "out"))

    def bytes_of(kind: str, k: str) -> str:
        """The bytes of an array; 0 of a result that is skipped."""
        size = f.number(ARRAY_INFO, f.entry_of(ARRAY_INFO, infos[kind], k), "bytes")
        if kind == "in":
            return size
        array = f.entry_of(ARRAY, "%out", k)
        return f.emit(f"select i1 {is_skipped(f, array)}, i64 0, i64 {size}")

    with f.loop("0", results) as k:
        data = f.field(ARRAY, f.entry_of(ARRAY, "%out", k), "data")
        size = bytes_of("out", k)
        for kind, count in (("in", inputs), ("out", k)):
            with f.loop("0", count) as j:
                other = f.field(ARRAY, f.entry_of(ARRAY, f"%{kind}", j), "data")
                given = (
                    f"ptr {data}, i64 {size}, ptr {other}, i64 {bytes_of(kind, j)}, "
                    f"i1 {'true' if kind == 'in' else 'false'}, ptr %name, i64 {k}, "
                    f"ptr {f.text_of(kind)}, i64 {j}, ptr %status"
                )
                f.return_unless_0(f.call("i32", "@check_overlap", given))
    f.ret("i32 0")
    names = "ptr %info, ptr %in, ptr %out, ptr %name, ptr %status"
    return f.definition("check_result_overlaps", names, linkage="internal ")


def is_skipped(f: Code, array: str) -> str:
    """Whether nobody wants a result."""
    no_request = f.emit(f"icmp eq i64 {f.number(ARRAY, array, 'request')}, {NULL}")
    return f.emit(f"or i1 {no_request}, {f.is_null(f.field(ARRAY, array, 'data'))}")


def _check_call(texts: dict[str, str]) -> str:
    f = Code(texts)
    name = f"ptr {f.field(INFO, '%info', 'name')}"
    for kind in ("in", "out"):
        with f.loop("0", f.number(INFO, "%info", f"n_{kind}")) as k:
            info = f.entry_of(ARRAY_INFO, f.field(INFO, "%info", kind), k)
            array = f.entry_of(ARRAY, f"%{kind}", k)
            number = k if kind == "in" else f.emit(f"sub i64 -1, {k}")
            given = (
                f"ptr {info}, ptr {array}, {name}, ptr {f.text_of(kind)}, i64 {k}, "
                f"i64 {number}, ptr %status"
            )
            wanted = None
            if kind == "out":
                f.return_unless_0(f.call("i32", "@check_request", given))
                is_written = f.emit(f"icmp eq i64 {f.number(ARRAY_INFO, info, 'request')}, {WRITE}")
                skipped = f.emit(f"and i1 {is_written}, {is_skipped(f, array)}")
                wanted = f.emit(f"xor i1 {skipped}, true")
            with f.when(wanted):
                f.return_unless_0(f.call("i32", "@check_array", given))
    bytes_ = _check_room(f, name)
    f.return_unless_0(
        f.call(
            "i32", "@check_result_overlaps", f"ptr %info, ptr %in, ptr %out, {name}, ptr %status"
        )
    )
    _check_workspace_overlaps(f, name, bytes_)
    f.ret("i32 0")
    names = "ptr %info, ptr %program, ptr %in, ptr %out, ptr %workspace, ptr %status"
    return f.definition("check_call", names, linkage="internal ")


def _check_room(f: Code, name: str) -> str:
    """Refuse a workspace without room for results that are not written in place; all its bytes."""
    plain = f.field(PROGRAM, "%program", "workspace_bytes")
    room = f.call("i64", f"@{ROOM}", "ptr %info, ptr %in, ptr %out")
    bytes_ = f.emit(f"add i64 {plain}, {room}")
    given = f.field(STATUS, "%status", "workspace_bytes")
    parts = f"icmp ne i64 {room}, 0", f"icmp ult i64 {given}, {bytes_}"
    small = f.emit(f"and i1 {', '.join(f.emit(part) for part in parts)}")
    text = (
        "%s: workspace: expected %lld bytes, of them %lld for results that are null, added or in "
        "the place of arguments, got %lld in status->workspace_bytes"
    )
    values = [name, f"i64 {bytes_}", f"i64 {room}", f"i64 {given}"]
    f.refuse_if(small, "bad_workspace", text, values)
    return bytes_


def _check_workspace_overlaps(f: Code, name: str, bytes_: str) -> None:
    """Refuse arrays that share memory with the workspace."""
    begin = f.emit("ptrtoint ptr %workspace to i64")
    end = f.emit(f"add i64 {begin}, {bytes_}")
    for kind in ("in", "out"):
        infos = f.field(INFO, "%info", kind)
        with f.loop("0", f.number(INFO, "%info", f"n_{kind}")) as k:
            array = f.entry_of(ARRAY, f"%{kind}", k)
            data = f.emit(f"ptrtoint ptr {f.field(ARRAY, array, 'data')} to i64")
            size = f.number(ARRAY_INFO, f.entry_of(ARRAY_INFO, infos, k), "bytes")
            parts = [f"icmp ne i64 {size}, 0", f"icmp ult i64 {data}, {end}"]
            parts.append(f"icmp ult i64 {begin}, {f.emit(f'add i64 {data}, {size}')}")
            if kind == "out":
                parts.append(f"xor i1 {is_skipped(f, array)}, true")
            meets = f.emit(parts[0])
            for part in parts[1:]:
                meets = f.emit(f"and i1 {meets}, {f.emit(part)}")
            text = f"%s: {kind}[%lld] shares memory with the workspace"
            number = k if kind == "in" else f.emit(f"sub i64 -1, {k}")
            f.refuse_if(meets, "overlap", text, [name, f"i64 {k}"], number)


def check_workspace(f: Code, name: Callable[[], str]) -> None:
    """Refuse a %workspace that is missing, not aligned, or smaller than %program's."""
    bytes_ = f.field(PROGRAM, "%program", "workspace_bytes")
    text = f"%s: workspace: expected %lld bytes aligned to {WORKSPACE_ALIGNMENT}, got "

    def values() -> list[str]:
        return [name(), f"i64 {bytes_}"]

    f.refuse_if(f.is_null("%workspace"), "bad_workspace", text + "NULL", values)
    address = f.emit("ptrtoint ptr %workspace to i64")
    low = f.emit(f"and i64 {address}, {WORKSPACE_ALIGNMENT - 1}")
    told = text + "other memory"
    f.refuse_if(f.emit(f"icmp ne i64 {low}, 0"), "bad_workspace", told, values)
    given = f.field(STATUS, "%status", "workspace_bytes")
    # 0, which says nothing, is the largest number less 1
    sizes = [f.emit(f"sub i64 {size}, 1") for size in (given, bytes_)]
    small = f.emit(f"icmp ult i64 {', '.join(sizes)}")
    told = text + "%lld"
    f.refuse_if(small, "bad_workspace", told, lambda: [*values(), f"i64 {given}"])
