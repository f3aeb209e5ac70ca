"""The checks of a call that finds nothing, as LLVM text: straight code over constant records.

    @differ(function, in, out, workspace)    0 where nothing is wrong or unusual

Otherwise `checks.py` asks question by question, and may find that nothing is wrong: a size of 0 may
have any pointer. So these checks may be strict, but must not miss anything.

Two memories [a, a + m) and [b, b + n) meet if b + n - 1 - a < m + n - 1 in unsigned numbers. Four
such tests are one of vectors: on the lower 32 bits of addresses, as SSE2 compares no longer numbers
in vectors; memories that meet there alone are looked at again. The workspace is one more memory. It
meets itself, as each result does, so the number of meetings is known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gradir.aot.abi import ARRAY, CHECK, EXTENT, FUNCTION, INFO
from gradir.aot.code import Code
from gradir.codegen.text.structs import Struct

LANES = 4
_SIGN = 1 << 31
NO_END = _SIGN - 1
"""The end of no array: it meets nothing, but at an address of 0 in 32 bits."""
LARGEST = _SIGN - 1
"""Bytes of a memory up to which sums of two are numbers of 32 bits."""
_VECTOR = f"<{LANES} x i32>"


def ends_of(sizes: Sequence[int]) -> list[int]:
    """For memories of these bytes the numbers that make last bytes of addresses, for whole vectors.

    They are signed, so less by the sign bit: so they compare as unsigned ones do. An empty memory
    counts as a byte: two of no bytes would meet everywhere.
    """
    ends = [_signed(max(size, 1) - 1 + _SIGN) for size in sizes]
    return ends + [NO_END] * (LANES + -len(ends) % LANES)


def meetings_of(sizes: Sequence[int], written: int) -> int:
    """How many memories meet in a right call: the last `written` of them, each itself. -1 where the
    bytes are too many to tell."""
    return -1 if max(sizes) > LARGEST else written


def _signed(number: int) -> int:
    number %= 1 << 32
    return number - (1 << 32) if number >= _SIGN else number


def bits_of_address(alignment: int) -> tuple[int, int]:
    """The bits of `data - 1` that say whether it is an aligned address, and how they must be.

    All low ones are set where it is aligned, and the highest one is set for NULL alone: the
    addresses of a process are below.
    """
    return alignment - 1 - (1 << 63), alignment - 1


def extents_of(shapes: Sequence[Sequence[int]]) -> list[Mapping[str, int]]:
    """The rows of EXTENT for arrays of these shapes, which lie side by side."""
    place = ARRAY.offsets["shape"]
    return [
        {"shape": k * ARRAY.size + place, "axis": 8 * axis, "extent": extent}
        for k, shape in enumerate(shapes)
        for axis, extent in enumerate(shape)
    ]


def quick_functions() -> str:
    """`@differ`."""
    f = Code({})
    found, shapes, pairs, meetings = (f.new_slots(*kind) for kind in _SLOTS)
    for slot, (kind, lanes) in zip((found, shapes, pairs, meetings), _SLOTS, strict=True):
        f.store_slot(kind, lanes, slot, f.splat(kind, lanes, "0"))
    info = f.field(FUNCTION, "%function", "info")
    inputs, results = (f.number(INFO, info, f"n_{kind}") for kind in ("in", "out"))
    every = f.add(inputs, results)
    vectors = f.add(f.emit(f"lshr i64 {every}, 2"), 1)  # with the workspace
    ends = _new_ends(f, vectors)
    added = f.field(FUNCTION, "%function", "ends")
    for kind, first, count in (("in", "0", inputs), ("out", inputs, results)):
        _check_arrays(f, kind, first, count, ends, (found, shapes, pairs))
    end = f.load("i32", 1, f.address("i32", added, every))
    _store_end(f, f.address("i32", ends, every), end, "%workspace")
    # nobody reads the shape of an array of another rank, or that is not wanted
    f.branch(f.emit(f"icmp eq i64 {_all_found(f, found, pairs)}, 0"), "alike", "other")
    f.label("other")
    f.ret("i64 1")
    f.label("alike")
    with f.when(f.emit(f"icmp ne i64 {f.load_slot('i64', 1, shapes)}, 0")):
        _check_extents(f, found)
    rows = (f.add(inputs, 0), f.add(every, 1))
    _count_meetings(f, rows, ends, added, vectors, meetings)
    met = _difference_of_meetings(f, meetings)
    f.ret(f"i64 {f.emit(f'or i64 {met}, ' + f.load_slot('i64', 1, found))}")
    names = "ptr %function, ptr %in, ptr %out, ptr %workspace"
    return f.inlined("differ", names, "i64")


def _new_ends(f: Code, vectors: str) -> str:
    """Room for the ends of memories; the last two vectors, which they do not fill, have no ends."""
    ends = f.emit(f"alloca {_VECTOR}, i64 {f.add(vectors, 1)}, align 16")
    last = f.address("i32", ends, f.emit(f"shl i64 {vectors}, 2"))
    for place in (last, f.address("i32", last, -LANES)):
        f.store("i32", LANES, place, f.splat("i32", LANES, str(NO_END)))
    return ends


def _check_arrays(
    f: Code, kind: str, first: str, count: str, ends: str, slots: tuple[str, str, str]
) -> None:
    """Gather what differs in the inputs or the results, and store their ends; `first` is the number
    of the first of them."""
    found, shapes, pairs = slots
    checks = f.entry_of(CHECK, f.field(FUNCTION, "%function", "checks"), first)
    place = f.address("i32", ends, first)

    def check_one(k: str) -> None:
        check, array = f.entry_of(CHECK, checks, k), f.entry_of(ARRAY, f"%{kind}", k)
        _check_array(f, check, array, pairs, shapes)
        if kind == "out":
            _check_request(f, check, array, found)
        end = f.field(CHECK, check, "end")
        _store_end(f, f.address("i32", place, k), end, f.field(ARRAY, array, "data"))

    f.each(count, check_one)


def _store_end(f: Code, place: str, added: str, data: str) -> None:
    address = f.emit(f"ptrtoint ptr {data} to i32")
    f.store("i32", 1, place, f.emit(f"add i32 {added}, {address}"))


_SLOTS = ("i64", 1), ("i64", 1), ("i64", 2), ("i32", LANES)
_PAIR = "<2 x i64>"


def _check_array(f: Code, check: str, array: str, pairs: str, shapes: str) -> None:
    """Gather what differs between an array and its record, two words at a time, and whether its
    extents are elsewhere than the record's."""

    def wanted(name: str) -> str:
        return f.emit(f"load {_PAIR}, ptr {f.place(CHECK, check, name)}, align 16")

    addresses = f.load("i64", 2, f.place(ARRAY, array, "data"))  # of data and shape
    before = f.emit(f"add {_PAIR} {addresses}, {f.splat('i64', 2, '-1')}")
    known = f.emit(f"and {_PAIR} {before}, {wanted('data_bits')}")
    sizes = f.load("i64", 2, f.place(ARRAY, array, "size"))  # size; rank and dtype
    parts = (known, wanted("data_low")), (sizes, wanted("size"))
    _gather(f, pairs, [f.emit(f"xor {_PAIR} {one}, {other}") for one, other in parts], 2)
    own, other = (f.load("i64", 1, f.place(s, p, "shape")) for s, p in _both(check, array))
    _gather(f, shapes, [f.emit(f"xor i64 {own}, {other}")])


