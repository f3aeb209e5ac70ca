"""gradir.custom_op: functions on arrays, of Python or native, as an op with a derivative.

A call in a traced function is a `grad.host_call` of a registered function; outside of one the
function runs at once.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Literal, cast

import numpy as np
from xdsl.dialects.builtin import StringAttr, UnitAttr
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.base.diagnostics import location_text
from gradir.dialects.grad.grad import NoGradOp
from gradir.dialects.grad.host_call import MODES, HostCallOp
from gradir.dialects.grad.host_functions import (
    GROUPS,
    NEEDS,
    FunctionName,
    HostFunction,
    host_function,
    register,
    register_under_free_name,
)
from gradir.errors import ArgumentError, ArgumentTypeError
from gradir.frontends.tracing.source_locations import location, named_options, public, refusal
from gradir.frontends.tracing.spec import ELEMENTS, Spec
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import Trace, emit_one, lifted, tracing
from gradir.frontends.transforms.wrapped import Copied, Parts, look_like, reduced
from gradir.runtime.arrays import ArraySpec
from gradir.runtime.host_calls import HostCall, results_of
from gradir.runtime.native_functions import NativeFunction, is_pointer
from gradir.runtime.operator_layout import TIMEOUT, NativeOperator

Function = Callable[..., Any] | NativeFunction

TRANSFER_NEEDS = ("cotangents",)
"""What the derivative of a transfer reads, which is linear."""


class CustomOp(Copied):
    """An op made of functions; see `gradir.custom_op`."""

    def __init__(
        self,
        forward: Function,
        infer: Callable[..., Any],
        backward: Function | None,
        jvp: Function | None,
        needs: tuple[str, ...],
        state: int,
        exec: str,
        pure: bool,
        name: str,
        debug: bool,
        timeout: float | None,
    ):
        self._parts = forward, infer, backward, jvp, needs, state, exec, pure, name, debug, timeout
        look_like(self, infer if isinstance(forward, NativeFunction) else forward)
        self.__name__ = name
        with suppress(TypeError, ValueError):  # written in C
            self.__signature__ = inspect.signature(infer)
        self._infer, self._needs, self.state, self._exec = infer, needs, state, exec
        self._pure, self.name, self._debug, self._timeout = pure, name, debug, timeout
        self._function = HostFunction(
            name,
            self._operator(forward, "forward"),
            shape=self._expected,
            backward=self._derivative("backward", backward),
            pure=pure,
            jvp=self._derivative("jvp", jvp),
            needs=needs,
            state=state,
        )

    @property
    def function(self) -> HostFunction:
        """The function that programs call."""
        return self._function

    def own_derivatives(self) -> list[HostFunction]:
        """The functions of derivatives that are no ops themselves."""
        given = (self._function.backward, self._function.jvp)
        return [d for d in given if isinstance(d, HostFunction) and d.takes_kinds]

    def _derivative(self, role: Literal["backward", "jvp"], function: Any) -> HostFunction | None:
        if function is None or isinstance(function, CustomOp):
            return None if function is None else function.function
        operator = self._operator(function, role)
        return HostFunction(f"{self.name}.{role}", operator, pure=self._pure, takes_kinds=True)

    def _operator(
        self, function: Any, role: Literal["forward", "backward", "jvp"]
    ) -> NativeOperator:
        infer = None if role == "forward" else self._expected
        options = self._needs, self.state, self._debug, self._exec == "async", self._timeout, infer
        return NativeOperator(function, role, *options)

    def __reduce__(self) -> str | Parts:
        return reduced(self, "custom_op", (_restored, self._parts))

    def __repr__(self) -> str:
        return f"<gradir.custom_op @{self.name}>"

    @public
    def __call__(self, *args: Any) -> Any:
        trace = tracing()
        given = [_array(a) for a in args] if trace is None else [lifted(a) for a in args]
        specs = [Spec(a.shape, a.dtype) for a in given]
        results, is_single = self._inferred(specs)
        if trace is None:
            found = self._run(cast(Any, given), specs, results)
        else:
            found = self._emitted(trace, cast(list[Tracer], given), results)
        return found[0] if is_single else tuple(found)

    def _emitted(
        self, trace: Trace, values: Sequence[Tracer], results: Sequence[Spec]
    ) -> list[Tracer]:
        kept = len(values) - self.state
        operands = [v if k < kept else emit_one(NoGradOp, v) for k, v in enumerate(values)]
        attributes: dict[str, Attribute] = {"callee": StringAttr(FunctionName(self._function))}
        if self._exec != "sync":
            attributes["exec"] = StringAttr(self._exec)
        if self._pure:
            attributes["pure"] = UnitAttr()
        op = HostCallOp.create(
            operands=[trace.use(v) for v in operands],
            result_types=[spec.type for spec in results],
            attributes=attributes,
        )
        try:
            op.verify_()
        except VerifyException as error:
            raise self._refused(str(error)) from None
        made = [Tracer(trace, result) for result in trace.emit(op).results]
        kept = len(made) - self.state
        return [v if k < kept else emit_one(NoGradOp, v) for k, v in enumerate(made)]

    def _run(
        self, arrays: Sequence[Any], specs: Sequence[Spec], results: Sequence[Spec]
    ) -> list[Any]:
        place = f"{location_text(location())}custom_op @{self.name}"
        inputs, outputs = (
            tuple(ArraySpec(str(k), spec.shape, spec.dtype) for k, spec in enumerate(every))
            for every in (specs, results)
        )
        return [*results_of(HostCall(self._function, place, inputs, outputs), arrays)]

    def _inferred(self, specs: Sequence[Spec]) -> tuple[list[Spec], bool]:
        """The specs of all results, and whether there is one that is not in a tuple."""
        if len(specs) < self.state:
            raise self._refused(
                f"the last {self.state} arguments must be state, got {len(specs)} arguments"
            )
        try:
            given: Any = self._infer(*specs)
        except Exception as error:
            raise self._refused(f"infer: {type(error).__name__}: {error}") from error
        several = cast(tuple[Any, ...], given if isinstance(given, tuple) else (given,))
        if not all(isinstance(each, Spec) for each in several):
            raise self._refused(f"infer must return a gradir.Spec, or a tuple of them, got {given}")
        results = [*several, *specs[len(specs) - self.state :]]
        for spec in (*specs, *results):
            if spec.dtype.kind == "c":
                raise self._refused(f"arguments and results must be real, got {spec}")
        counts = {"in": len(specs), "out": len(results), "out_grad": len(results) - self.state}
        for need in self._needs:
            kind, number = _need(need)
            if number is not None and number >= counts[kind]:
                raise self._refused(f"needs has {need!r}, got {counts[kind]} {GROUPS[kind]}")
        return results, not isinstance(given, tuple) and self.state == 0

    def _expected(self, *inputs: tuple[tuple[int, ...], str]) -> list[tuple[tuple[int, ...], str]]:
        """The shape rule of the registered function."""
        results, _ = self._inferred([Spec(shape, dtype) for shape, dtype in inputs])
        return [(spec.shape, spec.dtype.name) for spec in results]

    def _refused(self, message: str) -> Exception:
        return refusal(f"custom_op: @{self.name}: {message}")


@named_options
def custom_op(
    forward: Function,
    infer: Callable[..., Any],
    backward: Function | None = None,
    *,
    jvp: Function | None = None,
    needs: Sequence[str] | None = None,
    state: int = 0,
    exec: str = "sync",
    pure: bool = False,
    name: str | None = None,
    debug: bool = False,
    timeout: float | None = TIMEOUT,
) -> CustomOp:
    """An op of functions on arrays: `op(*arrays)`, traced or not (docs/operators.md).

    `infer(*specs)` returns the Spec of the result, or a tuple of them. `forward(inputs, outputs,
    req)` writes the results into `outputs`, and `backward(cotangents, inputs, outputs, grads, req)`
    the cotangents of the floating inputs into `grads`. `req` has "write" for each array to write,
    and "null" for those that nobody reads. The arrays are views of memory: valid during the call.
    A `gradir.native` may stand in place of any of the functions but `infer`.

    needs: what backward reads, "cotangents", "inputs", "outputs", or single ones, "in0", "out1",
        "out_grad0", by default all, of a transfer the cotangents; None stands for the others,
        which are not kept.
    backward: a function, or a custom_op on (cotangents..., inputs..., outputs...) with its own
        derivative. None: there is no derivative.
    jvp: for forward mode, jvp(tangents, inputs, outputs, out_tangents, req), or a custom_op.
    state: the last `state` arguments are state; their new values are the last outputs and results.
    exec: "sync", "async" or "cross_device", see grad.host_call. The functions of an async op run on
        a worker thread, and may return a concurrent.futures.Future: they write until it is done.
    timeout: the seconds that a program waits for a call of an async op; None for no limit.
    pure: equal inputs give equal outputs, without effects: calls may be repeated, merged, dropped.
    name: of the op in program text, by default one made of forward's name.
    debug: functions get copies; mistakes in what they read, write and keep are found.
    """
    _check_functions(forward, infer, backward, jvp)
    if needs is None:
        needs = TRANSFER_NEEDS if exec == "cross_device" else NEEDS
    _check_options(needs, state, exec, name)
    _check_timeout(timeout)
    for each in (backward, jvp):
        if isinstance(each, CustomOp) and each.name == name:
            raise ArgumentError(f"name: expected another than that of {each!r}, got {name!r}")
    functions, first = (forward, infer, backward, jvp), (tuple(needs), state, exec, bool(pure))

    def make(name: str) -> CustomOp:
        return CustomOp(*functions, *first, name, bool(debug), timeout)

    if name is not None:
        return _registered(make(name))
    return _registered_freely(_base_name(forward), make)


def _registered(op: CustomOp, displaces: bool = True, keeps: bool = True) -> CustomOp:
    for function in (op.function, *op.own_derivatives()):
        register(function, displaces, keeps)
    return op


def _registered_freely(base: str, make: Callable[[str], CustomOp]) -> CustomOp:
    made: list[CustomOp] = []

    def function(name: str) -> HostFunction:
        made.append(make(name))
        return made[0].function

    register_under_free_name(base, function)
    return _registered(made[0], keeps=False)


def _check_functions(forward: Any, infer: Any, backward: Any, jvp: Any) -> None:
    if not callable(infer):
        raise ArgumentTypeError(f"infer: expected a Python function, got {infer!r}")
    if not _is_function(forward):
        raise ArgumentTypeError(
            f"forward: expected a Python function or a gradir.native, got {forward!r}"
        )
    for what, given in (("backward", backward), ("jvp", jvp)):
        if not (given is None or _is_function(given)):
            raise ArgumentTypeError(
                f"{what}: expected a Python function, a gradir.native or a custom_op, got {given!r}"
            )
        if isinstance(given, CustomOp) and given.state:
            raise ArgumentError(f"{what}: expected a custom_op without state, got {given!r}")


def _is_function(given: Any) -> bool:
    """Whether this can be a function of an op; ctypes' are called as native ones alone."""
    return isinstance(given, NativeFunction) or (callable(given) and not is_pointer(given))


