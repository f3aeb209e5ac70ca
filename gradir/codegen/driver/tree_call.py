"""The function that Python calls to run a function of nested arguments, as LLVM text.

`@gradir_tree_call` has the signature of a METH_FASTCALL function of CPython. Called with a tuple of
positional arguments and a dict of others, it returns

    the nested results          after a run
    NotImplemented              where nothing has run, and Python must look

It tries the ways of the function one by one: the arguments are matched with the nesting of a way,
which gives their leaves; `@gradir_call` or a function of Python's runs the program with these; the
nesting of the results is built. Children are held while they are walked through: the keys of a dict
may run code that changes the containers.
"""

from __future__ import annotations

from collections.abc import Callable

from gradir.codegen.driver.call_text import CallText

TREE_ENTRY = "gradir_tree_call"

# What a node stands for: `node.kind`. OTHER is what a function makes of the children.
LEAF, CONSTANT, TUPLE, LIST, DICT, OTHER = 0, 1, 2, 3, 4, 5


def tree_call() -> str:
    """The text of `@gradir_tree_call` and of its parts."""
    return "\n".join((_next_node(), _match(), _match_child(), _build(), _run(), _call()))


def _next_node() -> str:
    """`@next_node`: the next node of a walk."""
    f = CallText()
    node = f.field("walk", "%walk", "node")
    f.set_field("walk", "%walk", "node", f.emit(f"getelementptr %node, ptr {node}, i64 1"))
    f.line(f"ret ptr {node}")
    return f.function("ptr", "next_node", "ptr %walk")


# Arguments.


def _match() -> str:
    """`@match`: whether a value is nested as the nodes say; puts its leaves into the tuple."""
    f = CallText()
    node = f.emit("call ptr @next_node(ptr %walk)")
    type_ = f.field("ndarray", "%object", "type")
    f.require(f"icmp eq ptr {type_}, {f.field('node', node, 'type')}", "no")
    count = f.field("node", node, "count")
    kind = f.field("node", node, "kind")
    f.line(
        f"switch i64 {kind}, label %constant [i64 {LEAF}, label %leaf i64 {TUPLE}, label %tuple "
        f"i64 {LIST}, label %list i64 {DICT}, label %dict]"
    )
    f.label("leaf")
    leaf = f.field("walk", "%walk", "leaf")
    f.line("call void @Py_IncRef(ptr %object)")
    leaves = f.field("walk", "%walk", "leaves")
    f.line(f"call i32 @PyTuple_SetItem(ptr {leaves}, i64 {leaf}, ptr %object)")
    f.set_field("walk", "%walk", "leaf", f.emit(f"add i64 {leaf}, 1"))
    f.line("ret i1 true")
    for name, c_type in (("tuple", "PyTuple"), ("list", "PyList")):
        _match_children(
            f, name, c_type, count, lambda k, c=c_type: f"@{c}_GetItem(ptr %object, i64 {k})"
        )

    def value(k: str) -> str:
        key = f.emit(f"call ptr @PyTuple_GetItem(ptr {f.field('node', node, 'keys')}, i64 {k})")
        return f"@PyDict_GetItemWithError(ptr %object, ptr {key})"

    _match_children(f, "dict", "PyDict", count, value)
    f.label("constant")
    return f.predicate("match", "ptr %object, ptr %walk")


def _match_children(
    f: CallText, label: str, c_type: str, count: str, child: Callable[[str], str]
) -> None:
    """The block for one kind of containers; `child` is the call that gives child k."""
    f.label(label)
    f.require(f"icmp eq i64 {f.emit(f'call i64 @{c_type}_Size(ptr %object)')}, {count}", "no")
    with f.loop("0", count, hint="child") as k:
        found = f.emit(f"call ptr {child(k)}")
        f.require(f"call i1 @match_child(ptr {found}, ptr %walk)", "no")
    f.line("ret i1 true")


def _match_child() -> str:
    """`@match_child`: `@match` for a borrowed object, or none, with an exception at most."""
    f = CallText()
    f.require("icmp ne ptr %object, null", "none")
    f.line("call void @Py_IncRef(ptr %object)")
    matches = f.emit("call i1 @match(ptr %object, ptr %walk)")
    f.line("call void @Py_DecRef(ptr %object)")
    f.line(f"ret i1 {matches}")
    f.label("none")
    f.line("call void @PyErr_Clear()")
    f.line("ret i1 false")
    return f.function("i1", "match_child", "ptr %object, ptr %walk")


