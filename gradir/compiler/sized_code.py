"""Native code for many sizes: compiled once, with extents as values, made ready for each call's.

The stages and code generation run on traced sizes (`dialects/base/traced_sizes.py`), so what they
decide by sizes becomes guards. New extents are put into the guards, and into all that a caller must
know of a program: shapes, offsets in the arena, the numbers that the code loads.
"""

from __future__ import annotations

import os
import warnings
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import MemRefType, ModuleOp, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from gradir.checks import NAN_VARIABLE, VALIDATE_VARIABLE, is_asked_for
from gradir.codegen.driver.report import Constant
from gradir.codegen.text.target import MachineTarget
from gradir.compiler import tiers
from gradir.compiler.dynamic import SIZES_VARIABLE, Shapes
from gradir.dialects.base.attribute_names import MEMORY_LIMIT
from gradir.dialects.base.diagnostics import LocatedError
from gradir.dialects.base.extent_values import value_of
from gradir.dialects.base.extents import is_extent
from gradir.dialects.base.shapes import DYNAMIC, is_open, shape_of
from gradir.dialects.base.traced_sizes import (
    NAME,
    EqualSizesError,
    FixedSizeError,
    SizeGraph,
    TracedCost,
    TracedSize,
    UnsizedError,
    cost_of,
)
from gradir.dialects.grad.derivative import DerivativeOp
from gradir.dialects.grad.host_call import HostCallOp
from gradir.errors import ArgumentError, CompileError
from gradir.forking import RenewedLock
from gradir.passes.shapes.name_values import argument_values
from gradir.runtime.executable import BetterCode, Executable
from gradir.runtime.jit import LoadedCode
from gradir.runtime.native_code import NativeCode, linked

MOST_FIXED = 3
"""How many codes are tried in which an extent turns out to be a plain number."""


def compile_sized(
    module: ModuleOp, function: str, graph: SizeGraph, threads: int, wait: bool
) -> SizedCode:
    """Native code for many sizes, from a function with traced sizes; uses up the module.

    UnsizedError where the program has no such form.
    """
    from gradir.compiler.compiler import native_code
    from gradir.compiler.pipeline import Machine

    machine = Machine.here(threads)
    code = native_code(module, function, machine, may_be_quick=tiers.is_on() and not wait)
    program = code.program
    if program.host_calls or program.input_tapes or program.result_tapes or code.layout:
        raise UnsizedError("arguments or results that are several arrays, or calls of the host")
    made = SizedCode(code, graph, machine.target)
    if code.modules:
        tiers.Improvement(cast("Any", made), code, lambda better: None).begin()
    return made


def may_be_sized(module: ModuleOp) -> bool:
    """Whether code for many sizes is tried.

    It is not where limits of bytes are met for each size, where functions of the host are called,
    and where the environment asks for checks or against it.
    """
    setting = os.environ.get(SIZES_VARIABLE, "")
    if setting not in ("", "0", "1"):
        raise ArgumentError(f"{SIZES_VARIABLE}: 0 or 1 expected, got {setting!r}")
    if setting == "0" or is_asked_for(NAN_VARIABLE) or is_asked_for(VALIDATE_VARIABLE):
        return False
    for op in module.walk():
        if isinstance(op, HostCallOp) or MEMORY_LIMIT in op.attributes:
            return False
        if isinstance(op, DerivativeOp) and op.option("memory_limit") is not None:
            return False
    return True


MakeSized = Callable[[Shapes, SizeGraph], "SizedCode"]


@dataclass
class _Open:
    """Which extents a code leaves open: not those that it has as numbers, nor those that it takes
    to be equal to another one."""

    names: Sequence[str]
    fixed: dict[str, int] = field(default_factory=dict[str, int])
    equal: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def left(self) -> list[str]:
        """The names of the extents that are values."""
        return [n for n in self.names if n not in self.fixed and n not in self.equal]

    def holds(self, extents: Mapping[str, int]) -> bool:
        """Whether extents have the numbers, and are equal where that is needed."""
        return all(extents[name] == n for name, n in self.fixed.items()) and all(
            extents[name] == extents[other] for name, other in self.equal.items()
        )

    def fix(self, names: Iterable[str], extents: Mapping[str, int]) -> None:
        """Have some extents as numbers."""
        for name in names:
            self.fixed[name] = extents[name]
        for name, other in list(self.equal.items()):
            if other in self.fixed:
                del self.equal[name]
                self.fixed[name] = extents[name]

    def join(self, one: str, other: str) -> None:
        """Take two extents for equal."""
        for name, first in self.equal.items():
            if first == other:
                self.equal[name] = one
        self.equal[other] = one