def _check_options(needs: Any, state: Any, exec: Any, name: Any) -> None:
    if isinstance(needs, str):
        raise ArgumentTypeError(f"needs: expected a tuple of names, got {needs!r}")
    for need in needs:
        _need(need)
    if isinstance(state, bool) or not isinstance(state, int) or state < 0:
        raise ArgumentTypeError(f"state: expected a number of arguments, got {state!r}")
    if exec not in MODES:
        raise ArgumentError(f"exec: expected one of {', '.join(MODES)}, got {exec!r}")
    is_linear = set(needs) in ({"cotangents"}, {"out_grad0"})
    if exec == "cross_device" and not (is_linear and state == 0):
        raise ArgumentError(
            'exec="cross_device": expected needs=("cotangents",) and no state, as its derivative '
            f"is a transfer back, got needs={tuple(needs)!r} and state={state}"
        )
    if not (name is None or isinstance(name, str)):
        raise ArgumentTypeError(f"name: expected the name of an op, got {name!r}")


def _check_timeout(timeout: Any) -> None:
    if timeout is None:
        return
    is_number = isinstance(timeout, int | float) and not isinstance(timeout, bool)
    if not is_number or not timeout > 0:
        raise ArgumentError(f"timeout: expected a positive number of seconds, got {timeout!r}")


