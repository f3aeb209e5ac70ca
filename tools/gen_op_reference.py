"""Writes docs/ops.md from the op classes and the op table in tests/. Run by `make docs`.

Signature, meaning and derivative come from the class and its docstring; the gradient IR is the
gradient pass's result for the op's first row in the table.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, TypeAttribute
from xdsl.irdl import IRDLOperation

from gradir.api import Module, parse
from gradir.dialects import array, comm, nn
from gradir.dialects.base.interfaces import TensorOp
from gradir.dialects.base.op_rules import registered
from gradir.dialects.base.shapes import NUMPY_NAMES, element_of, is_float, tensor
from gradir.dialects.grad import dialect as grad
from gradir.passes.gradient.gradient import gradient
from gradir.passes.gradient.requests import DerivativeRequest
from gradir.passes.gradient.rule_table import structural_rules
from gradir.passes.recompute.costs import Costs
from gradir.tools.op_samples import SAMPLES
from gradir.tools.op_types import elements_line
from gradir.tools.support_modules import support

ROOT = Path(__file__).resolve().parent.parent

HEAD = """# Ops

Written by `make docs` from the classes in `dialects/`; do not edit. Operands and results are ranked
tensors. The gradient of an op is given as its vjp: the cotangents of its operands from the
cotangent `ct` of its result `y`. Below it stands what `gradir-gradient{mode=vjp}` makes of a
function that is this op alone. No cotangent flows through "inactive" ops. Errors in units of the
last place (ulp) are the largest of native code at the points of `tests/dialects/test_points.py`:
ends, zeros, poles, ties, tiny and huge numbers, held against 50 digits. Of reductions and other ops
on lines they are units of the last place of the largest term that is rounded. "Elements" are the
types that the op's verifier accepts, and all others are refused: integers are `i8` to `i64` and
`ui8` to `ui64`, bools `i1`, floats `f16`, `bf16`, `f32` and `f64`, complex numbers `complex<f32>`
and `complex<f64>`, with NumPy's values and branch cuts.
"""

DIALECTS = {
    "array": ("the Python Array API's names and semantics", array.OPS),
    "nn": ("layers and losses, PyTorch's semantics", nn.OPS),
    "grad": ("what exists because of differentiation", grad.OPS),
    "comm": ("collectives and messages between ranks", comm.OPS),
}


def reference() -> str:
    """The whole text of docs/ops.md."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield HEAD
    for name, (_, ops) in DIALECTS.items():
        links = (f"[{_short(op)}](#{_anchor(op)})" for op in (*ops, *_others(name)))
        yield f"**{name}**: {' · '.join(links)}\n"
    for name, (title, ops) in DIALECTS.items():
        yield f"## {name}: {title}\n"
        for op in ops:
            yield from _entry(op)
        for op in _others(name):
            yield from _other_entry(op)
    yield from _other_dialects()
    yield "## Types and attributes\n"
    for attribute in grad.Grad.attributes:
        mark = "!" if issubclass(attribute, TypeAttribute) else "#"
        yield f"### {mark}{attribute.name}\n"
        yield f"{inspect.cleandoc(attribute.__doc__ or '')}\n"
        yield f"Class: [{_source(attribute)}](../{_source(attribute)}).\n"


def _other_dialects() -> Iterator[str]:
    """The ops of other dialects with rules of gradir."""
    yield "## Other dialects\n"
    yield (
        "These have rules by registration, with the conventions of the `array` ops of the same "
        "names. The ops of `arith` and `math` mean on tensors what they mean on numbers, "
        "element by element. Regions and calls are told of in [control-flow.md](control-flow.md).\n"
    )
    active, inactive = registered()
    ours = list(grad.Grad.operations)
    for title, ops in (
        ("With a derivative", [op for op in active if op not in ours]),
        ("Inactive", [op for op in inactive if op not in ours]),
        ("Regions and calls", [op for op in structural_rules(Costs()) if op not in ours]),
    ):
        names = sorted({f"`{op.name}`" for op in ops})
        yield f"{title}: {', '.join(names)}.\n"


def _others(dialect: str) -> list[type[Operation]]:
    """The ops of a dialect that are no tensor ops."""
    if dialect != "grad":
        return []
    return [op for op in grad.Grad.operations if not issubclass(op, TensorOp)]


def _short(op: type[Operation]) -> str:
    return op.name.partition(".")[2]


def _anchor(op: type[Operation]) -> str:
    """The link target of a heading with the op's name."""
    return op.name.replace(".", "")


def _entry(op: type[TensorOp]) -> Iterator[str]:
    meaning, derivative = _meaning_and_derivative(op)
    yield f"### {op.name}\n"
    yield f"`{_signature(op)}`\n"
    yield f"{meaning}\n"
    if rows := [case for case in _table() if case.op == op.name]:
        yield f"{elements_line(op, rows)}\n"
    if op.INACTIVE:
        yield "Inactive: no cotangent flows.\n"
    elif derivative:
        yield f"**vjp**: {derivative}\n"
    if op.NOT_DIFFERENTIABLE:
        names = [_operand_names(op)[k] for k in op.NOT_DIFFERENTIABLE]
        yield f"No derivative is offered in {', '.join(names)}.\n"
    yield from _errors(op)
    if sample := _text_sample(op) if op.name in SAMPLES else _sample(op):
        yield f"```mlir\n{sample}\n```\n"
    path = _source(op)
    yield f"Class: [{path}](../{path}).\n"


