"""Traced functions as native code, for each choice of arguments whose memory results take.

Equal programs share their code in the process. Who calls `gradir.grad(f)(x)` in a loop traces f
each time, so that what f reads may change, and compiles it once.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr

from gradir.api import Module, compile
from gradir.cache.memory import Store
from gradir.checks import VARIABLES as CHECKS
from gradir.codegen.text.target import CPU_VARIABLE, VECTOR_BYTES_VARIABLE
from gradir.compiler.dynamic import SIZES_VARIABLE
from gradir.compiler.tiers import TIERS_VARIABLE
from gradir.dialects.grad.host_call import HostCallOp
from gradir.errors import ArgumentError, ArgumentTypeError
from gradir.frontends.tracing.trace import Traced
from gradir.frontends.tracing.trees import LEAF, NO_NAMES, Tree, leaves_like
from gradir.frontends.transforms.donation import (
    Donation,
    Taken,
    fitting,
    has_donated,
    inputs_beside,
    taken_by,
    with_in_out,
)
from gradir.frontends.transforms.wrapped import Copied
from gradir.runtime.threads import OPENMP_THREADS_VARIABLE, THREADS_VARIABLE
from gradir.symbols import argument_names, function_named
from gradir.text.fingerprint import fingerprint

MOST_PROGRAMS = 64
"""The programs whose code is kept: those that ran last."""

MOST_CONSTANTS = 1 << 16
"""Bytes of constants, as of captured arrays, from which on a program is compiled by itself."""

SETTINGS = (
    *(CPU_VARIABLE, VECTOR_BYTES_VARIABLE, THREADS_VARIABLE, OPENMP_THREADS_VARIABLE),
    *(TIERS_VARIABLE, SIZES_VARIABLE),
    *CHECKS,
)

_codes = Store[Hashable, Any](MOST_PROGRAMS)


class _Code(NamedTuple):
    """The code for one choice of memory. `read` are the leaves that are inputs, None for all."""

    executable: Any
    read: tuple[int, ...] | None

    def inputs(self, leaves: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(leaves) if self.read is None else tuple([leaves[k] for k in self.read])


class Program(Copied):
    """A traced function as native code, for one nesting, shapes and dtypes of arguments.

    It is compiled when it is called first, for each choice of arguments whose memory results take:
    `donation` has the choice that all calls share, `out` of a call may add more. It pickles as the
    traced function.
    """

    def __init__(
        self,
        traced: Traced,
        threads: int | None = None,
        donation: Donation | None = None,
        wait: bool = False,
    ):
        self.traced, self.donation, self.threads, self.wait = traced, donation, threads, wait
        self._made = Store[Taken, _Code]()

    @property
    def module(self) -> Module:
        """The program as text."""
        return self.traced.module

    def as_text(self) -> str:
        """The program's IR."""
        return str(self.module)

    def compile(self) -> Any:
        """The native code, a gradir.Executable: called with the leaves of the arguments."""
        return self.executable

    @property
    def name(self) -> str:
        """The name of its function."""
        return self.traced.name

    def __repr__(self) -> str:
        return f"<gradir program @{self.name} of {', '.join(self.traced.names) or 'no arguments'}>"

    @property
    def nesting(self) -> Tree:
        """The nesting of the results."""
        return self.traced.results

    @cached_property
    def executable(self) -> Any:
        """The native code of calls without `out`."""
        return self._shared.executable

    @cached_property
    def _shared(self) -> _Code:
        return self._code(self._donated)

    @cached_property
    def _donated(self) -> Taken:
        none = (None,) * self.traced.results.leaf_count
        return none if self.donation is None else self.donation.taken

    @cached_property
    def _fits(self) -> list[list[int]]:
        return fitting(self.traced)

    def _code(self, taken: Taken) -> _Code:
        found = self._made.find(taken)
        return found or self._made.find_or_make(taken, lambda: self._compile(taken))

    def _compile(self, taken: Taken) -> _Code:
        sizes = self.traced.sizes
        if sizes is not None and not any(leaf is not None for leaf in taken):
            return _Code(sizes.executable(self.threads, self.wait), None)
        module = with_in_out(self.traced, taken)
        executable = compile_once(module, self.name, self.threads, self.wait)
        return _Code(executable, inputs_beside(taken, len(self.traced.names)))

    def __call__(self, leaves: Sequence[Any], out: Any = None) -> Sequence[Any]:
        if self.donation is not None:
            self.donation.require_writable(leaves)
        entries = None if out is None else self._entries(out)
        taken = self._donated
        if entries is not None:
            taken = taken_by(leaves, entries, taken, self._fits)
        code = self._code(taken)

        def call(arrays: Sequence[Any], out: Any) -> Any:
            return code.executable(*arrays, out=out)

        return self._run(code, call, leaves, entries)

    def profile(self, leaves: Sequence[Any]) -> Any:
        """The profile of calls without `out`; donated arrays are copied, and stay."""
        code, outputs = self._shared, None
        if self.donation is not None:
            self.donation.require_writable(leaves)
            taken = self.donation.taken
            outputs = [None if leaf is None else np.array(leaves[leaf]) for leaf in taken]
        return code.executable.profile(*code.inputs(leaves), out=outputs)

    def call_native(self, leaves: Sequence[Any]) -> tuple[Any, ...] | None:
        """The leaves of the results of a native call; None where Python must look."""
        if has_donated(leaves):
            return None
        code = self._shared
        return self._run(code, code.executable.call_native, leaves, None)

    def single_runner(self) -> Any:
        """A runner that needs nothing of this class; None without one."""
        return self.executable.single_runner() if self.donation is None else None

    def _run(
        self, code: _Code, call: Callable[..., Any], leaves: Sequence[Any], entries: Any
    ) -> Any:
        donation = self.donation
        if donation is None:
            return call(code.inputs(leaves), entries)
        outputs = donation.outputs(leaves, entries)
        try:
            results = call(code.inputs(leaves), outputs)
        except ArgumentError:  # before anything runs
            donation.require_apart(leaves)
            raise
        except BaseException:
            donation.lose(leaves)
            raise
        return None if results is None else donation.results(leaves, results)

    def _entries(self, out: Any) -> Sequence[Any]:
        entries = leaves_like(out, self.traced.results)
        if entries is None:
            raise ArgumentTypeError(
                f"{self.name}: out: expected arrays, or None, nested as the results are"
            )
        return entries

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        traced = replace(self.traced, sizes=None)
        return type(self), (traced, self.threads, self.donation, self.wait)


