"""The checks of a call that finds nothing, as LLVM text: straight code over constant records.

    @gradir_differ(function, in, out, workspace)    0 where nothing is wrong or unusual

Otherwise `checks.py` asks question by question, and may find that nothing is wrong: a size of 0 may
have any pointer. So these checks may be strict, but must not miss anything. There is a copy for
each level of a library, as wide as its vectors.

Arrays are looked at in fours; the last four of the inputs, or of the results, may have one of them
several times. Two memories [a, a + m) and [b, b + n) meet if b + n - 1 - a < m + n - 1 in unsigned
numbers. Such tests are of vectors: on the lower 32 bits of addresses, as SSE2 compares no longer
numbers in vectors; memories that meet there alone are looked at again. Each result meets itself, so
the number of meetings is known. The workspace meets nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from gradir.aot.abi import ARRAY, EXTENT, FUNCTION, WANTED
from gradir.aot.code import ATTRIBUTES, Code

DIFFER = "gradir_differ"
FOUR, MOST_LANES = 4, 16
_SIGN = 1 << 31
NO_END = _SIGN - 1
"""The end of no array: it meets nothing, but at an address of 0 in 32 bits."""
LARGEST = _SIGN - 1
"""Bytes of a memory up to which sums of two are numbers of 32 bits."""
_FOUR = f"<{FOUR} x i32>"
_WORDS, _ALL, _HALF = "<4 x i64>", "i64 -1", f"i64 {(1 << 32) - 1}"
# What counts of an array's words behind its address; the shape does later, an input has no request.
_COUNTING = {"in": f"<i64 0, {_ALL}, {_ALL}, i64 0>", "out": f"<i64 0, {_ALL}, {_ALL}, {_HALF}>"}


# What is known before a call.


def in_fours(count: int) -> list[int]:
    """The numbers of arrays in their order, the last one again up to a multiple of four."""
    return [min(k, count - 1) for k in range(-(-count // FOUR) * FOUR)]


def end_of(size: int) -> int:
    """The number that makes the last byte of a memory of its address.

    It is signed, so less by the sign bit: so it compares as an unsigned one does. An empty memory
    counts as a byte: two of no bytes would meet everywhere.
    """
    number = (max(size, 1) - 1 + _SIGN) % (1 << 32)
    return number - (1 << 32) if number >= _SIGN else number


def meetings_of(sizes: Sequence[int], results: int) -> int:
    """How many lanes results meet in a right call: their own. -1 where the bytes are too many to
    tell."""
    return -1 if max(sizes) > LARGEST else len(in_fours(results))


def extents_of(shapes: Sequence[Sequence[int]]) -> list[Mapping[str, int]]:
    """The rows of EXTENT for arrays of these shapes, which lie side by side."""
    place = ARRAY.offsets["shape"]
    return [
        {"shape": k * ARRAY.size + place, "axis": 8 * axis, "extent": extent}
        for k, shape in enumerate(shapes)
        for axis, extent in enumerate(shape)
    ]


# The code.


@cache
def quick_functions(lanes: int) -> str:
    """`@gradir_differ`, which compares so many addresses at once: 4, 8 or 16."""
    f = Code({})
    inputs, results = (f.field(FUNCTION, "%function", f"{kind}_fours") for kind in ("in", "out"))
    every = f.add(inputs, results)
    addresses = _new_addresses(f, every, lanes)
    words = [
        _differences(f, *part, addresses) for part in (("in", "0", inputs), ("out", inputs, every))
    ]
    odd_lanes, met = _compare_addresses(f, every, addresses, lanes)
    parts = [
        f.emit(f"and {_WORDS} {w}, {_COUNTING[kind]}")
        for kind, w in zip(("in", "out"), words, strict=True)
    ]
    wrong = _in_words(f, lanes, odd_lanes)
    for part in parts:
        wrong = f.emit(f"or {_WORDS} {wrong}, {part}")
    wrong = f.emit(f"call i64 @llvm.vector.reduce.or.v4i64({_WORDS} {wrong})")
    odd = f.emit(f"xor i64 {met}, {f.field(FUNCTION, '%function', 'meetings')}")
    f.branch(f.emit(f"icmp eq i64 {f.emit(f'or i64 {wrong}, {odd}')}, 0"), "alike", "other")
    f.label("other")
    f.ret("i64 1")
    f.label("alike")
    shapes = [f.emit(f"extractelement {_WORDS} {w}, i64 0") for w in words]
    elsewhere = f.emit(f"or i64 {shapes[0]}, {shapes[1]}")
    # nobody reads the shape of an array of another rank, or that is not wanted
    with f.when(f.emit(f"icmp ne i64 {elsewhere}, 0")):
        _check_extents(f, "other")
    f.ret("i64 0")
    names = "ptr %function, ptr %in, ptr %out, ptr %workspace"
    return f.define(DIFFER, names, ATTRIBUTES, linkage="", result="i64")


def _new_sum(f: Code, kind: str, lanes: int) -> str:
    """A slot with zeros."""
    with f.early():
        slot = f.new_slots(kind, lanes)
        f.store_slot(kind, lanes, slot, f.splat(kind, lanes, "0"))
    return slot


def _in_words(f: Code, lanes: int, found: str) -> str:
    """Four words with the bits of all lanes."""
    while lanes > 8:
        lanes //= 2
        halves = [f.shuffle("i32", 2 * lanes, found, range(k, k + lanes)) for k in (0, lanes)]
        found = f.emit(f"or <{lanes} x i32> {halves[0]}, {halves[1]}")
    if lanes == FOUR:
        found = f.shuffle("i32", FOUR, found, range(2 * FOUR), "zeroinitializer")
    return f.emit(f"bitcast <8 x i32> {found} to {_WORDS}")


def _new_addresses(f: Code, fours: str, lanes: int) -> str:
    """Room for the addresses of each four, and behind them of memories that nothing meets."""
    addresses = f.emit(
        f"alloca <{2 * FOUR} x i32>, i64 {f.add(fours, lanes // FOUR - 1)}, align 16"
    )
    for k in range(lanes // FOUR - 1):
        place = _place_of(f, addresses, f.add(fours, k))
        f.line(f"store {_FOUR} {f.splat('i32', FOUR, '1')}, ptr {place}, align 16")
    return addresses


def _place_of(f: Code, addresses: str, four: str) -> str:
    """The place of the addresses of a four. Others are not next to it: LLVM would load both at
    once, and a load of two stores waits until these are in the cache."""
    return f.address("i32", addresses, f.emit(f"shl i64 {four}, 3"))


def _differences(f: Code, kind: str, first: str, stop: str, addresses: str) -> str:
    """The differences of the words of arrays, gathered by or. Stores addresses."""
    found = _new_sum(f, "i64", 4)
    places, wanted = (f.field(FUNCTION, "%function", name) for name in ("places", "wanted"))
    with f.loop(first, stop) as four:
        lane = f.emit(f"shl i64 {four}, 2")
        rows, numbers = f.entry_of(WANTED, wanted, lane), f.address("i32", places, lane)
        differ, lows = f.load_slot("i64", 4, found), "poison"
        for k in range(FOUR):
            number = f.emit(f"sext i32 {f.load('i32', 1, f.address('i32', numbers, k))} to i64")
            array = f.address("i8", f"%{kind}", number)
            row = f.address("i8", rows, WANTED.size * k)
            known = f.emit(f"load {_WORDS}, ptr {row}, align 16")
            words = f.load("i64", 4, f.place(ARRAY, array, "shape"))
            differ = f.emit(f"or {_WORDS} {differ}, {f.emit(f'xor {_WORDS} {words}, {known}')}")
            low = f.load("i32", 1, f.place(ARRAY, array, "data"))
            lows = f.emit(f"insertelement {_FOUR} {lows}, i32 {low}, i64 {k}")
        f.store_slot("i64", 4, found, differ)
        f.line(f"store {_FOUR} {lows}, ptr {_place_of(f, addresses, four)}, align 16")
    return f.load_slot("i64", 4, found)


def _compare_addresses(f: Code, fours: str, addresses: str, lanes: int) -> tuple[str, str]:
    """Lanes that are not 0 where an address is missing, not aligned, or in the workspace; and how
    many lanes the results meet."""
    type_, count = f"<{lanes} x i32>", lanes // FOUR
    wrong, meetings = (_new_sum(f, "i32", lanes) for _ in range(2))
    tables = {name: f.field(FUNCTION, "%function", name) for name in ("masks", "ends")}
    first = f.emit(f"shl i64 {f.field(FUNCTION, '%function', 'in_fours')}, 2")
    own_ends = f.address("i32", tables["ends"], first)
    workspace = f.emit("ptrtoint ptr %workspace to i32")
    workspace_end = f.field(FUNCTION, "%function", "workspace_end")
    with f.loop("0", fours, count) as four:
        offset = f.emit(f"shl i64 {four}, 2")
        masks, added = (
            f.load("i32", lanes, f.address("i32", tables[n], offset)) for n in ("masks", "ends")
        )
        begins = _loaded_addresses(f, addresses, four, count)
        ends = f.emit(f"add {type_} {begins}, {added}")
        # less what is too much in the ends of both of two memories
        added = f.emit(f"sub {type_} {added}, {f.splat('i32', lanes, str(NO_END))}")

        def meets(address: str, end: str) -> str:
            """-1 where memories meet one of this address, and this number that makes its end."""
            ahead = f.emit(f"sub {type_} {ends}, {f.splat('i32', lanes, address)}")
            most = f.emit(f"add {type_} {added}, {f.splat('i32', lanes, end)}")
            return _as_bits(f, lanes, f.emit(f"icmp slt {type_} {ahead}, {most}"))

        missing = f.emit(f"icmp eq {type_} {begins}, {f.splat('i32', lanes, '0')}")
        odd = (
            f.emit(f"and {type_} {begins}, {masks}"),
            _as_bits(f, lanes, missing),
            meets(workspace, workspace_end),
        )
        found = f.load_slot("i32", lanes, wrong)
        for part in odd:
            found = f.emit(f"or {type_} {found}, {part}")
        f.store_slot("i32", lanes, wrong, found)

        def count_one(k: str) -> None:
            address = f.load("i32", 1, f.place(ARRAY, f.entry_of(ARRAY, "%out", k), "data"))
            met = meets(address, f.load("i32", 1, f.address("i32", own_ends, k)))
            before = f.load_slot("i32", lanes, meetings)
            f.store_slot("i32", lanes, meetings, f.emit(f"sub {type_} {before}, {met}"))

        f.each(f.field(FUNCTION, "%function", "results"), count_one)
    counts = f.load_slot("i32", lanes, meetings)
    total = f.emit(f"call i32 @llvm.vector.reduce.add.v{lanes}i32({type_} {counts})")
    return f.load_slot("i32", lanes, wrong), f.emit(f"sext i32 {total} to i64")


def _loaded_addresses(f: Code, addresses: str, four: str, count: int) -> str:
    """The addresses of `count` fours in one vector."""
    parts = [
        f.emit(f"load {_FOUR}, ptr {_place_of(f, addresses, f.add(four, k))}, align 16")
        for k in range(count)
    ]
    lanes = FOUR
    while len(parts) > 1:
        parts = [
            f.shuffle("i32", lanes, a, range(2 * lanes), b)
            for a, b in zip(parts[::2], parts[1::2], strict=True)
        ]
        lanes *= 2
    return parts[0]


def _as_bits(f: Code, lanes: int, condition: str) -> str:
    """-1 where a condition holds, and 0."""
    return f.emit(f"sext <{lanes} x i1> {condition} to <{lanes} x i32>")


def _check_extents(f: Code, other: str) -> None:
    """Go to block `other` where an extent differs, of arrays that all have their ranks."""
    start = f.field(FUNCTION, "%function", "extents")
    for kind in ("in", "out"):
        count = f.field(FUNCTION, "%function", f"{kind}_extents")

        def check_one(k: str, kind: str = kind, start: str = start) -> None:
            row = f.entry_of(EXTENT, start, k)
            place, axis = (f.number(EXTENT, row, name) for name in ("shape", "axis"))
            shape = f.load("ptr", 1, f.address("i8", f"%{kind}", place))
            some, on = f.fresh("some"), f.fresh("on")
            f.branch(f.is_null(shape), other, some)
            f.label(some)
            extent = f.load("i64", 1, f.address("i8", shape, axis))
            f.branch(f.emit(f"icmp eq i64 {extent}, {f.field(EXTENT, row, 'extent')}"), on, other)
            f.label(on)

        f.each(count, check_one)
        start = f.entry_of(EXTENT, start, count)
