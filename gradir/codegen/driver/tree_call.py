"""The function that Python calls to run a function of nested arguments, as LLVM text.

`@gradir_tree_call` has the signature of a METH_FASTCALL function of CPython. Called with a tuple of
positional arguments and a dict of others, it returns

    the nested results          after a run
    NotImplemented              where nothing has run, and Python must look

It runs no program itself. It tries the ways of the function one by one: the arguments are matched
with the nesting of a way, which gives their leaves; `@gradir_call` or a function of Python's runs
the program with these; the nesting of the results is built. Children are held while they are walked
through: the keys of a dict may run code that changes the containers.
"""

from __future__ import annotations

from collections.abc import Callable

from gradir.codegen.driver.call_text import NDARRAY, NODE, WALK, WAY, WAYS, CallText

TREE_ENTRY = "gradir_tree_call"

# What a node stands for: `node.kind`. OTHER is what a function makes of the children, SAME this
# very object as an argument.
LEAF, CONSTANT, TUPLE, LIST, DICT, OTHER, SAME = 0, 1, 2, 3, 4, 5, 6


def tree_call() -> str:
    """The text of `@gradir_tree_call` and of its parts."""
    return "\n".join((_next_node(), _match(), _match_child(), _build(), _run(), _call()))


def _next_node() -> str:
    """`@next_node`: the next node of a walk."""
    f = CallText()
    node = f.field(WALK, "%walk", "node")
    f.put(WALK, "%walk", "node", f.entry_of(NODE, node, "1"))
    f.ret(f"ptr {node}")
    return f.function("ptr", "next_node", "ptr %walk")


# Arguments.


def _match() -> str:
    """`@match`: whether a value is nested as the nodes say; puts its leaves into the tuple."""
    f = CallText()
    node = f.call("ptr", "@next_node", "ptr %walk")
    type_ = f.field(NDARRAY, "%object", "type")
    f.require(f"icmp eq ptr {type_}, {f.field(NODE, node, 'type')}", "no")
    count = f.field(NODE, node, "count")
    kind = f.field(NODE, node, "kind")
    kinds = {LEAF: "leaf", TUPLE: "tuple", LIST: "list", DICT: "dict", SAME: "same"}
    f.switch(kind, "constant", kinds.items())
    f.label("same")
    f.require(f"icmp eq ptr %object, {f.field(NODE, node, 'keys')}", "no")
    f.ret("i1 true")
    f.label("leaf")
    leaf = f.field(WALK, "%walk", "leaf")
    f.call("void", "@Py_IncRef", "ptr %object")
    leaves = f.field(WALK, "%walk", "leaves")
    f.call("i32", "@PyTuple_SetItem", f"ptr {leaves}, i64 {leaf}, ptr %object")
    f.put(WALK, "%walk", "leaf", f.emit(f"add i64 {leaf}, 1"))
    f.ret("i1 true")
    for name, c_type in (("tuple", "PyTuple"), ("list", "PyList")):
        _match_children(
            f, name, c_type, count, lambda k, c=c_type: (f"@{c}_GetItem", f"ptr %object, i64 {k}")
        )

    def value(k: str) -> tuple[str, str]:
        key = f.call("ptr", "@PyTuple_GetItem", f"ptr {f.field(NODE, node, 'keys')}, i64 {k}")
        return "@PyDict_GetItemWithError", f"ptr %object, ptr {key}"

    _match_children(f, "dict", "PyDict", count, value)
    f.label("constant")
    return f.predicate("match", "ptr %object, ptr %walk")


def _match_children(
    f: CallText, label: str, c_type: str, count: str, child: Callable[[str], tuple[str, str]]
) -> None:
    """The block for one kind of containers; `child` is the function and its arguments that give
    child k."""
    f.label(label)
    f.require(f"icmp eq i64 {f.call('i64', f'@{c_type}_Size', 'ptr %object')}, {count}", "no")
    with f.loop("0", count, hint="child") as k:
        found = f.call("ptr", *child(k))
        f.require(f"call i1 @match_child(ptr {found}, ptr %walk)", "no")
    f.ret("i1 true")


