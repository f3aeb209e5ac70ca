"""Compiled functions and modules as values: pickled, copied, dropped, and alive at exit."""

import copy
import inspect
import io
import marshal
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import pytest
from runtime_harness import resident_bytes

import gradir
import gradir.numpy as gnp
from gradir.errors import ArgumentError

X = np.linspace(-1.0, 1.0, 6)
TEXT = """
func.func @f(%x: tensor<6xf64>) -> tensor<6xf64> {
  %s = array.sin %x : tensor<6xf64>
  %y = array.multiply %s, %x : tensor<6xf64>
  return %y : tensor<6xf64>
}
"""


def twice(x: Any) -> Any:
    return 2 * gnp.sin(x)


@gradir.jit
def decorated(x: Any) -> Any:
    return gnp.cos(x)


jitted = gradir.jit(twice, threads=1)


def reloaded(thing: Any) -> Any:
    return pickle.loads(pickle.dumps(thing))


def test_modules() -> None:
    """A module pickles as its text; a copy is the module."""
    module = gradir.parse(TEXT)
    again = reloaded(module.gradient("f", mode="vjp"))
    assert str(again) == str(module.gradient("f", mode="vjp"))
    assert copy.copy(module) is module
    assert copy.deepcopy([module])[0] is module
    with pytest.raises(gradir.GradirError, match="<pickle>"):
        reloaded(module).gradient("f", wrt=7)


def test_compiled_functions() -> None:
    """They are compiled again from what gradir.compile was given."""
    function = gradir.compile(gradir.parse(TEXT), "f", 1)
    again = reloaded(function)
    assert again is not function and again.threads == 1
    np.testing.assert_array_equal(again(X)[0], function(X)[0])
    np.testing.assert_array_equal(reloaded(again)(X)[0], function(X)[0])
    assert copy.copy(function) is function
    assert copy.deepcopy({"f": function})["f"] is function


def test_open_shapes() -> None:
    """A function of open shapes, and its code for some shapes."""
    function: Any = gradir.compile(gradir.parse(TEXT.replace("6x", "?x")), "f")
    special = function.specialized(X)
    for again in (reloaded(function), reloaded(special), copy.deepcopy(function)):
        np.testing.assert_array_equal(again(X)[0], function(X)[0])
    assert len(special.inputs) == len(reloaded(special).inputs)


def test_jitted_functions() -> None:
    """By the name of their function, which may have been replaced by what jit made of it."""
    assert reloaded(decorated) is decorated
    assert copy.deepcopy(decorated) is decorated
    np.testing.assert_array_equal(reloaded(jitted)(X), jitted(X))

    def local(x: Any) -> Any:
        return x

    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(gradir.jit(local))


def loss(x: Any) -> Any:
    """The sum."""
    return gnp.sum(gnp.sin(x) ** 2)


@gradir.grad
def slope(x: Any) -> Any:
    return gnp.sum(x**3)


@gradir.custom_vjp
def twice_steep(x: Any) -> Any:
    return gnp.sum(gnp.exp(x))


def steep_forward(x: Any) -> Any:
    return twice_steep(x), x


def steep_backward(x: Any, ct: Any) -> Any:
    return (2 * ct * gnp.exp(x),)


twice_steep.defvjp(steep_forward, steep_backward)
unnamed = gradir.custom_vjp(loss)
add_up: Callable[[Any], Any] = lambda x: gnp.sum(x)  # noqa: E731
loss_and_primal: Callable[[Any], Any] = lambda x: (loss(x), x)  # noqa: E731
squares: Callable[[Any], Any] = lambda x: gnp.sum(x * x)  # noqa: E731
unnamed.defvjp(loss_and_primal, steep_backward)

TRANSFORMED: dict[str, Any] = {
    "grad": gradir.grad(loss),
    "grad, by the name of what it decorates": slope,
    "grad of custom_vjp": gradir.grad(twice_steep),
    "value_and_grad": gradir.value_and_grad(loss, policy="keep_matmuls"),
    "jit of grad": gradir.jit(gradir.grad(loss), 1),
    "grad of jit": gradir.grad(gradir.jit(loss)),
    "hvp": partial(gradir.hvp, loss, (X,)),
    "checkpoint": gradir.jit(gradir.checkpoint(loss, policy="keep_named")),
    "grad of checkpoint": gradir.grad(gradir.checkpoint(loss)),
    "partial": gradir.grad(partial(loss)),
}


@pytest.mark.parametrize("name", TRANSFORMED)
def test_transforms(name: str) -> None:
    """They pickle by what they are made of; a copy is the function itself."""
    function = TRANSFORMED[name]
    given = (X,) if name == "hvp" else X
    again = reloaded(function)
    np.testing.assert_equal(again(given), function(given))
    if name != "hvp":
        assert copy.copy(function) is function and copy.deepcopy([function])[0] is function
    if name == "grad, by the name of what it decorates":
        assert again is function


