"""Eager calls again: a call on arrays of the same types runs the ops that the call before made.

A function of traced arrays cannot see their values, so its ops depend on types, and on arguments
that are no arrays, alone. The second call of a signature is recorded: the function is run once more
on traced arrays without values. Where it makes the same ops and result as the call on arrays, later
calls run the ops without the function; elsewhere (a function that reads an array, as `repeat` its
counts) never.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from math import isnan, prod
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from xdsl.ir import Attribute, SSAValue
from xdsl.traits import Pure

from gradir.dialects.array.creation import numpy_dtype
from gradir.dialects.base.interfaces import TensorOp
from gradir.dialects.base.lazy_function import lazy_function
from gradir.dialects.base.precision import precision_of
from gradir.dialects.base.shapes import AnyTensor, shape_of, tensor
from gradir.frontends.tracing.default_types import FIRST_DEFAULTS, defaults
from gradir.frontends.tracing.spec import element_named
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import Unwritten, running

if TYPE_CHECKING:
    from gradir.interpreter.interpreter import cast_to, values_of
else:
    cast_to = lazy_function("gradir.interpreter.interpreter", "cast_to")
    values_of = lazy_function("gradir.interpreter.interpreter", "values_of")

Array = np.ndarray[Any, Any]

PLAIN = frozenset([int, bool, str, type(None), type(Ellipsis)])
"""Types of arguments that are what they are, besides dtypes."""
LONGEST = 1 << 6
"""How many items a list may have: longer ones are data, and each has a signature of its own."""
LIMIT = 1 << 10
"""So many signatures of a function are known at a time: numbers that change, as a step size does,
must not fill the memory."""
KEPT = 1 << 10
"""So many elements that depend on no argument are kept from call to call."""


# Signatures.


def signature(args: Sequence[Any], kwargs: dict[str, Any], arrays: list[Array]) -> Any:
    """What the ops of a call depend on, hashable, and the arrays, which are appended.

    None for arguments that may change without a sign: functions, objects of other libraries.
    """
    found = defaults()
    key: list[Any] = [None if found == FIRST_DEFAULTS else found]
    known = _add(args, key, arrays)
    if kwargs:
        key.append(tuple(kwargs))
        known = known and _add(list(kwargs.values()), key, arrays)
    return tuple(key) if known else None


def _add(values: Sequence[Any], key: list[Any], arrays: list[Array]) -> bool:
    """Add the signature of values: of an array its dtype and shape, of others type and value."""
    for value in values:
        kind = cast(type[Any], type(value))
        if kind is np.ndarray:
            key += (value.dtype, value.shape)
            arrays.append(value)
        elif kind in PLAIN:
            key += (kind, value)
        elif not _add_rarer(value, kind, key, arrays):
            return False
    return True


def _add_rarer(value: Any, kind: type, key: list[Any], arrays: list[Array]) -> bool:
    if kind is float:
        key += (kind, value or str(value))  # 0.0 is not -0.0
        return not isnan(value)
    if kind is tuple or kind is list:
        key += (kind, len(value))
        return len(value) <= LONGEST and _add(value, key, arrays)
    if kind is slice:
        key.append(kind)
        return _add((value.start, value.stop, value.step), key, arrays)
    if issubclass(kind, np.dtype) or _is_dtype(value):
        key += (kind, value)
        return True
    if issubclass(kind, np.generic):
        key += (value.dtype, "number")
        arrays.append(np.asarray(value))
        return True
    return False


def _is_dtype(value: Any) -> bool:
    """Whether a value is a class that names a dtype; others are functions."""
    return isinstance(value, type) and (
        value in (bool, int, float, complex) or issubclass(value, np.generic)
    )


def _replaced(value: Any, arrays: list[Tracer]) -> Any:
    """An argument with traced arrays, in the signature's order, in place of arrays."""
    if isinstance(value, np.ndarray | np.generic):
        return arrays.pop(0)
    if isinstance(value, slice):
        whole = cast(Any, value)
        return slice(*(_replaced(end, arrays) for end in (whole.start, whole.stop, whole.step)))
    if isinstance(value, (tuple, list)):
        kind: type[Any] = tuple if isinstance(value, tuple) else list
        return kind([_replaced(each, arrays) for each in cast(Sequence[Any], value)])
    return value


# Records.


@dataclass(slots=True)
class _Place:
    """What a recorded array has where a traced one has an SSA value: a place and its type."""

    index: int
    type: Attribute
    name_hint: str | None = None


class _Step(NamedTuple):
    """One op of a record: its meaning, and the places of its operands and results."""

    compute: Callable[..., Any]
    operands: list[int]
    results: list[tuple[int, np.dtype[Any], Attribute]]


