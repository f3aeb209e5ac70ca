"""The functions through which native code comes back to Python, as LLVM text.

Both take the table of the running call, and use no layout of CPython's, only its C interface.

    @gradir_poll(table) -> 0, or 1 where the call is to end
    @gradir_host(records, number, buffers, table) -> the same, after a host call

The number tells which call, and what to do (`ACTIONS`). A host call is one of a native function, or
of Python's object(number, buffers, table), as its record says (`native_operators.py`). After a
failure of a native function the object is called with the block of the call in place of the
buffers, to raise the error.

A poll is for the back edges of long loops. On Python's main thread it runs the handlers of signals
that have come, but takes the GIL for that no more than once in `POLL_INTERVAL`. An
exception of a handler or a host function is kept in the table, and is not lost.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from gradir.codegen.text.clock import CLOCK, CLOCK_TYPE, now_function
from gradir.codegen.text.fixed_text import declarations, place
from gradir.codegen.text.kernel import ERROR_CODE
from gradir.codegen.text.native_operators import (
    NATIVE_DECLARATION,
    load_record_field,
    native_function,
    record_type,
)
from gradir.codegen.text.table import (
    RAISED,
    TABLE_ERROR,
    TABLE_POLLED,
    TABLE_RAISED,
    TABLE_STOP,
)

POLL_SYMBOL, HOST_SYMBOL = "gradir_poll", "gradir_host"

# Stands for the array of the records of a program's host calls.
HOST_RECORDS = "gradir_host_calls"

# What a program asks for: the number of a host call times ACTIONS, and one of these. Of an async
# one, CALL is the start.
ACTIONS, CALL, WAIT = 2, 0, 1

# The address of a word that holds the number of Python's main thread.
MAIN_THREAD_SYMBOL = "gradir_main_thread"

# Nanoseconds. Another thread of Python's may keep the GIL for 5 ms.
POLL_INTERVAL = 60_000_000

PYTHON_FUNCTIONS: Mapping[str, str] = MappingProxyType(
    {
        "PyErr_CheckSignals": "i32 ()",
        "PyErr_Fetch": "void (ptr, ptr, ptr)",
        "PyErr_NormalizeException": "void (ptr, ptr, ptr)",
        "PyException_SetTraceback": "i32 (ptr, ptr)",
        "PyGILState_Ensure": "i32 ()",
        "PyGILState_Release": "void (i32)",
        "PyLong_FromVoidPtr": "ptr (ptr)",
        "PyObject_CallObject": "ptr (ptr, ptr)",
        "PyThread_get_thread_ident": "i64 ()",
        "PyTuple_New": "ptr (i64)",
        "PyTuple_SetItem": "i32 (ptr, i64, ptr)",
        "Py_DecRef": "void (ptr)",
    }
)
LIBRARY_FUNCTIONS: Mapping[str, str] = MappingProxyType({CLOCK: CLOCK_TYPE})


def callback_functions() -> str:
    """The module."""
    lines = [declarations({**PYTHON_FUNCTIONS, **LIBRARY_FUNCTIONS})]
    lines.append(f"@{MAIN_THREAD_SYMBOL} = external global i64")
    lines.append(NATIVE_DECLARATION)
    parts = _keep(), now_function("now"), _poll(), native_function(), _python(), _host()
    return "\n".join([*lines, *parts])


def _keep() -> str:
    """`@keep`: put the exception that was raised last into the table, and end the call."""
    return f"""
define internal void @keep(ptr %table) {{
  %type.place = alloca ptr
  %value.place = alloca ptr
  %trace.place = alloca ptr
  call void @PyErr_Fetch(ptr %type.place, ptr %value.place, ptr %trace.place)
  call void @PyErr_NormalizeException(ptr %type.place, ptr %value.place, ptr %trace.place)
  %type = load ptr, ptr %type.place
  %value = load ptr, ptr %value.place
  %trace = load ptr, ptr %trace.place
  call void @Py_DecRef(ptr %type)
  %has.trace = icmp ne ptr %trace, null
  br i1 %has.trace, label %traced, label %placed
traced:
  call i32 @PyException_SetTraceback(ptr %value, ptr %trace)
  call void @Py_DecRef(ptr %trace)
  br label %placed
placed:
  {place("raised", "%table", TABLE_RAISED, "i64")}
  %earlier = load ptr, ptr %raised
  call void @Py_DecRef(ptr %earlier)
  store ptr %value, ptr %raised
  {place("code", "%table", TABLE_ERROR + ERROR_CODE, "i64")}
  store i64 {RAISED}, ptr %code
  {place("stop", "%table", TABLE_STOP, "i64")}
  store atomic i64 1, ptr %stop release, align 8
  ret void
}}"""


def _poll() -> str:
    return f"""
