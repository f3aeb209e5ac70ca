"""The threads of a library: the pool of codegen/driver/pool.py, and how they are started.

They are the library's own, are started by the first call that asks for them, and never end: so a
library with threads stays in its process. A forked child has none of them, and starts others.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from gradir.codegen.driver.pool import (
    BOX_BYTES,
    BOX_CONDITION,
    BOX_MUTEX,
    BOX_THREAD,
    POOL,
    POOL_BOXES,
    POOL_HELPERS,
    WORKER,
)
from gradir.codegen.text.fixed_text import declarations, place
from gradir.runtime.pool import ALIGNMENT, ATTRIBUTE_BYTES, STACK_BYTES

GROW = "gradir_grow_pool"

# No less than a sigset_t of any system.
SIGNAL_SET_BYTES = 128
# Of <signal.h>, on Linux.
SIG_SETMASK = 2

FUNCTIONS: Mapping[str, str] = MappingProxyType(
    {
        "getpid": "i32 ()",
        "pthread_attr_init": "i32 (ptr)",
        "pthread_attr_destroy": "i32 (ptr)",
        "pthread_attr_setstacksize": "i32 (ptr, i64)",
        "pthread_cond_init": "i32 (ptr, ptr)",
        "pthread_create": "i32 (ptr, ptr, ptr, ptr)",
        "pthread_detach": "i32 (i64)",
        "pthread_mutex_init": "i32 (ptr, ptr)",
        "pthread_sigmask": "i32 (i32, ptr, ptr)",
        "sched_yield": "i32 ()",
        "sigfillset": "i32 (ptr)",
    }
)


def grow_function(threads: int) -> str:
    """The module with the memory of the pool, and `@gradir_grow_pool(threads)`."""
    size = POOL_BOXES + threads * BOX_BYTES
    return f"""
{declarations(FUNCTIONS)}
declare ptr @{WORKER}(ptr)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

@{POOL} = hidden global [{size} x i8] zeroinitializer, align {ALIGNMENT}
@pool.lock = internal global i64 0, align 8
@pool.process = internal global i64 0, align 8

define internal void @forget() nounwind {{
  call void @llvm.memset.p0.i64(ptr @{POOL}, i8 0, i64 {size}, i1 false)
  ret void
}}
{_grow()}
{_start_thread()}"""


def _grow() -> str:
    """`@gradir_grow_pool(threads)`: one thread at a time starts what is missing."""
    return f"""
define void @{GROW}(i64 %threads) nounwind {{
entry:
  {place("helpers.place", f"@{POOL}", POOL_HELPERS)}
  %process.32 = call i32 @getpid()
  %process = sext i32 %process.32 to i64
  %known = load atomic i64, ptr @pool.process acquire, align 8
  %helpers.now = load atomic i64, ptr %helpers.place acquire, align 8
  %wanted = sub i64 %threads, 1
  %is.same = icmp eq i64 %known, %process
  %is.enough = icmp sge i64 %helpers.now, %wanted
  %is.ready = and i1 %is.same, %is.enough
  br i1 %is.ready, label %done, label %lock
lock:
  ; the parent's number where a thread of the parent held it at a fork
  %pair = cmpxchg ptr @pool.lock, i64 0, i64 %process acquire monotonic
  %holder = extractvalue {{ i64, i1 }} %pair, 0
  %taken = extractvalue {{ i64, i1 }} %pair, 1
  br i1 %taken, label %begin, label %wait
wait:
  %is.own = icmp eq i64 %holder, %process
  br i1 %is.own, label %yield, label %seize
yield:
  call i32 @sched_yield()
  br label %lock
seize:
  %seized = cmpxchg ptr @pool.lock, i64 %holder, i64 %process acquire monotonic
  %is.seized = extractvalue {{ i64, i1 }} %seized, 1
  br i1 %is.seized, label %begin, label %lock
{_start_missing()}
}}"""


def _start_missing() -> str:
    """Blocks of `@gradir_grow_pool` under its lock, from `begin` to `done`."""
    return """begin:
  %again = load i64, ptr @pool.process, align 8
  %is.parent = icmp ne i64 %again, %process
  br i1 %is.parent, label %forget, label %next
forget:
  call void @forget()
  store atomic i64 %process, ptr @pool.process release, align 8
  br label %next
next:
  %helpers = load i64, ptr %helpers.place, align 8
  %is.all = icmp sge i64 %helpers, %wanted
  br i1 %is.all, label %unlock, label %start
start:
  %number = add i64 %helpers, 1
  %failed = call i32 @start_thread(i64 %number)
  %is.made = icmp eq i32 %failed, 0
  br i1 %is.made, label %count, label %unlock
count:
  store atomic i64 %number, ptr %helpers.place release, align 8
  br label %next
unlock:
  store atomic i64 0, ptr @pool.lock release, align 8
  br label %done
done:
  ret void"""


def _start_thread() -> str:
    """`@start_thread(number)`: 0, or the error. Signals are for the caller's threads."""
    return f"""
define internal i32 @start_thread(i64 %number) nounwind {{
  %attributes = alloca [{ATTRIBUTE_BYTES} x i8], align 16
  %every = alloca [{SIGNAL_SET_BYTES} x i8], align 16
  %before = alloca [{SIGNAL_SET_BYTES} x i8], align 16
  %thread = alloca i64, align 8
  %bytes = mul i64 %number, {BOX_BYTES}
  %offset = add i64 %bytes, {POOL_BOXES}
  %box = getelementptr i8, ptr @{POOL}, i64 %offset
  {place("number.place", "%box", BOX_THREAD)}
  store i64 %number, ptr %number.place, align 8
  {place("mutex", "%box", BOX_MUTEX)}
  {place("condition", "%box", BOX_CONDITION)}
  call i32 @pthread_mutex_init(ptr %mutex, ptr null)
  call i32 @pthread_cond_init(ptr %condition, ptr null)
  call i32 @pthread_attr_init(ptr %attributes)
  call i32 @pthread_attr_setstacksize(ptr %attributes, i64 {STACK_BYTES})
  call i32 @sigfillset(ptr %every)
  call i32 @pthread_sigmask(i32 {SIG_SETMASK}, ptr %every, ptr %before)
  %failed = call i32 @pthread_create(ptr %thread, ptr %attributes, ptr @{WORKER}, ptr %box)
  call i32 @pthread_sigmask(i32 {SIG_SETMASK}, ptr %before, ptr null)
  call i32 @pthread_attr_destroy(ptr %attributes)
  %is.made = icmp eq i32 %failed, 0
  br i1 %is.made, label %made, label %done
made:
  %number.of = load i64, ptr %thread, align 8
  call i32 @pthread_detach(i64 %number.of)
  br label %done
done:
  ret i32 %failed
}}"""
