"""Executables of functions with dynamic shapes: native code for one tuple of shapes, or for many.

The arrays of a call give the shapes. For the first ones the function is specialized and compiled
as it is; when others come, code is compiled in which sizes are values (`sized_code.py`), and is
made ready for each further size. What has no such code is compiled for each size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Never, Self

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, Operation

from gradir.argument_checks import known_arguments
from gradir.cache.memory import Store
from gradir.codegen.driver.report import CompiledProgram
from gradir.compiler.specialize_pass import specialize
from gradir.diagnostics import Sources
from gradir.dialects.base.extents import ExtentError
from gradir.dialects.base.shapes import compatible, element_of, is_open, open_shape
from gradir.errors import ArgumentError, ArgumentTypeError, gradir_errors
from gradir.gc_pause import paused_gc
from gradir.passes.analysis.arguments import in_out_results
from gradir.passes.analysis.call_graph import functions_by_name
from gradir.passes.analysis.edits import erase
from gradir.passes.shapes.name_values import argument_values
from gradir.passes.shapes.specialize import declarations, reachable, waits_for_shapes
from gradir.passes.verify.verify import verify
from gradir.runtime.arrays import Array, ArraySpec, dtype_of
from gradir.runtime.executable import Executable
from gradir.runtime.recompiled import Recompiled
from gradir.symbols import argument_names, check_signature, function_named

if TYPE_CHECKING:
    from gradir.compiler.sized_code import MakeSized, SizedCodes

SIZES_VARIABLE = "GRADIR_SIZES"
"""`0`: each size has code of its own."""

MOST_SIZES = 256
"""The sizes that are kept ready to run: those that ran last."""

Shapes = tuple[tuple[int, ...] | None, ...]
"""The shapes of arguments of dynamic types; None for the others."""


def needs_shapes(module: ModuleOp, name: str) -> bool:
    """Whether a function or a callee has to be specialized before it runs."""
    function = function_named(module, name)
    return waits_for_shapes(functions_by_name(module), declarations(module), function)


def specialized(module: ModuleOp, name: str, shapes: Shapes) -> ModuleOp:
    """A new module with the function for arguments of these shapes, and its callees."""
    copy = module.clone()
    functions, custom = functions_by_name(copy), declarations(copy)
    # a run does not need the function's derivative
    custom.pop(name, None)
    used: set[Operation] = set(reachable(functions, custom, functions[name]))
    used |= {declared for f, declared in custom.items() if functions.get(f) in used}
    # other callers may expect the function's dynamic types: drop them
    for op in list(copy.ops):
        if op not in used:
            erase(op)
    specialize(copy, name, shapes)
    verify(copy)
    return copy


def shapes_of_arrays(function: FuncOp, arrays: Sequence[object]) -> Shapes:
    """The shapes that arrays give a function's arguments; ArgumentError where they do not fit."""
    name, arguments = function.sym_name.data, function.body.block.args
    if not any(is_open(a.type) for a in arguments):
        return (None,) * len(arguments)
    if in_out_results(function):
        raise ArgumentError(
            f"{name}: results that are added to need static shapes; specialize first"
        )
    if len(arrays) != len(arguments):
        names = ", ".join(f"%{argument}" for argument in argument_names(function))
        raise ArgumentTypeError(
            f"{name}: expected {len(arguments)} arguments ({names}), got {len(arrays)}"
        )
    shapes: list[tuple[int, ...] | None] = []
    for argument, array in zip(arguments, arrays, strict=True):
        if is_open(argument.type):
            shapes.append(_checked_shape(argument, array, name))
        else:
            shapes.append(None)
    try:
        argument_values(function, shapes)
    except ExtentError as error:
        raise ArgumentError(f"{name}: {error}") from None
    return tuple(shapes)


def _checked_shape(argument: BlockArgument, array: Any, function: str) -> tuple[int, ...]:
    """The shape of the array for an argument; ArgumentError where the array does not fit."""
    wanted, shape = open_shape(argument.type), _shape_of_array(array)
    dtype = dtype_of(element_of(argument.type))
    found = getattr(array, "dtype", dtype)
    is_dtype = not isinstance(found, np.dtype) or found == dtype
    if shape is not None and is_dtype and compatible(wanted, shape):
        return shape
    place = f"{function}: argument {argument.index} (%{argument.name_hint or argument.index})"
    text = str(ArraySpec("", wanted, dtype))
    if shape is None:
        raise ArgumentTypeError(f"{place}: expected {text}, got {type(array).__name__}")
    kind = ArgumentError if is_dtype else ArgumentTypeError
    raise kind(f"{place}: expected {text}, got {found} of shape {shape}")


def _shape_of_array(array: Any) -> tuple[int, ...] | None:
    """The shape of an array of any library; None for other objects."""
    try:
        return tuple(int(n) for n in array.shape)
    except (AttributeError, TypeError):
        return None


