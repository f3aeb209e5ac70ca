"""Calls of a library's functions, as LLVM text: without Python, and without the GIL.

`@gradir_start` and `@gradir_finish` are functions of gradir_op.h.
The `data` of a call is a site: words that say what to copy and which functions to call.

    copied       bytes that are copied to the result, from `source` (0: the operand), to its byte
                 `place`; before that the result's first `cleared` bytes are set to 0
    calls        the number of the start's calls; they stand behind the site's other words
    requests     the number of their requests, and where these are; `statuses`: as many statuses
    test         the function that says whether they are done: int (int, requests, int *, statuses)
    yield        int (), called from time to time between tests, as other ranks may need the core
    late         int (site, i64), called seldom while tests go on; not 0 where they are in vain
    check        0, or a function that is called first: int (site), not 0 where ranks do not agree
    pending      whether it has been started and not finished
    over         whether the start waits for the requests by itself

A call is its function, `CALL_ARGUMENTS` words, and for each of these whether to add the address of
the operand (1) or of the result (2). All words are integers or pointers, which C passes alike; a
function that takes fewer arguments does not read the others.
"""

from __future__ import annotations

from gradir.codegen.text.fixed_text import load_field, place

START_SYMBOL, FINISH_SYMBOL = "gradir_start", "gradir_finish"

SITE_WORDS = (
    "copied", "source", "place", "cleared", "calls", "requests", "request_place", "statuses",
    "test", "yield", "late", "check", "pending", "over",
)  # fmt: skip
CALL_ARGUMENTS = 8
OPERAND, RESULT = 1, 2
BUSY = -1
"""The start's result for a site that is started and not finished, by another thread."""
IN_VAIN = -2
"""The result of `late` and `check` where a call will not end well."""
TESTS_A_YIELD, TESTS_A_QUESTION = 512, 1 << 15

# Of gradir_op.h: the places of fields of gradir_call in bytes.
_COUNTS, _GROUPS, _DATA = (8, 12), (16, 24), 64


def library_calls() -> str:
    """The module of both functions."""
    return f"""
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
{_first_array()}
{_start()}
{_finish()}"""


def _first_array() -> str:
    """`@first(call, place of the count, place of the group)`: its first array's data, or null."""
    return """
define internal ptr @first(ptr %call, i64 %count.place, i64 %group.place) {
entry:
  %count.address = getelementptr i8, ptr %call, i64 %count.place
  %count = load i32, ptr %count.address
  %some = icmp sgt i32 %count, 0
  br i1 %some, label %there, label %absent
there:
  %group.address = getelementptr i8, ptr %call, i64 %group.place
  %group = load ptr, ptr %group.address
  %data = load ptr, ptr %group
  ret ptr %data
absent:
  ret ptr null
}"""


def _site() -> str:
    return load_field("site", "%call", _DATA, "ptr", "i8")


def _word(name: str, type_: str = "i64") -> str:
    return load_field(name, "%site", SITE_WORDS.index(name), type_)


def _pending() -> str:
    """The address of the word that says whether the call is started and not finished."""
    return place("pending", "%site", SITE_WORDS.index("pending"), "i64")


def _start() -> str:
    """`@gradir_start`: check, clear, copy, and call; finish too where the site is `over`."""
    return f"""
define i32 @{START_SYMBOL}(ptr %call) {{
entry:
  {_site()}
  {_pending()}
  %was = atomicrmw xchg ptr %pending, i64 1 seq_cst
  %is.busy = icmp ne i64 %was, 0
  br i1 %is.busy, label %busy, label %going
busy:
  ret i32 {BUSY}
going:
  %operand = call ptr @first(ptr %call, i64 {_COUNTS[0]}, i64 {_GROUPS[0]})
  %result = call ptr @first(ptr %call, i64 {_COUNTS[1]}, i64 {_GROUPS[1]})
  {_word("copied")}
  {_word("source", "ptr")}
  {_word("place")}
  {_word("cleared")}
  {_word("calls")}
  {_word("check", "ptr")}
  %is.checked = icmp ne ptr %check, null
  br i1 %is.checked, label %checking, label %agreed
checking:
  %check.code = call i32 %check(ptr %site)
  %differs = icmp ne i32 %check.code, 0
  br i1 %differs, label %disagreed, label %agreed
disagreed:
  ret i32 %check.code
agreed:
  call void @llvm.memset.p0.i64(ptr %result, i8 0, i64 %cleared, i1 false)
  %other = icmp ne ptr %source, null
  %from = select i1 %other, ptr %source, ptr %operand
  %to = getelementptr i8, ptr %result, i64 %place
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %copied, i1 false)
  %operand.word = ptrtoint ptr %operand to i64
  %result.word = ptrtoint ptr %result to i64
  br label %calling
{_make_calls()}
done:
  {_word("over")}
  %is.over = icmp ne i64 %over, 0
  br i1 %is.over, label %finish, label %started
finish:
  %finished = call i32 @{FINISH_SYMBOL}(ptr %call)
  ret i32 %finished
started:
  ret i32 0
}}"""