def _errors(op: type[TensorOp]) -> Iterator[str]:
    """The largest errors of native code that the tables of points find, and where it is worse."""
    stated = support("points_measure").stated().get(op.name)
    if stated is None:
        return
    if any(ulp for ulps in stated.values() for ulp in ulps):
        names = ("value", *(("first derivative", "second derivative") if not op.INACTIVE else ()))
        parts = (
            f"{kind} " + ", ".join(f"{name} {u:g}" for name, u in zip(names, ulps, strict=False))
            for kind, ulps in stated.items()
        )
        yield f"**ulp** at most: {'; '.join(parts)}.\n"
    else:
        yield "Exact, with its derivatives.\n" if not op.INACTIVE else "Exact.\n"
    faults = support("points_faults").FAULTS
    ours = [fault for fault in faults if fault.line.partition(" ")[0] == op.name]
    worse = sorted({f"{fault.result}: {fault.why}" for fault in ours})
    if worse:
        yield f"Worse at some points: {'; '.join(worse)}.\n"


def _other_entry(op: type[Operation]) -> Iterator[str]:
    assert issubclass(op, IRDLOperation)
    meaning, derivative = _meaning_and_derivative(op)
    yield f"### {op.name}\n"
    yield f"`{_other_signature(op)}`\n"
    yield f"{meaning}\n"
    if derivative:
        yield f"**vjp**: {derivative}\n"
    if op.name in SAMPLES:
        yield f"```mlir\n{_text_sample(op)}\n```\n"
    yield f"Class: [{_source(op)}](../{_source(op)}).\n"


def _text_sample(op: type[Operation]) -> str:
    """The sample of an op that has no row in the table."""
    module = parse(SAMPLES[op.name].strip()).gradient("f", mode="vjp").op.clone()
    for function in list(module.ops):
        if not (isinstance(function, FuncOp) and function.sym_name.data.endswith("_vjp")):
            function.detach()
    return _text(module)


def _other_signature(op: type[IRDLOperation]) -> str:
    """Operands, attributes, regions and results, by name."""
    definition = op.get_irdl_definition()
    operands, results = (
        ", ".join(name for name, _ in found) for found in (definition.operands, definition.results)
    )
    known = [name for name in (*definition.attributes, *definition.properties)]
    parts = [op.name + (f"({operands})" if operands else "")]
    parts += [f"{{{', '.join(known)}}}"] if known else []
    parts += [f"(region {name})" for name, _ in definition.regions]
    parts += [f"-> {results}"] if results else []
    return " ".join(parts)


def _text(module: ModuleOp) -> str:
    """The functions of a module, without the module around them."""
    return "\n".join(line[2:] for line in str(Module(module)).strip().splitlines()[1:-1])


def _operand_names(op: type[TensorOp]) -> list[str]:
    return [name for name, _ in op.get_irdl_definition().operands]


def _signature(op: type[TensorOp]) -> str:
    results = ", ".join(name for name, _ in op.get_irdl_definition().results)
    known = [name for name in op.ATTRIBUTES if name != "operandSegmentSizes"]
    attributes = f" {{{', '.join(known)}}}" if known else ""
    return f"{op.name}({', '.join(_operand_names(op))}){attributes} -> {results or 'result'}"


def _meaning_and_derivative(op: type[Operation]) -> tuple[str, str]:
    """The docstring's meaning, and its text behind "vjp:" up to the end of the paragraph."""
    text = inspect.cleandoc(op.__doc__ or "")
    found = re.search(r"\s*\bvjp: (.*?)(?=\n\n|\Z)", text, re.DOTALL)
    if not found:
        return text, ""
    return (text[: found.start()] + text[found.end() :]).strip(), found[1]


def _source(op: type[object]) -> str:
    """The file of a class, from the root of the project."""
    return op.__module__.removeprefix("gradir.").replace(".", "/") + ".py"


# The sample: the first row of the table with a gradient, else the first.


@cache
def _table() -> list[Any]:
    return list(support("op_cases").CASES)


def _sample(op: type[TensorOp]) -> str:
    cases = [case for case in _table() if case.op == op.name]
    assert cases, f"{op.name} has no row in tests/support/op_cases.py"
    active = [case for case in cases if _is_active(case)]
    module = ModuleOp([source := _function((active or cases)[0])])
    shown = source
    if active and not op.INACTIVE:
        [shown] = gradient(module, DerivativeRequest("f", active[0].wrt, mode="vjp"))
    for function in list(module.ops):
        if function is not shown:
            function.detach()
    return _text(module)


def _is_active(case: Any) -> bool:
    results = _function(case).function_type.outputs
    return bool(case.wrt) and any(is_float(element_of(t)) for t in results)


def _function(case: Any) -> FuncOp:
    """`@f`: the op alone, on arguments with the names of its operands."""
    element_named = {name: element for element, name in NUMPY_NAMES.items()}
    types = [tensor(a.shape, element_named[a.dtype.name]) for a in case.arrays(f32)]
    block = Block(arg_types=types)
    names = _operand_names(case.op_class)
    for k, argument in enumerate(block.args):
        argument.name_hint = names[k] if k < len(names) and len(types) <= len(names) else f"x{k}"
    op = case.op_class.of(block.args, case.result_types(f32), **case.attributes)
    for result in op.results:
        result.name_hint = "y"
    block.add_ops([op, ReturnOp(*op.results)])
    return FuncOp("f", (types, [r.type for r in op.results]), Region(block))


def main() -> None:
    """Write docs/ops.md beside this package's sources."""
    (ROOT / "docs" / "ops.md").write_text(reference())


if __name__ == "__main__":
    main()
