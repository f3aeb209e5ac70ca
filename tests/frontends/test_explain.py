"""gradir.debug.explain on programs as people write them.

A comment at the end of a line marks it as the one that is to be named."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradir
import gradir.numpy as gnp
from gradir import nn
from gradir.compiler.dynamic import SpecializingExecutable
from gradir.debug import Explanation, explain

INF = float("inf")


def lines_of(function: Callable[..., Any]) -> dict[str, int]:
    """The lines of a function's source that end in a comment of one word."""
    lines, first = inspect.getsourcelines(inspect.unwrap(function))
    found = ((re.search(r"# (\w+)$", line), first + k) for k, line in enumerate(lines))
    return {mark[1]: number for mark, number in found if mark is not None}


def check(source: Callable[..., Any], found: Explanation, *parts: str, mark: str = "here") -> None:
    """The explanation names the marked line of the source, and has these parts."""
    assert not found.is_finite
    assert found.diagnostic.file == __file__
    assert found.diagnostic.line == lines_of(source)[mark], str(found)
    for part in parts:
        assert part in str(found)


def log_loss(x: Any) -> Any:
    y = gnp.log(x)  # here
    return gnp.sum(y)


def test_log_of_zero():
    found = explain(log_loss, np.array([1.0, 2.0, 0.0]))
    check(log_loss, found, "array.log of x = 0.0 is -inf at [2]", "so the result is -inf")
    assert explain(log_loss, np.ones(3)).is_finite
    assert "log_loss: all results are finite" in str(explain(log_loss, np.ones(3)))


def root(x: Any) -> Any:
    h = gnp.sqrt(x)  # here
    return gnp.sum(h * 2)  # after


def test_slope_of_sqrt():
    """The value is fine; the cotangent is not, and comes from the line behind."""
    x = np.array([1.0, 0.0])
    check(root, explain(gradir.jacrev(root), x), "the cotangent of", "derivative of array.sqrt")
    for gradient in (gradir.grad(root), gradir.value_and_grad(root)):
        found = explain(gradient, x)
        check(root, found, "the cotangent of x becomes inf at [1]", "array.sqrt of x = 0.0")
        notes = [note for note in found.diagnostic.notes if "comes from here" in note.message]
        assert [note.line for note in notes] == [lines_of(root)["after"]]
    assert explain(root, x).is_finite


def normalized(x: Any, w: Any) -> Any:
    size = gnp.sqrt(gnp.sum(x * x, axis=1, keepdims=True))
    y = x / size  # here
    return gnp.sum((y @ w) ** 2)


def test_division_by_the_norm():
    x = np.ones((3, 2))
    x[1] = 0
    found = explain(normalized, x, np.ones((2, 4)))
    check(normalized, found, "array.divide of x = 0.0 and", "is nan at [1, 0]")
    # in the gradient the first that is nan is that value again
    check(normalized, explain(gradir.grad(normalized), x, np.ones((2, 4))), "is nan at [1, 0]")


def attention(x: Any, mask: Any) -> Any:
    scores = gnp.where(mask, x, -gnp.inf)  # mask
    p = nn.softmax(scores, axis=-1)  # here
    return gnp.sum(p * p)


def test_softmax_of_a_masked_row():
    mask = np.array([[True, False, True], [False, False, False]])
    found = explain(attention, np.ones((2, 3)), mask)
    check(attention, found, "nn.softmax of scores (with -inf) is nan at [1, 0]")
    assert explain(attention, np.ones((2, 3)), mask[:1].repeat(2, 0)).is_finite
    assert explain(gradir.grad(attention), np.ones((2, 3)), mask[:1].repeat(2, 0)).is_finite


def growing(x: Any) -> Any:
    def body(i: Any, carried: Any) -> Any:
        step = gnp.exp(i * 19.2)  # here
        return carried + step * 0.5

    return gradir.fori_loop(0, 60, body, x)  # loop