def _both(check: str, array: str) -> tuple[tuple[Struct, str], tuple[Struct, str]]:
    return (CHECK, check), (ARRAY, array)


def _check_request(f: Code, check: str, array: str, found: str) -> None:
    one, other = f.field(ARRAY, array, "request"), f.field(CHECK, check, "request")
    differs = f.emit(f"xor i32 {one}, {other}")
    _gather(f, found, [f.emit(f"zext i32 {differs} to i64")])


def _check_extents(f: Code, found: str) -> None:
    """Gather the differences of extents, of arrays that all have their ranks."""
    start = f.field(FUNCTION, "%function", "extents")
    for kind in ("in", "out"):
        count = f.field(FUNCTION, "%function", f"{kind}_extents")

        def check_one(k: str, kind: str = kind, start: str = start) -> None:
            row = f.entry_of(EXTENT, start, k)
            place, axis = (f.number(EXTENT, row, name) for name in ("shape", "axis"))
            shape = f.load("ptr", 1, f.address("i8", f"%{kind}", place))
            extent = f.load("i64", 1, f.address("i8", shape, axis))
            _gather(f, found, [f.emit(f"xor i64 {extent}, {f.field(EXTENT, row, 'extent')}")])

        f.each(count, check_one)
        start = f.entry_of(EXTENT, start, count)


