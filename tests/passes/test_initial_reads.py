"""gradir-simplify reads what no earlier iteration wrote from a carried tensor's initial value."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xdsl.dialects import scf

import gradir
import gradir.numpy as gnp
from gradir.dialects.array.dynamic_slices import DynamicSliceOp, DynamicUpdateSliceOp
from gradir.testing import check_grads

EXTENT = 9

LOOP = """func.func @f(%x: tensor<{extent}xi64>, %u: tensor<{wide}xi64>)
    -> (tensor<{extent}xi64>, tensor<{long}xi64>) {{
  %low = arith.constant {low} : index
  %high = arith.constant {high} : index
  %step = arith.constant {step} : index
  {initial}
  %zero = array.full {{value = 0}} : tensor<{long}xi64>
  %c, %s = scf.for %i = %low to %high step %step iter_args(%c_ = %x0, %s_ = %zero)
      -> (tensor<{extent}xi64>, tensor<{long}xi64>) {{
    %n = arith.index_cast %i : index to {counter}
    %slope = arith.constant {slope} : {counter}
    %m = arith.muli %n, %slope : {counter}
    {places}
    %read = array.dynamic_slice %c_, %p0 {{sizes = [{long}]}}
        : tensor<{extent}xi64>, tensor<{counter}> -> tensor<{long}xi64>
    %sum = array.add %s_, %read : tensor<{long}xi64>
    %new = array.add %u, %u : tensor<{wide}xi64>
    %next = array.dynamic_update_slice %c_, %new, %p1
        : tensor<{extent}xi64>, tensor<{wide}xi64>, tensor<{counter}> -> tensor<{extent}xi64>
    scf.yield %next, %sum : tensor<{extent}xi64>, tensor<{long}xi64>
  }}
  func.return {result}, %s : tensor<{extent}xi64>, tensor<{long}xi64>
}}"""


def program(
    read: int = 0,
    write: int = 0,
    slope: int = 1,
    long: int = 1,
    wide: int = 1,
    bounds: tuple[int, int, int] = (0, 9, 1),
    counter: str = "i64",
    is_constant: bool = False,
    is_read_after: bool = False,
) -> gradir.Module:
    """Iteration i reads `long` elements from slope * i + read on, and then writes `wide` ones from
    slope * i + write on."""
    places = [
        f"%k{k} = arith.constant {first} : {counter}\n"
        f"    %q{k} = arith.addi %m, %k{k} : {counter}\n"
        f"    %p{k} = tensor.from_elements %q{k} : tensor<{counter}>"
        for k, first in enumerate((read, write))
    ]
    low, high, step = bounds
    initial = (
        f"%x0 = array.full {{value = 5}} : tensor<{EXTENT}xi64>"
        if is_constant
        else f"%x0 = array.add %x, %x : tensor<{EXTENT}xi64>"
    )
    return gradir.parse(
        LOOP.format(
            extent=EXTENT, wide=wide, long=long, low=low, high=high, step=step, slope=slope,
            counter=counter, places="\n    ".join(places), initial=initial,
            result="%c" if is_read_after else "%x",
        )
    )  # fmt: skip


def carried(module: gradir.Module) -> int:
    """The number of tensors that the loop carries."""
    [loop] = [op for op in module.op.walk() if isinstance(op, scf.ForOp)]
    return len(loop.iter_args)


def reads_carried(module: gradir.Module) -> bool:
    """Whether the loop reads a part of a tensor that it carries and writes."""
    written = [op.x for op in module.op.walk() if isinstance(op, DynamicUpdateSliceOp)]
    return any(op.x in written for op in module.op.walk() if isinstance(op, DynamicSliceOp))


def simplified(module: gradir.Module) -> gradir.Module:
    return module.run_passes("gradir-simplify,gradir-dce")


SEEN: dict[str, dict[str, Any]] = {
    "its own place": {},
    "from the end": {"slope": -1, "read": 8, "write": 8},
    "ahead": {"read": 1, "bounds": (0, 8, 1)},
    "ahead, from the end": {"slope": -1, "read": 7, "write": 8, "bounds": (0, 8, 1)},
    "two by two": {"slope": 2, "long": 2, "wide": 2, "bounds": (0, 4, 1)},
    "every other one": {"bounds": (0, 9, 2)},
    "a step as long as a part": {"long": 3, "wide": 3, "bounds": (0, 7, 3)},
    "a wide read past narrow writes": {"long": 3, "bounds": (0, 7, 1)},
}
UNSEEN: dict[str, dict[str, Any]] = {
    "the place before": {"read": -1, "bounds": (1, 9, 1)},
    "the place before, from the end": {"slope": -1, "read": 8, "write": 7, "bounds": (0, 8, 1)},
    "parts that overlap": {"long": 2, "wide": 2, "bounds": (0, 8, 1)},
    "one place": {"slope": 0},
    "clamped at the end": {"bounds": (0, 11, 1)},
    "clamped at the beginning": {"read": -2, "write": -2},
    "wrapped": {"slope": 2**31, "counter": "i32", "bounds": (0, 3, 1)},
    "a wide read over later writes": {"long": 3, "read": -2, "bounds": (2, 9, 1)},
}


@pytest.mark.parametrize("name", SEEN)
def test_what_no_iteration_wrote_is_read_from_the_initial_value(name: str) -> None:
    before = program(**SEEN[name])
    after = simplified(before)
    assert (carried(before), carried(after)) == (2, 1)
    assert not reads_carried(after)


@pytest.mark.parametrize("name", UNSEEN)
def test_what_may_be_written_is_read_as_it_is(name: str) -> None:
    assert reads_carried(simplified(program(**UNSEEN[name])))


def test_two_values_are_not_kept_for_one() -> None:
    """With a result that is read, only a constant is read in its place."""
    assert reads_carried(simplified(program(is_read_after=True)))
    assert not reads_carried(simplified(program(is_read_after=True, is_constant=True)))


def test_random_loops_keep_their_results() -> None:
    random = np.random.default_rng(0)
    seen = 0
    for _ in range(160):
        read, write = random.integers(-3, EXTENT + 3, 2).tolist()
        long, wide = random.integers(1, 4, 2).tolist()
        low, high = random.integers(0, 6, 2).tolist()
        module = program(
            read, write, int(random.integers(-3, 4)), long, wide,
            (low, low + high, int(random.integers(1, 4))), str(random.choice(["i64", "i32"])),
            bool(random.integers(2)), bool(random.integers(2)),
        )  # fmt: skip
        after = simplified(module)
        seen += not reads_carried(after)
        arguments = random.integers(-9, 9, EXTENT), random.integers(-9, 9, wide)
        wanted = gradir.interpret(module, "f", *arguments)
        for one, other in zip(wanted, gradir.interpret(after, "f", *arguments), strict=True):
            assert (one == other).all(), module
    assert seen > 15


SLICES = """func.func @f(%x: tensor<6x3xf64>) -> tensor<6x3xf64> {
  %zero = arith.constant 0 : index
  %six = arith.constant 6 : index
  %one = arith.constant 1 : index
  %five = arith.constant 5 : index
  %empty = grad.zero : tensor<6x3xf64>
  %zeros = grad.zero : tensor<3xf64>
  %y, %c = scf.for %k = %zero to %six step %one iter_args(%y_ = %empty, %c_ = %x)
      -> (tensor<6x3xf64>, tensor<6x3xf64>) {
    %i = arith.subi %five, %k : index
    %row = tensor.extract_slice %c_[%i, 0] [1, 3] [1, 1] : tensor<6x3xf64> to tensor<3xf64>
    %element = tensor.extract %c_[%i, %zero] : tensor<6x3xf64>
    %new = array.sin %row : tensor<3xf64>
    %y1 = tensor.insert_slice %new into %y_[%i, 0] [1, 3] [1, 1]
        : tensor<3xf64> into tensor<6x3xf64>
    %y2 = tensor.insert %element into %y1[%i, %one] : tensor<6x3xf64>
    %c1 = tensor.insert_slice %zeros into %c_[%i, 0] [1, 3] [1, 1]
        : tensor<3xf64> into tensor<6x3xf64>
    %c2 = tensor.insert %element into %c1[%i, %zero] : tensor<6x3xf64>
    scf.yield %y2, %c2 : tensor<6x3xf64>, tensor<6x3xf64>
  }
  func.return %y : tensor<6x3xf64>
}"""


def test_slices_and_elements_at_indices() -> None:
    before = gradir.parse(SLICES)
    after = simplified(before)
    assert (carried(before), carried(after)) == (2, 1)
    x = np.random.default_rng(1).standard_normal((6, 3))
    [wanted] = gradir.interpret(before, "f", x)
    [found] = gradir.interpret(after, "f", x)
    assert (wanted == found).all()
    native = [np.asarray(gradir.compile(each, "f")(x)) for each in (before, after)]
    assert (native[0] == native[1]).all()


def test_a_scan_whose_rows_all_count_has_no_gates() -> None:
    """The cotangent of its results loses a row per step, and the row that is read is whole."""

    def step(h: Any, x: Any) -> Any:
        h = gnp.tanh(gnp.sqrt(x) @ W + h)
        return h, gnp.concatenate(gnp.split(h, 2)[::-1])

    W = np.random.default_rng(2).standard_normal((4, 4))

    def loss(x: Any) -> Any:
        return (gradir.scan(step, np.zeros(4), x)[1] ** 2).sum()

    x = np.random.default_rng(3).random((5, 4)) + 0.5
    text = gradir.jit(gradir.grad(loss)).lower(x).as_text()
    assert "scf.for" in text
    assert "i1" not in text
    check_grads(loss, (x,), order=2)


def test_a_scan_whose_rows_are_chosen_keeps_its_gates() -> None:
    def loss(x: Any) -> Any:
        rows = gradir.scan(lambda h, x: (h, gnp.sqrt(x)), np.zeros(4), x)[1]
        return rows[::2].sum()

    x = np.array([[1.0, 4.0], [0.0, 0.0], [4.0, 1.0]]).repeat(2, axis=1)
    grads = gradir.jit(gradir.grad(loss))(x)
    assert (grads == np.where(np.arange(3)[:, None] == 1, 0, 0.5 / np.sqrt(np.maximum(x, 1)))).all()


def gated(text: str) -> bool:
    """Whether the derivative of a loop has masks."""
    return "i1" in text.split("_grad", 1)[1]


def test_a_loop_that_sets_elements() -> None:
    def loss(x: Any) -> Any:
        def step(i: Any, u: Any) -> Any:
            return u.at[i].set(gnp.sqrt(x[i]) * gnp.tanh(u[i]))

        return (gradir.fori_loop(0, 10, step, gnp.ones(10)) * np.arange(10.0)).sum()

    x = np.random.default_rng(4).random(10) + 0.5
    assert not gated(gradir.jit(gradir.grad(loss)).lower(x).as_text())
    wanted = 0.5 / np.sqrt(x) * np.tanh(1.0) * np.arange(10)
    np.testing.assert_allclose(gradir.jit(gradir.grad(loss))(x), wanted, rtol=1e-14)
    check_grads(loss, (x,), order=2)


@pytest.mark.parametrize("distance", [-2, -1, 1, 2])
def test_a_loop_that_reads_its_neighbours(distance: int) -> None:
    """Elements that other iterations set, before or after they are read."""

    def loss(x: Any) -> Any:
        def step(i: Any, u: Any) -> Any:
            return u.at[i].set(gnp.sqrt(x[i]) * gnp.sin(u[i + distance]) + u[i])

        u = gradir.fori_loop(2, 8, step, x * 0.5)
        return (u * np.arange(1.0, 11.0)).sum()

    def unrolled(x: Any) -> Any:
        u = x * 0.5
        for i in range(2, 8):
            u = u.at[i].set(gnp.sqrt(x[i]) * gnp.sin(u[i + distance]) + u[i])
        return (u * np.arange(1.0, 11.0)).sum()

    x = np.random.default_rng(5).random(10) + 0.5
    found = gradir.jit(gradir.grad(loss))(x)
    np.testing.assert_allclose(found, gradir.grad(unrolled)(gnp.asarray(x)), rtol=1e-12)
    check_grads(loss, (x,), order=2)