class SizedCodes:
    """The codes of one function that hold for many sizes.

    `make` compiles the function for shapes with traced sizes; it raises UnsizedError where the
    program has no such form.
    """

    def __init__(self, function: FuncOp, make: MakeSized):
        self._function, self._make = function, make
        self._codes: list[tuple[_Open, SizedCode]] = []
        # the extents that were plain numbers in some codes, and in how many
        self._fixed: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._codes)

    @property
    def name(self) -> str:
        """Of the function."""
        return self._function.sym_name.data

    def find(self, shapes: Shapes) -> Executable | None:
        """The code for these shapes; None where none holds for them."""
        extents = self._extents(shapes)
        for wanted, code in self._codes:
            if wanted.holds(extents):
                made = code.at([extents[name] for name in wanted.left])
                if made is not None:
                    return made
        return None

    def compile(self, shapes: Shapes) -> Executable | None:
        """New code that holds for these shapes and others; None where there is no such code."""
        extents = self._extents(shapes)
        found = _Open(self._open_names)
        found.fix([name for name, count in self._fixed.items() if count >= MOST_FIXED], extents)
        while found.left:
            left, graph = found.left, SizeGraph()
            sizes: dict[str, Any] = {**found.fixed}
            sizes |= {name: graph.extent(extents[name]) for name in left}
            sizes |= {name: sizes[other] for name, other in found.equal.items()}
            try:
                code = self._make(self._shapes(shapes, sizes), graph)
            except FixedSizeError as error:
                found.fix([left[k] for k in error.extents], extents)
            except EqualSizesError as error:
                found.join(*(left[k] for k in sorted(error.extents)))
            except UnsizedError:
                found.fix(left, extents)
            except (LocatedError, VerifyException):
                return None  # the code for these sizes says what is wrong
            except CompileError as error:
                warnings.warn(f"{self.name} is compiled for each size: {error}", stacklevel=2)
                found.fix(left, extents)
            else:
                self._codes.append((found, code))
                self._fixed.update(found.fixed.keys())
                return code.at([extents[name] for name in left])
        self._fixed.update(found.fixed.keys())
        return None

    # Extents: by the names in types, and of those without a name by their places.

    @cached_property
    def _open_types(self) -> list[tuple[int, Sequence[Any]]]:
        arguments = self._function.body.block.args
        return [(a.index, cast("Any", shape_of(a.type))) for a in arguments if is_open(a.type)]

    @cached_property
    def _open_names(self) -> list[str]:
        names: dict[str, None] = {}
        for index, shape in self._open_types:
            for axis, extent in enumerate(shape):
                if is_extent(extent):
                    names |= dict.fromkeys(sorted(extent.symbols))
                elif extent == DYNAMIC:
                    names[f"{index}.{axis}"] = None
        return list(names)

    def _extents(self, shapes: Shapes) -> dict[str, int]:
        """The value of each extent for some shapes."""
        values = argument_values(self._function, shapes)
        for index, shape in self._open_types:
            found = shapes[index]
            assert found is not None
            for axis, extent in enumerate(shape):
                if not is_extent(extent) and extent == DYNAMIC:
                    values[f"{index}.{axis}"] = found[axis]
        return {name: values[name] for name in self._open_names}

    def _shapes(self, shapes: Shapes, sizes: Mapping[str, Any]) -> Shapes:
        """Shapes whose extents are sizes."""
        made: list[Any] = list(shapes)
        for index, shape in self._open_types:
            made[index] = tuple(
                value_of(extent, sizes)
                if is_extent(extent)
                else sizes[f"{index}.{axis}"]
                if extent == DYNAMIC
                else extent
                for axis, extent in enumerate(shape)
            )
        return tuple(made)


