"""grad.host_call: registered functions as ops."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from xdsl.dialects.builtin import ArrayAttr, FunctionType, StringAttr, UnitAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    attr_def,
    irdl_op_definition,
    opt_attr_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.base.diagnostics import PassError, kind_name
from gradir.dialects.base.effects import OutsideEffect
from gradir.dialects.base.interfaces import Cotangents, require_real, require_tensor
from gradir.dialects.base.op_rules import register_remedy, register_vjp
from gradir.dialects.base.shapes import (
    NUMPY_NAMES,
    element_of,
    shape_of,
)
from gradir.dialects.base.value import Value
from gradir.dialects.grad.host_functions import (
    NEEDS,
    FunctionName,
    HostFunction,
    Spec,
    dependencies,
    differentiable,
    host_function,
    reachable,
)
from gradir.dialects.grad.tape import is_floating

STARTED, LENT = "started", "lent"
COLLECTIVE = "comm."
"""How the names of the calls begin that ops of comm become."""
IN_REGION = "?"
"""Behind the kind in such a name: of a call in a loop or branch, where ranks may differ."""

MODES = ("sync", "async", "cross_device")
MODES_OF_CALLS = (*MODES, STARTED, LENT)


@irdl_op_definition
class HostCallOp(IRDLOperation):
    """The results of the function registered under the name `callee`, of Python or native.

        %y = grad.host_call %x {callee = "fft", pure} : (tensor<8xf64>) -> tensor<8xf64>

    The function gets arrays of its own and returns arrays of the declared types, else the call
    fails. An exception ends the call with an error that has its traceback and this op's location.
    A call is made once, in program order with the other calls; a `pure` call may be repeated
    for a derivative, merged with an equal one, or dropped.

    exec: "sync" (the default), "async" or "cross_device" (one operand, one result of its type: a
    transfer). An async call reads its operands at its place, on a worker thread; the program waits
    for it at the first use of a result, or where its block ends, and runs what stands between
    meanwhile, other async calls too. Its derivative is async. "started" and "lent" are for the
    calls that ops of `comm` become: the program starts the call at its place and waits likewise,
    without a worker thread; a lent call reads its operands until then, where no op writes them.

    The derivative is a host call of `backward`, by default the function's registered one. Its
    operands are the entries of `deps`, in order: "out_grad<k>" are cotangents of floating results,
    "in<k>" operands, "out<k>" results; by default those that were registered as needed, else all,
    in this order; of a transfer the cotangent alone. It returns the cotangents of all floating
    operands. It has a derivative if one was registered with it. Forward mode calls the function's
    registered jvp, with the tangents of floating operands, all operands and all results. A function
    may be registered with state: its last operands, whose new values are the last results; these
    have no cotangents.

    of: for a derivative of a gradir.custom_op, the element types of the call that it belongs to.
    vjp: the host call of `backward`
    """

    name = "grad.host_call"

    inputs = var_operand_def()
    outputs = var_result_def()
    callee = attr_def(StringAttr)
    exec = opt_attr_def(StringAttr)
    pure = opt_attr_def(UnitAttr)
    deps = opt_attr_def(ArrayAttr[StringAttr])
    backward = opt_attr_def(StringAttr)
    of = opt_attr_def(FunctionType)
    traits = traits_def(OutsideEffect())

    assembly_format = "$inputs attr-dict `:` functional-type($inputs, $outputs)"

    @property
    def is_started(self) -> bool:
        return self.exec is not None and self.exec.data in (STARTED, LENT)

    @property
    def registered(self) -> HostFunction | None:
        """The function, if it is registered in this process."""
        return host_function(self.callee.data)

    @property
    def backward_name(self) -> str | None:
        """The name of the backward function."""
        if self.backward is not None:
            return self.backward.data
        return None if self.registered is None else _name(self.registered.backward)

    def hold(self) -> None:
        """Keep the functions that the names mean now, whoever has them later."""
        for key in ("callee", "backward"):
            name = self.attributes.get(key)
            if isinstance(name, StringAttr) and (found := host_function(name.data)) is not None:
                self.attributes[key] = StringAttr(FunctionName(found))

    def expected(self) -> list[Spec] | None:
        """The shapes and dtypes of the results by the registered shape rule; None without one.

        PassError where the rule refuses the operands.
        """
        function = self.registered
        types = [value.type for value in self.inputs]
        if function is None:
            return None
        try:
            return function.expected([(shape_of(t), NUMPY_NAMES[element_of(t)]) for t in types])
        except Exception as error:
            message = str(error) or type(error).__name__
            text = f"{self.name}: the shape rule of {function.name!r}: {message}"
            raise PassError(text, self) from error

    def differentiable(self, values: Sequence[SSAValue]) -> list[int]:
        """The places of the operands, or of the results, that have cotangents."""
        state = 0 if self.registered is None else self.registered.state
        return differentiable([is_floating(value.type) for value in values], state)

    @property
    def dependencies(self) -> list[tuple[str, int]]:
        """The operands of the backward function: kind and number."""
        if self.deps is not None:
            return [_dependency(each.data) for each in self.deps]
        needs = NEEDS if self.registered is None else self.registered.needs
        if self.exec is not None and self.exec.data == "cross_device":
            needs = NEEDS[:1]  # a transfer is linear
        seeded = self.differentiable(self.outputs)
        return dependencies(needs, len(self.inputs), len(self.outputs), seeded)

    def verify_(self) -> None:
        for value in (*self.inputs, *self.outputs):
            require_tensor(self.name, value.type)
        require_real(self.name, [value.type for value in (*self.inputs, *self.outputs)])
        mode = "sync" if self.exec is None else self.exec.data
        if mode not in MODES_OF_CALLS:
            known = ", ".join(MODES)
            raise VerifyException(f'{self.name}: exec must be one of {known}, got "{mode}"')
        if self.is_started and not self.callee.data.startswith(COLLECTIVE):
            raise VerifyException(
                f'{self.name}: exec "{mode}" is for calls that ops of comm become, got '
                f"@{self.callee.data}"
            )
        if mode == "cross_device":
            inputs, outputs = ([v.type for v in vs] for vs in (self.inputs, self.outputs))
            if len(inputs) != 1 or inputs != outputs:
                raise VerifyException(
                    f"{self.name}: a call across devices must have one operand and one result of "
                    f"its type, got {len(inputs)} and {len(outputs)}"
                )
        self._verify_dependencies()

    def _verify_dependencies(self) -> None:
        counts = {"in": len(self.inputs), "out": len(self.outputs), "out_grad": len(self.outputs)}
        seen: set[tuple[str, int]] = set()
        for kind, number in self.dependencies:
            text = f"{kind}{number}" if number >= 0 else kind
            if number < 0 or number >= counts.get(kind, 0):
                raise VerifyException(
                    f"{self.name}: deps must be in<k>, out<k> or out_grad<k> of operands and "
                    f'results, got "{text}"'
                )
            if kind == "out_grad" and not is_floating(self.outputs[number].type):
                raise VerifyException(
                    f'{self.name}: "{text}" has no cotangent, its type is '
                    f"{self.outputs[number].type}"
                )
            if (kind, number) in seen:
                raise VerifyException(f'{self.name}: deps must be given once, got "{text}" again')
            seen.add((kind, number))


def _name(function: HostFunction | str | None) -> str | None:
    return FunctionName(function) if isinstance(function, HostFunction) else function


def hold_functions(ops: Iterable[Operation]) -> None:
    """Let all host calls in ops keep the functions that their names mean now."""
    for op in ops:
        for call in op.walk():
            if isinstance(call, HostCallOp):
                call.hold()


def functions_of(ops: Iterable[Operation]) -> dict[str, HostFunction] | None:
    """The functions by which host calls and their derivatives run, by name.

    None where two functions have one name.
    """
    calls = [op for root in ops for op in root.walk() if isinstance(op, HostCallOp)]
    names = [name.data for op in calls for name in (op.callee, op.backward) if name is not None]
    every = reachable([f for f in map(host_function, names) if f is not None])
    found = {function.name: function for function in every}
    return found if len(found) == len(every) else None


def _dependency(text: str) -> tuple[str, int]:
    found = re.fullmatch(r"(in|out|out_grad)(0|[1-9][0-9]*)", text)
    return (found[1], int(found[2])) if found else (text, -1)


def _vjp(
    op: HostCallOp, cts: Cotangents, results: Sequence[Value], operands: Sequence[Value]
) -> Cotangents:
    from gradir.dialects.grad.grad import zero

    emitter = next(v.emitter for v in (*cts, *operands) if v is not None)
    name = op.backward_name
    if name is None:
        raise PassError(
            f"{kind_name(op)}: it has a jvp, and no backward function; wrap it in grad.no_grad to "
            "leave it out",
            op,
        )
    given: list[SSAValue] = []
    for kind, k in op.dependencies:
        if kind == "out_grad":
            given.append((cts[k] or zero(results[k].type, emitter)).ssa)
        else:
            given.append((operands if kind == "in" else results)[k].ssa)
    places = op.differentiable(op.inputs)
    made = emitter.insert(_derivative(op, name, given, [op.inputs[k].type for k in places]))
    flowing: list[Value | None] = [None] * len(op.inputs)
    for k, result in zip(places, made.outputs, strict=True):
        flowing[k] = emitter.value(result)
    return flowing


def tangent_call(op: HostCallOp, tangents: Sequence[SSAValue]) -> HostCallOp | None:
    """The call of the registered jvp, from tangents of the differentiable operands; None without.

    Its results are the tangents of the differentiable results.
    """
    name = None if op.registered is None else _name(op.registered.jvp)
    if name is None:
        return None
    types = [op.outputs[k].type for k in op.differentiable(op.outputs)]
    return _derivative(op, name, [*tangents, *op.inputs, *op.outputs], types)


def _derivative(
    op: HostCallOp, name: str, operands: Sequence[SSAValue], types: Sequence[Attribute]
) -> HostCallOp:
    function = host_function(name)
    attributes: dict[str, Attribute] = {"callee": StringAttr(name)}
    is_single = len(operands) == len(types) == 1
    if op.exec is not None and (op.exec.data == "async" or is_single):
        # only one array at a time goes to another device
        attributes["exec"] = op.exec
    if op.pure is not None if function is None else function.pure:
        attributes["pure"] = UnitAttr()
    if function is not None and function.takes_kinds:
        inputs, outputs = ([element_of(v.type) for v in vs] for vs in (op.inputs, op.outputs))
        attributes["of"] = FunctionType.from_lists(inputs, outputs)
    return HostCallOp.create(operands=operands, result_types=types, attributes=attributes)


def _has_derivative(op: HostCallOp) -> bool:
    """In reverse or in forward mode; each refuses a call that has the other alone."""
    has_jvp = op.registered is not None and op.registered.jvp is not None
    return has_jvp or op.backward_name is not None


def _remedy(op: HostCallOp) -> str:
    leave = "or hand it the result of grad.no_grad"
    if op.of is None:
        return f"give it a backward function, {leave}"
    name, _, role = op.callee.data.rpartition(".")
    return (
        f"for its derivative, make the {role} function of @{name} a gradir.custom_op that has a "
        f"backward function"
    )


register_remedy(HostCallOp, _remedy)
register_vjp(HostCallOp, _vjp, applies=_has_derivative)

OPS: tuple[type[Operation], ...] = (HostCallOp,)