define i64 @{POLL_SYMBOL}(ptr %table) {{
  {place("stop", "%table", TABLE_STOP, "i64")}
  %before = load atomic i64, ptr %stop monotonic, align 8
  %going = icmp eq i64 %before, 0
  br i1 %going, label %whose, label %done
whose:
  %thread = call i64 @PyThread_get_thread_ident()
  %main = load i64, ptr @{MAIN_THREAD_SYMBOL}
  %is.main = icmp eq i64 %thread, %main
  br i1 %is.main, label %when, label %done
when:
  {place("polled", "%table", TABLE_POLLED, "i64")}
  %last = load i64, ptr %polled
  %now = call i64 @now()
  %passed = sub i64 %now, %last
  %is.due = icmp uge i64 %passed, {POLL_INTERVAL}
  br i1 %is.due, label %check, label %done
check:
  store i64 %now, ptr %polled
  %state = call i32 @PyGILState_Ensure()
  %failed = call i32 @PyErr_CheckSignals()
  %raised = icmp ne i32 %failed, 0
  br i1 %raised, label %end, label %release
end:
  call void @keep(ptr %table)
  br label %release
release:
  call void @PyGILState_Release(i32 %state)
  br label %done
done:
  %after = load atomic i64, ptr %stop monotonic, align 8
  ret i64 %after
}}"""


def _python() -> str:
    """`@python`: object(number, buffers, table), with the GIL."""
    return """
define internal void @python(ptr %object, i64 %number, ptr %buffers, ptr %table) {
  %state = call i32 @PyGILState_Ensure()
  %arguments = call ptr @PyTuple_New(i64 3)
  %some = icmp ne ptr %arguments, null
  br i1 %some, label %fill, label %raised
fill:
  %number.pointer = inttoptr i64 %number to ptr
  %number.object = call ptr @PyLong_FromVoidPtr(ptr %number.pointer)
  %buffers.object = call ptr @PyLong_FromVoidPtr(ptr %buffers)
  %table.object = call ptr @PyLong_FromVoidPtr(ptr %table)
  call i32 @PyTuple_SetItem(ptr %arguments, i64 0, ptr %number.object)
  call i32 @PyTuple_SetItem(ptr %arguments, i64 1, ptr %buffers.object)
  call i32 @PyTuple_SetItem(ptr %arguments, i64 2, ptr %table.object)
  %result = call ptr @PyObject_CallObject(ptr %object, ptr %arguments)
  call void @Py_DecRef(ptr %arguments)
  call void @Py_DecRef(ptr %result)
  %returned = icmp ne ptr %result, null
  br i1 %returned, label %release, label %raised
raised:
  call void @keep(ptr %table)
  br label %release
release:
  call void @PyGILState_Release(i32 %state)
  ret void
}"""


def _host() -> str:
    return f"""
define i64 @{HOST_SYMBOL}(ptr %records, i64 %number, ptr %buffers, ptr %table) {{
  %place = udiv i64 %number, {ACTIONS}
  %record = getelementptr {record_type()}, ptr %records, i64 %place
  {load_record_field("object")}
  %action = urem i64 %number, {ACTIONS}
  %is.wait = icmp eq i64 %action, {WAIT}
  {load_record_field("finish")}
  {load_record_field("function")}
  %called = select i1 %is.wait, ptr %finish, ptr %function
  %is.native = icmp ne ptr %called, null
  br i1 %is.native, label %native, label %python
native:
  {load_record_field("block_size")}
  %block = alloca i8, i64 %block_size, align 16
  %code = call i32 @native(ptr %called, ptr %block, ptr %record, ptr %buffers)
  %is.done = icmp eq i32 %code, 0
  br i1 %is.done, label %done, label %python
python:
  %given = phi ptr [%buffers, %0], [%block, %native]
  call void @python(ptr %object, i64 %number, ptr %given, ptr %table)
  br label %done
done:
  {place("stop", "%table", TABLE_STOP, "i64")}
  %stopped = load atomic i64, ptr %stop monotonic, align 8
  ret i64 %stopped
}}"""
