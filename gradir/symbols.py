"""Functions of modules by name, for runs of programs, and the functions of two in one."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.base.diagnostics import LocatedError, PassError, value_name
from gradir.dialects.base.shapes import is_tensor, require_element
from gradir.errors import ArgumentError
from gradir.passes.analysis.call_graph import callees_first, functions_by_name, only_block
from gradir.passes.analysis.edits import erase


def function_named(module: ModuleOp, name: str) -> FuncOp:
    """The function @name, of one block.

    ArgumentError with the candidates if there is none, PassError at one without body.
    """
    functions = functions_by_name(module)
    if name not in functions:
        known = ", ".join(f"@{n}" for n in functions) or "none"
        raise ArgumentError(f"no function @{name}; functions: {known}")
    only_block(functions[name])
    return functions[name]


def argument_names(function: FuncOp) -> list[str]:
    """The names of a function's arguments."""
    return [a.name_hint or f"arg{a.index}" for a in function.body.block.args]


def needed_functions(module: ModuleOp, name: str) -> list[FuncOp]:
    """A function and its callees, callees first."""
    return callees_first(functions_by_name(module), [function_named(module, name)])


def drop_unneeded(module: ModuleOp, name: str) -> None:
    """Erase all that a run of a function does not need, in place."""
    needed: set[Operation] = set(needed_functions(module, name))
    for op in list(module.ops):
        if op not in needed:
            erase(op)


def module_of_copies(functions: Sequence[FuncOp]) -> ModuleOp:
    """A new module with copies of functions."""
    return ModuleOp(Region(Block([function.clone() for function in reversed(functions)])))


def merged(one: ModuleOp, other: ModuleOp) -> ModuleOp:
    """A new module with the ops of both; PassError at a function that the first has otherwise."""
    made, known = one.clone(), functions_by_name(one)
    declared = [op for op in one.ops if not isinstance(op, FuncOp)]
    for op in other.ops:
        copy = op.clone()
        same = known.get(copy.sym_name.data) if isinstance(copy, FuncOp) else None
        if any(copy.is_structurally_equivalent(each) for each in (same, *declared) if each):
            continue
        if same is not None:
            raise PassError(
                f"merge: functions of both modules must differ in name, got @{same.sym_name.data} "
                "in both; rename one",
                op,
                [("the other one is here", same)],
            )
        made.body.block.add_op(copy)
    return made


def check_signature(function: FuncOp) -> None:
    """LocatedError for a tensor argument or result of an unsupported element type."""
    for argument in function.body.block.args:
        _check_element(argument.type, value_name(argument), argument)
    for k, type_ in enumerate(function.function_type.outputs):
        _check_element(type_, f"result {k}", function)


def _check_element(type_: Attribute, what: str, place: Operation | SSAValue) -> None:
    if is_tensor(type_):
        try:
            require_element(type_)
        except VerifyException as error:
            raise LocatedError(f"{what}: {error}", place) from None
