"""The function that Python calls to run any compiled program, as LLVM text.

`@gradir_call` has the signature of a METH_FASTCALL function of CPython. It is written once, for all
programs: a record describes the arrays of a program. It uses the functions of the two C interfaces
and one layout, NumPy's arrays, which extension modules are compiled against.

Called with the tuple of arguments and with `out`, it returns

    the tuple of results        after a run
    False                       after a run that has left an error in the table
    None                        where nothing has run: an argument does not match the record

and leaves all messages to its caller. The program runs without the GIL.
"""

from __future__ import annotations

from gradir.codegen.driver.call_text import ARRAY, ARRAY_TYPE, CALL, NDARRAY, PROGRAM, CallText
from gradir.codegen.text.table import TABLE_ERROR

CALL_ENTRY = "gradir_call"

# Which Python numbers stand for an array: `array.number`. Integers go from `low` to `high`.
NO_NUMBER, FLOAT64, FLOAT32, INTEGER, BOOLEAN = 0, 1, 2, 3, 4

# NumPy's flags of an array.
C_CONTIGUOUS, ALIGNED, WRITEABLE = 0x1, 0x100, 0x400


def call_function() -> str:
    """The text of `@gradir_call` and of its parts."""
    parts = (_place_of(), _whole(), _store_number(), _place_of_input())
    return "\n".join((*parts, _entries(), _is_usable(), _new_result(), _call()))


def _place_of() -> str:
    """`@place_of`: the address of an array that is as its record says, else null."""
    f = CallText()
    f.require(f"icmp eq ptr {f.field(NDARRAY, '%object', 'type')}, @{ARRAY_TYPE}", "no")
    dtype = f.field(ARRAY, "%array", "dtype")
    f.require(f"icmp eq ptr {f.field(NDARRAY, '%object', 'dtype')}, {dtype}", "no")
    flags = f.emit(f"and i32 {f.field(NDARRAY, '%object', 'flags')}, %needed")
    f.require(f"icmp eq i32 {flags}, %needed", "no")
    rank = f.emit(f"sext i32 {f.field(NDARRAY, '%object', 'rank')} to i64")
    f.require(f"icmp eq i64 {rank}, {f.field(ARRAY, '%array', 'rank')}", "no")
    has, wanted = f.field(NDARRAY, "%object", "extents"), f.field(ARRAY, "%array", "extents")
    with f.loop("0", rank, hint="axis") as axis:
        extent = f.load("i64", 1, f.word(has, axis))
        other = f.load("i64", 1, f.word(wanted, axis))
        f.require(f"icmp eq i64 {extent}, {other}", "no")
    f.ret(f"ptr {f.field(NDARRAY, '%object', 'data')}")
    f.label("no")
    f.ret("ptr null")
    return f.function("ptr", "place_of", "ptr %object, ptr %array, i32 %needed")


def _whole() -> str:
    """`@whole`: whether an object is a Python int of 64 bits, which it stores."""
    f = CallText()
    overflow = f.emit("alloca i32")
    f.require(f"icmp eq ptr {f.field(NDARRAY, '%object', 'type')}, @python_int", "no")
    value = f.call("i64", "@PyLong_AsLongLongAndOverflow", f"ptr %object, ptr {overflow}")
    f.store("i64", 1, "%place", value)
    f.require(f"icmp eq i32 {f.load('i32', 1, overflow)}, 0", "no")
    return f.predicate("whole", "ptr %object, ptr %place")


