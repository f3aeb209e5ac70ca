"""gradir-append-loss and gradir-train-step: what they compute, and what they keep."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import gradir
from gradir.errors import ArgumentTypeError, IndexOutOfRange, PassError
from gradir.passes.analysis.call_graph import functions_by_name
from gradir.testing import check_grads

Array = np.ndarray[Any, np.dtype[Any]]

NET = """
func.func @net(%x: tensor<4x3xf64> {grad.inactive}, %w: tensor<3xf64>) -> tensor<4xf64> {
  %h = array.matmul %x, %w : tensor<4x3xf64>, tensor<3xf64> -> tensor<4xf64>
  %s = grad.start_checkpoint %h : tensor<4xf64>
  %e = array.exp %s : tensor<4xf64>
  %t = array.tanh %e : tensor<4xf64>
  %y = grad.end_checkpoint %t : tensor<4xf64>
  func.return %y : tensor<4xf64>
}
func.func @l(%y: tensor<4xf64>, %t: tensor<4xf64> {grad.inactive}, %n: index) -> tensor<f64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %y) -> (tensor<4xf64>) {
    %b = array.sin %a : tensor<4xf64>
    scf.yield %b : tensor<4xf64>
  }
  %loss = nn.mse_loss %r, %t : tensor<4xf64>, tensor<4xf64> -> tensor<f64>
  func.return %loss : tensor<f64>
}
"""

DESCEND = """
func.func @update(%w: tensor<3xf64>, %g: tensor<3xf64>) -> tensor<3xf64> {
  %n = array.subtract %w, %g : tensor<3xf64>
  func.return %n : tensor<3xf64>
}
"""


def results(module: gradir.Module, name: str, *arrays: Any) -> list[Array]:
    """What a function computes natively, held against the interpreter."""
    made = [np.asarray(r) for r in gradir.compile(module, name)(*arrays)]
    for one, other in zip(made, gradir.interpret(module, name, *arrays), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    return made


def test_stages_and_loops_on_both_sides() -> None:
    """The joined function is the composition, and so is its gradient."""
    module = gradir.parse(NET).append_loss("net", "l")
    generator = np.random.default_rng(0)
    x, w, t = (generator.normal(size=shape) for shape in ((4, 3), 3, 4))
    n = np.int64(3)
    (y,) = results(module, "net", x, w)
    assert results(module, "net_loss", x, w, t, n) == results(module, "l", y, t, n)
    check_grads(module, [x, w, t, n], function="net_loss", wrt=[1])


@pytest.mark.parametrize("option", [{"policy": "keep_none"}, {"memory_limit": 1200}])
def test_policies_and_limits_do_not_change_a_step(option: dict[str, Any]) -> None:
    """They belong to the gradient, whose function has the limit."""
    module = gradir.parse(NET + DESCEND).append_loss("net", "l")
    arrays = [np.full(3, 0.3), np.ones((4, 3)), np.zeros(4), np.int64(2)]
    plain = results(module.train_step("net_loss", wrt=1), "net_loss_step", *arrays)
    stepped = module.train_step("net_loss", wrt=1, **option)
    for one, other in zip(plain, results(stepped, "net_loss_step", *arrays), strict=True):
        assert one.tobytes() == other.tobytes()
    if "memory_limit" in option:
        assert "grad.memory_limit = 1200" in str(stepped)


def test_running_statistics_are_carried() -> None:
    """With the unbiased variance, as the forward code says; by the attribute and by the option."""
    body = """ {
  %y, %m1, %v1, %bm, %bi = nn.batch_norm %x, %s, %b, %m, %v {training = true, momentum = 0.5} : tensor<4x3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64> -> (tensor<4x3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>)
  func.return %y, %m1, %v1 : tensor<4x3xf64>, tensor<3xf64>, tensor<3xf64>
}
func.func @l(%y: tensor<4x3xf64>, %t: tensor<4x3xf64> {grad.inactive}) -> tensor<f64> {
  %loss = nn.mse_loss %y, %t : tensor<4x3xf64>, tensor<4x3xf64> -> tensor<f64>
  func.return %loss : tensor<f64>
}
func.func @update(%s: tensor<3xf64>, %b: tensor<3xf64>, %gs: tensor<3xf64>, %gb: tensor<3xf64>) -> (tensor<3xf64>, tensor<3xf64>) {
  %s1 = array.subtract %s, %gs : tensor<3xf64>
  %b1 = array.subtract %b, %gb : tensor<3xf64>
  func.return %s1, %b1 : tensor<3xf64>, tensor<3xf64>
}
"""  # noqa: E501
    head = "func.func @f(%x: tensor<4x3xf64> {grad.inactive}, %s: tensor<3xf64>, %b: tensor<3xf64>"
    types = " -> (tensor<4x3xf64>, tensor<3xf64>, tensor<3xf64>)"
    marked = (
        ", %m: tensor<3xf64> {grad.in_out = 1 : i64}, %v: tensor<3xf64> {grad.in_out = 2 : i64})"
    )
    named = ', %m: tensor<3xf64> {grad.name = "m"}, %v: tensor<3xf64>)'
    generator = np.random.default_rng(0)
    x, t, s, b, m, v = (generator.uniform(1, 2, n) for n in ((4, 3), (4, 3), 3, 3, 3, 3))
    made: list[list[Array]] = []
    by_name: Any = {"m": 1, np.int64(4): np.int64(2)}
    for arguments, carry in ((marked, None), (named, by_name)):
        module = gradir.parse(head + arguments + types + body).append_loss("f", "l")
        stepped = module.train_step("f_loss", carry=carry)
        made.append(results(stepped, "f_loss_step", s, b, m, v, x, t))
    s1, b1, m1, v1, loss = made[0]
    np.testing.assert_allclose(m1, 0.5 * m + 0.5 * x.mean(0))
    np.testing.assert_allclose(v1, 0.5 * v + 0.5 * x.var(0, ddof=1))
    z = (x - x.mean(0)) / np.sqrt(x.var(0) + 1e-5)
    error = z * s + b - t
    np.testing.assert_allclose(loss, (error**2).mean())
    np.testing.assert_allclose(s1, s - (2 * error * z).sum(0) / error.size)
    np.testing.assert_allclose(b1, b - (2 * error).sum(0) / error.size)
    assert all(p.tobytes() == q.tobytes() for p, q in zip(*made, strict=True))


TWO = """
func.func @f(%x: tensor<3xf64> {grad.inactive}, %a: tensor<3xf64>, %b: tensor<f64>, %unused: tensor<2xf64>) -> (tensor<f64>, tensor<3xf64>, tensor<3xf64>) {
  %ax = array.multiply %a, %x : tensor<3xf64>
  %sum = array.sum %ax : tensor<3xf64> -> tensor<f64>
  %loss = array.multiply %sum, %b : tensor<f64>
  func.return %loss, %a, %ax : tensor<f64>, tensor<3xf64>, tensor<3xf64>
}
func.func @update(%u: tensor<2xf64>, %b: tensor<f64>, %a: tensor<3xf64>, %gu: tensor<2xf64>, %gb: tensor<f64>, %ga: tensor<3xf64>, %before: tensor<3xf64>) -> (tensor<2xf64>, tensor<f64>, tensor<3xf64>, tensor<3xf64>) {
  %u1 = array.add %u, %gu : tensor<2xf64>
  %b1 = array.subtract %b, %gb : tensor<f64>
  %a1 = array.subtract %a, %ga : tensor<3xf64>
  func.return %u1, %b1, %a1, %a : tensor<2xf64>, tensor<f64>, tensor<3xf64>, tensor<3xf64>
}
"""  # noqa: E501


@pytest.mark.parametrize("in_place", [False, True])
def test_old_values_that_are_read_after_the_update(in_place: bool) -> None:
    """A returned parameter and a state that is the old parameter are those before the step, also
    where the new ones take their place; parameters come in the order of wrt, unused ones too."""
    module = gradir.parse(TWO).train_step("f", wrt=[3, 2, 1], in_place=in_place)
    x, a, b = np.array([1.0, 2.0, 3.0]), np.array([0.5, 0.25, 2.0]), np.array(3.0)
    u, before = np.array([7.0, 8.0]), np.zeros(3)
    want = [u, b - (a * x).sum(), a - 3 * x, a, (a * x).sum() * 3, a, a * x]
    if in_place:
        for run in (gradir.compile(module, "f_step"), partial(gradir.interpret, module, "f_step")):
            given = [each.copy() for each in (u, b, a, before)]
            got = run(x, out=[*given, None, None, None])
            assert all(np.shares_memory(r, g) for r, g in zip(got, given, strict=False))
            for one, other in zip(got, want, strict=True):
                np.testing.assert_allclose(one, other)
    else:
        for one, other in zip(results(module, "f_step", u, b, a, before, x), want, strict=True):
            np.testing.assert_allclose(one, other)


def test_a_declared_derivative_is_used() -> None:
    """The joined function calls: a copy of the body would lose grad.custom_vjp."""
    text = """