def traced_function(module: Module, name: str) -> Traced:
    """A function of a module, as a traced one whose arguments and results are a tuple each."""
    function = function_named(module.op, name)
    names = tuple(argument_names(function))
    count = len(function.function_type.outputs.data)
    nesting = Tree(tuple, (), (_flat(len(names)), NO_NAMES))
    return Traced(module, name, nesting, _flat(count), names, (False,) * count)


def _flat(count: int) -> Tree:
    return Tree(tuple, (), (LEAF,) * count)


def compile_once(module: Module, name: str, threads: int | None, wait: bool = False) -> Any:
    """`gradir.compile`, or the code of an equal program, at the same places of the source."""
    key = _key(module, name, threads, wait)
    if key is None:
        return compile(module, name, threads, wait)
    found = _codes.find(key)
    if found is None:
        # two threads may compile equal programs, and never wait for different ones
        found = compile(module, name, threads, wait)
        _codes.keep(key, found)
    return found


def _key(module: Module, name: str, threads: int | None, wait: bool) -> Hashable | None:
    """All that the code depends on; None where the program does not say it."""
    constants = 0
    for op in module.op.walk():
        if isinstance(op, HostCallOp):  # its name may come to mean another function
            return None
        for attribute in op.attributes.values():
            if isinstance(attribute, DenseIntOrFPElementsAttr):
                constants += len(attribute.data.data)
    if constants > MOST_CONSTANTS:
        return None
    program = fingerprint([module.op])
    return None if program is None else (program, name, threads, wait, settings())


def settings() -> tuple[str | None, ...]:
    """The environment variables that code depends on."""
    return tuple(map(os.environ.get, SETTINGS))