def _count_meetings(
    f: Code, rows: tuple[str, str], ends: str, added: str, vectors: str, meetings: str
) -> None:
    """Count the memories that the rows' memories meet, per lane; four rows at a time."""
    with f.loop(*rows, LANES) as row:
        end, add = (f.load("i32", LANES, f.address("i32", p, row)) for p in (ends, added))
        begins = f.emit(f"sub {_VECTOR} {end}, {add}")
        no_end = f.splat("i32", LANES, str(NO_END))
        sizes = f.emit(f"sub {_VECTOR} {add}, {no_end}")
        orders = [[lane] * LANES for lane in range(LANES)]
        pairs = [tuple(f.shuffle("i32", LANES, v, o) for v in (begins, sizes)) for o in orders]
        with f.loop("0", vectors) as k:
            offset = f.emit(f"shl i64 {k}, 2")
            end, add = (f.load("i32", LANES, f.address("i32", p, offset)) for p in (ends, added))
            met: list[str] = []
            for begin, size in pairs:
                ahead = f.emit(f"sub {_VECTOR} {end}, {begin}")
                most = f.emit(f"add {_VECTOR} {add}, {size}")
                meets = f.emit(f"icmp slt {_VECTOR} {ahead}, {most}")
                met.append(f.emit(f"sext <{LANES} x i1> {meets} to {_VECTOR}"))
            # in pairs: each waits for less than in a row
            one, other = (f.emit(f"add {_VECTOR} {a}, {b}") for a, b in (met[:2], met[2:]))
            both = f.emit(f"add {_VECTOR} {one}, {other}")
            count = f.load_slot("i32", LANES, meetings)
            f.store_slot("i32", LANES, meetings, f.emit(f"sub {_VECTOR} {count}, {both}"))


def _gather(f: Code, slot: str, parts: Sequence[str], lanes: int = 1) -> None:
    total = f.load_slot("i64", lanes, slot)
    for part in parts:
        total = f.binary("or", "i64", lanes, total, part)
    f.store_slot("i64", lanes, slot, total)


def _all_found(f: Code, found: str, pairs: str) -> str:
    """The gathered differences as one number."""
    pair = f.load_slot("i64", 2, pairs)
    half = f.emit(f"call i64 @llvm.vector.reduce.or.v2i64({_PAIR} {pair})")
    return f.emit(f"or i64 {half}, {f.load_slot('i64', 1, found)}")


def _difference_of_meetings(f: Code, meetings: str) -> str:
    """0 where as many memories meet as must."""
    counts = f.load_slot("i32", LANES, meetings)
    count = f.emit(f"call i32 @llvm.vector.reduce.add.v{LANES}i32({_VECTOR} {counts})")
    wanted = f.field(FUNCTION, "%function", "meetings")
    return f.emit(f"xor i64 {wanted}, {f.emit(f'sext i32 {count} to i64')}")
