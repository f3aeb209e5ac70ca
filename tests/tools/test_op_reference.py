"""docs/ops.md is what the op classes say."""

from functools import cache
from pathlib import Path

from op_cases import CASES

from gradir.dialects import array, comm, nn
from gradir.dialects.base.interfaces import TensorOp
from gradir.dialects.base.shapes import c64, c128
from gradir.dialects.grad.dialect import Grad
from gradir.tools.gen_op_reference import reference
from gradir.tools.op_samples import SAMPLES
from gradir.tools.op_types import accepted, elements_line

PATH = Path(__file__).parents[2] / "docs" / "ops.md"
# written once: it tries all elements at all ops
text_of_reference = cache(reference)


def test_the_op_reference_is_current() -> None:
    assert PATH.read_text() == text_of_reference(), "run `make docs`"


def test_the_elements_are_the_verifier_s() -> None:
    """Complex numbers are taken by the ops whose classes say so; array.complex gives them alone."""
    complex_numbers = {c64, c128}
    for op in (*array.OPS, *nn.OPS, *Grad.operations):
        rows = [case for case in CASES if case.op == op.name]
        if rows and issubclass(op, TensorOp):
            taken = [e for elements in accepted(op, rows).values() for e in elements]
            is_taken = bool(complex_numbers & {*taken}) or op.name == "array.complex"
            assert is_taken == op.COMPLEX, op.name
    ops = {op.name: op for op in array.OPS}
    for name, line in {
        "array.where": "Elements: of `cond` bools; of `x`, `y` any.",
        "array.eig": "Elements: f32, f64, complex numbers.",
        "array.constant": "Elements: any.",
        "array.uniform": "Elements: of `key`, `counter` i64; of `y` floats.",
    }.items():
        assert elements_line(ops[name], [c for c in CASES if c.op == name]) == line


def test_each_op_has_an_entry() -> None:
    """Also grad's ops that are no tensor ops; a sample is of an op that exists."""
    text = text_of_reference()
    for op in Grad.operations:
        assert f"\n### {op.name}\n" in text
    assert SAMPLES.keys() <= {op.name for op in (*Grad.operations, *comm.OPS)}
    assert "`grad.host_call(inputs) {callee, exec, pure, deps, backward, of} -> outputs`" in text
    assert "%x_ct = func.call @round_backward(%y_ct)" in text