def test_overflow_in_a_loop():
    for f in (growing, gradir.grad(growing), gradir.jit(growing)):
        found = explain(f, 1.0)
        if found.is_finite:  # the slope is 1
            assert f is not growing
            continue
        check(growing, found, "array.exp of", "is inf, in iteration 37", "of 60 of this loop")
        places = [n.line for n in found.diagnostic.notes if "of this loop" in n.message]
        assert places == [lines_of(growing)["loop"]]


def test_nan_in_the_data():
    x = np.ones((4, 3))
    x[2, 1] = np.nan
    found = explain(lambda x, w: gnp.sum(gnp.tanh(x @ w)), x, np.ones((3, 2)))
    assert "argument x is nan at [2, 1], which is read here" in str(found)
    # a nan in the data that does not matter is said, and not blamed
    found = explain(lambda x: gnp.log(x[0] - 1), x)
    assert "array.log of 0.0 is -inf" in str(found)
    assert "argument x is nan at [2, 1] (1 of 12 elements are not finite)" in str(found)


def roots(x: Any) -> Any:
    def body(carried: Any) -> Any:
        y, i = carried
        return gnp.sqrt(y - 3.0), i + 1  # here

    return gradir.while_loop(lambda c: c[1] < 10, body, (x, 0))[0]


def test_while_loop():
    for f in (roots, gradir.grad(roots)):
        check(roots, explain(f, 400.0), "array.sqrt of -1.94", "is nan, in iteration 3")


def chosen(x: Any) -> Any:
    def positive(x: Any) -> Any:
        return 1 / (x - x)  # here

    return gradir.cond(x > 0, positive, gnp.exp, x)


def test_cond():
    check(chosen, explain(chosen, 2.0), "array.divide of 1.0 and 0.0 is inf")
    assert explain(chosen, -2.0).is_finite


def row_loss(row: Any) -> Any:
    return gnp.log(gnp.sum(row))  # here


def test_vmap():
    x = np.array([[1.0, 2.0], [1.0, -1.0]])
    check(row_loss, explain(gradir.vmap(row_loss), x), "array.log of 0.0 is -inf at [1]")
    found = explain(gradir.vmap(gradir.grad(row_loss)), x)
    check(row_loss, found, "array.log of 0.0", "at [1]")


def power(x: Any) -> Any:
    return x**1.5  # here


def test_second_order():
    assert explain(gradir.grad(power), 0.0).is_finite
    check(power, explain(gradir.grad(gradir.grad(power)), 0.0), "is inf")
    check(power, explain(gradir.hessian(power), 0.0))
    found = explain(lambda x: gradir.jvp(root, (x,), (x + 1,))[1], np.zeros(2))
    check(root, found, "tangent", "array.sqrt of")


def recurrence(x: Any) -> Any:
    def step(carried: Any, e: Any) -> Any:
        carried = gnp.sqrt(carried) * e  # here
        return carried, carried * 2

    return gnp.sum(gradir.scan(step, x, np.array([1.0, 1.0, 1.0, 0.0, 1.0]))[1])


def test_scan_backwards():
    """The value of iteration 4 starts from 0, and its cotangent is the first that is infinite."""
    assert explain(recurrence, 1.0).is_finite
    found = explain(gradir.grad(recurrence), 1.0)
    check(recurrence, found, "the cotangent", "in iteration 4", "of 5", "in its backward code")


def staged(x: Any) -> Any:
    def stage(y: Any) -> Any:
        return gnp.sqrt(y) * 2  # here

    return gnp.sum(gradir.checkpoint(stage)(x))


def test_checkpoint():
    found = explain(gradir.grad(staged), np.array([0.0, 1.0]))
    check(staged, found, "the cotangent", "array.sqrt")


def host_log(inputs: Any, outputs: Any, req: Any) -> None:
    with np.errstate(all="ignore"):
        outputs[0][...] = np.log(inputs[0])


def with_custom_op(x: Any) -> Any:
    op = gradir.custom_op(host_log, lambda x: x)
    gradir.debug.print("seen")
    return op(x) * 2  # here