class SpecializingExecutable(Recompiled):
    """Native code for a function of dynamic shapes: called like an `Executable`.

    The first call with arrays of some shapes specializes and compiles; later calls with these
    shapes run that code. `plan`, `llvm_ir`, `asm` and the like show the last compilation.
    """

    def __init__(
        self,
        module: ModuleOp,
        name: str,
        threads: int,
        compile: Callable[[Shapes], Executable],
        sources: Sources,
        profiler_of: Callable[[Shapes], Callable[..., Any]],
        make_sized: MakeSized | None = None,
    ):
        self.name = name
        self._threads = threads
        self._module = module
        self._function = function_named(module, name)
        check_signature(self._function)
        self._compile = compile
        self._sources, self._profiler_of = sources, profiler_of
        # code for one size is kept, and so are those that ran last of the others
        self._made = Store[Shapes, Executable]()
        self._recent = Store[Shapes, Executable](MOST_SIZES)
        self._make_sized = make_sized
        self._last: Executable | None = None
        self._used: Executable | None = None

    @property
    def threads(self) -> int:
        """The most threads of a call."""
        return self._threads

    def wait_for_code(self) -> Self:
        """Wait until the better code runs, for all shapes that have been called."""
        for made in (*self._made, *self._recent):
            made.wait_for_code()
        return self

    def __call__(self, *arrays: object, out: object = None, **named: Never) -> tuple[Array, ...]:
        if named:
            self.refuse_named(named, argument_names(self._function))
        last = self._used
        if last is not None:
            # most calls are like the one before, whose code checks its arrays itself
            results = last.call_native(arrays, out)
            if results is not None:
                return results
        found = self._used = self.specialized(*arrays)
        return found(*arrays, out=out)

    @known_arguments
    def profile(self, *arrays: object, out: object = None) -> Any:
        """The profile of the code for arrays of these shapes."""
        return self.specialized(*arrays).profile(*arrays, out=out)

    def specialized(self, *arrays: object) -> Executable:
        """The code for arrays of these shapes, compiled at first use."""
        return self.for_shapes(shapes_of_arrays(self._function, arrays))

    def for_shapes(self, shapes: Shapes) -> Executable:
        """The code for arguments of these shapes, compiled at first use."""
        return self._recent.find_or_make(
            shapes, lambda: self._made.find(shapes) or self._make(shapes)
        )

    def for_many_sizes(self, *arrays: object) -> Executable | None:
        """Code for arrays of these shapes that holds for others too, compiled if need be.

        None where the program has no such code for them.
        """
        shapes = shapes_of_arrays(self._function, arrays)
        if self._make_sized is None:
            return None
        with gradir_errors(self._sources), paused_gc():
            return self._sized.find(shapes) or self._sized.compile(shapes)

    def _make(self, shapes: Shapes) -> Executable:
        with gradir_errors(self._sources), paused_gc():
            made = self._of_many_sizes(shapes)
            if made is None:
                made = self._compile(shapes)
                self._made.keep(shapes, made)
        made.source = SpecializingExecutable.for_shapes, (self, shapes)
        made.profiler = self._profiler_of(shapes)
        self._last = made
        return made

    def _of_many_sizes(self, shapes: Shapes) -> Executable | None:
        """Code that holds for these shapes and others.

        None where there is none, and for the first shapes, which have code of their own.
        """
        if self._make_sized is None or not len(self._made):
            return None
        return self._sized.find(shapes) or self._sized.compile(shapes)

    @cached_property
    def _sized(self) -> SizedCodes:
        from gradir.compiler.sized_code import SizedCodes

        assert self._make_sized is not None
        return SizedCodes(self._function, self._make_sized)

    @property
    def codes_for_many_sizes(self) -> int:
        """How many codes there are that hold for many sizes."""
        return len(self._sized) if self._make_sized is not None and len(self._made) else 0

    @property
    def last(self) -> Executable:
        """The last compiled code; ArgumentError before the first call."""
        if self._last is None:
            raise ArgumentError(
                f"{self.name}: nothing is compiled before the first call, which says the shapes"
            )
        return self._last

    @property
    def program(self) -> CompiledProgram:
        return self.last.program

    @property
    def inputs(self) -> tuple[ArraySpec, ...]:
        return self.last.inputs

    @property
    def results(self) -> tuple[ArraySpec, ...]:
        return self.last.results

    @property
    def plan(self) -> Any:
        return self.last.plan

    @property
    def llvm_ir(self) -> str:
        """The LLVM module of the last specialization."""
        return self.last.llvm_ir

    @property
    def asm(self) -> str:
        """The machine code of the last specialization as assembly text."""
        return self.last.asm

    def kernel_asm(self, name: str) -> str:
        """The assembly of one kernel of the last specialization."""
        return self.last.kernel_asm(name)

    @property
    def compile_times(self) -> Any:
        return self.last.compile_times

    def _repr_html_(self) -> str:
        return self.cell(None if self._last is None else self._last.plan)

    def __repr__(self) -> str:
        inputs = ", ".join(f"%{a.name_hint}: {a.type}" for a in self._function.body.block.args)
        results = ", ".join(map(str, self._function.function_type.outputs))
        return (
            f"<gradir function {self.name}({inputs}) -> ({results}), {self.threads} threads, "
            f"{len(self._recent)} specializations>"
        )
