"""The threads of parallel regions as LLVM text: who runs a driver, and how its threads wait.

The module is compiled once in a process. Helper threads wait in boxes, a short time on their core
and then asleep. A call that finds them idle writes a job, and all run its driver; a call that
finds them at work, or has none, runs its driver alone. A region ends when all helpers are out of
the driver: its code may be freed then.

A thread without a core holds up all others at the next barrier, for milliseconds each time. When
that has taken most of a region's time, the helpers leave at a barrier, where all of memory is
whole, and thread 0 does all shares from there on. So a call never loses more than
`LOST_NANOSECONDS` by threads that do not get to run.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import MappingProxyType

from gradir.codegen.text.clock import CLOCK, CLOCK_TYPE, now_function
from gradir.codegen.text.fixed_text import declarations, place
from gradir.codegen.text.table import TABLE_STOP
from gradir.codegen.text.target import MachineTarget
from gradir.codegen.text.writer import FunctionWriter

RUN, BARRIER, WORKER, POOL = "gradir_run", "gradir_barrier", "gradir_worker", "gradir_pool"

# Fields of the pool, in bytes: whether a region uses it, the number of helpers, the barrier, and
# the job: driver, table, number of threads, the core of thread 0, and the number of helpers that
# are not done. Then a box for each thread.
POOL_LOCK, POOL_HELPERS, POOL_BARRIER, POOL_JOB, POOL_BOXES = 0, 8, 64, 192, 256

# Fields of a barrier: arrivals, the call's table and poll function, nanoseconds that were lost,
# when the region began; on another cache line the generation, which the last arrival changes.
BARRIER_ARRIVED, BARRIER_TABLE, BARRIER_POLL, BARRIER_LOST, BARRIER_BEGIN = 0, 8, 16, 24, 32
BARRIER_GENERATION, BARRIER_BYTES = 64, 128

# In a generation: the call is to end; the helpers are to leave. Above them a count of barriers.
STOPPED, ALONE, COUNT = 1, 2, 4

# Fields of a box: a count of jobs, whether its thread sleeps, the thread's number; the mutex and
# the condition on which it sleeps.
BOX_JOBS, BOX_ASLEEP, BOX_THREAD, BOX_MUTEX, BOX_CONDITION, BOX_BYTES = 0, 8, 16, 64, 128, 256

# Pauses (of about 30 ns) before a waiting thread starts to offer its core to others.
SPIN_TRIPS = 200
# Times that an idle helper offers its core before it sleeps: a third of a millisecond on a quiet
# machine, which covers the time from call to call.
IDLE_TRIPS = 600

CROWDED_NANOSECONDS = 50_000
"""From an offer that took so long on another program wants the core: a quiet one takes 1 us. A
thread that sleeps gets a core when it is woken; one that offers its own waits for a time slice."""
LONG_NANOSECONDS = 200_000
"""The least wait that counts as lost: threads that all have cores are that close to each other."""
LOST_NANOSECONDS = 8_000_000
"""Lost time after which helpers may leave: two or three time slices of the system."""
LOST_SHARE = 4
"""Helpers leave when a region used less than one part in this many of its time."""

HAS_AFFINITY = sys.platform.startswith("linux")
AFFINITY_BYTES = 128

LIBRARY_FUNCTIONS: Mapping[str, str] = MappingProxyType(
    {
        CLOCK: CLOCK_TYPE,
        "pthread_cond_signal": "i32 (ptr)",
        "pthread_cond_wait": "i32 (ptr, ptr)",
        "pthread_mutex_lock": "i32 (ptr)",
        "pthread_mutex_unlock": "i32 (ptr)",
        "sched_yield": "i32 ()",
    }
    | (
        {
            "sched_getaffinity": "i32 (i32, i64, ptr)",
            "sched_getcpu": "i32 ()",
            "sched_setaffinity": "i32 (i32, i64, ptr)",
        }
        if HAS_AFFINITY
        else {}
    )
)

DECLARATIONS = f"""
declare void @{RUN}(ptr, ptr, i64, ptr)
declare i64 @{BARRIER}(ptr, i64, i64, i64)
"""
"""run(driver, table, threads, poll or null) and barrier(barrier, thread, threads, even).

