"""Arrays between pages that nobody may touch: what reads or writes outside of one ends the process.

Run as a program, it runs hostile programs natively on such arrays, for test_memory_safety.py:

    python guarded_memory.py nests FIRST COUNT      # random loop nests that are proven to be safe
    python guarded_memory.py narrow                 # writes of numbers that were made narrower
    python guarded_memory.py indices EVERY          # ops on tensors whose integers are any numbers
"""

from __future__ import annotations

import ctypes
import faulthandler
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import kept_objects
import numpy as np

import gradir

Array = np.ndarray[Any, np.dtype[Any]]

PAGE = 4096
_READ_WRITE, _NOTHING, _PRIVATE_ANONYMOUS = 3, 0, 0x22
LIBRARY = ctypes.CDLL(None)
LIBRARY.mmap.restype = ctypes.c_void_p
LIBRARY.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
LIBRARY.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


def guarded(array: Array, at_start: bool) -> Array:
    """A copy that begins after a page that nobody may touch, or ends in front of one."""
    if not array.size:
        return array
    room = -(-array.nbytes // PAGE) * PAGE
    base = LIBRARY.mmap(None, room + 2 * PAGE, _READ_WRITE, _PRIVATE_ANONYMOUS, -1, 0)
    for guard in (base, base + PAGE + room):
        assert LIBRARY.mprotect(guard, PAGE, _NOTHING) == 0
    place = base + PAGE + (0 if at_start else room - array.nbytes)
    memory: Any = (ctypes.c_char * array.nbytes).from_address(place)
    copy = np.frombuffer(memory, np.uint8).view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def run_guarded(function: Any, arrays: Sequence[Array]) -> str:
    """Run with all arguments and results at both ends of pages; the name of the outcome."""
    outcome = ""
    for at_start in (True, False):
        inputs = [guarded(a, at_start) for a in arrays]
        out = tuple(guarded(np.zeros(s.shape, s.dtype), at_start) for s in function.results)
        try:
            function(*inputs, out=out)
            outcome = "ran"
        except gradir.GradirError as error:
            outcome = type(error).__name__
    return outcome


# Random nests and contractions.

NUMPY_TYPES = {"f32": np.float32, "f64": np.float64, "i64": np.int64, "i8": np.int8}


class RandomNest:
    """The text of one nest or contraction, and the shapes of its arguments."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        choice = self.random.choice
        self.kind = choice(("nest", "nest", "contract"))
        rank = self.random.randint(int(self.kind == "contract"), 3)
        self.bounds = [choice((0, 1, 2, 3, 5, 8, 17, 33, 64, 100)) for _ in range(rank)]
        self.element = choice(tuple(NUMPY_TYPES))
        self.shapes: list[list[int]] = []
        self.text = self._text()

    @property
    def arrays(self) -> list[Array]:
        return [np.ones(shape, NUMPY_TYPES[self.element]) for shape in self.shapes]

    def _row(self) -> tuple[str, int, int]:
        """A subscript, and its smallest and largest value."""
        terms, low, high = list[str](), 0, 0
        for d, bound in enumerate(self.bounds):
            if self.random.random() < 0.4:
                factor = self.random.choice((1, 1, 1, 1, -1, 2, 3, -2))
                terms.append(f"{factor} * d{d}")
                end = factor * (max(bound, 1) - 1)
                low, high = low + min(end, 0), high + max(end, 0)
        if self.random.random() < 0.4 or not terms:
            constant = self.random.choice((0, 0, 1, 2, -1, 5, 16, 99))
            terms.append(str(constant))
            low, high = low + constant, high + constant
        return " + ".join(terms), low, high

    def _access(self, is_padded: bool) -> tuple[str, list[int]]:
        rows, shape = list[str](), list[int]()
        for _ in range(self.random.randint(0, 3)):
            row, low, high = self._row()
            if is_padded:
                shape.append(self.random.choice((0, 1, 2, max(high, 1))))
            else:
                row, high = (f"{row} + {-low}", high - low) if low < 0 else (row, high)
                shape.append(high + self.random.choice((1, 1, 1, 1, 2)))
            rows.append(row)
        return f"[{', '.join(rows)}]", shape

    def _type(self, shape: Sequence[int]) -> str:
        return f"tensor<{''.join(f'{n}x' for n in shape)}{self.element}>"

    def _input(self, k: int, hidden: bool) -> str:
        is_padded = self.random.random() < 0.3
        access, shape = self._access(is_padded)
        self.shapes.append(shape)
        zero = "0.0" if self.element[0] == "f" else "7"
        pad = f" pad {zero} : {self.element}" if is_padded else ""
        return f"{'' if hidden else f'%a{k} = '}%x{k}{access}{pad} : {self._type(shape)}"

    def _outputs(self, roles: str) -> list[tuple[str, str]]:
        """Each output and its type."""
        if roles:
            dims = [d for d, role in enumerate(roles) if role != "k"]
            self.random.shuffle(dims)
            type_ = self._type([self.bounds[d] for d in dims])
            return [(f"[{', '.join(f'd{d}' for d in dims)}] : {type_}", type_)]
        found: list[tuple[str, str]] = []
        for _ in range(self.random.randint(1, 2)):
            access, shape = self._access(False)
            combiner = self.random.choice(("", "", "add ", "maximum ", "multiply "))
            found.append((f"{combiner}{access} : {self._type(shape)}", self._type(shape)))
        return found

    def _text(self) -> str:
        roles, hidden = "", 2 if self.kind == "contract" else 0
        if hidden:
            summed = self.random.randint(1, len(self.bounds))
            free = len(self.bounds) - summed
            roles = "".join(self.random.choice("bmn") for _ in range(free)) + "k" * summed
        inputs = [self._input(k, k < hidden) for k in range(hidden + self.random.randint(0, 2))]
        outputs = self._outputs(roles)
        types = ", ".join(type_ for _, type_ in outputs)
        results = ", ".join(f"%r{k}" for k in range(len(outputs)))
        arguments = ", ".join(f"%x{k}: {self._type(s)}" for k, s in enumerate(self.shapes))
        accumulator = f" acc %acc : {self.element} roles {roles}" if hidden else ""
        return (
            f"func.func @f({arguments}) -> ({types}) {{\n"
            f"  {results} = loopnest.{self.kind} {self.bounds} ({', '.join(inputs)}){accumulator}"
            f" -> ({', '.join(o for o, _ in outputs)}) {{\n{self._body(len(inputs), hidden)}"
            f"    loopnest.yield {', '.join(['%last'] * len(outputs))} : "
            f"{', '.join([self.element] * len(outputs))}\n  }}\n  return {results} : {types}\n}}\n"
        )

    def _body(self, count: int, hidden: int) -> str:
        """The sum of all arguments as %last."""
        kind, one = ("f", "1.0") if self.element[0] == "f" else ("i", "1")
        lines = [f"    %one = arith.constant {one} : {self.element}\n"]
        values = ["%one", *(["%acc"] if hidden else []), *(f"%a{k}" for k in range(hidden, count))]
        names = [f"%v{k}" for k in range(len(values) - 1)]
        for value, before, name in zip(values, ["%one", *names], [*names, "%last"], strict=True):
            lines.append(f"    {name} = arith.add{kind} {before}, {value} : {self.element}\n")
        return "".join(lines)


def run_nests(first: int, count: int) -> dict[str, int]:
    """How many random nests had which outcome."""
    outcomes: dict[str, int] = {}
    for seed in range(first, first + count):
        print(f"nest {seed}", file=sys.stderr, flush=True)
        nest = RandomNest(seed)
        try:
            function = gradir.compile(gradir.parse(nest.text), "f", threads=1 + seed % 2)
            outcome = run_guarded(function, nest.arrays)
        except gradir.GradirError as error:
            outcome = type(error).__name__
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
    return outcomes


# Writes whose last vector has one lane, of numbers that a body has made narrower.

EXTENTS = (1, 2, 3, 5, 9, 17, 33, 65)
NARROWED = {
    ("f32", "bf16"): "%n = arith.truncf %s : f32 to bf16",
    ("f64", "f32"): "%n = arith.truncf %s : f64 to f32",
    ("i32", "i8"): "%n = arith.trunci %s : i32 to i8",
    ("i64", "i32"): "%n = arith.trunci %s : i64 to i32",
}
DTYPES: dict[str, Any] = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "i64": np.int64}


def narrow_text(wide: str, narrow: str, stride: int) -> str:
    """A function with a nest, and a result, for each extent: the elements above 3, `stride` apart.

    Nests go over the extents again and again, with an outer dimension of 2.
    """
    kind = "f" if wide[0] == "f" else "i"
    compared = f"cmpf ogt, %a, %c : {wide}" if kind == "f" else f"cmpi sgt, %a, %c : {wide}"
    lines, results, arguments = list[str](), list[str](), list[str]()
    for n in EXTENTS:
        rows = abs(stride) * (n - 1) + 1
        source, made = f"tensor<2x{n}x{wide}>", f"tensor<2x{rows}x{narrow}>"
        arguments += [f"%x{n}: {source}", f"%y{n}: {made}"]
        results.append(made)
        start = rows - 1 if stride < 0 else 0
        lines.append(
            f"  %r{n} = loopnest.nest [2, {n}] (%a = %x{n}[d0, d1] : {source}) -> "
            f"([d0, {stride} * d1 + {start}] init %y{n} : {made}) {{\n"
            f"    %c = arith.constant 3{'.0' if kind == 'f' else ''} : {wide}\n"
            f"    %b = arith.{compared}\n    %s = arith.select %b, %a, %c : {wide}\n"
            f"    {NARROWED[wide, narrow]}\n    loopnest.yield %n : {narrow}\n  }}\n"
        )
    names = ", ".join(f"%r{n}" for n in EXTENTS)
    types = ", ".join(results)
    head = f"func.func @f({', '.join(arguments)}) -> ({types}) {{\n"
    return f"{head}{''.join(lines)}  return {names} : {types}\n}}\n"


def run_narrow() -> dict[str, int]:
    """How many functions ran, with the values that NumPy has."""
    count = 0
    for wide, narrow in NARROWED:
        for stride in (1, -1, 2, -3):
            print(f"narrow {wide} {narrow} {stride}", file=sys.stderr, flush=True)
            module = gradir.parse(narrow_text(wide, narrow, stride))
            function = gradir.compile(module, "f", threads=1)
            arrays, wanted = list[Array](), list[Array]()
            for n, result in zip(EXTENTS, function.results, strict=True):
                arrays.append(np.arange(2 * n).reshape(2, n).astype(DTYPES[wide]))
                arrays.append(np.full(result.shape, 7, result.dtype))
                wanted.append(arrays[-1].copy())
                wanted[-1][:, ::stride] = np.maximum(arrays[-2], 3)
            assert run_guarded(function, arrays) == "ran"
            for found, expected in zip(function(*arrays), wanted, strict=True):
                np.testing.assert_array_equal(found, expected)
            count += 1
    return {"ran": count}


# Ops on tensors.

HOSTILE = (-(2**63), 2**63 - 1, 2**62, 2**32 + 1, -(2**31), 10**6, -1, 0, 1, 7, 255)


def hostile(array: Array, generator: np.random.Generator) -> Array:
    """Numbers that are no indices, of the same dtype and shape."""
    limits = np.iinfo(array.dtype)
    numbers = [n for n in HOSTILE if limits.min <= n <= limits.max]
    return generator.choice(np.array(numbers, array.dtype), array.shape)


def run_indices(every: int) -> dict[str, int]:
    """How many calls of ops with integer operands had which outcome, one in `every` cases."""
    sys.path.insert(0, str(Path(__file__).parent))
    from op_cases import CASES
    from op_programs import function, module_of
    from xdsl.dialects.builtin import f32

    outcomes: dict[str, int] = {}
    generator = np.random.default_rng(0)
    for number, case in enumerate(CASES):
        arrays = case.arrays(f32)
        integers = [a.dtype.kind in "iu" and a.size > 0 for a in arrays]
        if not any(integers) or number % every:
            continue
        print(f"case {number} {case.op_class.name}", file=sys.stderr, flush=True)
        try:
            module = gradir.Module(module_of(function(case, arrays, f32)))
            compiled = gradir.compile(module, "f", threads=2)
        except gradir.GradirError:
            continue
        for _ in range(3):
            pairs = zip(arrays, integers, strict=True)
            given = [hostile(a, generator) if is_int else a for a, is_int in pairs]
            outcome = run_guarded(compiled, given)
            outcomes[outcome] = outcomes.get(outcome, 0) + 1
    return outcomes


if __name__ == "__main__":
    kept_objects.begin()
    faulthandler.enable()
    if sys.argv[1] == "nests":
        print(run_nests(int(sys.argv[2]), int(sys.argv[3])))
    elif sys.argv[1] == "narrow":
        print(run_narrow())
    else:
        print(run_indices(int(sys.argv[2])))