def _match_child() -> str:
    """`@match_child`: `@match` for a borrowed object, or none, with an exception at most."""
    f = CallText()
    f.require("icmp ne ptr %object, null", "none")
    f.call("void", "@Py_IncRef", "ptr %object")
    matches = f.call("i1", "@match", "ptr %object, ptr %walk")
    f.call("void", "@Py_DecRef", "ptr %object")
    f.ret(f"i1 {matches}")
    f.label("none")
    f.call("void", "@PyErr_Clear", "")
    f.ret("i1 false")
    return f.function("i1", "match_child", "ptr %object, ptr %walk")


# Results.


def _build() -> str:
    """`@build`: a new reference to the value of the next node; null after an exception."""
    f = CallText()
    node = f.call("ptr", "@next_node", "ptr %walk")
    count, keys = f.field(NODE, node, "count"), f.field(NODE, node, "keys")
    kind = f.field(NODE, node, "kind")
    kinds = {LEAF: "leaf", CONSTANT: "constant", LIST: "list", DICT: "dict"}
    f.switch(kind, "tuple", kinds.items())
    f.label("leaf")
    leaf, leaves = f.field(WALK, "%walk", "leaf"), f.field(WALK, "%walk", "leaves")
    f.put(WALK, "%walk", "leaf", f.emit(f"add i64 {leaf}, 1"))
    found = f.call("ptr", "@PyTuple_GetItem", f"ptr {leaves}, i64 {leaf}")
    f.call("void", "@Py_IncRef", f"ptr {found}")
    f.ret(f"ptr {found}")
    f.label("constant")
    f.call("void", "@Py_IncRef", f"ptr {keys}")
    f.ret(f"ptr {keys}")
    values = _build_children(f, "list", ("@PyList_New", f"i64 {count}"), count, _item("PyList"))
    f.ret(f"ptr {values}")
    values = _build_children(f, "dict", ("@PyDict_New", ""), count, _entry(keys))
    f.ret(f"ptr {values}")
    values = _build_children(f, "tuple", ("@PyTuple_New", f"i64 {count}"), count, _item("PyTuple"))
    f.decide(f"icmp eq i64 {kind}, {OTHER}", "other", "plain")
    f.label("plain")
    f.ret(f"ptr {values}")
    f.label("other")
    maker = f.field(NODE, node, "type")
    other = f.call("ptr", "@PyObject_CallObject", f"ptr {maker}, ptr {values}")
    f.call("void", "@Py_DecRef", f"ptr {values}")
    f.ret(f"ptr {other}")
    f.label("nothing")
    f.ret("ptr null")
    return f.function("ptr", "build", "ptr %walk")


_Store = Callable[[CallText, str, str, str], str]
"""Writes how a container takes child k, whose reference it takes over; returns its status."""


def _build_children(
    f: CallText, label: str, new: tuple[str, str], count: str, store: _Store
) -> str:
    """The block for one kind of containers, up to the built container."""
    f.label(label)
    container = f.call("ptr", *new)
    f.require(f"icmp ne ptr {container}, null", "nothing")
    with f.loop("0", count, hint="child") as k:
        child = f.call("ptr", "@build", "ptr %walk")
        f.require(f"icmp ne ptr {child}, null", f"drop.{label}")
        f.require(f"icmp eq i32 {store(f, container, k, child)}, 0", f"drop.{label}")
    done = f.fresh(label)
    f.jump(done)
    f.label(f"drop.{label}")
    f.call("void", "@Py_DecRef", f"ptr {container}")
    f.jump("nothing")
    f.label(done)
    return container


def _item(c_type: str) -> _Store:
    return lambda f, container, k, child: f.call(
        "i32", f"@{c_type}_SetItem", f"ptr {container}, i64 {k}, ptr {child}"
    )


def _entry(keys: str) -> _Store:
    def store(f: CallText, container: str, k: str, child: str) -> str:
        key = f.call("ptr", "@PyTuple_GetItem", f"ptr {keys}, i64 {k}")
        status = f.call("i32", "@PyDict_SetItem", f"ptr {container}, ptr {key}, ptr {child}")
        f.call("void", "@Py_DecRef", f"ptr {child}")
        return status

    return store


# The call.