A driver is `void (ptr %table, i64 %thread, i64 %threads, ptr %barrier)`. A barrier returns whether
its thread is to leave the driver at once: the call ends, or thread 0 goes on alone. `even` is 1 if
since the last barrier all threads had about the same to do, so that a wait is lost time.
"""


def pool_functions(target: MachineTarget) -> str:
    """The module."""
    lines = [declarations(LIBRARY_FUNCTIONS), f"@{POOL} = external global i8"]
    if target.streaming:
        lines.append("declare void @llvm.x86.sse2.pause()")
    parts = (_spread(), _offer(), _run(target), _worker(target), _sleep(), _barrier(target))
    return "\n".join([*lines, now_function("now"), *parts])


def is_alone(text: FunctionWriter, barrier: str) -> str:
    """Whether thread 0 goes on alone, or always was."""
    place = text.address("i8", barrier, BARRIER_GENERATION)
    generation = text.emit(f"load atomic i64, ptr {place} monotonic, align 8")
    return text.emit(f"icmp ne i64 {text.emit(f'and i64 {generation}, {ALONE}')}, 0")


def _pause(target: MachineTarget) -> str:
    return "call void @llvm.x86.sse2.pause()" if target.streaming else ""


def _run(target: MachineTarget) -> str:
    """`@gradir_run`: a driver on up to `threads` threads."""
    return f"""
define void @{RUN}(ptr %driver, ptr %table, i64 %threads, ptr %poll) {{
entry:
  %own = alloca [{BARRIER_BYTES} x i8], align 64
  {place("helpers.place", f"@{POOL}", POOL_HELPERS)}
  %helpers = load atomic i64, ptr %helpers.place acquire, align 8
  %most = add i64 %helpers, 1
  %few = icmp slt i64 %threads, %most
  %count = select i1 %few, i64 %threads, i64 %most
  %several = icmp sgt i64 %count, 1
  br i1 %several, label %take, label %direct
take:
  %pair = cmpxchg ptr @{POOL}, i64 0, i64 1 acquire monotonic
  %taken = extractvalue {{ i64, i1 }} %pair, 1
  br i1 %taken, label %fork, label %direct
direct:
  {place("own.table", "%own", BARRIER_TABLE)}
  store ptr %table, ptr %own.table
  {place("own.generation", "%own", BARRIER_GENERATION)}
  store i64 {ALONE}, ptr %own.generation
  call void %driver(ptr %table, i64 0, i64 1, ptr %own)
  ret void
{_begin_region()}
{_call_helpers()}
work:
  call void %driver(ptr %table, i64 0, i64 %count, ptr %barrier)
  %polls = icmp ne ptr %poll, null
  br label %look
{_wait_for_helpers(target)}
done:
  store atomic i64 0, ptr @{POOL} release, align 8
  ret void
}}"""


def _begin_region() -> str:
    """Block `fork` of `@gradir_run`: a region's `%barrier` and job, with `%busy` helpers."""
    return f"""fork:
  {place("barrier", f"@{POOL}", POOL_BARRIER)}
  {place("barrier.table", "%barrier", BARRIER_TABLE)}
  store ptr %table, ptr %barrier.table
  {place("barrier.poll", "%barrier", BARRIER_POLL)}
  store ptr %poll, ptr %barrier.poll
  {place("lost", "%barrier", BARRIER_LOST)}
  store i64 0, ptr %lost
  {place("begin", "%barrier", BARRIER_BEGIN)}
  %now = call i64 @now()
  store i64 %now, ptr %begin
  {place("job", f"@{POOL}", POOL_JOB)}
  store ptr %driver, ptr %job
  {place("job.table", "%job", 8)}
  store ptr %table, ptr %job.table
  {place("job.count", "%job", 16)}
  store i64 %count, ptr %job.count
  {_store_cpu()}
  {place("generation", "%barrier", BARRIER_GENERATION)}
  store i64 0, ptr %generation
  {place("busy", "%job", 32)}
  %helping = sub i64 %count, 1
  store atomic i64 %helping, ptr %busy monotonic, align 8
  br label %call"""


