"""Functions of a module by name, for the parts that run programs."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from gradir.errors import ArgumentError


def functions_of(module: ModuleOp) -> dict[str, FuncOp]:
    """The functions at the top of a module, by name, in order."""
    return {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}


def function_named(module: ModuleOp, name: str) -> FuncOp:
    """The function @name, of one block; ArgumentError that names the candidates otherwise."""
    functions = functions_of(module)
    if name not in functions:
        known = ", ".join(f"@{n}" for n in functions) or "none"
        raise ArgumentError(f"no function @{name}; functions: {known}")
    function = functions[name]
    if function.is_declaration:
        raise ArgumentError(f"@{name} has no body")
    if function.body.blocks.first is not function.body.blocks.last:
        raise ArgumentError(f"@{name} has several blocks; write branches and loops with scf")
    return function