def _make_calls() -> str:
    """Loop `calling` of `@gradir_start`: the calls in their order, up to one that fails."""
    return f"""calling:
  %k = phi i64 [0, %agreed], [%k.next, %called]
  %more = icmp ult i64 %k, %calls
  br i1 %more, label %one, label %done
one:
  %skipped = mul i64 %k, {1 + 2 * CALL_ARGUMENTS}
  %from.site = add i64 %skipped, {len(SITE_WORDS)}
  %record = getelementptr i64, ptr %site, i64 %from.site
  %function = load ptr, ptr %record
{_arguments()}
  %code = call i32 %function({", ".join(f"i64 %a{k}" for k in range(CALL_ARGUMENTS))})
  %failed = icmp ne i32 %code, 0
  br i1 %failed, label %fails, label %called
called:
  %k.next = add i64 %k, 1
  br label %calling
fails:
  ret i32 %code"""


def _arguments() -> str:
    lines: list[str] = []
    for k in range(CALL_ARGUMENTS):
        lines.append(f"""  {load_field(f"w{k}", "%record", 1 + k)}
  {load_field(f"kind{k}", "%record", 1 + CALL_ARGUMENTS + k)}
  %of.operand{k} = icmp eq i64 %kind{k}, {OPERAND}
  %of.result{k} = icmp eq i64 %kind{k}, {RESULT}
  %s{k} = select i1 %of.operand{k}, i64 %operand.word, i64 0
  %base{k} = select i1 %of.result{k}, i64 %result.word, i64 %s{k}
  %a{k} = add i64 %w{k}, %base{k}""")
    return "\n".join(lines)


def _finish() -> str:
    return f"""
define i32 @{FINISH_SYMBOL}(ptr %call) {{
entry:
  {_site()}
  {_word("requests")}
  {_word("request_place", "ptr")}
  {_word("statuses", "ptr")}
  {_word("test", "ptr")}
  {_word("yield", "ptr")}
  {_word("late", "ptr")}
  %flag = alloca i32
  {_pending()}
  %some = icmp ne i64 %requests, 0
  br i1 %some, label %waiting, label %done
waiting:
  %count = trunc i64 %requests to i32
  br label %testing
testing:
  %n = phi i64 [1, %waiting], [%n.next, %again]
  %code = call i32 %test(i32 %count, ptr %request_place, ptr %flag, ptr %statuses)
  %failed = icmp ne i32 %code, 0
  br i1 %failed, label %fails, label %tested
fails:
  ret i32 %code
tested:
  %found = load i32, ptr %flag
  %is.done = icmp ne i32 %found, 0
  br i1 %is.done, label %done, label %absent
absent:
  %of.yield = urem i64 %n, {TESTS_A_YIELD}
  %is.time = icmp eq i64 %of.yield, 0
  br i1 %is.time, label %yielding, label %again
yielding:
  %yielded = call i32 %yield()
  %of.question = urem i64 %n, {TESTS_A_QUESTION}
  %asks = icmp eq i64 %of.question, 0
  br i1 %asks, label %asking, label %again
asking:
  %turn = udiv i64 %n, {TESTS_A_QUESTION}
  %answer = call i32 %late(ptr %site, i64 %turn)
  %is.vain = icmp ne i32 %answer, 0
  br i1 %is.vain, label %vain, label %again
vain:
  ret i32 %answer
again:
  %n.next = add i64 %n, 1
  br label %testing
done:
  store atomic i64 0, ptr %pending seq_cst, align 8
  ret i32 0
}}"""
