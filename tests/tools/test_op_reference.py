"""docs/ops.md is what the op classes say."""

from pathlib import Path

from gradir.dialects import comm
from gradir.dialects.grad.dialect import Grad
from gradir.tools.gen_op_reference import reference
from gradir.tools.op_samples import SAMPLES

PATH = Path(__file__).parents[2] / "docs" / "ops.md"


def test_the_op_reference_is_current() -> None:
    assert PATH.read_text() == reference(), "run `make docs`"


def test_each_op_has_an_entry() -> None:
    """Also grad's ops that are no tensor ops; a sample is of an op that exists."""
    text = reference()
    for op in Grad.operations:
        assert f"\n### {op.name}\n" in text
    assert SAMPLES.keys() <= {op.name for op in (*Grad.operations, *comm.OPS)}
    assert "`grad.host_call(inputs) {callee, exec, pure, deps, backward, of} -> outputs`" in text
    assert "%x_ct = func.call @round_backward(%y_ct)" in text
