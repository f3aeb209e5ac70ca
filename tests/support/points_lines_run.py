"""Values and all derivatives of an op on lines by one program: natively and by the interpreter.

Each line stands as often as there are pairs of a result and an element: a cotangent of 1 for the
result, and of 1 for the element's derivative.
"""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
from points_lines import Lines
from points_made import Array
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Block, Region

import gradir
from gradir import Module

NAMES = ("f", "jvp", "second")


def _types(width: int, height: int, rows: int, kind: str) -> dict[str, str]:
    """What the texts of rows name: types of the matrix, its halves, and arrays of lines."""
    extents = {
        "x": (width,),
        "y": (height,),
        "half": (width // 2,),
        "row": (1, width // 2),
        "vector": (width // 2, 1),
        "cube": (1, width),
        "cell": (1, 1),
        "keys": (width, 1),
        "values": (width, width),
    }
    named = {
        name: f"tensor<{'x'.join(map(str, (rows, *shape)))}x{kind}>"
        for name, shape in extents.items()
    }
    return {**named, "rows": str(rows), "kind": kind}


def _module(row: Lines, rows: int, kind: str) -> Module:
    made = _types(row.width, row.height, rows, kind)
    x, y = made["x"], made["y"]
    types, before = row.types.format(**made), row.before.format(**made)
    result = types.rpartition("->")[2].strip()
    back, name = "", "%r"
    if result != y:
        back, name = f" %column = array.reshape %r : {result} -> {y}\n", "%column"
    body = f"{before} %r = {row.line} : {types}\n{back} func.return {name} : {y}"
    return gradir.parse("\n".join(f"func.func @{n}(%x: {x}) -> {y} {{\n{body}\n}}" for n in NAMES))


def derivatives(row: Lines, rows: int, kind: str) -> Module:
    """`@all(x, cotangents, tangents)`: f, its first derivatives by both modes, and the second."""
    module = _module(row, rows, kind).gradient("f", mode="vjp").gradient("jvp", mode="jvp")
    module = module.gradient("second", mode="vjp")
    module = module.gradient("second_vjp", mode="vjp", wrt=[0], of=[1])
    return _with_driver(module.op.clone())


def _with_driver(module: ModuleOp) -> Module:
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}
    x, ct = functions["f_vjp"].function_type.inputs.data
    block = Block(arg_types=[x, ct, x])
    line, cotangents, tangents = block.args
    given = {
        "f_vjp": [line, cotangents],
        "jvp_jvp": [line, tangents],
        "second_vjp_vjp": [line, cotangents, tangents],
    }
    results = list[Any]()
    for name, operands in given.items():
        call = CallOp(name, operands, functions[name].function_type.outputs.data)
        block.add_op(call)
        results += call.results[0 if name == "f_vjp" else -1 :]
    block.add_op(ReturnOp(*results))
    outputs = [r.type for r in results]
    module.body.block.add_op(FuncOp("all", (block.arg_types, outputs), Region(block)))
    return Module(module)


def run_on_lines(row: Lines, points: Array, kind: str) -> dict[str, dict[str, Array]]:
    """By `native` and `interpreted`: columns over the points, by the names of `Lines.answers`."""
    m, n = row.height, row.width
    count = len(points) * m * n
    module = derivatives(row, count, kind)
    cotangents, tangents = np.eye(m, dtype=points.dtype), np.eye(n, dtype=points.dtype)
    given = [
        np.repeat(points, m * n, axis=0),
        np.tile(np.repeat(cotangents, n, axis=0), (len(points), 1)),
        np.tile(tangents, (len(points) * m, 1)),
    ]
    ways = {"native": gradir.compile(module, "all")(*given)}
    ways["interpreted"] = gradir.interpret(module, "all", *given)
    return {way: _columns(row, made) for way, made in ways.items()}


def _columns(row: Lines, made: Any) -> dict[str, Array]:
    m, n = row.height, row.width
    f, first, forward, second = (np.asarray(r).reshape(-1, m, n, r.shape[-1]) for r in made)
    found: dict[str, Array] = {}
    for i in range(m):
        found[f"f{i}"] = f[:, i, 0, i]
        for j in range(n):
            found[f"first{i}{j}"] = first[:, i, 0, j]
            found[f"forward{i}{j}"] = forward[:, i, j, i]
            for k in range(n):
                found[f"second{i}{j}{k}"] = second[:, i, j, k]
    return found


def points_of(row: Lines, dtype: Any) -> Array:
    """Lines of pairs of sizes with both signs, and a third element that takes turns."""
    with np.errstate(over="ignore", under="ignore"):
        sizes = np.array(row.sizes).astype(dtype)
    sizes = np.unique(sizes[np.isfinite(sizes)])
    numbers = [*sizes, *-sizes[1:]]
    third = (lambda a, b: 0.0, lambda a, b: a, lambda a, b: -b, lambda a, b: 1.0, lambda a, b: -a)
    lines = [
        (a, b, *(third[(i + j + r) % 5](a, b) for r in range(row.width - 2)))
        for i, a in enumerate(numbers)
        for j, b in enumerate(numbers)
        if (i <= j) == (i % 2 == 0)
    ]
    # finite numbers stay finite in the type
    largest = float(np.finfo(dtype).max)
    more = [x for x in row.more if all(abs(t) == inf or abs(t) < largest for t in x)]
    return np.array([*lines, *more], dtype)
