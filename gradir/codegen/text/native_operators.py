"""Calls of native functions of custom ops, as LLVM text: without Python, and without the GIL.

A record says what a call is. It is `HOST_RECORD`, an entry of the array that a program's host calls
have. A call copies the record's template, which has all that is constant, into a block on the
stack, and stores addresses into it:

    i64              what the function returned
    gradir_call      of gradir_op.h, from `CALL_PLACE` on
    gradir_array...  the arrays of the call, and the first bytes of the message
    ...              room for the rest of the message, up to the size of the block

The block outlives the function, since Python reads the message from it.
"""

from __future__ import annotations

from gradir.codegen.text.fixed_text import load_field
from gradir.codegen.text.structs import Struct

# `object` is the Python object of the program's host calls. `function` is null where Python makes
# the call; `finish` waits for the started call. A moved word of the block, by its place, points
# to another place of the block; a buffer's word to the call's k-th buffer.
HOST_RECORD = Struct.of(
    "host_record",
    object="ptr", function="ptr", finish="ptr", template="ptr", template_size="i64",
    block_size="i64", moved="ptr", moved_count="i64", buffers="ptr", buffer_count="i64",
)  # fmt: skip
CALL_PLACE = 8

NATIVE_DECLARATION = "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"


def load_record_field(name: str) -> str:
    """Lines that load a field of `%record`, each of them a word, to a register of its name."""
    return load_field(name, "%record", HOST_RECORD.offsets[name], HOST_RECORD.types[name], "i8")


def record_type() -> str:
    return f"[{HOST_RECORD.size} x i8]"


def native_function() -> str:
    """`@native(function, block, record, buffers)`: fill the block and call; 0 or the failure's
    number."""
    names = ("template", "template_size", "moved", "moved_count", "buffers", "buffer_count")
    return f"""
define internal i32 @native(ptr %function, ptr %block, ptr %record, ptr %addresses) {{
entry:
  {f"{chr(10)}  ".join(map(load_record_field, names))}
  call void @llvm.memcpy.p0.p0.i64(ptr %block, ptr %template, i64 %template_size, i1 false)
  br label %moving
moving:
  %m = phi i64 [0, %entry], [%m.next, %move]
  %is.moving = icmp ult i64 %m, %moved_count
  br i1 %is.moving, label %move, label %storing
move:
  %pair = getelementptr [2 x i64], ptr %moved, i64 %m
  %from = load i64, ptr %pair
  %to.place = getelementptr i64, ptr %pair, i64 1
  %to = load i64, ptr %to.place
  %word = getelementptr i8, ptr %block, i64 %from
  %target = getelementptr i8, ptr %block, i64 %to
  store ptr %target, ptr %word
  %m.next = add i64 %m, 1
  br label %moving
storing:
  %k = phi i64 [0, %moving], [%k.next, %store]
  %is.storing = icmp ult i64 %k, %buffer_count
  br i1 %is.storing, label %store, label %ready
store:
  %slot.place = getelementptr i64, ptr %buffers, i64 %k
  %slot = load i64, ptr %slot.place
  %data = getelementptr i8, ptr %block, i64 %slot
  %address.place = getelementptr ptr, ptr %addresses, i64 %k
  %address = load ptr, ptr %address.place
  store ptr %address, ptr %data
  %k.next = add i64 %k, 1
  br label %storing
ready:
  %call = getelementptr i8, ptr %block, i64 {CALL_PLACE}
  %code = call i32 %function(ptr %call)
  %wide = sext i32 %code to i64
  store i64 %wide, ptr %block
  ret i32 %code
}}"""
