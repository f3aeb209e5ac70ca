"""The output formats `llvm` and `asm` of gradir-opt: native code of a function, as text.

Programs of xDSL's llvm dialect keep xDSL's `llvm`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO, ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.llvm import FuncOp as LlvmFuncOp
from xdsl.targets import get_all_targets
from xdsl.utils.target import Target

from gradir.api import Module, compile
from gradir.errors import ArgumentError
from gradir.passes.analysis.call_graph import called_name, functions_by_name, uses_in


@dataclass(frozen=True)
class _NativeTarget(Target):
    """Native code of one function of a program, for this machine or the one GRADIR_CPU names."""

    function: str | None = None

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        """Write the code of `function`, or of the only function that no other one calls."""
        name = self.function or _only_function(module, self.name)
        code = compile(Module(module.clone()), name, wait=True)
        output.write(code.llvm_ir if self.name == "llvm" else code.asm)


@dataclass(frozen=True)
class LlvmTextTarget(_NativeTarget):
    """LLVM text of a function."""

    name: ClassVar[str] = "llvm"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        """Write LLVM text; xDSL's of functions in its llvm dialect."""
        if any(isinstance(op, LlvmFuncOp) for op in module.ops):
            get_all_targets()["llvm"]()().emit(ctx, module, output)
        else:
            super().emit(ctx, module, output)


@dataclass(frozen=True)
class AssemblyTarget(_NativeTarget):
    """Assembly of a function."""

    name: ClassVar[str] = "asm"


def _only_function(module: ModuleOp, target: str) -> str:
    functions = functions_by_name(module)
    called = {called_name(use) for function in functions.values() for use in uses_in(function)}
    found = [name for name in functions if name not in called]
    if len(found) == 1:
        return found[0]
    listed = ", ".join(f"@{name}" for name in functions) or "none"
    raise ArgumentError(
        f"-t {target} is for one function: -t '{target}{{function=NAME}}'; functions: {listed}"
    )