def _call_helpers() -> str:
    """Loop `call` of `@gradir_run`: one more job for each helper, and a signal where it sleeps."""
    return f"""call:
  %k = phi i64 [ 1, %fork ], [ %next, %called ]
  %bytes = mul i64 %k, {BOX_BYTES}
  %offset = add i64 %bytes, {POOL_BOXES}
  %box = getelementptr i8, ptr @{POOL}, i64 %offset
  %jobs = load atomic i64, ptr %box monotonic, align 8
  %job.number = add i64 %jobs, 1
  store atomic i64 %job.number, ptr %box seq_cst, align 8
  {place("asleep.place", "%box", BOX_ASLEEP)}
  %asleep = load atomic i64, ptr %asleep.place seq_cst, align 8
  %sleeps = icmp ne i64 %asleep, 0
  br i1 %sleeps, label %wake, label %called
wake:
  {place("mutex", "%box", BOX_MUTEX)}
  {place("condition", "%box", BOX_CONDITION)}
  call i32 @pthread_mutex_lock(ptr %mutex)
  call i32 @pthread_cond_signal(ptr %condition)
  call i32 @pthread_mutex_unlock(ptr %mutex)
  br label %called
called:
  %next = add i64 %k, 1
  %more = icmp slt i64 %next, %count
  br i1 %more, label %call, label %work"""


def _wait_for_helpers(target: MachineTarget) -> str:
    """Loop `look` of `@gradir_run`: until no helper is `%busy`; it polls once it is not patient."""
    return f"""look:
  %trips = phi i64 [ 0, %work ], [ %tried, %pause ], [ %tried, %yield ], [ %tried, %ask ]
  %left = load atomic i64, ptr %busy acquire, align 8
  %is.done = icmp eq i64 %left, 0
  br i1 %is.done, label %done, label %wait
wait:
  %tried = add i64 %trips, 1
  %is.patient = icmp ult i64 %tried, {SPIN_TRIPS}
  br i1 %is.patient, label %pause, label %yield
pause:
  {_pause(target)}
  br label %look
yield:
  call i32 @sched_yield()
  br i1 %polls, label %ask, label %look
ask:
  call i64 %poll(ptr %table)
  br label %look"""


def _store_cpu() -> str:
    if not HAS_AFFINITY:
        return ""
    return f"""%cpu.32 = call i32 @sched_getcpu()
  %cpu = sext i32 %cpu.32 to i64
  {place("job.cpu", "%job", 24)}
  store i64 %cpu, ptr %job.cpu"""


def _worker(target: MachineTarget) -> str:
    """`@gradir_worker(ptr %box)`: a helper thread, which never ends."""
    return f"""
define ptr @{WORKER}(ptr %box) {{
entry:
  {place("number.place", "%box", BOX_THREAD)}
  %number = load i64, ptr %number.place
  {place("barrier", f"@{POOL}", POOL_BARRIER)}
  {place("job", f"@{POOL}", POOL_JOB)}
  {place("job.table", "%job", 8)}
  {place("job.count", "%job", 16)}
  {place("busy", "%job", 32)}
  br label %idle
idle:
  %seen = phi i64 [ 0, %entry ], [ %jobs, %work ]
  br label %look
look:
  %trips = phi i64 [ 0, %idle ], [ %more, %pause ], [ %more, %yield ], [ 0, %sleep ]
  %jobs = load atomic i64, ptr %box acquire, align 8
  %called = icmp ne i64 %jobs, %seen
  br i1 %called, label %work, label %wait
wait:
  %more = add i64 %trips, 1
  %is.patient = icmp ult i64 %more, {SPIN_TRIPS}
  br i1 %is.patient, label %pause, label %offer
pause:
  {_pause(target)}
  br label %look
offer:
  %is.idle = icmp ugt i64 %more, {SPIN_TRIPS + IDLE_TRIPS}
  br i1 %is.idle, label %sleep, label %yield
yield:
  %away = call i64 @offer_core()
  %is.crowded = icmp ugt i64 %away, {CROWDED_NANOSECONDS}
  br i1 %is.crowded, label %sleep, label %look
sleep:
  call void @sleep_until_called(ptr %box, i64 %seen)
  br label %look
work:
  %driver = load ptr, ptr %job
  %table = load ptr, ptr %job.table
  %count = load i64, ptr %job.count
  call void @spread(ptr %job)
  call void %driver(ptr %table, i64 %number, i64 %count, ptr %barrier)
  atomicrmw sub ptr %busy, i64 1 release
  br label %idle
}}"""