class SizedCode:
    """Native code of one function for all extents that its guards let in."""

    def __init__(self, code: NativeCode, graph: SizeGraph, target: MachineTarget):
        self.native, self.graph, self.target = code, graph, target
        self.improvement: BetterCode | None = None
        self.host: None = None
        self._loaded = linked(code, None)
        self._made: weakref.WeakSet[Executable] = weakref.WeakSet()
        self._lock = RenewedLock()
        self._facts = _Facts((replace(code.program, text=""), code.plan))
        self._evaluate = graph.evaluator(self._facts.sizes)

    @property
    def name(self) -> str:
        """Of the function."""
        return self.native.program.name

    def at(self, extents: Sequence[int]) -> Executable | None:
        """The code for these extents; None where it is not made for them."""
        found = self._evaluate(*extents)
        if found is None:
            return None
        numbers, sizes = found
        code = self.native
        program, plan = self._facts.with_numbers(sizes)
        data = np.array(numbers, np.int64).tobytes()
        word = program.sizes_word
        assert word is not None
        type_ = MemRefType(i64, [max(len(numbers), 1)])
        program = replace(
            program,
            text=code.program.text,
            constants=(*program.constants, Constant("sizes", type_, data or bytes(8), word)),
            messages=tuple(
                NAME.sub(lambda m: str(numbers[int(m[1])]), text) for text in program.messages
            ),
        )
        with self._lock:  # better code may come in the meantime
            made = Executable(
                *(program, self._loaded, self.target, code.threads, plan, code.times),
                *(code.read_results, code.layout, code.complexes),
            )
            made.improvement = self.improvement
            self._made.add(made)
        return made

    def replace_code(self, code: LoadedCode) -> None:
        """Run other code of the same program from the next call on, for all extents."""
        with self._lock:
            self._loaded = code
            for made in self._made:
                made.replace_code(code)


class _Facts:
    """A nesting of records with sizes in it, as the list of them and the rest."""

    def __init__(self, value: Any):
        self.sizes: list[TracedSize] = []
        self._build = self._builder(value)

    def with_numbers(self, numbers: Sequence[int]) -> Any:
        """The nesting with numbers in the place of sizes."""
        return value_in(self._build, numbers)

    def _builder(self, value: Any) -> Any:
        """What makes a value of numbers: a function, or the value itself."""
        if type(value) is TracedSize:
            place = len(self.sizes)
            self.sizes.append(value)
            return _Place(place)
        if type(value) is TracedCost:
            return cost_of(value)
        if isinstance(value, tuple):
            parts = [self._builder(part) for part in cast("tuple[Any, ...]", value)]
            return _Built(tuple, parts) if any(map(_is_open, parts)) else value
        if isinstance(value, MemRefType):
            shape = self._builder(tuple(value.get_shape()))
            if not _is_open(shape):
                return value
            element = cast("MemRefType[Attribute]", value).element_type
            return _Built(lambda parts: MemRefType(element, parts[0]), [shape])
        if is_dataclass(value) and not isinstance(value, type | Attribute):
            names = [f.name for f in fields(value) if f.init]
            parts = [self._builder(getattr(value, name)) for name in names]
            if not any(map(_is_open, parts)):
                return value
            class_ = type(value)
            return _Built(lambda parts: class_(**dict(zip(names, parts, strict=True))), parts)
        return value


class _Place:
    def __init__(self, place: int):
        self.place = place


class _Built:
    def __init__(self, make: Any, parts: Sequence[Any]):
        self.make, self.parts = make, parts


def _is_open(built: Any) -> bool:
    return isinstance(built, _Place | _Built)


def value_in(built: Any, numbers: Sequence[int]) -> Any:
    """The value of a builder."""
    if isinstance(built, _Place):
        return numbers[built.place]
    if isinstance(built, _Built):
        return built.make([value_in(part, numbers) for part in built.parts])
    return built