# Results.


def _build() -> str:
    """`@build`: a new reference to the value of the next node; null after an exception."""
    f = CallText()
    node = f.emit("call ptr @next_node(ptr %walk)")
    count, keys = f.field("node", node, "count"), f.field("node", node, "keys")
    kind = f.field("node", node, "kind")
    f.line(
        f"switch i64 {kind}, label %tuple [i64 {LEAF}, label %leaf i64 {CONSTANT}, "
        f"label %constant i64 {LIST}, label %list i64 {DICT}, label %dict]"
    )
    f.label("leaf")
    leaf, leaves = f.field("walk", "%walk", "leaf"), f.field("walk", "%walk", "leaves")
    f.set_field("walk", "%walk", "leaf", f.emit(f"add i64 {leaf}, 1"))
    found = f.emit(f"call ptr @PyTuple_GetItem(ptr {leaves}, i64 {leaf})")
    f.line(f"call void @Py_IncRef(ptr {found})")
    f.line(f"ret ptr {found}")
    f.label("constant")
    f.line(f"call void @Py_IncRef(ptr {keys})")
    f.line(f"ret ptr {keys}")
    made = _build_children(f, "list", f"@PyList_New(i64 {count})", count, _item("PyList"))
    f.line(f"ret ptr {made}")
    made = _build_children(f, "dict", "@PyDict_New()", count, _entry(keys))
    f.line(f"ret ptr {made}")
    made = _build_children(f, "tuple", f"@PyTuple_New(i64 {count})", count, _item("PyTuple"))
    f.decide(f"icmp eq i64 {kind}, {OTHER}", "other", "plain")
    f.label("plain")
    f.line(f"ret ptr {made}")
    f.label("other")
    maker = f.field("node", node, "type")
    other = f.emit(f"call ptr @PyObject_CallObject(ptr {maker}, ptr {made})")
    f.line(f"call void @Py_DecRef(ptr {made})")
    f.line(f"ret ptr {other}")
    f.label("nothing")
    f.line("ret ptr null")
    return f.function("ptr", "build", "ptr %walk")


_Store = Callable[[CallText, str, str, str], str]
"""Writes how a container takes child k, whose reference it takes over; returns its status."""


def _build_children(f: CallText, label: str, new: str, count: str, store: _Store) -> str:
    """The block for one kind of containers, up to the made one."""
    f.label(label)
    made = f.emit(f"call ptr {new}")
    f.require(f"icmp ne ptr {made}, null", "nothing")
    with f.loop("0", count, hint="child") as k:
        child = f.emit("call ptr @build(ptr %walk)")
        f.require(f"icmp ne ptr {child}, null", f"drop.{label}")
        f.require(f"icmp eq i32 {store(f, made, k, child)}, 0", f"drop.{label}")
    done = f.fresh(label)
    f.line(f"br label %{done}")
    f.label(f"drop.{label}")
    f.line(f"call void @Py_DecRef(ptr {made})")
    f.line("br label %nothing")
    f.label(done)
    return made


def _item(c_type: str) -> _Store:
    return lambda f, made, k, child: f.emit(
        f"call i32 @{c_type}_SetItem(ptr {made}, i64 {k}, ptr {child})"
    )


def _entry(keys: str) -> _Store:
    def store(f: CallText, made: str, k: str, child: str) -> str:
        key = f.emit(f"call ptr @PyTuple_GetItem(ptr {keys}, i64 {k})")
        status = f.emit(f"call i32 @PyDict_SetItem(ptr {made}, ptr {key}, ptr {child})")
        f.line(f"call void @Py_DecRef(ptr {child})")
        return status

    return store


# The call.