def _store_number() -> str:
    """`@store_number`: whether a number stands for an array, whose element it then stores."""
    f = CallText()
    place = f.emit("alloca i64")
    type_ = f.field(NDARRAY, "%object", "type")
    f.decide(f"icmp eq ptr {type_}, {f.field(ARRAY, '%array', 'scalar')}", "scalar", "python")
    f.label("scalar")
    f.call("void", "@PyArray_ScalarAsCtype", "ptr %object, ptr %slot")
    f.ret("i1 true")
    f.label("python")
    number = f.field(ARRAY, "%array", "number")
    kinds = {FLOAT64: "real", FLOAT32: "real", INTEGER: "integer", BOOLEAN: "boolean"}
    f.switch(number, "no", kinds.items())
    f.label("boolean")
    yes = f.emit("icmp eq ptr %object, @python_true")
    f.require(f"or i1 {yes}, {f.emit('icmp eq ptr %object, @python_false')}", "no")
    f.store("i64", 1, "%slot", f.cast("zext", "i1", "i64", 1, yes))
    f.ret("i1 true")
    f.label("integer")
    f.require(f"call i1 @whole(ptr %object, ptr {place})", "no")
    value = f.load("i64", 1, place)
    f.require(f"icmp sge i64 {value}, {f.field(ARRAY, '%array', 'low')}", "no")
    f.require(f"icmp sle i64 {value}, {f.field(ARRAY, '%array', 'high')}", "no")
    # the first bytes of a little-endian word are the number in fewer bits
    f.store("i64", 1, "%slot", value)
    f.ret("i1 true")
    f.label("real")
    _store_real(f, type_, number, place)
    return f.predicate("store_number", "ptr %object, ptr %array, ptr %slot")


def _store_real(f: CallText, type_: str, number: str, place: str) -> None:
    f.decide(f"icmp eq ptr {type_}, @python_float", "float", "int")
    f.label("float")
    given = f.call("double", "@PyFloat_AsDouble", "ptr %object")
    f.jump("rounded")
    f.label("int")
    f.require(f"call i1 @whole(ptr %object, ptr {place})", "no")
    converted = f.cast("sitofp", "i64", "f64", 1, f.load("i64", 1, place))
    before = f.current_label
    f.jump("rounded")
    f.label("rounded")
    value = f.phi("double", [(given, "float"), (converted, before)])
    f.decide(f"icmp eq i64 {number}, {FLOAT64}", "double", "single")
    f.label("double")
    f.store("f64", 1, "%slot", value)
    f.ret("i1 true")
    f.label("single")
    f.store("f32", 1, "%slot", f.cast("fptrunc", "f64", "f32", 1, value))


def _place_of_input() -> str:
    """`@place_of_input`: the address of an argument, a number's in its slot; null for others."""
    f = CallText()
    type_ = f.field(NDARRAY, "%object", "type")
    f.decide(f"icmp eq ptr {type_}, @{ARRAY_TYPE}", "array.given", "number.given")
    f.label("array.given")
    needed = C_CONTIGUOUS | ALIGNED
    place = f.call("ptr", "@place_of", f"ptr %object, ptr %array, i32 {needed}")
    f.ret(f"ptr {place}")
    f.label("number.given")
    stored = f.call("i1", "@store_number", "ptr %object, ptr %array, ptr %slot")
    f.ret(f"ptr {f.emit(f'select i1 {stored}, ptr %slot, ptr null')}")
    return f.function("ptr", "place_of_input", "ptr %object, ptr %array, ptr %slot")


def _entries() -> str:
    """`@entries`: a new tuple of the entries of `out`, as many as wanted; else null."""
    f = CallText()
    type_ = f.field(NDARRAY, "%out", "type")
    is_list = f.emit(f"icmp eq ptr {type_}, @python_list")
    f.decide(f"or i1 {is_list}, {f.emit(f'icmp eq ptr {type_}, @python_tuple')}", "several", "one")
    f.label("several")
    copied = f.call("ptr", "@PySequence_Tuple", "ptr %out")
    f.jump("made")
    f.label("one")
    packed = f.call("ptr", "@PyTuple_New", "i64 1")
    f.require(f"icmp ne ptr {packed}, null", "none")
    f.call("void", "@Py_IncRef", "ptr %out")
    f.call("i32", "@PyTuple_SetItem", f"ptr {packed}, i64 0, ptr %out")
    before = f.current_label
    f.jump("made")
    f.label("made")
    entries = f.phi("ptr", [(copied, "several"), (packed, before)])
    f.require(f"icmp ne ptr {entries}, null", "none")
    size = f.call("i64", "@PyTuple_Size", f"ptr {entries}")
    f.require(f"icmp eq i64 {size}, %count", "other")
    f.ret(f"ptr {entries}")
    f.label("other")
    f.call("void", "@Py_DecRef", f"ptr {entries}")
    f.ret("ptr null")
    f.label("none")
    f.call("void", "@PyErr_Clear", "")
    f.ret("ptr null")
    return f.function("ptr", "entries", "ptr %out, i64 %count")


