"""The library interface: modules as values, their gradients, native code, and the interpreter."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Region

from gradir.diagnostics import Sources
from gradir.errors import ArgumentError, gradir_errors
from gradir.parser import parse_module
from gradir.passes.gradient import apply_gradient
from gradir.passes.targets import Selector
from gradir.passes.verify import verify
from gradir.symbols import function_named, functions_of

if TYPE_CHECKING:
    from gradir.runtime.executable import Executable


class Module:
    """A verified program. It never changes: what transforms it returns a new one.

    `str(module)` prints IR that parses back. `functions` are the names of its functions.
    """

    def __init__(self, op: ModuleOp, sources: Sources | None = None):
        self._op = op
        self._sources = sources or Sources()

    @property
    def op(self) -> ModuleOp:
        """The xDSL module. Do not change it: clone it."""
        return self._op

    @property
    def functions(self) -> tuple[str, ...]:
        return tuple(functions_of(self._op))

    def __str__(self) -> str:
        return str(self._op)

    def __repr__(self) -> str:
        return f"<gradir.Module {', '.join('@' + f for f in self.functions)}>"

    def gradient(
        self,
        function: str,
        wrt: Sequence[Selector] | Selector | None = None,
        mode: str = "split",
        of: Sequence[Selector] | Selector | None = None,
        policy: str = "keep_all",
        memory_limit: int | None = None,
        req: Mapping[Selector, str] | None = None,
    ) -> Module:
        """A module in which `@function` has its derivative beside it.

        mode "split" adds `@f_fwd(primals) -> (results, residuals)` and `@f_bwd(residuals,
        cotangents) -> grads`; "vjp" adds `@f_vjp(primals, cotangents) -> (results, grads)`; "grad"
        adds `@f_grad(primals) -> (results, grads)`, seeded with ones.

        `wrt` and `of` take indices, or names set by grad.name; by default all floating arguments
        that are not marked {grad.inactive}, and all floating results (mode "grad": result 0). A
        cotangent has the type of its primal. `req` maps members of `wrt` to "write" or "null" (no
        gradient: pruned). Raises PassError, located in the source.
        """
        with gradir_errors(self._sources):
            copy = self._op.clone()
            requests = list((req or {}).items())
            apply_gradient(
                copy, function, _selectors(wrt), _selectors(of), mode, policy, memory_limit,
                requests,
            )  # fmt: skip
            verify(copy)
        return Module(copy, self._sources)

    def run_passes(self, pipeline: str) -> Module:
        """The module after a pipeline of passes, spelled as for `gradir-opt -p`."""
        from gradir.registry import make_context, parse_passes

        with gradir_errors(self._sources):
            copy = self._op.clone()
            parse_passes(pipeline).apply(make_context(), copy)
            verify(copy)
        return Module(copy, self._sources)


def parse(text_or_path: str | os.PathLike[str], filename: str = "<string>") -> Module:
    """The program in a text, or in a file that is named (`*.mlir`, or any path object).

    Raises ParseError or VerifyError with the place, the source line and a caret.
    """
    if isinstance(text_or_path, os.PathLike) or _looks_like_path(text_or_path):
        filename = os.fspath(text_or_path)
        try:
            text = Path(filename).read_text()
        except (OSError, UnicodeDecodeError) as error:
            raise ArgumentError(f"{filename}: {error}") from None
    else:
        text = text_or_path
    sources = Sources({filename: text})
    op = parse_module(text, filename)
    with gradir_errors(sources):
        verify(op)
    return Module(op, sources)


def _looks_like_path(text: str) -> bool:
    return "\n" not in text and text.endswith(".mlir")


def _selectors(given: Sequence[Selector] | Selector | None) -> Sequence[Selector] | None:
    return given if given is None or isinstance(given, list | tuple | range) else [given]  # pyright: ignore[reportReturnType]


def interpret(module: Module, function: str, *arrays: Any) -> tuple[Any, ...]:
    """The results of `@function` by the NumPy reference interpreter, as a tuple of arrays."""
    from gradir.interpreter import interpret as run

    with gradir_errors(module._sources):  # pyright: ignore[reportPrivateUsage]
        return run(module.op, function, arrays)


def compile(module: Module, function: str, threads: int | None = None) -> Executable:
    """Native code for `@function`: a callable `fn(*arrays, out=None) -> tuple` of arrays.

    `threads`: at most so many; None for all cores (or GRADIR_NUM_THREADS). `fn.plan` says where
    each buffer lives (`fn.plan.peak_bytes` is the arena: arguments and results aside),
    `fn.llvm_ir` and `fn.asm` show the code. Raises PassError or CompileError.
    """
    from gradir.compiler import compile_function

    with gradir_errors(module._sources):  # pyright: ignore[reportPrivateUsage]
        return compile_function(_only(module.op, function), function, threads)


def _only(module: ModuleOp, name: str) -> ModuleOp:
    """A new module with a copy of a function and of all that it may call."""
    function_named(module, name)
    needed, pending = dict[str, FuncOp](), [name]
    functions = functions_of(module)
    while pending:
        current = pending.pop()
        if current in needed or current not in functions:
            continue
        needed[current] = functions[current]
        pending += _called(functions[current])
    copies: list[FuncOp] = []
    for each in needed.values():
        copy = each.clone()
        copies.append(copy)
    return ModuleOp(Region(Block(copies)))


def _called(function: FuncOp) -> list[str]:
    from xdsl.dialects.func import CallOp

    return [op.callee.root_reference.data for op in function.walk() if isinstance(op, CallOp)]
