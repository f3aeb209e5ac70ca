"""Elementary functions as LLVM IR text that vectorizes by construction.

`definition("exp", 32, 16)` is the text of

    define internal <16 x float> @gradir.exp.v16f32(<16 x float> %x) alwaysinline ... { ... }

No library is called and no fast-math flag is set. Every width runs the same operations, so lane i
of a vector has the bits of the scalar function (`lanes` 1). Errors are below 4 units in the last
place, mostly below 2, for all finite arguments, with gradual underflow; infinities, nan and
signed zeros are as in C99. `llvm.fma` is used throughout; for targets without that instruction
`target_functions.complete` has another way, with the same bits.
Intrinsics need no `declare`: LLVM's parser (19 and later) supplies them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache

from gradir.codegen.text.kinds import llvm_type, mangled
from gradir.codegen.text.lanes import Lanes, LaneValue
from gradir.codegen.text.writer import FunctionWriter
from gradir.codegen.vector_math import (
    error_function,
    exponential,
    huge_reduction,
    inverse_trigonometric,
    logarithm,
    power,
    squares,
    trigonometric,
)

Request = tuple[str, int, int]

# The most calls of one function in a kernel that are inlined. More of them, called, cost at most
# 3 % of the time of the kernel, and are sometimes faster; LLVM takes a tenth of the time.
MOST_INLINED = 8

_UNARY: dict[str, Callable[[LaneValue], LaneValue]] = {
    **exponential.FUNCTIONS,
    **logarithm.FUNCTIONS,
    **trigonometric.FUNCTIONS,
    **inverse_trigonometric.UNARY,
    **error_function.FUNCTIONS,
    **power.UNARY,
}
_BINARY: dict[str, Callable[[LaneValue, LaneValue], LaneValue]] = {
    **inverse_trigonometric.BINARY,
    **power.BINARY,
}

FUNCTIONS: frozenset[str] = frozenset({*_UNARY, *_BINARY})


def symbol(name: str, bits: int, lanes: int) -> str:
    """The LLVM name: `@gradir.exp.v16f32`, or `@gradir.exp.f32` for one lane."""
    return f"@gradir.{name}.{mangled(f'f{bits}', lanes)}"


def operand_count(name: str) -> int:
    """How many operands function `name` takes."""
    return 2 if name in _BINARY else 1


def definition(name: str, bits: int, lanes: int, scales: bool = False) -> str:
    """The text of one function; it may call those in `dependencies`.

    `scales` as in `definitions`.
    """
    return _write(name, bits, lanes, scales)[0]


def dependencies(name: str, bits: int, lanes: int) -> tuple[str, ...]:
    """The definitions of all functions and tables that `definition` uses, to be given once each."""
    return _write(name, bits, lanes)[1]


def definitions(
    requests: Iterable[Request], scales: bool = False, attributes: str = ""
) -> list[str]:
    """The definitions of all requested functions and of their callees, each once, sorted.

    `scales`: the target has an instruction for x * 2**n. It gives the same bits, sooner.
    `attributes` are the target's, for functions that are not inlined.
    """
    texts = [_written(request, scales, attributes) for request in sorted(set(requests))]
    used = dict.fromkeys(text for _, needed in texts for text in needed)
    return [*used, *(text for text, _ in texts)]


def outline_calls(text: str, requests: Iterable[Request], prefix: str, attributes: str) -> str:
    """The text of a kernel, with functions of its own around functions that it calls many times.

    So these are compiled once, not inlined at each call; `prefix` begins the functions' names.
    """
    wrappers: list[str] = []
    for name, bits, lanes in sorted(requests):
        inner = symbol(name, bits, lanes)
        if text.count(f"{inner}(") <= MOST_INLINED:
            continue
        outer = f"@{prefix}.{name}.{mangled(f'f{bits}', lanes)}"
        text = text.replace(f"{inner}(", f"{outer}(")
        type_ = llvm_type(f"f{bits}", lanes)
        operands = ", ".join(f"{type_} %x{k}" for k in range(operand_count(name)))
        f = FunctionWriter()
        f.ret(f"{type_} {f.call(type_, inner, operands)}")
        inlining = f"noinline memory(none) {attributes}"
        wrappers.append(f.define(outer[1:], operands, inlining, result=type_))
    return "\n".join([*wrappers, text])


def _written(request: Request, scales: bool, attributes: str) -> tuple[str, tuple[str, ...]]:
    name, bits, lanes = request
    if name == squares.TRANSPOSE:
        kind = f"f{bits}"
        return squares.transposition(symbol(*request)[1:], kind, lanes, attributes), ()
    return _write(name, bits, lanes, scales)


@cache
def _write(name: str, bits: int, lanes: int, scales: bool = False) -> tuple[str, tuple[str, ...]]:
    function = Lanes(bits, lanes, scales=scales)
    kind, type_ = function.float_kind, function.type_of(function.float_kind)
    if name in _BINARY:
        names = ("%x", "%y")
        result = _BINARY[name](*(function.value(kind, operand) for operand in names))
    else:
        names = ("%x",)
        result = _UNARY[name](function.value(kind, "%x"))
    function.text.ret(f"{type_} {result.name}")
    parameters = ", ".join(f"{type_} {operand}" for operand in names)
    text = function.text.define(
        symbol(name, bits, lanes)[1:],
        parameters,
        "alwaysinline nounwind memory(none)",
        result=type_,
    )
    if not function.calls_huge_reduction:
        return text, ()
    widths = (*huge_reduction.dependencies(bits, lanes), (bits, lanes))
    return text, tuple(huge_reduction.definition(*width) for width in widths)