def _is_usable() -> str:
    """`@is_usable`: whether an entry of `out` can be written, and shares no memory with the arrays.

    It is for array `count` of the program; those before it are in the table.
    """
    f = CallText()
    array = f.array("%program", "%count")
    needed = C_CONTIGUOUS | ALIGNED | WRITEABLE
    place = f.call("ptr", "@place_of", f"ptr %object, ptr {array}, i32 {needed}")
    f.require(f"icmp ne ptr {place}, null", "no")
    end = f.address("i8", place, f.field(ARRAY, array, "bytes"))
    first = f.field(PROGRAM, "%program", "first")
    with f.loop("0", "%count", hint="k") as k:
        start = f.load("ptr", 1, f.word("%table", f.add(first, k)))
        taken = f.field(ARRAY, f.array("%program", k), "bytes")
        stop = f.address("i8", start, taken)
        before = f.emit(f"icmp uge ptr {place}, {stop}")
        f.require(f"or i1 {before}, {f.emit(f'icmp uge ptr {start}, {end}')}", "no")
    return f.predicate("is_usable", "ptr %object, ptr %program, ptr %table, i64 %count")


def _new_result() -> str:
    """`@new_result`: a new array, or null and an exception."""
    f = CallText()
    maker = f.field(ARRAY, "%array", "maker")
    f.decide(f"icmp eq ptr {maker}, null", "numpy", "made")
    f.label("made")
    f.ret(f"ptr {f.call('ptr', '@PyObject_CallNoArgs', f'ptr {maker}')}")
    f.label("numpy")
    dtype, extents = f.field(ARRAY, "%array", "dtype"), f.field(ARRAY, "%array", "extents")
    rank = f.emit(f"trunc i64 {f.field(ARRAY, '%array', 'rank')} to i32")
    f.call("void", "@Py_IncRef", f"ptr {dtype}")  # the next call takes a reference
    new = f.call(
        "ptr",
        "@PyArray_NewFromDescr",
        f"ptr @{ARRAY_TYPE}, ptr {dtype}, i32 {rank}, ptr {extents}, ptr null, ptr null, i32 0, "
        "ptr null",
    )
    f.ret(f"ptr {new}")
    return f.function("ptr", "new_result", "ptr %array")


def _call() -> str:
    """`@gradir_call`; an int holds the address of the call's record."""
    f = CallText()
    given, results = (f.emit("alloca ptr", name) for name in ("given", "results"))
    for owned in (given, results):
        f.store("ptr", 1, owned, "null")
    call = f.call("ptr", "@PyLong_AsVoidPtr", "ptr %self")
    program, table = f.field(CALL, call, "program"), f.field(CALL, call, "table")
    _place_inputs(f, program, table)
    _place_results(f, program, table, given, results)
    state = f.call("ptr", "@PyEval_SaveThread", "")
    f.call("void", f.field(PROGRAM, program, "entry"), f"ptr {table}")
    f.call("void", "@PyEval_RestoreThread", f"ptr {state}")
    error = f.load("i64", 1, f.word(table, str(TABLE_ERROR)))
    f.require(f"icmp eq i64 {error}, 0", "failed")
    f.call("void", "@Py_DecRef", f"ptr {f.load('ptr', 1, given)}")
    f.ret(f"ptr {f.load('ptr', 1, results)}")
    for label, answer in (("failed", "@python_false"), ("decline", "@python_none"), ("raise", "")):
        f.label(label)
        for owned in (given, results):
            f.call("void", "@Py_DecRef", f"ptr {f.load('ptr', 1, owned)}")
        if answer:
            f.call("void", "@Py_IncRef", f"ptr {answer}")
        f.ret(f"ptr {answer or 'null'}")
    return f.function("ptr", CALL_ENTRY, "ptr %self, ptr %arguments, i64 %count", linkage="")