def _run() -> str:
    """`@run_way`: the results of a way for leaves, None before a run, null after an exception."""
    f = CallText()
    arguments = f.emit("alloca [2 x ptr]")
    f.line(f"store ptr %leaves, ptr {arguments}")
    run = f.field("way", "%way", "run")
    f.require(f"icmp ne ptr {run}, null", "attempt")
    f.require(f"icmp eq i64 {f.field('way', '%way', 'is_busy')}, 0", "attempt")
    for field in ("doubt", "loss"):
        size = f.emit(f"call i64 @PyObject_Size(ptr {f.field('ways', '%ways', field)})")
        f.require(f"icmp eq i64 {size}, 0", "attempt")
    f.set_field("way", "%way", "is_busy", "1")
    f.line(f"store ptr @python_none, ptr {f.word(arguments, '1')}")
    found = f.emit(f"call ptr @PyObject_Vectorcall(ptr {run}, ptr {arguments}, i64 2, ptr null)")
    f.require(f"icmp ne ptr {found}, @python_false", "failed")
    f.set_field("way", "%way", "is_busy", "0")
    f.line(f"ret ptr {found}")
    f.label("failed")  # and its table is not used again
    f.line(f"call void @Py_DecRef(ptr {found})")
    f.line(f"ret ptr {f.emit(_called(f.field('way', '%way', 'failed'), arguments, 0))}")
    f.label("attempt")
    f.line(f"ret ptr {f.emit(_called(f.field('way', '%way', 'attempt'), arguments, 1))}")
    return f.function("ptr", "run_way", "ptr %way, ptr %leaves, ptr %ways")


def _called(function: str, arguments: str, count: int) -> str:
    return f"call ptr @PyObject_Vectorcall(ptr {function}, ptr {arguments}, i64 {count}, ptr null)"


def _call() -> str:
    """`@gradir_tree_call`; an int holds the address of the ways."""
    f = CallText()
    walk = f.emit("alloca %walk")
    ways = f.emit("call ptr @PyLong_AsVoidPtr(ptr %self)")
    positional = f.emit("load ptr, ptr %arguments")
    named = f.emit(f"load ptr, ptr {f.word('%arguments', '1')}")
    stops = f.emit(f"call i64 @PyObject_Size(ptr {f.field('ways', ways, 'stops')})")
    f.require(f"icmp eq i64 {stops}, 0", "missed")
    count, first = f.field("ways", ways, "count"), f.field("ways", ways, "ways")
    with f.loop("0", count, hint="way") as k:
        way = f.emit(f"load ptr, ptr {f.word(first, k)}")
        leaves = f.emit(f"call ptr @PyTuple_New(i64 {f.field('way', way, 'leaves')})")
        f.require(f"icmp ne ptr {leaves}, null", "raised")
        _begin(f, walk, f.field("way", way, "arguments"), leaves)
        for value in (positional, named):
            f.require(f"call i1 @match(ptr {value}, ptr {walk})", "other")
        results = f.emit(f"call ptr @run_way(ptr {way}, ptr {leaves}, ptr {ways})")
        f.line(f"call void @Py_DecRef(ptr {leaves})")
        f.require(f"icmp ne ptr {results}, null", "raised")
        f.decide(f"icmp eq ptr {results}, @python_none", "declined", "ran")
        f.label("ran")
        _begin(f, walk, f.field("way", way, "results"), results)
        built = f.emit(f"call ptr @build(ptr {walk})")
        f.line(f"call void @Py_DecRef(ptr {results})")
        f.line(f"ret ptr {built}")
        f.label("other")
        f.line(f"call void @Py_DecRef(ptr {leaves})")
        f.line("br label %next")
        f.label("declined")
        f.line(f"call void @Py_DecRef(ptr {results})")
        f.line("br label %next")
        f.label("next")
    f.line("br label %missed")
    for label, answer in (("missed", "@python_not_implemented"), ("raised", "")):
        f.label(label)
        if answer:
            f.line(f"call void @Py_IncRef(ptr {answer})")
        f.line(f"ret ptr {answer or 'null'}")
    return f.function("ptr", TREE_ENTRY, "ptr %self, ptr %arguments, i64 %count", linkage="")


def _begin(f: CallText, walk: str, nodes: str, leaves: str) -> None:
    """Begin a walk."""
    for field, value in (("node", nodes), ("leaves", leaves), ("leaf", "0")):
        f.set_field("walk", walk, field, value)