def _sleep() -> str:
    """`@sleep_until_called`: until a box has more jobs than were seen."""
    return f"""
define internal void @sleep_until_called(ptr %box, i64 %seen) {{
entry:
  {place("mutex", "%box", BOX_MUTEX)}
  {place("condition", "%box", BOX_CONDITION)}
  {place("asleep", "%box", BOX_ASLEEP)}
  call i32 @pthread_mutex_lock(ptr %mutex)
  store atomic i64 1, ptr %asleep seq_cst, align 8
  br label %look
look:
  %jobs = load atomic i64, ptr %box seq_cst, align 8
  %called = icmp ne i64 %jobs, %seen
  br i1 %called, label %done, label %wait
wait:
  call i32 @pthread_cond_wait(ptr %condition, ptr %mutex)
  br label %look
done:
  store atomic i64 0, ptr %asleep seq_cst, align 8
  call i32 @pthread_mutex_unlock(ptr %mutex)
  ret void
}}"""


def _offer() -> str:
    """`@offer_core`: offers the core to others; how many nanoseconds it was away."""
    return """
define internal i64 @offer_core() {
entry:
  %since = call i64 @now()
  call i32 @sched_yield()
  %end = call i64 @now()
  %away = sub i64 %end, %since
  ret i64 %away
}"""


def _spread() -> str:
    """`@spread`: a thread that woke up on the first thread's core goes to another one.

    The system likes to wake a thread where its waker runs. On a busy machine the two then stay
    there and take turns, each waiting for the other to finish spinning: a region took 3 to 100
    times as long. Affinity is narrowed for a moment, which makes the thread move at once.
    """
    if not HAS_AFFINITY:
        return """
define internal void @spread(ptr %job) {
  ret void
}"""
    return f"""
define internal void @spread(ptr %job) {{
  {place("job.cpu", "%job", 24)}
  %first = load i64, ptr %job.cpu
  %cpu.32 = call i32 @sched_getcpu()
  %cpu = sext i32 %cpu.32 to i64
  %crowded = icmp eq i64 %cpu, %first
  %known = icmp ult i64 %cpu, {8 * AFFINITY_BYTES}
  %wanted = and i1 %crowded, %known
  br i1 %wanted, label %read, label %done
read:
  %mask = alloca [{AFFINITY_BYTES} x i8], align 8
  %failed = call i32 @sched_getaffinity(i32 0, i64 {AFFINITY_BYTES}, ptr %mask)
  %is.read = icmp eq i32 %failed, 0
  br i1 %is.read, label %narrow, label %done
narrow:
  %index = lshr i64 %cpu, 6
  %shift = and i64 %cpu, 63
  %place = getelementptr i64, ptr %mask, i64 %index
  %word = load i64, ptr %place
  %bit = shl i64 1, %shift
  %others = xor i64 %bit, -1
  %narrowed = and i64 %word, %others
  store i64 %narrowed, ptr %place
  %refused = call i32 @sched_setaffinity(i32 0, i64 {AFFINITY_BYTES}, ptr %mask)
  %is.narrow = icmp eq i32 %refused, 0
  br i1 %is.narrow, label %widen, label %done
widen:
  store i64 %word, ptr %place
  call i32 @sched_setaffinity(i32 0, i64 {AFFINITY_BYTES}, ptr %mask)
  br label %done
done:
  ret void
}}"""


def _barrier(target: MachineTarget) -> str:
    """`@gradir_barrier`: the last arrival decides how all go on, and changes the generation."""
    return f"""
define i64 @{BARRIER}(ptr %barrier, i64 %thread, i64 %threads, i64 %even) {{
entry:
  {place("table.place", "%barrier", BARRIER_TABLE)}
  {place("lost.place", "%barrier", BARRIER_LOST)}
  {place("generation", "%barrier", BARRIER_GENERATION)}
  %before = load atomic i64, ptr %generation acquire, align 8
  %alone.bit = and i64 %before, {ALONE}
  %is.alone = icmp ne i64 %alone.bit, 0
  br i1 %is.alone, label %alone, label %arrive
alone:
  %own.table = load ptr, ptr %table.place
  %own.place = getelementptr i64, ptr %own.table, i64 {TABLE_STOP}
  %own.stop = load atomic i64, ptr %own.place monotonic, align 8
  ret i64 %own.stop
arrive:
  %arrived = atomicrmw add ptr %barrier, i64 1 acq_rel
  %others = sub i64 %threads, 1
  %is.last = icmp eq i64 %arrived, %others
  br i1 %is.last, label %open, label %spin
{_open_barrier()}
{_wait_at_barrier(target)}
{_note_lost_time()}
leave:
  %seen = phi i64 [ %after, %release ], [ %early, %spin ], [ %late, %late.open ],
      [ %late, %measure ], [ %late, %note ]
  %stopped = and i64 %seen, {STOPPED}
  %alone.now = and i64 %seen, {ALONE}
  %are.alone = icmp ne i64 %alone.now, 0
  %helps = icmp ne i64 %thread, 0
  %is.dismissed = and i1 %are.alone, %helps
  %dismissed = zext i1 %is.dismissed to i64
  %result = or i64 %stopped, %dismissed
  ret i64 %result
}}"""