grad.custom_vjp @f, @f_forward, @f_backward
func.func @f(%x: tensor<3xf64>) -> tensor<3xf64> {
  func.return %x : tensor<3xf64>
}
func.func @f_forward(%x: tensor<3xf64>) -> (tensor<3xf64>, tensor<3xf64>) {
  func.return %x, %x : tensor<3xf64>, tensor<3xf64>
}
func.func @f_backward(%x: tensor<3xf64>, %ct: tensor<3xf64>) -> tensor<3xf64> {
  func.return %x : tensor<3xf64>
}
func.func @l(%y: tensor<3xf64>) -> tensor<f64> {
  %loss = array.sum %y : tensor<3xf64> -> tensor<f64>
  func.return %loss : tensor<f64>
}
"""
    module = gradir.parse(text + DESCEND).append_loss("f", "l").train_step("f_loss")
    for option in ("", "policy=keep_none"):
        stepped = gradir.parse(text + DESCEND).run_passes(
            f"gradir-append-loss{{function=f loss=l}},gradir-train-step{{function=f_loss {option}}}"
        )
        new, loss = results(stepped, "f_loss_step", np.array([1.0, 2.0, 4.0]))
        assert (new == 0).all() and loss == 7
    assert str(module) == str(gradir.parse(str(module)))


def test_unknown_extents() -> None:
    """One step for batches of every size, with one program."""
    text = """
