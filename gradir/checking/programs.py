"""Programs of one op, and many of them compiled as one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import ModuleOp, f64
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region, SSAValue

from gradir.api import Module, compile
from gradir.api import interpret as interpret_module
from gradir.checking.case import ELEMENTS, OpCase
from gradir.compiler.tiers import TIERS_VARIABLE
from gradir.dialects.array.creation import numpy_dtype
from gradir.dialects.base.shapes import element_of, is_complex, is_inexact, shape_of, tensor
from gradir.passes.gradient.gradient import gradient
from gradir.passes.gradient.requests import DerivativeRequest
from gradir.passes.verify.verify import verify

Array = np.ndarray[Any, np.dtype[Any]]
ELEMENT_OF = {numpy_dtype(element): element for element in ELEMENTS.values()}


def function(case: OpCase, arrays: Sequence[Array], element: Attribute, name: str = "f") -> FuncOp:
    """`@name`: the op on arguments that are like the arrays."""
    types = [tensor(a.shape, ELEMENT_OF[a.dtype]) for a in arrays]
    block = Block(arg_types=types)
    op = case.op_class.of(block.args, case.result_types(element), **case.attributes)
    block.add_ops([op, ReturnOp(*op.results)])
    return FuncOp(name, (types, [r.type for r in op.results]), Region(block))


def module_of(*functions: FuncOp) -> ModuleOp:
    module = ModuleOp(list(functions))
    verify(module)
    return module


# By `id`, since cases with arrays have no hash. The case is kept, so that its id stays its own.
_ACTIVE: dict[int, tuple[OpCase, bool]] = {}


def is_active(case: OpCase) -> bool:
    """A gradient can be taken: floats flow from an operand to a result.

    Kept, since eight lists of cases ask for each one while the tests are collected.
    """
    if id(case) not in _ACTIVE:
        _ACTIVE[id(case)] = case, bool(case.wrt) and _has_floats(case)
    return _ACTIVE[id(case)][1]


def _has_floats(case: OpCase) -> bool:
    results = function(case, case.arrays(f64), f64).function_type.outputs
    return any(is_inexact(element_of(t)) for t in results)


def shared_operands(op: FuncOp, wrt: Sequence[int]) -> Iterator[tuple[FuncOp, list[int]]]:
    """The function with active arguments of one type made one, and the arguments left."""
    arguments = op.body.block.args
    first = {arguments[k].type: k for k in reversed(wrt)}
    kept = [a.index for a in arguments if a.index not in wrt or first[a.type] == a.index]
    if len(kept) == len(arguments):
        return
    copy = op.clone()
    block = copy.body.block
    merged = {a: block.args[first[a.type]] for a in block.args if a.index not in kept}
    for argument, same in merged.items():
        argument.replace_all_uses_with(same)
        block.erase_arg(argument)
    copy.update_function_type()
    yield copy, kept


@dataclass
class CompiledTogether:
    """Functions that are compiled as one, by a driver that calls each on arguments of its own.

    Until then each lies in a module of its own, which is derived and interpreted sooner.
    """

    module: ModuleOp = field(default_factory=lambda: ModuleOp([]))
    calls: list[tuple[str, list[Array]]] = field(default_factory=list[tuple[str, list[Array]]])
    own: list[ModuleOp] = field(default_factory=list[ModuleOp])

    def add(self, op: FuncOp, arrays: Sequence[Array], wrt: Sequence[int] = (), order: int = 0):
        """Have a function called, or its vjp of some order, on random cotangents."""
        module = ModuleOp([op])
        self.own.append(module)
        name, count = op.sym_name.data, len(arrays)
        for _ in range(order):
            moved = [*wrt, *range(count, len(op.body.block.args))]
            [op] = gradient(module, DerivativeRequest(name, moved, mode="vjp"))
            name = op.sym_name.data
        generator = np.random.default_rng(len(self.calls))
        cts = [random_numbers(generator, a.type) for a in op.body.block.args[count:]]
        self.calls.append((name, [*arrays, *cts]))

    def expected(self) -> list[tuple[Array, ...]]:
        calls = zip(self.own, self.calls, strict=True)
        return [interpret(module, name, arrays) for module, (name, arrays) in calls]

    def add_driver(self) -> list[int]:
        """Gather all functions, and add `@driver`, which makes all calls; gives the number of
        results of each."""
        for function in [op for module in self.own for op in module.ops]:
            function.detach()
            self.module.body.block.add_op(function)
        functions = {f.sym_name.data: f for f in self.module.ops if isinstance(f, FuncOp)}
        arguments = [a for name, _ in self.calls for a in functions[name].function_type.inputs]
        block = Block(arg_types=arguments)
        left, results = iter(block.args), list[SSAValue]()
        for name, arrays in self.calls:
            given = [next(left) for _ in arrays]
            call = CallOp(name, given, functions[name].function_type.outputs.data)
            block.add_op(call)
            results += call.results
        block.add_op(ReturnOp(*results))
        driver = FuncOp("driver", (arguments, [r.type for r in results]), Region(block))
        self.module.body.block.add_op(driver)
        verify(self.module)
        return [len(functions[name].function_type.outputs) for name, _ in self.calls]

    def found(self) -> list[tuple[Array, ...]]:
        """The results of native code, quick code and the better one after it."""
        counts = self.add_driver()
        arrays = [a for _, arrays in self.calls for a in arrays]
        compiled, quick = quick_results(Module(self.module), "driver", arrays)
        results = compiled(*arrays)
        for k, (one, other) in enumerate(zip(quick, results, strict=True)):
            assert bits_of(one) == bits_of(other), f"result {k} of quick code has other bits"
        values = iter(results)
        return [tuple(next(values) for _ in range(count)) for count in counts]

    def compare(self, scaled: bool = True) -> None:
        """Compare; unless `scaled`, each value for itself, and gradients on a scale of 1."""
        calls = zip(self.calls, self.expected(), self.found(), strict=True)
        for (name, arrays), expected, found in calls:
            scale = max(map(largest, (*arrays, *expected)), default=0)
            for k, (one, other) in enumerate(zip(found, expected, strict=True)):
                assert_close(one, other, scale if scaled else float(k > 0), f"@{name}, result {k}")


def quick_results(
    module: Module, name: str, arrays: Sequence[Array]
) -> tuple[Callable[..., Any], tuple[Array, ...]]:
    """The function, and the results of its quick code, which it does not run any more."""
    before = os.environ.get(TIERS_VARIABLE)
    os.environ[TIERS_VARIABLE] = "1"
    try:
        compiled = compile(module, name)
    finally:
        del os.environ[TIERS_VARIABLE]
        if before is not None:
            os.environ[TIERS_VARIABLE] = before
    results = compiled(*arrays)
    compiled.wait_for_code()
    return compiled, results


def bits_of(array: Array) -> bytes:
    """The bits of an array, where one nan is like another."""
    is_nan = array != array
    return is_nan.tobytes() + np.where(is_nan, np.zeros_like(array), array).tobytes()


def random_numbers(generator: np.random.Generator, type_: Attribute) -> Array:
    """Numbers between -1 and 1, of complex elements in both parts."""
    made: Any = generator.uniform(-1, 1, shape_of(type_))
    if is_complex(element_of(type_)):
        made = made + 1j * generator.uniform(-1, 1, shape_of(type_))
    return np.asarray(made).astype(numpy_dtype(element_of(type_)))


def largest(array: Array) -> float:
    wide = array if array.dtype.kind == "c" else array.astype(np.float64)
    sizes = np.abs(wide)
    return float(np.max(sizes, where=np.isfinite(sizes), initial=0))


def limits_of(dtype: np.dtype[Any]) -> Any:
    return ml_dtypes.finfo(dtype)


def assert_close(found: Array, expected: Array, scale: float, what: str) -> None:
    """Equal up to a few units in the last place of the numbers that went in and out."""
    assert found.dtype == expected.dtype and found.shape == expected.shape, what
    if found.dtype.kind in "biu":
        np.testing.assert_array_equal(found, expected, what)
        return
    if found.dtype.kind == "c":
        assert_close(found.real, expected.real, scale, what)
        assert_close(found.imag, expected.imag, scale, what)
        return
    limits = limits_of(found.dtype)
    rtol = ULPS * float(limits.eps)
    atol = rtol * scale + ULPS * float(limits.smallest_subnormal)
    one, other = found.astype(np.float64), expected.astype(np.float64)
    np.testing.assert_allclose(one, other, rtol, atol, err_msg=what)


ULPS = 8


def run_native(module: Module, name: str, *arrays: Array) -> tuple[Array, ...]:
    return compile(module, name)(*arrays)


def interpret(module: ModuleOp, name: str, arrays: Sequence[Array]) -> tuple[Array, ...]:
    return interpret_module(Module(module), name, *arrays)