def _open_barrier() -> str:
    """Blocks of the last arrival: generation `%after`, without helpers if too much time is lost."""
    return f"""open:
  store atomic i64 0, ptr %barrier monotonic, align 8
  %table = load ptr, ptr %table.place
  %stop.place = getelementptr i64, ptr %table, i64 {TABLE_STOP}
  %stop = load atomic i64, ptr %stop.place monotonic, align 8
  %lost = load i64, ptr %lost.place
  %is.slow = icmp ugt i64 %lost, {LOST_NANOSECONDS}
  br i1 %is.slow, label %judge, label %release
judge:
  {place("begin.place", "%barrier", BARRIER_BEGIN)}
  %begin = load i64, ptr %begin.place
  %judged = call i64 @now()
  %elapsed = sub i64 %judged, %begin
  %used = sub i64 %elapsed, %lost
  %scaled = mul i64 %used, {LOST_SHARE}
  %is.hopeless = icmp slt i64 %scaled, %elapsed
  %leaving = select i1 %is.hopeless, i64 {ALONE}, i64 0
  br label %release
release:
  %parts = phi i64 [ 0, %open ], [ %leaving, %judge ]
  %following = add i64 %before, {COUNT}
  %bits = or i64 %parts, %stop
  %after = or i64 %following, %bits
  store atomic i64 %after, ptr %generation release, align 8
  br label %leave"""


def _wait_at_barrier(target: MachineTarget) -> str:
    """Loops of other arrivals: until the generation, `%early` or `%late`, is new."""
    return f"""spin:
  %trips = phi i64 [ 0, %arrive ], [ %more, %pause ]
  %early = load atomic i64, ptr %generation acquire, align 8
  %is.open = icmp ne i64 %early, %before
  br i1 %is.open, label %leave, label %pause
pause:
  {_pause(target)}
  %more = add i64 %trips, 1
  %is.patient = icmp ult i64 %more, {SPIN_TRIPS}
  br i1 %is.patient, label %spin, label %slow
slow:
  %since = call i64 @now()
  %poll.place = getelementptr i8, ptr %barrier, i64 {BARRIER_POLL}
  %poll = load ptr, ptr %poll.place
  %polls = icmp ne ptr %poll, null
  br label %yield
yield:
  call i32 @sched_yield()
  br i1 %polls, label %ask, label %look
ask:
  %asked.table = load ptr, ptr %table.place
  call i64 %poll(ptr %asked.table)
  br label %look
look:
  %late = load atomic i64, ptr %generation acquire, align 8
  %is.late.open = icmp ne i64 %late, %before
  br i1 %is.late.open, label %late.open, label %yield"""


def _note_lost_time() -> str:
    """Blocks after a long wait: the last thread but one adds its time to the lost time.

    The others note none: where all wait for one, the last but one waits least.
    """
    return f"""late.open:
  %last.but.one = sub i64 %others, 1
  %is.last.but.one = icmp eq i64 %arrived, %last.but.one
  %is.even = icmp ne i64 %even, 0
  %notes = and i1 %is.last.but.one, %is.even
  br i1 %notes, label %measure, label %leave
measure:
  %end = call i64 @now()
  %waited = sub i64 %end, %since
  %is.long = icmp ugt i64 %waited, {LONG_NANOSECONDS}
  br i1 %is.long, label %note, label %leave
note:
  %earlier = load i64, ptr %lost.place
  %total = add i64 %earlier, %waited
  store i64 %total, ptr %lost.place
  br label %leave"""