class Recording(Unwritten):
    """A trace that notes ops. `op_of` makes an op for types and attributes, the same one again."""

    def __init__(self, op_of: Callable[..., TensorOp]):
        super().__init__()
        self.op_of = op_of
        self.ops: list[TensorOp] = []
        self.steps: list[_Step] = []
        self.constants: dict[int, Array] = {}
        self.count = 0

    def apply(
        self,
        op: type[TensorOp],
        operands: Sequence[Tracer],
        types: Sequence[Attribute],
        attributes: dict[str, Attribute],
    ) -> list[Tracer]:
        made = self.op_of(
            op, tuple(o.type for o in operands), tuple(types), tuple(attributes.items())
        )
        self.ops.append(made)
        places = [cast(Any, o.ssa).index for o in operands]
        if all(place in self.constants for place in places) and _is_small(made):
            given = [self.constants[place] for place in places]
            pairs = zip(values_of(made, given), types, strict=True)
            return [self.holding(array, cast(AnyTensor, type_)) for array, type_ in pairs]
        arrays = [self.array(type_) for type_ in types]
        ends = [(cast(Any, a.ssa).index, _dtype(t), t) for a, t in zip(arrays, types, strict=True)]
        self.steps.append(_Step(_meaning(made), places, ends))
        return arrays

    def holding(self, array: Array, type_: AnyTensor) -> Tracer:
        self.constants[self.count] = array
        return self.array(type_)

    def array(self, type_: Attribute) -> Tracer:
        """A traced array for the next place."""
        self.count += 1
        return Tracer(self, cast(SSAValue, _Place(self.count - 1, type_)))


def _is_small(op: TensorOp) -> bool:
    """Whether results are the same at each call, and small enough to be kept for the next one."""
    sizes = (prod(shape_of(cast(AnyTensor, result.type))) for result in op.results)
    return op.has_trait(Pure) and sum(sizes) <= KEPT


def _dtype(type_: Attribute) -> np.dtype[Any]:
    return numpy_dtype(cast(AnyTensor, type_).element_type)


def _meaning(op: TensorOp) -> Callable[..., Any]:
    """The NumPy meaning of an op, with halves computed as the interpreter computes them."""
    dtypes = [_dtype(value.type) for value in (*op.operands, *op.results)]
    has_numbers = all(d.kind in "iub" or (d.kind == "f" and d.itemsize > 2) for d in dtypes)
    if has_numbers and precision_of(op.attributes) is None:
        return settled(op).meaning()
    return lambda *arrays: tuple(values_of(op, arrays))


class _ReadOnce:
    """A property of an op that does not change any more: kept, of lists a copy is given."""

    def __init__(self, read: Callable[[Any], Any]):
        self.read = read

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, op: Any, owner: type) -> Any:
        listed = op.__dict__.get(self)
        if listed is not None:
            return list(listed)
        value = self.read(op)
        if type(value) is list:
            op.__dict__[self] = tuple(cast(list[Any], value))
        elif isinstance(value, _KEPT):
            op.__dict__[self.name] = value  # which is found before this
        return cast(object, value)


_KEPT = (int, float, complex, str, type(None), tuple, Attribute, np.dtype)


@cache
def _settled_kind(kind: type[TensorOp]) -> type[TensorOp]:
    own = kind.__mro__[: kind.__mro__.index(TensorOp) + 1]
    found: dict[str, Any] = {}
    for base in reversed(own):
        for name, value in vars(base).items():
            found.pop(name, None)
            if isinstance(value, property) and value.fget is not None:
                found[name] = _ReadOnce(value.fget)
    made: Any = type(kind)
    return made(kind.__name__, (kind,), found)


def settled(op: TensorOp) -> TensorOp:
    """The op as one whose properties are read from its attributes once."""
    made = object.__new__(_settled_kind(type(op)))
    vars(made).update(vars(op))
    return made


class Record:
    """The ops of a call, the arrays that it made of Python's numbers, and what it returned."""

    def __init__(self, recording: Recording, result: Any):
        self.steps = recording.steps
        self.constants = list(recording.constants.values())
        self.places: list[Any] = [recording.constants.get(k) for k in range(recording.count)]
        self.result = _form(result)

    def replay(self, arrays: Sequence[Array]) -> Any:
        """The results for other arrays of the signature."""
        values = self.places.copy()
        for k, array in enumerate(arrays):
            values[k] = array if array.flags.c_contiguous else np.array(array, order="C")
        _run(self.steps, values)
        return _outside(self.result, values, (*arrays, *self.constants))


@np.errstate(all="ignore")
def _run(steps: Sequence[_Step], values: list[Array]) -> None:
    """Fill in the arrays of all places."""
    for compute, operands, results in steps:
        made = compute(*[values[k] for k in operands])
        each = cast(tuple[Any, ...], made) if type(made) is tuple else (made,)
        for value, (place, dtype, type_) in zip(each, results, strict=True):
            is_of_type = getattr(value, "dtype", None) is dtype
            values[place] = np.asarray(value, order="C") if is_of_type else cast_to(value, type_)