def _need(need: str) -> tuple[str, int | None]:
    """The kind of an entry of `needs`, and its number; None for all."""
    for kind, group in GROUPS.items():
        if need == group:
            return kind, None
        if (found := re.fullmatch(f"{kind}(0|[1-9][0-9]*)", str(need))) is not None:
            return kind, int(found[1])
    raise ArgumentError(
        f"needs: expected {', '.join(NEEDS)}, in<k>, out<k> or out_grad<k>, got {need!r}"
    )


def _base_name(function: Function) -> str:
    """The name of a function, to which a number is added where it is taken."""
    is_native = isinstance(function, NativeFunction)
    base = function.name if is_native else getattr(function, "__name__", type(function).__name__)
    return str(base).strip("<>")


def _restored(*parts: Any) -> CustomOp:
    """An op after unpickling: this process's own, if it has it."""
    known = host_function(parts[8])
    owner = getattr(None if known is None else known.shape, "__self__", None)
    if isinstance(owner, CustomOp) and owner._parts == parts:
        return owner
    return _registered(CustomOp(*parts), displaces=False, keeps=False)


def _array(value: Any) -> Any:
    if isinstance(value, Tracer):
        raise refusal("custom_op: a traced array is used outside of its trace")
    array = np.asarray(value)
    if array.dtype.name not in ELEMENTS:
        raise ArgumentTypeError(f"expected an array or a number, got {type(value).__name__}")
    return array
