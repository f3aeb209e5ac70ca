"""Functions of traced arrays on NumPy arrays: outside of a trace, each op is run as it is made.

The same Python function runs; its trace gives each op's NumPy meaning, as in the
interpreter, in place of a line of a program. Results are new NumPy arrays. Later calls on arrays of
the same types run the ops alone (`replays`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import lru_cache, wraps
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from xdsl.ir import Attribute, Block, SSAValue

from gradir.dialects.base.interfaces import TensorOp
from gradir.dialects.base.lazy_function import lazy_function
from gradir.dialects.base.shapes import AnyTensor
from gradir.frontends.tracing.replays import Records, like, own, signature
from gradir.frontends.tracing.source_locations import called_from, location, refusal
from gradir.frontends.tracing.tracer import Tracer, registered
from gradir.frontends.tracing.tracing import ENDED, Trace, Unwritten, running, tracing

if TYPE_CHECKING:
    from gradir.interpreter.interpreter import values_of
else:
    values_of = lazy_function("gradir.interpreter.interpreter", "values_of")

Array = np.ndarray[Any, Any]


class _Value:
    """What an eager array has where a traced one has an SSA value: an array and its type."""

    __slots__ = ("array", "name_hint", "type")

    def __init__(self, array: Array, type_: Attribute):
        self.array, self.type = array, type_
        self.name_hint: str | None = None


class _Eager(Unwritten):
    """A trace without a program: ops are run at once."""

    def __init__(self) -> None:
        super().__init__()
        self.ops: list[TensorOp] = []

    def apply(
        self,
        op: type[TensorOp],
        operands: Sequence[Tracer],
        types: Sequence[Attribute],
        attributes: dict[str, Attribute],
    ) -> list[Tracer]:
        arrays = [_array(self, o) for o in operands]
        made = _op(op, tuple(o.type for o in operands), tuple(types), tuple(attributes.items()))
        made.location = location()
        self.ops.append(made)
        return [
            self.tracer(array, result.type)
            for array, result in zip(values_of(made, arrays), made.results, strict=True)
        ]

    def holding(self, array: Array, type_: AnyTensor) -> Tracer:
        return self.tracer(array, type_)

    def value_at(self, ssa: SSAValue) -> Array:
        self.has_looked = True
        return cast(Any, ssa).array

    def tracer(self, array: Array, type_: Attribute) -> Tracer:
        """A traced array with a value."""
        return Tracer(self, cast(SSAValue, _Value(array, type_)))


def _array(trace: _Eager, tracer: Tracer) -> Array:
    return cast(Any, trace.use(tracer)).array


@lru_cache(1 << 12)
def _op(
    op: type[TensorOp],
    operands: tuple[Attribute, ...],
    types: tuple[Attribute, ...],
    attributes: tuple[tuple[str, Attribute], ...],
) -> TensorOp:
    """An op on values of some types; verified."""
    block = Block(arg_types=operands)
    made = op.create(operands=block.args, result_types=types, attributes=dict(attributes))
    return Trace([]).emit(made)


def eager(
    function: Callable[..., Any],
    is_replayed: bool = True,
    outside: Callable[..., Any] | None = None,
) -> Callable[..., Any]:
    """A public function of traced arrays that takes NumPy arrays where nothing is traced.

    `is_replayed`: its ops depend on the types of its arguments alone, not on a world of ranks.
    `outside` answers in its place where nothing is traced, unless with NotImplemented.
    """
    inner: Any = getattr(function, "__wrapped__", function)
    records = Records(inner, _op)

    def once(key: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        trace = _Eager()
        with running(trace):
            result = _outside(inner(*args, **kwargs), (*args, *kwargs.values()))
        if key is not None and not trace.has_looked:
            records.note(key, (args, kwargs), trace.ops, result)
        return result

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        frame = sys._getframe(1)
        if kwargs and kwargs.get("out") is not None:
            return called_from(frame, registered("written"), call, args, kwargs)
        if tracing() is not None:
            return called_from(frame, inner, *args, **kwargs)
        given = (*args, *kwargs.values()) if outside is not None else ()
        if outside is not None and not any(isinstance(each, Tracer) for each in given):
            made = outside(*args, **kwargs)
            if made is not NotImplemented:
                return made
        arrays: list[Array] = []
        key = signature(args, kwargs, arrays) if is_replayed else None
        record = records.of(key)
        if record is not None:
            try:
                return record.replay(arrays)
            except Exception:
                records.found.pop(key, None)  # the call itself then finds the fault and its place
        return called_from(frame, once, key, args, kwargs)

    return call


def _outside(result: Any, arguments: Sequence[Any]) -> Any:
    """A result as NumPy arrays that share no memory with an argument or with each other."""
    if isinstance(result, Tracer):
        if not isinstance(result.made_in, _Eager):
            raise refusal(ENDED)
        return own(cast(Any, result.ssa).array, _leaves(arguments))
    if isinstance(result, np.ndarray):
        return own(cast(Any, result), _leaves(arguments))
    if isinstance(result, (tuple, list)):
        parts: list[Any] = []
        for each in cast(Sequence[Any], result):
            parts.append(_outside(each, (*arguments, *parts)))
        return like(result, parts)
    return result


def _leaves(arguments: Sequence[Any]) -> list[Any]:
    found: list[Any] = []
    for each in arguments:
        if isinstance(each, (list, tuple)):
            found += _leaves(cast(Sequence[Any], each))
        else:
            found.append(each)
    return found