def _place_inputs(f: CallText, program: str, table: str) -> None:
    """Store the addresses of all arguments."""
    arguments = f.load("ptr", 1, "%arguments")
    inputs = f.field(PROGRAM, program, "inputs")
    f.require(
        f"icmp eq i64 {f.call('i64', '@PyTuple_Size', f'ptr {arguments}')}, {inputs}", "decline"
    )
    words = f.word(table, f.field(PROGRAM, program, "first"))
    numbers = f.word(table, f.field(PROGRAM, program, "numbers"))
    with f.loop("0", inputs, hint="input") as k:
        argument = f.call("ptr", "@PyTuple_GetItem", f"ptr {arguments}, i64 {k}")
        array, slot = f.array(program, k), f.word(numbers, k)
        place = f.call("ptr", "@place_of_input", f"ptr {argument}, ptr {array}, ptr {slot}")
        f.require(f"icmp ne ptr {place}, null", "decline")
        f.store("ptr", 1, f.word(words, k), place)


def _place_results(f: CallText, program: str, table: str, given: str, results: str) -> None:
    """Make the tuple of results, of entries of `out` and new arrays, and store their addresses."""
    out = f.load("ptr", 1, f.word("%arguments", "1"))
    count = f.field(PROGRAM, program, "results")
    with f.when(f.emit(f"icmp ne ptr {out}, @python_none"), "out"):
        entries = f.call("ptr", "@entries", f"ptr {out}, i64 {count}")
        f.store("ptr", 1, given, entries)
        f.require(f"icmp ne ptr {entries}, null", "decline")
    container = f.call("ptr", "@PyTuple_New", f"i64 {count}")
    f.store("ptr", 1, results, container)
    f.require(f"icmp ne ptr {container}, null", "raise")
    entries = f.load("ptr", 1, given)
    inputs = f.field(PROGRAM, program, "inputs")
    words = f.word(table, f.field(PROGRAM, program, "first"))
    with f.loop("0", count, hint="result") as k:
        place = f.emit(f"add i64 {inputs}, {k}")
        result = _result(f, program, table, entries, k, place)
        f.call("i32", "@PyTuple_SetItem", f"ptr {container}, i64 {k}, ptr {result}")
        data = f.field(NDARRAY, result, "data")
        f.store("ptr", 1, f.word(words, place), data)


def _result(f: CallText, program: str, table: str, entries: str, k: str, place: str) -> str:
    """A reference to result `k`: its entry, if there are entries and it has one, or a new array.

    `place` is its place among the program's arrays.
    """
    f.decide(f"icmp eq ptr {entries}, null", "new", "given")
    f.label("given")
    entry = f.call("ptr", "@PyTuple_GetItem", f"ptr {entries}, i64 {k}")
    f.decide(f"icmp eq ptr {entry}, @python_none", "new", "mine")
    f.label("mine")
    arguments = f"ptr {entry}, ptr {program}, ptr {table}, i64 {place}"
    f.require(f"call i1 @is_usable({arguments})", "decline")
    f.call("void", "@Py_IncRef", f"ptr {entry}")
    taken = f.current_label
    f.jump("placed")
    f.label("new")
    new = f.call("ptr", "@new_result", f"ptr {f.array(program, place)}")
    f.require(f"icmp ne ptr {new}, null", "raise")
    fresh = f.current_label
    f.jump("placed")
    f.label("placed")
    return f.phi("ptr", [(entry, taken), (new, fresh)])