class _Unknown(Exception):
    """A call has something that a record does not hold."""


def _form(result: Any) -> Any:
    """A result with the places of its arrays."""
    if isinstance(result, Tracer):
        return _Place(cast(Any, result.ssa).index, result.type)
    if isinstance(result, (tuple, list)):
        return like(result, [_form(each) for each in cast(Sequence[Any], result)])
    if type(result) in PLAIN or isinstance(result, np.dtype):
        return cast(object, result)
    raise _Unknown


def _outside(form: Any, values: Sequence[Array], inside: Sequence[Any]) -> Any:
    if isinstance(form, _Place):
        array = values[form.index]
        return array if array.base is None and not _is_in(array, inside) else own(array, inside)
    if isinstance(form, (tuple, list)):
        parts: list[Any] = []
        for each in cast(Sequence[Any], form):
            parts.append(_outside(each, values, (*inside, *parts)))
        return like(form, parts)
    return form


def like(nested: Any, parts: list[Any]) -> Any:
    """Parts as a list, a tuple or a named tuple like another one."""
    if isinstance(nested, list):
        return parts
    return cast(Any, type(nested))(*parts) if hasattr(nested, "_fields") else tuple(parts)


def _is_in(array: Array, others: Sequence[Any]) -> bool:
    for each in others:
        if array is each:
            return True
    return False


def own(array: Array, others: Sequence[Any]) -> Array:
    """The array, or a copy where it is read-only or may share memory with another."""
    arrays = [cast(Array, each) for each in others if isinstance(each, np.ndarray)]
    is_shared = any(np.may_share_memory(array, each) for each in arrays)
    return np.array(array) if is_shared or not array.flags.writeable else array


Call = tuple[Sequence[Any], dict[str, Any]]
"""Arguments and keyword arguments."""


class Records:
    """The records of a function by signature."""

    def __init__(self, function: Callable[..., Any], op_of: Callable[..., TensorOp]):
        self.function, self.op_of = function, op_of
        self.found: dict[Any, Record | bool] = {}  # False: called once; True: never recorded

    def of(self, key: Any) -> Record | None:
        """The record of a signature, if there is one."""
        found = self.found.get(key)
        return found if isinstance(found, Record) else None

    def note(self, key: Any, call: Call, ops: Sequence[TensorOp], result: Any) -> None:
        """Note the ops and the result of a call; the second of a signature is recorded."""
        if key not in self.found:
            if len(self.found) >= LIMIT:
                self.found.clear()
            self.found[key] = False
        elif self.found[key] is False:
            self.found[key] = self._recorded(call, ops, result) or True

    def _recorded(self, call: Call, ops: Sequence[TensorOp], wanted: Any) -> Record | None:
        args, kwargs = call
        recording = Recording(self.op_of)
        arrays: list[Array] = []
        signature(args, kwargs, arrays)
        try:
            with running(recording):
                inputs = [recording.array(_type_of(a)) for a in arrays]
                places = [i.ssa for i in inputs]
                left = list(inputs)
                traced = [_replaced(a, left) for a in args]
                named = {name: _replaced(a, left) for name, a in kwargs.items()}
                result = self.function(*traced, **named)
            record = Record(recording, result)
            is_same = _is_same(record.replay(arrays), wanted)
        except Exception:
            return None  # it reads an array, or takes it for something else
        if sum(constant.size for constant in record.constants) > 4 * KEPT:
            return None
        is_written = any(i.ssa is not place for i, place in zip(inputs, places, strict=True))
        are_same = len(ops) == len(recording.ops) and all(map(_is, ops, recording.ops))
        return record if are_same and is_same and not is_written else None


def _is(one: TensorOp, other: TensorOp) -> bool:
    return one is other and one.has_trait(Pure)


def _is_same(one: Any, other: Any) -> bool:
    """Whether two results are the same, to the bit."""
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        x, y = cast(Array, one), cast(Array, other)
        return (x.dtype, x.shape) == (y.dtype, y.shape) and x.tobytes() == y.tobytes()
    if isinstance(one, (tuple, list)):
        ones, others = cast(Sequence[Any], one), cast(Sequence[Any], other)
        return len(ones) == len(others) and all(map(_is_same, ones, others))
    return bool(one == other)


def _type_of(array: Array) -> AnyTensor:
    """The type of an array that is taken as it is; _Unknown for others."""
    element = element_named(array.dtype)
    if numpy_dtype(element) != array.dtype or not array.dtype.isnative:
        raise _Unknown
    return tensor(array.shape, element)
