"""Memory of tapes that grow: first in the workspace, then from the caller's allocator. LLVM text.

Each block says before its first byte who gave it; that in a workspace has a record's room.
"""

from __future__ import annotations

from gradir.aot.abi import ALLOCATOR, BLOCK, BLOCK_BYTES, GROWING, PROGRAM, STATUS
from gradir.aot.code import Code
from gradir.codegen.driver.growing_memory import POINTER

REALLOC = "gradir_realloc"


def memory_functions(texts: dict[str, str]) -> str:
    """The functions of this file."""
    parts = [_resize(texts), _realloc(texts), _begin_growing(texts), _free_grown(texts)]
    return "\n".join(parts)


def _begin_growing(texts: dict[str, str]) -> str:
    """`@begin_growing(program, table, status)`: each tape has its first block in the workspace."""
    f = Code(texts)
    growing = f.field(PROGRAM, "%program", "growing")
    with f.loop("0", f.number(PROGRAM, "%program", "n_growing")) as k:
        record = f.entry_of(GROWING, growing, k)
        block = f.address("i8", "%table", f.field(GROWING, record, "place"))
        f.put(BLOCK, block, "allocator", f.field(STATUS, "%status", "allocator"))
        f.put(BLOCK, block, "bytes", "0")
        word = f.add(f.field(GROWING, record, "word"), POINTER)
        memory = f.address("i8", block, BLOCK_BYTES)
        f.store("ptr", 1, f.address("i64", "%table", word), memory)
    f.ret()
    names = "ptr %program, ptr %table, ptr %status"
    return f.definition("begin_growing", names, "void", "internal ")


def _free_grown(texts: dict[str, str]) -> str:
    """`@free_grown(program, table)`: memory that has grown is given back."""
    f = Code(texts)
    growing = f.field(PROGRAM, "%program", "growing")
    with f.loop("0", f.number(PROGRAM, "%program", "n_growing")) as k:
        word = f.add(f.field(GROWING, f.entry_of(GROWING, growing, k), "word"), POINTER)
        memory = f.load("ptr", 1, f.address("i64", "%table", word))
        block = f.address("i8", memory, -BLOCK_BYTES)
        size = f.field(BLOCK, block, "bytes")
        with f.when(f.emit(f"icmp ne i64 {size}, 0")):
            allocator = f.field(BLOCK, block, "allocator")
            f.call("ptr", "@resize", f"ptr {allocator}, ptr {block}, i64 {size}, i64 0")
    f.ret()
    return f.definition("free_grown", "ptr %program, ptr %table", "void", "internal ")


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