def test_custom_op(capsys: pytest.CaptureFixture[str]):
    found = explain(with_custom_op, np.array([1.0, 0.0]))
    check(with_custom_op, found, "@host_log of x (from 0.0 to 1.0) is -inf at [1]")
    assert capsys.readouterr().out == ""


def looked_up(table: Any, rows: Any) -> Any:
    return gnp.sum(gnp.log(table[rows]))  # here


def test_row_slices():
    table = np.ones((5, 3))
    table[2] = 0
    gradient = gradir.grad(looked_up, sparse_argnums=0)
    check(looked_up, explain(gradient, table, np.array([1, 2, 2])), "array.log of", "at [1, 0]")


@pytest.mark.parametrize("dtype", ["float16", "float32", "bfloat16"])
def test_other_floats(dtype: str):
    import ml_dtypes

    x = np.array([1, 0], ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    check(log_loss, explain(log_loss, x), "array.log of x = 0.0 is -inf at [1]")


def moved(x: Any, w: Any) -> Any:
    y = gnp.exp(x)  # here
    z = gnp.concatenate([y[::-1], y + 1]).reshape(2, -1).T
    return gnp.max(z @ w, axis=0)


def test_elements_through_other_ops():
    """Of many elements the one that reaches the result is named, through ops of any kind."""
    x = np.arange(8.0)
    x[5] = 800.0
    found = explain(moved, x, np.array([[1.0], [1.0]]))
    check(moved, found, "array.exp of x = 800.0 is inf at [5]")


def test_what_no_result_reads_is_not_blamed():
    def two(x: Any) -> Any:
        first = gnp.where(x > 0, 1 / x, 0.0)
        lost = gnp.min(gnp.log(x))
        return gnp.where(lost > 0, lost, gnp.sum(first))

    assert explain(two, np.array([0.0, 1.0])).is_finite


TEXT = """
func.func @f(%x: tensor<?xf64>) -> (tensor<?xf64>, tensor<?xf64>) {
  %y = array.log %x : tensor<?xf64>
  %z = array.sqrt %y : tensor<?xf64>
  return %x, %z : tensor<?xf64>, tensor<?xf64>
}
"""


def test_text():
    module = gradir.parse(TEXT, "program.mlir")
    x = np.array([2.0, 0.5])
    for f in ((module, "f"), gradir.compile(module, "f")):
        text = str(explain(f, x)).splitlines()
        head = "program.mlir:4:3: error: array.sqrt of y = -0.6931471805599453 is nan at [1]"
        assert text[:3] == [head, "  %z = array.sqrt %y : tensor<?xf64>", "  ^"]
        assert text[3] == "note: so result 1 of f is nan at [1] (1 of 2 elements are not finite)"
    fixed = gradir.compile(module, "f")
    assert isinstance(fixed, SpecializingExecutable)
    assert "is nan at [1]" in str(explain(fixed.specialized(x), x))


def test_jitted_in_all_forms():
    zero = np.zeros(3)
    static = gradir.jit(lambda x, n: gnp.log(x) * n, static_argnums=1)
    named = gradir.jit(lambda x: gnp.log(x), shapes=("n",))
    donating = gradir.jit(lambda x: gnp.log(x), donate_argnums=0)
    nested = gradir.jit(lambda p: {"a": p["w"], "b": [gnp.log(p["w"])]})
    assert "is -inf at [0]" in str(explain(static, zero, 2))
    assert "is -inf at [0]" in str(explain(named, zero))
    assert "is -inf at [0]" in str(explain(donating, zero))
    zero[0] = 0  # it is still the caller's
    assert "so the result['b'][0] is -inf" in str(explain(nested, {"w": zero}))


def test_refusals():
    with pytest.raises(gradir.errors.ArgumentTypeError, match="expected a Python function"):
        explain(3)
    with pytest.raises(gradir.TraceError, match=r"debug\.explain: it runs a program"):
        gradir.jit(lambda x: explain(log_loss, x))(np.ones(2))
    with pytest.raises(gradir.errors.ArgumentTypeError, match="by position alone"):
        explain((gradir.parse(TEXT), "f"), x=np.ones(2))
