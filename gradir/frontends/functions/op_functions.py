"""Python functions from op classes: one per op, with its docstring.

Operands are parameters in the op's order (optional ones are None by default, variadic ones a
sequence), then attributes, absent by default. Operands of elementwise ops are promoted and
broadcast; operands of other ops on several arrays are promoted, and all others passed unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from inspect import Parameter, Signature, cleandoc
from operator import index
from typing import Any, TypeAlias, cast

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase, i1, i32, i64
from xdsl.ir import Attribute
from xdsl.irdl import AttrSizedOperandSegments, OptOperandDef, VarOperandDef, VarResultDef

from gradir.dialects.array.data_dependent import DataDependentOp
from gradir.dialects.base.attributes import Plain
from gradir.dialects.base.extents import Extent, is_extent
from gradir.dialects.base.interfaces import TensorOp
from gradir.dialects.base.precision import PRECISION
from gradir.dialects.building.kinds import ElementwiseOp
from gradir.frontends.functions.promotion import Common, broadcast, converted, unified
from gradir.frontends.tracing.default_precision import precision_for
from gradir.frontends.tracing.source_locations import public, refusal
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import current, element, emit, is_number, lifted
from gradir.nearest import renamed, unknown_argument

Prepared: TypeAlias = tuple[list[Tracer], Common]

# Operands that are no data: counters, keys, indices.
COUNTING = {"indices", "ids", "key", "counter", "starts"}
SEGMENTS = AttrSizedOperandSegments.attribute_name


def short_name(op: type[TensorOp]) -> str:
    """The op's name without its dialect."""
    return op.name.partition(".")[2]


def functions_of(ops: Iterable[type[TensorOp]], module: str) -> dict[str, Callable[..., Any]]:
    """A function for each op, by its name."""
    return {short_name(op): function_of(op, module) for op in ops}


def function_of(op: type[TensorOp], module: str) -> Callable[..., Any]:
    """The function that applies an op to traced arrays."""
    signature = signature_of(op)
    names = list(signature.parameters)
    least = sum(p.default is Parameter.empty for p in signature.parameters.values())

    def function(*args: Any, **kwargs: Any) -> Any:
        if not kwargs and least <= len(args) <= len(names):
            # as below, sooner
            return apply(op, dict(zip(names, args, strict=False)))
        if op.name.startswith("nn."):
            kwargs = renamed(kwargs, names)  # PyTorch's
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            wrong = unknown_argument(op.name, kwargs, names)
            raise refusal(wrong or f"{op.name}: {error}") from None
        return apply(op, bound.arguments)

    function.__name__ = function.__qualname__ = short_name(op)
    function.__module__ = module
    function.__doc__ = f"{cleandoc(op.__doc__ or '')}\n\nThe op is {op.name}."
    function.__signature__ = signature  # pyrefly: ignore[missing-attribute]
    return public(function)


def signature_of(op: type[TensorOp]) -> Signature:
    """The signature: operands, then attributes."""
    either = Parameter.POSITIONAL_OR_KEYWORD
    parameters: list[Parameter] = []
    for name, kind in op.get_irdl_definition().operands:
        default = None if isinstance(kind, OptOperandDef) else Parameter.empty
        parameters.append(Parameter(name, either, default=default))
    known = [a for a in op.ATTRIBUTES if a != SEGMENTS]
    return Signature([*parameters, *(Parameter(a, either, default=None) for a in known)])


def apply(
    op: type[TensorOp], arguments: dict[str, Any], types: Sequence[Attribute] | None = None
) -> Any:
    """The result of an op, a tuple of several, without hidden ones; `arguments` are operands and
    attributes by name."""
    results = apply_all(op, arguments, types)
    kinds = [kind for k, (_, kind) in enumerate(op.get_irdl_definition().results)
             if k not in op.HIDDEN]  # fmt: skip
    is_one = len(kinds) == 1 and not isinstance(kinds[0], VarResultDef)
    shown = tuple(result for k, result in enumerate(results) if k not in op.HIDDEN)
    return shown[0] if is_one else shown


