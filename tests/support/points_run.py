"""Values and derivatives at many points by one program: natively and by the interpreter."""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue

import gradir
from gradir import Module

Array = np.ndarray[Any, np.dtype[Any]]
KINDS: dict[str, Any] = {"f32": np.float32, "f64": np.float64}


def derivatives(line: str, count: int, points: int, kind: str) -> tuple[Module, list[str]]:
    """`@all(operands, ones)` of an op on `count` operands, and what its results are.

    They are f; then for operand k `first`, by reverse mode, and `forward`; for operands k and l
    `second`: the derivative in l of that in k, by reverse mode over reverse mode.
    """
    t, places = f"tensor<{points}x{kind}>", range(count)
    names = ["f", *(f"jvp{k}" for k in places), *(f"second{k}" for k in places)]
    # a loss has a result of another type in general
    types = f"{t}, {t} -> {t}" if "reduction" in line else t
    arguments = ", ".join(f"%{'xyz'[k]}: {t}" for k in places)
    module = gradir.parse("\n".join(
        f"func.func @{n}({arguments}) -> {t} {{\n %r = {line} : {types}\n func.return %r : {t} }}"
        for n in names
    ))  # fmt: skip
    module = module.gradient("f", mode="vjp")
    for k in places:
        module = module.gradient(f"jvp{k}", mode="jvp", wrt=[k])
        module = module.gradient(f"second{k}", mode="vjp")
        module = module.gradient(f"second{k}_vjp", mode="vjp", wrt=list(places), of=[k + 1])
    calls = {"f_vjp": ["f", *(f"first{k}" for k in places)]}
    for k in places:
        calls[f"jvp{k}_jvp"] = ["", f"forward{k}"]
        calls[f"second{k}_vjp_vjp"] = [
            *[""] * (count + 1),
            *(f"second{k}{other}" for other in places),
        ]
    return _with_driver(module.op.clone(), calls, count)


def _with_driver(
    module: ModuleOp, calls: dict[str, list[str]], count: int
) -> tuple[Module, list[str]]:
    """A module with `@all`, which calls functions on operands and ones, and has named results."""
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}
    inputs = functions["f"].function_type.inputs.data
    block = Block(arg_types=[*inputs, inputs[0]])
    results = dict[str, SSAValue]()
    for name, made in calls.items():
        type_ = functions[name].function_type
        seeds = [block.args[count]] * (len(type_.inputs) - count)
        call = CallOp(name, [*block.args[:count], *seeds], type_.outputs.data)
        block.add_op(call)
        results |= {label: r for label, r in zip(made, call.results, strict=True) if label}
    block.add_op(ReturnOp(*results.values()))
    outputs = [r.type for r in results.values()]
    module.body.block.add_op(FuncOp("all", (block.arg_types, outputs), Region(block)))
    return Module(module), list(results)


def run(line: str, columns: list[Array], kind: str) -> dict[str, dict[str, Array]]:
    """By `native` and `interpreted`: the results of `derivatives` at columns of points."""
    module, results = derivatives(line, len(columns), columns[0].size, kind)
    given = [*columns, np.ones_like(columns[0])]
    native = gradir.compile(module, "all")(*given)
    interpreted = gradir.interpret(module, "all", *given)
    return {
        "native": dict(zip(results, native, strict=True)),
        "interpreted": dict(zip(results, interpreted, strict=True)),
    }
