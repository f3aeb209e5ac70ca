"""The library interface: wrong arguments are refused by type, requests resolved, chains long."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradir
from gradir import GradirError
from gradir.errors import ArgumentError, ArgumentTypeError, PassError
from gradir.gc_pause import paused_gc
from gradir.testing import check_grads

TYPE = "tensor<3xf32>"
PROGRAM = f"""
func.func @f(%x: {TYPE}, %i: tensor<3xi32>, %w: {TYPE} {{grad.name = "w"}}) -> {TYPE} {{
  %y = array.multiply %x, %w : {TYPE}
  func.return %y : {TYPE}
}}
func.func @s(%x: tensor<f32>) -> tensor<f32> {{
  func.return %x : tensor<f32>
}}
"""
SIN = """
func.func @f(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %y = array.sin %x : tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}
"""
SOFTMAX = SIN.replace("array.sin %x", "nn.softmax %x {axis = 1}")
ONES = np.ones(3, np.float32)


def anything(value: object) -> Any:
    """A value that a type checker would refuse."""
    return value


MISUSES: dict[str, Callable[[], object]] = {
    "parse None": lambda: gradir.parse(anything(None)),
    "parse 5": lambda: gradir.parse(anything(5)),
    "parse bytes": lambda: gradir.parse(anything(b"func.func")),
    "parse list": lambda: gradir.parse(anything(["a"])),
    "parse filename": lambda: gradir.parse(PROGRAM, anything(5)),
    "compile text": lambda: gradir.compile(anything(PROGRAM), "f"),
    "compile list": lambda: gradir.compile(gradir.parse(PROGRAM), anything(["f"])),
    "interpret None": lambda: gradir.interpret(anything(None), "f"),
    "interpret list": lambda: gradir.interpret(gradir.parse(PROGRAM), anything(["f"])),
    "gradient list": lambda: gradir.parse(PROGRAM).gradient(anything(["f"])),
    "run_passes": lambda: gradir.parse(PROGRAM).run_passes(anything(5)),
    "threads str": lambda: gradir.compile(gradir.parse(PROGRAM), "s", anything("2")),
    "threads float": lambda: gradir.compile(gradir.parse(PROGRAM), "s", anything(2.0)),
    "threads bool": lambda: gradir.compile(gradir.parse(PROGRAM), "s", threads=True),
    "req str": lambda: gradir.parse(PROGRAM).gradient("f", req=anything("w=null")),
    "req list": lambda: gradir.parse(PROGRAM).gradient("f", req=anything(["w"])),
    "check_grads": lambda: check_grads((gradir.parse(PROGRAM), "f"), anything(None)),
}


@pytest.mark.parametrize("misuse", MISUSES.values(), ids=MISUSES)
def test_wrong_types_are_argument_type_errors(misuse: Callable[[], object]) -> None:
    with pytest.raises(ArgumentTypeError):
        misuse()


def test_a_path_that_no_system_takes() -> None:
    with pytest.raises(ArgumentError, match="null byte"):
        gradir.parse("x\0.mlir")


@pytest.mark.parametrize("wrong", [1.5, True, None, b"w", {0}])
def test_what_is_no_selector_is_refused(wrong: Any) -> None:
    module = gradir.parse(PROGRAM)
    with pytest.raises(PassError, match="wrt: expected an index or a name, got"):
        module.gradient("f", wrt=[wrong])
    with pytest.raises(PassError, match="of: expected an index or a name, got"):
        module.gradient("f", of=[wrong])


@pytest.mark.parametrize("index", [np.int64(0), np.int8(0)])
def test_numpy_integers_are_indices(index: Any) -> None:
    module = gradir.parse(PROGRAM)
    expected = str(module.gradient("f", wrt=0, of=0))
    assert str(module.gradient("f", wrt=index, of=[index])) == expected
    assert gradir.compile(module, "s", threads=np.int64(1)).threads == 1  # pyrefly: ignore[bad-argument-type]


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"q": "write"}, "req: no value of @f is named 'q'"),
        ({"q": "null"}, "req: no value of @f is named 'q'"),
        ({5: "write"}, "req: @f has 3 arguments, got index 5"),
        ({1: "write"}, "req: 1 of @f must be floating"),
        ({2: "write", "w": "null"}, "req: each value must be given once, got 2 and 'w'"),
        ({"w": "put"}, "req must be write, null, add or slices, got 'put'"),
        ({"w": None}, "req must be write, null, add or slices, got None"),
    ],
)
def test_wrong_requests(request_: Any, message: str) -> None:
    with pytest.raises(PassError, match=message):
        gradir.parse(PROGRAM).gradient("f", req=request_)


def test_requests_of_the_pass() -> None:
    module = gradir.parse(PROGRAM)
    pruned = module.run_passes('gradir-gradient{function=f req="w=null,0=write"}')
    assert str(pruned) == str(module.gradient("f", wrt=0))
    with pytest.raises(PassError, match="got 'put' for 'w'"):
        module.run_passes('gradir-gradient{function=f req="w=put,0=null"}')


# Calls.


def chain_of_calls(length: int) -> str:
    """@f0 computes a sine; each of the others calls the one before."""
    bodies = [f"array.sin %x : {TYPE}"]
    bodies += [f"func.call @f{k}(%x) : ({TYPE}) -> {TYPE}" for k in range(length - 1)]
    return "\n".join(
        f"func.func @f{k}(%x: {TYPE}) -> {TYPE} {{\n  %y = {body}\n  func.return %y : {TYPE}\n}}"
        for k, body in enumerate(bodies)
    )


def test_chains_of_calls_may_be_longer_than_pythons() -> None:
    module = gradir.parse(chain_of_calls(600))
    assert np.array_equal(gradir.interpret(module, "f599", ONES)[0], np.sin(ONES))
    assert np.allclose(gradir.compile(module, "f599")(ONES)[0], np.sin(ONES))
    derived = module.gradient("f599", mode="vjp")
    for grads in (
        gradir.interpret(derived, "f599_vjp", ONES, ONES),
        gradir.compile(derived, "f599_vjp")(ONES, ONES),
    ):
        assert np.allclose(grads[1], np.cos(ONES))


USES: dict[str, Callable[[gradir.Module, str], object]] = {
    "interpret": lambda module, name: gradir.interpret(module, name, ONES),
    "compile": gradir.compile,
    "gradient": lambda module, name: module.gradient(name),
    "inline": lambda module, name: module.run_passes(f"gradir-inline{{function={name}}}"),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_recursion_is_refused_at_the_call(use: Callable[[gradir.Module, str], object]) -> None:
    call = f"  %y = func.call @r(%x) : ({TYPE}) -> {TYPE}\n"
    text = f"func.func @r(%x: {TYPE}) -> {TYPE} {{\n{call}  func.return %y : {TYPE}\n}}"
    with pytest.raises(PassError, match=r"<string>:2:3: error: func.call: @r is recursive"):
        use(gradir.parse(text), "r")


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_call_of_a_declaration_is_refused(use: Callable[[gradir.Module, str], object]) -> None:
    module = gradir.parse(
        f"func.func private @g({TYPE}) -> {TYPE}\n"
        f"func.func @h(%x: {TYPE}) -> {TYPE} {{\n"
        f"  %y = func.call @g(%x) : ({TYPE}) -> {TYPE}\n  func.return %y : {TYPE}\n}}"
    )
    with pytest.raises(PassError, match=r"<string>:3:3: error: func.call: @g has no body"):
        use(module, "h")
    if use is not USES["inline"]:
        with pytest.raises(PassError, match=r"<string>:1:1: error: @g has no body"):
            use(module, "g")


# Passes out of order.


@pytest.mark.parametrize(
    ("text", "pipeline", "message"),
    [
        (SOFTMAX, "gradir-lower", "3:3: error: nn.softmax: .*run gradir-decompose first"),
        (SIN, "gradir-bufferize", "3:3: error: array.sin: .*run gradir-lower first"),
        (SIN, "gradir-plan-memory", "2:1: .*run gradir-bufferize first"),
        (SIN, "gradir-lower,gradir-plan-memory", "2:1: .*run gradir-bufferize first"),
        (SIN, "gradir-allocate-scratch", "2:1: .*run gradir-bufferize first"),
        (SIN, "gradir-lower,gradir-bufferize,gradir-fuse", "3:3: .*before gradir-bufferize"),
        (SIN, "gradir-lower,gradir-bufferize,gradir-bufferize", "2:1: .*gradir-bufferize once"),
        (
            SIN,
            "gradir-lower,gradir-bufferize,gradir-plan-memory,gradir-plan-memory",
            "2:1: .*gradir-plan-memory once",
        ),
        (
            SIN,
            "gradir-lower,gradir-bufferize,gradir-plan-memory,gradir-allocate-scratch",
            "2:1: .*before gradir-plan-memory",
        ),
        (
            SIN,
            "gradir-lower,gradir-bufferize,gradir-gradient{function=f}",
            "2:1: .*differentiate before gradir-bufferize",
        ),
    ],
)
def test_passes_out_of_order_say_which_is_missing(text: str, pipeline: str, message: str) -> None:
    with pytest.raises(PassError, match=message):
        gradir.parse(text).run_passes(pipeline)


def test_nests_on_buffers_have_effects() -> None:
    buffers = gradir.parse(SIN).run_passes("gradir-lower,gradir-bufferize")
    assert str(buffers.run_passes("cse,canonicalize,gradir-dce")) == str(buffers)


def test_numbers_as_arguments_and_results() -> None:
    text = """func.func @f(%x: f64, %n: i64, %k: index, %c: i1) -> (f64, i64, index, i1) {
      %y = arith.mulf %x, %x : f64
      %m = arith.addi %n, %n : i64
      func.return %y, %m, %k, %c : f64, i64, index, i1
    }"""
    function = gradir.compile(gradir.parse(text), "f")
    results = function(1.5, 3, 4, True)
    assert results == (2.25, 6, 4, True)
    assert [r.dtype.name for r in results] == ["float64", "int64", "int64", "bool"]


# Memory that activity does not see.


def test_buffers_have_no_gradient() -> None:
    module = gradir.parse("func.func @f(%x: memref<3xf32>) {\n  func.return\n}")
    with pytest.raises(PassError, match=r"<string>:1:1: error: @f: only functions of tensors"):
        module.gradient("f")


@pytest.mark.parametrize("function", ["f", "h"])
def test_effects_on_active_values_have_no_gradient(function: str) -> None:
    module = gradir.parse(f"""func.func @f(%x: {TYPE}) -> {TYPE} {{
  %m = memref.alloc() : memref<3xf32>
  bufferization.materialize_in_destination %x in restrict writable %m
      : ({TYPE}, memref<3xf32>) -> ()
  %y = bufferization.to_tensor %m restrict : memref<3xf32> to {TYPE}
  func.return %y : {TYPE}
}}
func.func @h(%x: {TYPE}) -> {TYPE} {{
  %y = func.call @f(%x) : ({TYPE}) -> {TYPE}
  func.return %y : {TYPE}
}}
""")
    message = r"<string>:3:3: error: bufferization.materialize_in_destination: .*effects.* reads %x"
    with pytest.raises(PassError, match=message):
        module.gradient(function)


# The collector.


def test_the_collector_is_paused_until_the_last_leaves() -> None:
    assert gc.isenabled()
    with paused_gc():
        assert not gc.isenabled()
        with pytest.raises(GradirError), paused_gc():
            raise GradirError("inside")
        thread = threading.Thread(target=gradir.parse, args=(PROGRAM,))
        thread.start()
        thread.join()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_an_import_is_not_walked() -> None:
    """No collection in it, and its objects are old; those that somebody has frozen stay so.

    Python 3.12 has frozen some of its own.
    """
    code = """if True:
        import gc
        import numpy
        begun = []
        gc.callbacks.append(lambda phase, info: begun.append(phase == "start"))
        import gradir.numpy
        gc.callbacks.clear()
        assert sum(begun) <= 3, begun  # in the modules that come before the pause
        classes = gradir.numpy.sin, gradir.GradirError
        are_old = all(any(c is o for o in gc.get_objects(2)) for c in classes)
        assert are_old == (not gc.get_freeze_count())
        gc.freeze()
        frozen = gc.get_freeze_count()
        import gradir.nn
        assert gradir.jit(lambda x: x + 1)(numpy.ones(2)).tolist() == [2, 2]
        assert gc.isenabled() and 0.9 * frozen < gc.get_freeze_count() <= frozen
        """
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        gradir.parse(PROGRAM)
        assert not gc.isenabled()
    finally:
        gc.enable()
