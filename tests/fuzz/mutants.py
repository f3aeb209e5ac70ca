"""Level 3: golden files with something changed. Each works, or is refused with the place of the
fault: no internal error, no endless work, no end of the process.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import prod
from random import Random
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.tensor import EmptyOp
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass

import gradir
from fuzz.corpus import accepted, refused, tokens
from fuzz.ir_mutations import mutated_ir
from fuzz.mutations import mutated, pipeline
from fuzz.outcome import Broken, Outcome, must_work
from fuzz.worker import TooLong, at_most
from gradir import GradirError, Module
from gradir.dialects.base.shapes import element_of, is_open, is_scalar, is_tensor, shape_of
from gradir.dialects.base.value import SOURCE_ATTRIBUTE
from gradir.errors import ExecutionError, gradir_errors
from gradir.gc_pause import paused_gc
from gradir.passes.analysis.arguments import in_out_results
from gradir.passes.verify.verify import verify
from gradir.registry import make_context, parse_passes
from gradir.runtime.arrays import dtype_of
from gradir.symbols import function_named

RUN_ELEMENTS = 20_000
"""A program with a larger array is not executed."""
INTERPRETED_SECONDS = 1.0
"""Programs that take longer in the interpreter may never end: they do not run natively."""
NATIVE_SECONDS = 3.0
"""Time of native code where the interpreter says nothing: a mutant may count to 2**63."""
FUNCTIONS = 2
"""So many functions of a mutant run."""
EXECUTED = 0.3
"""The share of mutants that are executed."""
REFUSED = 0.15
"""The share of mutants of programs that are refused as they are."""
# Text with ops of these dialects runs natively where it is proven; the interpreter has none.
LOW_LEVEL = ("loopnest.", "memref.", "llvm.")

# What fails when it runs and is read by nobody fails in the interpreter only: native code drops it.
CLEANING = "gradir-inline,gradir-inline-checkpoints,gradir-simplify,gradir-dce"

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Mutant:
    """A text and the passes that are run on it; `execute`: what comes out is executed too."""

    text: str
    passes: str
    execute: bool


# Making them.


def make(seed: int) -> Mutant:
    """A mutant of a random program of the corpus."""
    choose = Random(seed)
    piece = choose.choice(refused() if choose.random() < REFUSED else accepted())
    passes, kind = pipeline(choose, piece.text, piece.pipelines), choose.random()
    text = piece.text
    # the rest keeps its text: the pipeline is new
    if kind < 0.4:
        text = mutated_ir(choose, text)
    elif kind < 0.9:
        text = mutated(choose, text)
    return Mutant(text, passes, choose.random() < EXECUTED)


# What is promised of them.


def check(mutant: Mutant) -> Outcome:
    """Fine, or an exception: of GradirErrors the caller knows which are refusals."""
    module = gradir.parse(mutant.text)
    with must_work("printing and parsing again"):
        printed = str(module)
        again = str(gradir.parse(printed))
    if again != printed:
        raise Broken("print is stable", _first_difference(printed, again))
    if mutant.passes:
        module = _passed(module, mutant.passes)
    if mutant.execute:
        _executed(module)
    return Outcome("fine", done=("parsed", "passed", "executed")[: 2 + mutant.execute])


def _first_difference(one: str, other: str) -> str:
    pairs = zip(one.splitlines(), other.splitlines(), strict=False)
    return next((f"{a!r} became {b!r}" for a, b in pairs if a != b), "a line more or less")


def _passed(module: Module, spec: str) -> Module:
    """The module after passes, verified and printed as gradir-opt does between them.

    It is read again from its text, so that nothing of it is trusted.
    """

    def between(before: ModulePass | None, op: ModuleOp, after: ModulePass | None) -> None:
        # before the first pass too, where it is known to be right
        del after
        if before is not None:
            verify(op)

    with gradir_errors(), paused_gc():
        copy = module.op.clone()
        parse_passes(spec, callback=between).apply(make_context(), copy)
    with must_work("printing and parsing what passes made"):
        return gradir.parse(str(Module(copy)))


def _executed(module: Module) -> None:
    is_low = any(_is_low(op) for op in module.op.walk())
    for name in module.functions[-FUNCTIONS:]:
        types = _types(module, name)
        if types is not None:
            generator = np.random.default_rng(0)
            arrays = [array_of(t, generator) for t in types]
            (_native if is_low else _function)(module, name, arrays)


def _is_low(op: Operation) -> bool:
    claims = (a for a in op.attributes if a != SOURCE_ATTRIBUTE)
    return op.name.startswith(LOW_LEVEL) or any(a.startswith("gradir.") for a in claims)


def _types(module: Module, name: str) -> Sequence[Attribute] | None:
    """The types of the arguments, if the program is small and its types are types of arrays."""
    values = [v for op in module.op.walk() for v in op.results]
    if any(
        is_tensor(v.type) and (is_open(v.type) or prod(shape_of(v.type)) > RUN_ELEMENTS)
        for v in values
    ):
        return None
    with gradir_errors():
        function = function_named(module.op, name)
        if in_out_results(function):
            return None
    types: Sequence[Attribute] = function.function_type.inputs.data
    for t in types:
        if not (is_scalar(t) or (is_tensor(t) and not is_open(t) and prod(shape_of(t)) <= 2000)):
            return None
    return types


def _native(module: Module, name: str, arrays: Sequence[Array]) -> None:
    """Native code comes back, or refuses: it leaves all memory but its own alone.

    A loop of 2**63 trips is ended from outside.
    """
    with suppress(TooLong), at_most(NATIVE_SECONDS):
        _result(lambda: gradir.compile(module, name, threads=1)(*arrays))


def _function(module: Module, name: str, arrays: Sequence[Array]) -> None:
    """Native code gives what the interpreter gives, or the same kind of error."""
    try:
        expected = _interpreted(module, name, arrays)
        found = _result(lambda: gradir.compile(module, name, threads=1)(*arrays))
        if isinstance(expected, ExecutionError) and not isinstance(found, GradirError):
            expected = _interpreted(module.run_passes(CLEANING), name, arrays)
    except TooLong:
        return
    if isinstance(expected, GradirError) or isinstance(found, GradirError):
        if type(expected) is type(found):
            return
        if isinstance(found, GradirError):
            raise Broken("native refuses what the interpreter runs", str(found))
        raise Broken("the interpreter refuses what native code runs", str(expected))
    leaves_open = any(isinstance(op, EmptyOp) for op in module.op.walk())
    for one, other in zip(expected, found, strict=True):
        if isinstance(one, np.ndarray):
            array = cast(Array, one)
            compare(name, array, other, _defined(array) if leaves_open else None)


def _defined(array: Array) -> Array:
    """Elements other than those that the interpreter gives a tensor.empty, where any will do."""
    match array.dtype.kind:
        case "i" | "u":
            return array != np.iinfo(array.dtype).max
        case "b":
            return ~array
        case _:
            return array == array


def _interpreted(module: Module, name: str, arrays: Sequence[Array]) -> Any:
    with at_most(INTERPRETED_SECONDS), np.errstate(all="ignore"):
        return _result(lambda: gradir.interpret(module, name, *arrays))


def _result(run: Any) -> Any:
    try:
        return run()
    except GradirError as error:
        return error


def array_of(type_: Attribute, generator: np.random.Generator) -> Array:
    """Positive floats, so that logarithms and roots have values, and small integers."""
    number = is_scalar(type_)
    shape = () if number else shape_of(type_)
    dtype = dtype_of(type_ if number else element_of(type_))
    if dtype.kind in "iub":
        return np.asarray(generator.integers(0, 2, shape), dtype)
    return np.asarray(generator.uniform(0.3, 1.7, shape), dtype)


TOLERANCE = {8: 1e-9, 4: 1e-4, 2: 5e-2}


def compare(name: str, one: Array, other: Array, where: Array | None = None) -> None:
    """Both arrays are alike, up to what rounding does in a long program; `where`: only there."""
    if one.dtype != other.dtype or one.shape != other.shape:
        raise Broken("native type", f"@{name}: {one.dtype}{one.shape}, {other.dtype}{other.shape}")
    if where is not None:
        one, other = one[where], other[where]
    if one.dtype.kind in "iub":
        if not np.array_equal(one, other):
            raise Broken("native integers", f"@{name}: interpreter {one}, native {other}")
        return
    widest = np.complex128 if one.dtype.kind == "c" else np.float64
    wide: Array = one.astype(widest)
    narrow: Array = other.astype(widest)
    tolerance = TOLERANCE[one.real.dtype.itemsize]
    scale = float(np.max(np.abs(wide), initial=1.0, where=np.isfinite(wide)))
    if not np.allclose(wide, narrow, rtol=tolerance, atol=tolerance * scale, equal_nan=True):
        raise Broken("native numbers", f"@{name}: interpreter {one}, native {other}")


# Making them smaller.


def smaller(mutant: Mutant) -> Iterator[Mutant]:
    """Mutants with less in them, the boldest first."""
    if mutant.execute:
        yield replace(mutant, execute=False)
    if mutant.passes:
        yield replace(mutant, passes="")
        parts = re.split(r",(?![^{]*\})", mutant.passes)
        for k in range(len(parts)):
            yield replace(mutant, passes=",".join(parts[:k] + parts[k + 1 :]))
    each = mutant.text.splitlines(keepends=True)
    for text in without_runs(each):
        yield replace(mutant, text=text)
    for text in _without_ops(each):
        yield replace(mutant, text=text)
    words = _words(mutant.text)
    if len(words) < 600:
        for text in without_runs(words, most=16):
            yield replace(mutant, text=text)


def _without_ops(lines: Sequence[str]) -> Iterator[str]:
    """The text without an op; one of its operands stands for its result."""
    for k, line in enumerate(lines):
        result, _, op = line.partition(" = ")
        operand = re.search(r"%\w+", op)
        if operand is not None and re.fullmatch(r"\s*%\w+", result):
            rest = "".join([*lines[:k], *lines[k + 1 :]])
            yield re.sub(rf"{result.strip()}\b", operand[0], rest)


def _words(text: str) -> list[str]:
    """The words of a text, each with the space behind it."""
    found: list[str] = [""]
    for token in tokens(text):
        if token.isspace():
            found[-1] += token
        else:
            found.append(token)
    return found


def without_runs(parts: Sequence[str], most: int | None = None) -> Iterator[str]:
    """The text without a run of parts, long runs first."""
    length = min(len(parts) // 2, most or len(parts))
    while length >= 1:
        for at in range(0, len(parts), length):
            yield "".join([*parts[:at], *parts[at + length :]])
        length //= 2


# As a file: two lines of comment, one of options, the text.


def write(mutant: Mutant) -> str:
    """The text that a file of it holds; bytes as they are, whatever they are."""
    return f"// {json.dumps([mutant.passes, mutant.execute])}\n{mutant.text}"


def read(text: str) -> Mutant:
    """The mutant of a file."""
    _, _, options, program = text.split("\n", 3)
    passes, execute = json.loads(options.removeprefix("// "))
    return Mutant(program, passes, execute)