func.func @f(%x: tensor<?x3xf64> {grad.inactive}, %w: tensor<3xf64>) -> tensor<?xf64> {
  %y = array.matmul %x, %w : tensor<?x3xf64>, tensor<3xf64> -> tensor<?xf64>
  func.return %y : tensor<?xf64>
}
func.func @l(%y: tensor<?xf64>, %t: tensor<?xf64> {grad.inactive}) -> tensor<f64> {
  %loss = nn.mse_loss %y, %t : tensor<?xf64>, tensor<?xf64> -> tensor<f64>
  func.return %loss : tensor<f64>
}
"""
    module = gradir.parse(text + DESCEND).append_loss("f", "l").train_step("f_loss")
    step = gradir.compile(module, "f_loss_step")
    for count in (1, 4):
        x, w, t = np.arange(3.0 * count).reshape(count, 3), np.ones(3), np.ones(count)
        new, loss = step(w, x, t)
        error = x @ w - t
        np.testing.assert_allclose(new, w - 2 * error @ x / count)
        np.testing.assert_allclose(loss, (error**2).mean())


TABLE = """
func.func @f(%table: tensor<7x2xf64>, %i: tensor<3xi64>) -> tensor<f64> {
  %rows = array.take %table, %i {axis = 0} : tensor<7x2xf64>, tensor<3xi64> -> tensor<3x2xf64>
  %squares = array.multiply %rows, %rows : tensor<3x2xf64>
  %loss = array.sum %squares : tensor<3x2xf64> -> tensor<f64>
  func.return %loss : tensor<f64>
}
func.func @update(%table: tensor<7x2xf64>, %g: !grad.slices<7x2xf64, count = 3>) -> tensor<7x2xf64> {
  %new = grad.accumulate %table, %g : tensor<7x2xf64>, !grad.slices<7x2xf64, count = 3> -> tensor<7x2xf64>
  func.return %new : tensor<7x2xf64>
}
"""  # noqa: E501


def test_an_optimizer_of_row_slices() -> None:
    """It gets the rows that were read, as its signature asks; another number of rows is refused."""
    table, rows = np.arange(14.0).reshape(7, 2), np.array([1, 1, -3])
    module = gradir.parse(TABLE).train_step("f")
    new, _ = results(module, "f_step", table, rows)
    want = table.copy()
    np.add.at(want, rows, 2 * table[rows])
    np.testing.assert_allclose(new, want)
    with pytest.raises(PassError, match=r"must be !grad.slices<7x2xf64, count = 3>, got .*= 4>"):
        gradir.parse(TABLE.replace("count = 3", "count = 4")).train_step("f")
    with pytest.raises(IndexOutOfRange):
        gradir.compile(module, "f_step")(table, np.array([1, 1, 7]))


def test_indices_and_values_in_place_of_row_slices() -> None:
    """The same step for an optimizer of two tensors; slices of its own have no place there."""
    type_ = "!grad.slices<7x2xf64, count = 3>"
    pair = TABLE.replace(f"%g: {type_})", "%i: tensor<3xi64>, %v: tensor<3x2xf64>)")
    slices = f"  %g = grad.slices %i, %v : tensor<3xi64>, tensor<3x2xf64> -> {type_}\n"
    pair = pair.replace("  %new", slices + "  %new")
    table, rows = np.arange(14.0).reshape(7, 2), np.array([1, 1, -3])
    made = (gradir.parse(text).train_step("f") for text in (TABLE, pair))
    new, other = (results(module, "f_step", table, rows)[0] for module in made)
    assert new.tobytes() == other.tobytes()
    text = pair.replace("(%table", f"(%s: {type_} {{grad.inactive}}, %table", 1)
    with pytest.raises(PassError, match=r"argument 0 \(%s\) of @f must be a tensor, .*; pass both"):
        gradir.parse(text).train_step("f")


def test_two_steps_of_a_function() -> None:
    """They share the gradient, and a step is differentiated like any function."""
    module = gradir.parse(TWO).train_step("f", wrt=[3, 2, 1])
    twice = module.train_step("f", wrt=[3, 2, 1], in_place=True, into="again")
    assert twice.functions == ("f", "f_grad", "update", "f_step", "again")
    with pytest.raises(PassError, match="@f_grad exists already"):
        gradir.parse(TWO).train_step("f", wrt=[3, 2, 1], into="f_grad")
    arrays = [np.linspace(0.5, 1.5, count) for count in (2, 3, 3, 3)]
    check_grads(module, [arrays[0], np.array(2.0), *arrays[1:]], function="f_step", order=1)


def test_places_are_kept() -> None:
    """The step, its calls, and its arguments have the places of what they come from."""
    module = gradir.parse(NET + DESCEND).append_loss("net", "l").train_step("net_loss")
    functions = functions_by_name(module.op)
    net, loss, update = (functions[name] for name in ("net", "l", "update"))
    joined, step = functions["net_loss"], functions["net_loss_step"]
    assert [op.location for op in joined.body.block.ops][:2] == [net.location, loss.location]
    places = [a.location for a in joined.args]
    assert places == [a.location for a in (*net.args, *loss.args[1:])]
    assert step.location == net.location == joined.location
    assert [op.location for op in step.body.block.ops][1] == update.location


def test_errors_have_places_and_libraries_raise_them() -> None:
    with pytest.raises(
        PassError, match=r"<string>:2:1: error: .*@net_loss exists already"
    ) as error:
        gradir.parse(NET).append_loss("net", "l").append_loss("net", "l")
    assert error.value.diagnostic is not None
    with pytest.raises(PassError, match=r"carry must be argument=result,\.\.\., got 'w=x'"):
        gradir.parse(NET + DESCEND).run_passes('gradir-train-step{function=l carry="w=x"}')
    with pytest.raises(ArgumentTypeError, match="joined: expected the index of a result, got 'y'"):
        gradir.parse(NET).append_loss("net", "l", joined="y")  # pyrefly: ignore[bad-argument-type]
    with pytest.raises(PassError, match="wrt: @f must have a parameter, got none"):
        gradir.parse(
            "func.func @f(%x: tensor<f64> {grad.inactive}) -> tensor<f64> {\n"
            "  func.return %x : tensor<f64>\n}" + DESCEND
        ).train_step("f")


CONSTANTS = """
func.func @net(%x: tensor<2xf64>) -> tensor<2xf64> {
  %w = arith.constant dense<[2.0, 3.0]> : tensor<2xf64>
  %n = arith.constant dense<[1, 2]> : tensor<2xi64>
  %one = arith.constant dense<1.0> : tensor<1xf64>
  %z = arith.constant dense<0.5> : tensor<2xf64>
  %a = arith.mulf %x, %w : tensor<2xf64>
  %y = arith.addf %a, %z : tensor<2xf64>
  func.return %y : tensor<2xf64>
}
"""


def test_constants_become_arguments() -> None:
    module, weights = gradir.parse(CONSTANTS).lift_constants("net")
    assert {name: list(values) for name, values in weights.items()} == {
        "w": [2.0, 3.0],
        "z": [0.5, 0.5],
    }
    x = np.array([1.0, -1.0])
    [y] = gradir.compile(module, "net")(x, *weights.values())
    np.testing.assert_array_equal(y, [2.5, -2.5])
    slope = module.gradient("net", wrt=["w"], mode="vjp")
    found = gradir.compile(slope, "net_vjp")(x, *weights.values(), np.ones(2))
    np.testing.assert_array_equal(found[1], x)
    _, large = gradir.parse(CONSTANTS).lift_constants("net", elements=3)
    assert large == {}
    by_pass = gradir.parse(CONSTANTS).run_passes("gradir-lift-constants{function=net}")
    assert str(by_pass) == str(module)


def test_constants_of_a_function_that_is_called() -> None:
    caller = """
func.func @main(%x: tensor<2xf64>) -> tensor<2xf64> {
  %y = func.call @net(%x) : (tensor<2xf64>) -> tensor<2xf64>
  func.return %y : tensor<2xf64>
}
"""
    with pytest.raises(PassError, match="@net is called here, without the constants"):
        gradir.parse(CONSTANTS + caller).lift_constants("net")