def _run() -> str:
    """`@run_way`: the results of a way for leaves, None before a run, null after an exception."""
    f = CallText()
    arguments = f.emit("alloca [2 x ptr]")
    f.store("ptr", 1, arguments, "%leaves")
    run = f.field(WAY, "%way", "run")
    f.require(f"icmp ne ptr {run}, null", "attempt")
    f.require(f"icmp eq i64 {f.field(WAY, '%way', 'is_busy')}, 0", "attempt")
    for field in ("doubt", "loss"):
        size = f.call("i64", "@PyObject_Size", f"ptr {f.field(WAYS, '%ways', field)}")
        f.require(f"icmp eq i64 {size}, 0", "attempt")
    f.put(WAY, "%way", "is_busy", "1")
    f.store("ptr", 1, f.word(arguments, "1"), "@python_none")
    found = _call_object(f, run, arguments, 2)
    f.require(f"icmp ne ptr {found}, @python_false", "failed")
    f.put(WAY, "%way", "is_busy", "0")
    f.ret(f"ptr {found}")
    f.label("failed")  # and its table is not used again
    f.call("void", "@Py_DecRef", f"ptr {found}")
    f.ret(f"ptr {_call_object(f, f.field(WAY, '%way', 'failed'), arguments, 0)}")
    f.label("attempt")
    f.ret(f"ptr {_call_object(f, f.field(WAY, '%way', 'attempt'), arguments, 1)}")
    return f.function("ptr", "run_way", "ptr %way, ptr %leaves, ptr %ways")


def _call_object(f: CallText, function: str, arguments: str, count: int) -> str:
    given = f"ptr {function}, ptr {arguments}, i64 {count}, ptr null"
    return f.call("ptr", "@PyObject_Vectorcall", given)


def _call() -> str:
    """`@gradir_tree_call`; an int holds the address of the ways."""
    f = CallText()
    walk = f.new_struct(WALK)
    ways = f.call("ptr", "@PyLong_AsVoidPtr", "ptr %self")
    positional = f.load("ptr", 1, "%arguments")
    named = f.load("ptr", 1, f.word("%arguments", "1"))
    stops = f.call("i64", "@PyObject_Size", f"ptr {f.field(WAYS, ways, 'stops')}")
    f.require(f"icmp eq i64 {stops}, 0", "missed")
    count, first = f.field(WAYS, ways, "count"), f.field(WAYS, ways, "ways")
    with f.loop("0", count, hint="way") as k:
        way = f.load("ptr", 1, f.word(first, k))
        leaves = f.call("ptr", "@PyTuple_New", f"i64 {f.field(WAY, way, 'leaves')}")
        f.require(f"icmp ne ptr {leaves}, null", "raised")
        _begin_walk(f, walk, f.field(WAY, way, "arguments"), leaves)
        for value in (positional, named):
            f.require(f"call i1 @match(ptr {value}, ptr {walk})", "other")
        results = f.call("ptr", "@run_way", f"ptr {way}, ptr {leaves}, ptr {ways}")
        f.call("void", "@Py_DecRef", f"ptr {leaves}")
        f.require(f"icmp ne ptr {results}, null", "raised")
        f.decide(f"icmp eq ptr {results}, @python_none", "declined", "ran")
        f.label("ran")
        _begin_walk(f, walk, f.field(WAY, way, "results"), results)
        built = f.call("ptr", "@build", f"ptr {walk}")
        f.call("void", "@Py_DecRef", f"ptr {results}")
        f.ret(f"ptr {built}")
        f.label("other")
        f.call("void", "@Py_DecRef", f"ptr {leaves}")
        f.jump("next")
        f.label("declined")
        f.call("void", "@Py_DecRef", f"ptr {results}")
        f.jump("next")
        f.label("next")
    f.jump("missed")
    for label, answer in (("missed", "@python_not_implemented"), ("raised", "")):
        f.label(label)
        if answer:
            f.call("void", "@Py_IncRef", f"ptr {answer}")
        f.ret(f"ptr {answer or 'null'}")
    return f.function("ptr", TREE_ENTRY, "ptr %self, ptr %arguments, i64 %count", linkage="")


def _begin_walk(f: CallText, walk: str, nodes: str, leaves: str) -> None:
    """Begin a walk over nodes, with these leaves."""
    for field, value in (("node", nodes), ("leaves", leaves), ("leaf", "0")):
        f.put(WALK, walk, field, value)
