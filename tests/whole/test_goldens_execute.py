"""Golden files run: what their passes make computes what the program means, natively and not.

Gradients are held against central differences. The files are the ones in tests/filecheck whose
programs are on tensors; RUN lines say which passes are applied.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradir
from gradir import Module
from gradir.dialects.base.interfaces import TensorOp
from gradir.dialects.base.shapes import is_open, is_scalar, is_tensor
from gradir.errors import IndexOutOfRange
from gradir.passes.analysis.arguments import in_out_results
from gradir.passes.analysis.call_graph import callees_first, functions_by_name
from gradir.runtime.arrays import dtype_of
from gradir.symbols import function_named
from gradir.testing import check_grads

Array = np.ndarray[Any, np.dtype[Any]]
Out = list[Array | None]

FOLDER = Path(__file__).parents[1] / "filecheck"
FOLDERS = (
    "dialects", "gradient", "control_flow", "checkpoint", "simplify", "lowering", "fusion",
    "bufferize", "run", "training",
)  # fmt: skip
OTHER_OPS = ("func.", "scf.", "arith.", "math.", "tensor.", "grad.checkpoint", "grad.yield",
             "grad.tape")  # fmt: skip
# Passes after which a program is still one on tensors, which the interpreter runs.
ON_TENSORS = (
    "gradient", "simplify", "decompose", "dce", "inline", "outline-checkpoints",
    "inline-checkpoints", "append-loss", "train-step",
)  # fmt: skip

_PASSES = re.compile(r"""^// RUN:.* -p (?:"([^"]*)"|'([^']*)')""", re.MULTILINE)


def programs() -> list[Any]:
    """Each program of the golden files, with the pipelines of its RUN lines."""
    found: list[Any] = []
    for folder in FOLDERS:
        for file in sorted((FOLDER / folder).glob("*.mlir")):
            if file.stem.endswith("_invalid"):
                continue
            text = file.read_text(encoding="utf-8")
            pipelines = tuple(dict.fromkeys(a or b for a, b in _PASSES.findall(text)))
            chunks = re.split(r"^// -----$", text, flags=re.MULTILINE)
            for k, chunk in enumerate(chunks):
                name = f"{folder}-{file.stem}" + (f"-{k}" if len(chunks) > 1 else "")
                found.append(pytest.param(chunk, pipelines, id=name))
    return found


def runnable(module: Module) -> list[str]:
    """The functions on static tensors and scalars, of ops that the interpreter knows."""
    names: list[str] = []
    functions = functions_by_name(module.op)
    for name, function in functions.items():
        called = callees_first(functions, [function])
        ops = [op for each in called for op in each.body.walk()]
        values = [v for op in ops for v in (*op.operands, *op.results)]
        known = all(isinstance(op, TensorOp) or op.name.startswith(OTHER_OPS) for op in ops)
        signature = [*function.function_type.inputs, *function.function_type.outputs]
        fits = all(is_scalar(t) or is_tensor(t) for t in signature)
        if known and fits and not any(is_open(v.type) for v in values):
            names.append(name)
    return names


def inputs_of(module: Module, name: str) -> list[Array]:
    """Random arrays: positive floats, so that logarithms and roots have values; small integers."""
    generator = np.random.default_rng(0)
    types: list[Any] = list(function_named(module.op, name).function_type.inputs)
    arrays: list[Array] = []
    for type_ in types:
        is_number = is_scalar(type_)
        shape = () if is_number else type_.get_shape()
        dtype = dtype_of(type_ if is_number else type_.element_type)
        if dtype.kind in "iub":
            arrays.append(np.asarray(generator.integers(0, 2, shape), dtype))
        elif dtype.kind == "c":
            real, imag = generator.uniform(0.3, 1.7, (2, *shape))
            arrays.append(np.asarray(real + 1j * imag, dtype))
        else:
            arrays.append(np.asarray(generator.uniform(0.3, 1.7, shape), dtype))
    return arrays


def passed(module: Module, name: str, arrays: list[Array]) -> tuple[list[Array], Out]:
    """The arrays that are passed, and the `out` with those that lie in buffers of results."""
    function = function_named(module.op, name)
    in_out = in_out_results(function)
    out: Out = [None] * len(function.function_type.outputs)
    for argument, result in in_out.items():
        out[result] = arrays[argument]
    return [a for k, a in enumerate(arrays) if k not in in_out], out


def copied(out: Out) -> Out:
    return [None if array is None else array.copy() for array in out]


def assert_close(got: Sequence[Array], want: Sequence[Array]) -> None:
    for one, other in zip(got, want, strict=True):
        assert one.dtype == other.dtype
        if one.dtype.kind in "iub":
            np.testing.assert_array_equal(one, other)
            continue
        # one step of the element type, and what a few ulps in a sum come to
        tolerance = {8: 1e-12, 4: 1e-5, 2: 2e-2}[one.real.dtype.itemsize]
        kind = np.complex128 if one.dtype.kind == "c" else np.float64
        wide = one.astype(kind), other.astype(kind)
        np.testing.assert_allclose(*wide, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("text", "pipelines"), programs())
def test_native_code_agrees(text: str, pipelines: tuple[str, ...]) -> None:
    """Each function, and each that the passes make, computes natively what the interpreter says."""
    module = gradir.parse(text + "\n")
    after = [p for p in pipelines if any(f"gradir-{name}" in p for name in ON_TENSORS)]
    if any(word in p for p in pipelines for word in ("gradir-lower", "gradir-fuse")):
        after.clear()
    original = set(module.functions)
    for pipeline in ("", *after):
        changed = module.run_passes(pipeline) if pipeline else module
        for name in runnable(changed):
            inputs, out = passed(changed, name, inputs_of(changed, name))
            native = gradir.compile(changed, name)
            try:
                expected = gradir.interpret(changed, name, *inputs, out=copied(out))
            except IndexOutOfRange as error:
                with pytest.raises(IndexOutOfRange, match=re.escape(str(error))):
                    native(*inputs, out=out)
                continue
            assert_close(native(*inputs, out=copied(out)), expected)
            if pipeline and name in original:
                before = gradir.interpret(module, name, *inputs, out=copied(out))
                assert_close(expected, before)


GRADIENTS = [p for p in programs() if str(p.id).startswith("gradient-")]


@pytest.mark.parametrize(("text", "pipelines"), GRADIENTS)
def test_gradients_are_derivatives(text: str, pipelines: tuple[str, ...]) -> None:
    """The derivatives of the differentiated functions, of both orders."""
    module = gradir.parse(text + "\n")
    options = " ".join(pipelines)
    for name in runnable(module):
        # of these the gradient is not the derivative
        rough = any(
            op.name in ("array.floor", "grad.no_grad") or "padding_idx" in op.attributes
            for op in module.op.walk()
        )
        if f"function={name}" in options and not rough:
            check_grads(module, inputs_of(module, name), function=name)


def test_goldens_are_found() -> None:
    """The files are where they are looked for, and some of each kind run."""
    assert len(programs()) > 30 and len(GRADIENTS) > 15
    for chunk, pipelines in (p.values for p in programs() if "modes" in str(p.id)):
        assert "f_bwd" in gradir.parse(str(chunk)).run_passes(str(pipelines[0])).functions