def apply_all(
    op: type[TensorOp], arguments: dict[str, Any], types: Sequence[Attribute] | None = None
) -> list[Tracer]:
    """All results of an op, as `apply`."""
    current(op.name)
    if issubclass(op, DataDependentOp):
        return emit(op, types=[])  # which refuses it
    values: list[object] = []
    sizes: list[int] = []
    for name, kind in op.get_irdl_definition().operands:
        value = arguments.get(name)
        found: list[Any] = [value]
        if isinstance(kind, OptOperandDef):
            if value is None:
                found = []
        elif isinstance(kind, VarOperandDef):
            found = _several(op, name, value)
        values += found
        sizes.append(len(found))
    operands, common = prepared(op, values)
    attributes = {k: static(op, k, v) for k, v in arguments.items() if k in op.ATTRIBUTES}
    if PRECISION in op.ATTRIBUTES and operands and attributes.get(PRECISION) is None:
        attributes[PRECISION] = precision_for(op.name, element(operands[0]))
    if SEGMENTS in op.ATTRIBUTES and sizes != sorted(sizes, reverse=True):
        attributes[SEGMENTS] = cast(Attribute, DenseArrayBase.from_list(i32, sizes))
    results = emit(op, *operands, types=types, **attributes)
    return [_result(r, common) for r in results]


def _result(result: Tracer, common: Common) -> Tracer:
    if common.result is not None and element(result) == common.element:
        result = converted(result, common.result)
    result.weak = common.weak and element(result) == common.element
    return result


def _several(op: type[TensorOp], name: str, value: object) -> list[object]:
    if isinstance(value, Sequence):
        return list(cast(Sequence[object], value))
    raise refusal(f"{op.name}: {name} must be a tuple or list of arrays, got {_kind(value)}")


def _kind(value: object) -> str:
    return repr(value) if isinstance(value, Tracer) else type(value).__name__


def prepared(op: type[TensorOp], values: Sequence[object]) -> Prepared:
    """The prepared operands, and their common element type."""
    if issubclass(op, ElementwiseOp):
        return broadcast(op, values)
    counting = _counting(op, len(values))
    if op.name.startswith("array.") and values and not any(counting):
        return unified(op, values)
    return _as_they_are(values, counting), Common(i1)


def _counting(op: type[TensorOp], count: int) -> list[bool]:
    """For each operand, whether it is an index, a key or a counter."""
    names = [name for name, _ in op.get_irdl_definition().operands]
    return [names[min(k, len(names) - 1)] in COUNTING for k in range(count)]


def _as_they_are(values: Sequence[object], counting: Sequence[bool]) -> list[Tracer]:
    """Python numbers take the type of the first array of data, or i64 as counters and indices."""
    arrays = [v if is_number(v) else lifted(v) for v in values]
    data = [
        element(a)
        for a, is_index in zip(arrays, counting, strict=True)
        if isinstance(a, Tracer) and not is_index
    ]
    kind = data[0] if data else None
    return [
        lifted(a, i64 if is_index and isinstance(a, int) else kind)
        for a, is_index in zip(arrays, counting, strict=True)
    ]


def static(op: type[TensorOp], name: str, value: Any) -> Plain | None:
    """An attribute from a Python value; TraceError for a traced value."""
    if isinstance(value, Tracer):
        raise refusal(f"{op.name}: {name} must be known while tracing, got {value!r}")
    if isinstance(value, np.generic | np.ndarray) and np.ndim(cast(Any, value)) == 0:
        value = cast(Any, value).item()
    if value is None or isinstance(value, bool | int | float | str | Attribute | Extent):
        return value
    if isinstance(value, (Sequence, np.ndarray)):
        try:
            return [v if is_extent(v) else index(v) for v in cast(Sequence[Any], value)]
        except TypeError:
            pass
    raise refusal(f"{op.name}: {name} must be a number, integers or a string, got {value!r}")
