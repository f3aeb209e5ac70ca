"""Names of custom ops: what a program holds, redefinition, races, and lifetimes."""

from __future__ import annotations

import gc
import pickle
import threading
from pathlib import Path
from typing import Any
from weakref import ref

import numpy as np
import pytest

import gradir
import gradir.numpy as gnp
from gradir.dialects.grad.host_functions import host_function
from tests.support.custom_ops import own_registry

X = np.array([1.0, 2.0])


def times(factor: float, name: str | None = None, **options: Any) -> Any:
    """factor * x, with its slope."""

    def forward(inputs: Any, outputs: Any, req: Any) -> None:
        outputs[0][...] = factor * inputs[0]

    def backward(cotangents: Any, inputs: Any, outputs: Any, grads: Any, req: Any) -> None:
        grads[0][...] = factor * cotangents[0]

    given: dict[str, Any] = {"needs": ("cotangents",), "pure": True} | options
    return gradir.custom_op(forward, like, backward, name=name, **given)


def summed(op: Any) -> Any:
    def f(x: Any) -> Any:
        return gnp.sum(op(x))

    return f


def double(inputs: Any, outputs: Any, req: Any) -> None:
    outputs[0][...] = 2 * inputs[0]


def like(x: Any) -> Any:
    return x


def test_a_traced_program_calls_what_it_was_traced_with():
    """Forward, differentiated later and run later, and after the name was given away."""
    old = times(2, "redefined")
    module = gradir.trace(summed(old), X)
    name = module.functions[0]
    new = times(5, "redefined")
    assert gradir.compile(module, name)(X)[0] == 6
    assert gradir.interpret(module, name, X)[0] == 6
    made = module.gradient(name, mode="grad")
    assert gradir.compile(made, f"{name}_grad")(X)[1].tolist() == [2, 2]
    assert gradir.grad(summed(new))(X).tolist() == [5, 5]
    assert gradir.grad(summed(old))(X).tolist() == [2, 2]


def test_one_program_may_call_two_ops_of_one_name():
    """They are pure and have equal operands, and are not merged."""
    old, new = times(2, "twice"), times(5, "twice")

    def both(x: Any) -> Any:
        return old(x) * new(x)

    assert gradir.jit(both)(X).tolist() == [10, 40]
    assert gradir.grad(summed(both))(X).tolist() == [20, 40]


def test_code_on_disk_calls_the_op_of_its_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GRADIR_CACHE", "1")
    monkeypatch.setenv("GRADIR_CACHE_DIR", str(tmp_path))
    old, new = times(2, "on_disk"), times(5, "on_disk")
    for op, factor in ((old, 2), (new, 5), (old, 2)):
        slopes = gradir.grad(summed(op))(X)
        assert slopes.tolist() == [factor, factor]


def test_text_means_the_op_that_has_the_name_when_it_is_compiled():
    text = """
    func.func @f(%x: tensor<2xf64>) -> tensor<2xf64> {
      %y = grad.host_call %x {callee = "in_text"} : (tensor<2xf64>) -> tensor<2xf64>
      func.return %y : tensor<2xf64>
    }"""
    old = times(2, "in_text")
    module = gradir.parse(text)
    compiled, made = gradir.compile(module, "f"), module.gradient("f", mode="vjp")
    new = times(5, "in_text")
    assert compiled(X)[0].tolist() == [2, 4]
    assert gradir.compile(module, "f")(X)[0].tolist() == [5, 10]
    results = gradir.compile(made, "f_vjp")(X, X)
    assert [r.tolist() for r in results] == [[2, 4], [2, 4]], "both of one op"
    del old, new


def test_unpickling_takes_no_name_away():
    old = gradir.custom_op(double, like, name="pickled_name")
    data = pickle.dumps(old)
    new = times(5, "pickled_name")
    again = pickle.loads(data)
    assert again(X).tolist() == [2, 4]
    held = host_function("pickled_name")
    assert held is not None and held is new.function


def test_names_made_by_many_threads_are_different():
    start, made = threading.Barrier(8), list[Any]()

    def work() -> None:
        start.wait()
        for _ in range(30):
            made.append(times(2))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({op.name for op in made}) == 240


def test_threads_make_and_call_ops_of_one_name():
    wrong: list[Any] = []

    def work(factor: int) -> None:
        for _ in range(3):
            op = times(factor, "raced")
            got = gradir.grad(summed(op))(X).tolist()
            if got != [factor, factor]:
                wrong.append((factor, got))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_ops_are_freed_with_their_last_holder():
    op = times(2)
    gone, name = ref(op.function), op.name
    compiled = gradir.compile(gradir.trace(op, X), gradir.trace(op, X).functions[0])
    del op
    gc.collect()
    assert gone() is not None and compiled(X)[0].tolist() == [2, 4]
    del compiled
    gc.collect()
    assert gone() is None and host_function(name) is None


def test_a_given_name_keeps_its_op_until_another_takes_it():
    gone = ref(times(2, "given").function)
    gc.collect()
    assert gone() is host_function("given") is not None
    times(5, "given")
    gc.collect()
    assert gone() is None


def test_registered_functions_are_kept():
    with own_registry():
        gradir.register_host_function("kept_by_name", like, backward=like)
        gc.collect()
        assert host_function("kept_by_name") is not None
        assert host_function("kept_by_name.backward") is not None
