"""The replay of foreign graphs: a toy system, whose graphs are made here."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr

import gradir
import gradir.numpy as gnp
from gradir.frontends.imported.check import require_replayable
from gradir.frontends.imported.errors import ImportedProgramError
from gradir.frontends.imported.graph import (
    DerivativeRule,
    ForeignConstant,
    ForeignGraph,
    ForeignNode,
    ForeignType,
    ForeignValue,
    live_nodes,
)
from gradir.frontends.imported.jax_rules.control import RULES as CONTROL
from gradir.frontends.imported.jax_rules.table import JAX
from gradir.frontends.imported.replay import Replay
from gradir.frontends.imported.table import RuleTable

TOY = RuleTable("Toy")
TOY.plain(sin=gnp.sin, times=gnp.multiply, wrong=lambda x: gnp.reshape(x, (-1, 1)))
TOY.exact.add("times")
TOY.refuse("it is not a function", "dice")
TOY.rules["custom"] = CONTROL.rules["custom_jvp_call"]
VECTOR = ForeignType((3,), "float64")


def line(number: int) -> Any:
    return FileLineColLoc(StringAttr("toy.py"), IntAttr(number), IntAttr(7))


class Builder:
    """A graph under construction: one vector in."""

    def __init__(self) -> None:
        self.x = ForeignValue(VECTOR)
        self.nodes: list[ForeignNode] = []
        self.made: Any = None

    def add(self, op: str, *operands: Any, type_: ForeignType = VECTOR, **more: Any) -> Any:
        made, place = ForeignValue(type_), line(len(self.nodes) + 1)
        params = more.pop("params", {})
        self.nodes.append(ForeignNode(op, operands, (made,), params, place, **more))
        return made

    def graph(self, *outputs: Any, inputs: Any = None) -> ForeignGraph:
        given = (self.x,) if inputs is None else inputs
        return ForeignGraph("toy", given, tuple(self.nodes), outputs, line(1))


def test_values_gradients_and_lines() -> None:
    b = Builder()
    half = ForeignConstant(VECTOR, np.full(3, 0.5))
    y = b.add("times", b.add("sin", b.x, variable="s"), half)
    graph = b.graph(y, b.x)

    def function(x: Any) -> Any:
        made, same = Replay(TOY).run(graph, [x])
        return gnp.sum(made * same)

    x = np.array([0.1, 0.7, -1.0])
    np.testing.assert_allclose(gradir.grad(function)(x), 0.5 * (np.cos(x) * x + np.sin(x)))
    text = str(gradir.trace(function, x))
    assert "%s = array.sin" in text


def test_exact_ops_of_known_numbers_are_numbers() -> None:
    number = ForeignType((), "float64")
    b = Builder()
    product = b.add("times", *[ForeignConstant(number, np.array(0.1))] * 2, type_=number)
    product = b.add("times", product, product, type_=number)
    product = b.add("times", b.add("sin", product, type_=number), product, type_=number)
    text = str(gradir.trace(lambda x: Replay(TOY).run(b.graph(product, b.x), [x]), np.zeros(3)))
    assert f"%1 = array.full {{value = {(0.1 * 0.1) ** 2!r}}} : tensor<f64>\n" in text
    assert [text.count(f"array.{op} ") for op in ("full", "sin", "multiply")] == [2, 1, 1]


def test_all_that_is_unknown_is_one_error() -> None:
    b = Builder()
    for _ in range(6):
        b.add("cosh", b.x)
    inner = Builder()
    inner.add("dice", inner.x)
    wide = ForeignType((2,), "complex128")
    b.add("sin", b.x, graphs=(inner.graph(inner.x),))
    b.add("sin", ForeignConstant(wide, None), type_=wide)
    b.add("sin", b.x, effect="Print")
    with pytest.raises(ImportedProgramError) as caught:
        require_replayable(b.graph(b.x), TOY)
    assert str(caught.value) == (
        "toy.py:1:7: error: Toy: @toy has what cannot be imported:\n"
        "  cosh (6 times; toy.py:1:7, toy.py:2:7, toy.py:3:7, toy.py:4:7, ...): there is no rule "
        "for it\n"
        "  dice (once; toy.py:1:7): it is not a function\n"
        "  sin (2 times; toy.py:8:7): programs with elements of type complex128 are not read\n"
        "  sin (once; toy.py:9:7): it has an effect (Print), and programs have none"
    )


def test_a_rule_with_a_wrong_type_is_an_error() -> None:
    b = Builder()
    graph = b.graph(b.add("wrong", b.x))
    with pytest.raises(ImportedProgramError, match=r"toy.py:1:7: error: wrong: result: expected"):
        gradir.trace(lambda x: Replay(TOY).run(graph, [x]), np.zeros(3))
    short = ForeignType((2,), "float64")
    b = Builder()
    with pytest.raises(ImportedProgramError, match="argument: expected"):
        gradir.trace(lambda x: Replay(TOY).run(b.graph(b.x), [x]), np.zeros(short.shape))


def test_nodes_that_nothing_needs_are_left_out() -> None:
    b = Builder()
    b.add("dice", b.x)
    y = b.add("sin", b.x)
    told = b.add("sin", b.x, effect="Print")
    assert [node.results[0] for node in live_nodes(b.nodes, (y,))] == [y, told]


def rule_of(body: Builder, key: str) -> DerivativeRule:
    """The derivative rule 3 x dx, which calls its own function for the value."""
    b = Builder()
    dx, three = ForeignValue(VECTOR), ForeignConstant(VECTOR, np.full(3, 3.0))
    inner = body.graph(body.add("times", body.x, body.x)) if not body.nodes else body.made

    def jvp() -> ForeignGraph:
        again = DerivativeRule(key, (0,), jvp=jvp) if key == "same" else rule_of(body, key)
        made = b.add("custom", b.x, params={"call_jaxpr": inner, "rule": again})
        slope = b.add("times", b.add("times", b.x, three), dx)
        return b.graph(made, slope, inputs=(b.x, dx))

    body.made = inner
    return DerivativeRule(key if key == "same" else object(), (0,), jvp=jvp)


def test_a_rule_may_call_its_own_function() -> None:
    body, b = Builder(), Builder()
    rule = rule_of(body, "same")
    params = {"call_jaxpr": body.made, "rule": rule}
    graph = b.graph(b.add("custom", b.x, params=params))

    def total(x: Any) -> Any:
        return gnp.sum(Replay(TOY).run(graph, [x])[0])

    x = np.array([0.1, 0.7, -1.0])
    np.testing.assert_allclose(gradir.jit(total)(x), np.sum(x * x))
    np.testing.assert_allclose(gradir.grad(total)(x), 3 * x)
    second = gradir.grad(lambda x: gnp.sum(gradir.grad(total)(x) * x))
    np.testing.assert_allclose(second(x), 6 * x)


def test_a_rule_that_calls_a_new_function_each_time_ends() -> None:
    body, b = Builder(), Builder()
    rule = rule_of(body, "other")
    params = {"call_jaxpr": body.made, "rule": rule}
    graph = b.graph(b.add("custom", b.x, params=params))
    x = np.array([0.1, 0.7, -1.0])
    total: Any = lambda x: gnp.sum(Replay(TOY).run(graph, [x])[0])  # noqa: E731
    np.testing.assert_allclose(gradir.grad(total)(x), 3 * x)
    module = gradir.trace(total, x)
    np.testing.assert_allclose(gradir.interpret(module, "main", x)[0], np.sum(x * x))


def test_tables_say_of_each_op_one_thing() -> None:
    assert JAX.rules.keys().isdisjoint(JAX.absent)
    assert JAX.notes.keys() <= JAX.rules.keys()
    assert len(JAX.rules) >= 90
    with pytest.raises(AssertionError):
        RuleTable.joined("JAX", CONTROL, CONTROL)