def test_transforms_look_like_their_function() -> None:
    made = gradir.grad(gradir.checkpoint(loss))
    for function in (made, reloaded(made)):
        assert (function.__name__, function.__doc__) == ("grad_loss", "gradir.grad of loss.")
        assert list(inspect.signature(function).parameters) == ["x"]
        assert inspect.unwrap(function) is loss
    stage = gradir.checkpoint(loss)
    assert (stage.__name__, stage.__doc__, stage.__wrapped__) == ("loss", "The sum.", loss)


def test_stages_are_methods_of_classes() -> None:
    class Layer:
        weight = 3.0

        @gradir.checkpoint
        def run(self, x: Any) -> Any:
            return self.weight * x

    layer = Layer()
    assert layer.run(2.0) == 6.0
    np.testing.assert_array_equal(gradir.grad(layer.run)(2.0), 3.0)


def test_the_backward_function_of_vjp() -> None:
    """By its program and the residuals."""
    _, transposed = gradir.vjp(loss, X)
    np.testing.assert_array_equal(reloaded(transposed)(1.0), transposed(1.0))
    assert copy.deepcopy(transposed) is transposed


@pytest.mark.parametrize("transform", ["jit", "grad", "value_and_grad", "checkpoint", "custom_vjp"])
def test_functions_without_a_name_to_be_found_by(transform: str) -> None:
    """An error names the function and what pickles instead; a copy is made all the same."""
    made = getattr(gradir, transform)(add_up)
    message = rf"^{transform} of .*<lambda> \(.*test_copies.py:\d+\) does not pickle: .*executable$"
    for one in (made, gradir.jit(made), partial(made)):
        with pytest.raises(gradir.GradirError, match=message):
            pickle.dumps(one)
    assert copy.deepcopy(made) is made
    executable = gradir.jit(add_up).compiled(X).executable
    np.testing.assert_array_equal(reloaded(executable)(X), executable(X))


def test_rules_without_a_name_to_be_found_by() -> None:
    with pytest.raises(gradir.GradirError, match=r"^custom_vjp of <lambda>"):
        pickle.dumps(unnamed)


class ByValue(pickle.Pickler):
    """Takes functions apart, as cloudpickle's does."""

    def dump(self, obj: Any) -> None:
        super().dump(obj)

    def reducer_override(self, obj: Any) -> Any:
        if not isinstance(obj, FunctionType) or obj.__name__ != "<lambda>":
            return NotImplemented
        code = marshal.dumps(obj.__code__)
        return rebuilt, (code,)


def rebuilt(code: bytes) -> Any:
    return FunctionType(marshal.loads(code), globals())


def test_picklers_that_take_functions_by_value() -> None:
    """What they pickle is not refused."""
    made = gradir.grad(squares)
    stream = io.BytesIO()
    ByValue(stream).dump(made)
    np.testing.assert_array_equal(pickle.loads(stream.getvalue())(X), 2 * X)


def test_not_made_by_compile() -> None:
    """What has no program says so."""
    function = gradir.compile(gradir.parse(TEXT), "f", 1)
    function.source = None
    with pytest.raises(ArgumentError, match="does not pickle"):
        pickle.dumps(function)


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the system tells no size")
def test_native_memory_is_freed() -> None:
    """200 functions leave a tenth of what each once left; about 1.5 KB are LLVM's bindings'."""
    module = gradir.parse(TEXT)

    def compile_several(count: int) -> None:
        for _ in range(count):
            gradir.compile(module, "f", 1)(X)

    compile_several(64)
    growth: list[float] = []
    for _ in range(3):
        before = resident_bytes()
        compile_several(70)
        growth.append((resident_bytes() - before) / 70)
    # what else the process does may take memory in between
    assert min(growth) < 6000


def test_code_outlives_its_library() -> None:
    """Functions that are kept run while others of their linker come and go."""
    module = gradir.parse(TEXT)
    wanted = np.sin(X) * X
    made = [gradir.compile(module, "f", 1) for _ in range(40)]
    kept = made[::9]
    del made
    for function in kept:
        np.testing.assert_allclose(function(X)[0], wanted)


# globals, cycles, handlers that run before and after LLVM's own, threads
AT_EXIT = """
import atexit
def late():
    global made
    made = make()
    made(X)
atexit.register(late)
import builtins, gc, sys, threading, time
import numpy as np
import gradir
X = np.ones(6)
MODULE = gradir.parse(sys.argv[1])
def make():
    return gradir.compile(MODULE, "f", int(sys.argv[2]))
class Node:
    def __del__(self):
        self.function(X)
functions = [make(), make()]
jitted = gradir.jit(lambda x: x + 1)
jitted(X)
atexit.register(lambda: make()(X))
builtins.kept = make()
one, other = Node(), Node()
one.function = other.function = make()
one.me = one
other.me = other
gc.disable()
del other
def work():
    function = make()
    while True:
        function(X)
        make()
threading.Thread(target=work, daemon=True).start()
threading.Thread(target=lambda: (time.sleep(0.2), make()(X))).start()
"""


@pytest.mark.parametrize("threads", ["1", "2"])
def test_nothing_is_said_at_exit(threads: str) -> None:
    """No message of objects that are destroyed while the interpreter ends."""
    command = [sys.executable, "-c", AT_EXIT, TEXT, threads]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, env=os.environ)
    assert (ended.returncode, ended.stderr) == (0, "")
