"""NumPy's own arrays in a copied function, which become traced ones once they are assigned such.

`numpy.zeros(n)` in a function of `copied_code` is a LateArray. While all that is written to it is
known, NumPy computes with it, and its numbers can be read. When a traced value is assigned to it,
or to a view of it, it becomes a traced array, under all of its names; views that were made before
are made again by the functions that made them.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NoReturn, cast

import numpy as np
from xdsl.ir import Block, SSAValue

from gradir.dialects.base.extents import Extent
from gradir.dialects.base.shapes import AnyTensor, tensor
from gradir.errors import ArgumentTypeError
from gradir.frontends.tracing.memory import ArrayMemory, View, root_of
from gradir.frontends.tracing.object_arrays import is_object_array
from gradir.frontends.tracing.source_locations import called_from, public, refusal
from gradir.frontends.tracing.spec import element_named
from gradir.frontends.tracing.tracer import Tracer, registered
from gradir.frontends.tracing.tracing import Trace, constant, holds_tracers, tracing

Array = np.ndarray[Any, Any]
Call = Callable[[], Any]

_HOME: Any = Tracer.__dict__["home"]
_MEMORY: Any = Tracer.__dict__["memory"]
_VIEW: Any = Tracer.__dict__["view_of"]
_MADE_IN: Any = Tracer.__dict__["made_in"]
_SSA: Any = Tracer.ssa


class LateArray(Tracer):
    """An array of NumPy's, until it is assigned a traced value; then a traced array.

    `_data` is NumPy's array while the values are known, else None. A view has the array that it is
    a view of as its `_parent`, and `_again` makes it of that once that is traced.
    """

    __slots__ = ("_again", "_data", "_kept", "_label", "_parent")

    _again: Call | None
    _data: Array | None
    _label: str
    _parent: LateArray | None
    _kept: tuple[Block, bytes, Tracer] | None

    @classmethod
    def of(cls, data: Array, trace: Trace | None) -> LateArray:
        """An array made in the block under construction; without a trace, one from outside."""
        made = cls.__new__(cls)
        _HOME.__set__(made, Block() if trace is None else trace.blocks[-1])
        _MADE_IN.__set__(made, trace)
        _MEMORY.__set__(made, None)
        _VIEW.__set__(made, None)
        made._data, made._kept, made._label = data, None, ""
        made._parent, made._again = None, None
        made.weak, made.stored = False, True
        return made

    def viewed(self, data: Array, again: Call) -> LateArray:
        """A view of the array, which `again` makes of it once it is traced."""
        made = LateArray.of(data, None)
        _HOME.__set__(made, self.home)
        _MADE_IN.__set__(made, _MADE_IN.__get__(self))
        made._parent, made._again = self, again
        return made

    # What it is.

    @property
    def __class__(self) -> Any:
        """NumPy's class for isinstance, while the numbers are known: code asks before it reads."""
        return LateArray if self.known is None else np.ndarray

    @property
    def known(self) -> Array | None:
        """NumPy's array, or None once it is traced."""
        parent = self._parent
        if self._data is not None and parent is not None and parent.known is None:
            self._make_again(parent)
        return self._data

    def _make_again(self, parent: LateArray) -> None:
        root = root_of(parent)
        with root.made_in.ending(root.home):
            made = cast(Call, self._again)()
        if not isinstance(made, Tracer) or made.memory is None or not _is_of(made, root):
            raise refusal(
                "this view was made of an array before traced values were assigned to that, and "
                "gradir has a copy in its place; make it after the assignment"
            )
        self._data, self._parent, self._again = None, None, None
        _MADE_IN.__set__(self, made.made_in)
        _HOME.__set__(self, made.home)
        _MEMORY.__set__(self, made.memory)
        _VIEW.__set__(self, made.view_of)
        self._ssa, self.weak = made.ssa, made.weak

    def _become_traced(self) -> None:
        """Make a traced array of a known one, and of what it is a view of."""
        top: LateArray = self
        while top._parent is not None:
            top = top._parent
        data, trace = top._data, _MADE_IN.__get__(top)
        if data is None or trace is None:
            return
        with trace.ending(top.home):
            made = top._constant(data)
        top._data = None
        Tracer.bind(top, made.ssa, trace)
        _ = self.known

    def _constant(self, data: Array) -> Tracer:
        """The numbers as a constant in the block under construction."""
        trace = tracing()
        block = None if trace is None else trace.blocks[-1]
        numbers = data.tobytes()
        if self._kept is not None and self._kept[0] is block and self._kept[1] == numbers:
            return self._kept[2]
        made = constant(data)
        if self._label:
            made.named(self._label)
        self._kept = None if block is None else (block, numbers, made)
        return made

    @property
    def ssa(self) -> SSAValue:
        """The SSA value; of known numbers a constant."""
        known = self.known
        return _SSA.fget(self) if known is None else self._constant(known).ssa

    @property
    def made_in(self) -> Trace:
        """The trace of the SSA value; constants are of the running trace."""
        found = _MADE_IN.__get__(self) if self.known is None else tracing()
        return cast(Trace, found or _MADE_IN.__get__(self))

    @made_in.setter
    def made_in(self, trace: Trace) -> None:
        _MADE_IN.__set__(self, trace)

    @property
    def memory(self) -> ArrayMemory | None:
        """The memory; a view has that of the array, which is traced from then on."""
        if self._data is not None and self._parent is not None:
            self._become_traced()
        return _MEMORY.__get__(self)

    @memory.setter
    def memory(self, memory: ArrayMemory | None) -> None:
        if self.known is not None:
            self._become_traced()
        _MEMORY.__set__(self, memory)

    @property
    def view_of(self) -> View | None:
        """How a traced view is read."""
        if self._data is not None and self._parent is not None:
            self._become_traced()
        return _VIEW.__get__(self)

    @view_of.setter
    def view_of(self, view: View | None) -> None:
        _VIEW.__set__(self, view)

    def bind(self, ssa: SSAValue, trace: Trace) -> None:
        """An SSA value in place of what it was."""
        self._data = None
        Tracer.bind(self, ssa, trace)

    def named(self, name: str) -> None:
        """Name the array, and its constants later on."""
        if self._data is None:
            Tracer.named(self, name)
        elif not self._label and _MADE_IN.__get__(self) is not None:
            self._label = name

    @property
    def name(self) -> str | None:
        """The name of the array."""
        return self._ssa.name_hint if self._data is None else self._label or None

    def name_as(self, other: Tracer) -> None:
        """Name the SSA value as another array's, if it has no name."""
        if self.known is None:
            Tracer.name_as(self, other)

    @property
    def type(self) -> AnyTensor:
        """The tensor type."""
        known = self.known
        if known is None:
            return cast(AnyTensor, self._ssa.type)
        return tensor(known.shape, element_named(known.dtype))

    def require_home(self) -> None:
        """TraceError for an array from outside, which cannot hold traced values."""
        if _MADE_IN.__get__(self) is not None:
            return Tracer.require_home(self)
        raise refusal(
            "assignment: this array of NumPy's is one from outside of the traced function, and "
            "cannot hold traced values; assign to a copy, y = x.copy()"
        )

    def _require_known_home(self) -> None:
        """TraceError where numbers are written in a function that is traced once for many calls."""
        trace = _MADE_IN.__get__(self)
        if trace is not None and tracing() is not None and not trace.is_building(self.home):
            Tracer.require_home(self)

    def copy(self, order: str = "C") -> Tracer:
        """The array as one of its own."""
        known = self.known
        return Tracer.copy(self) if known is None else late(known.copy())

    def __repr__(self) -> str:
        return Tracer.__repr__(self) if self.known is None else repr(self.known)

    def __str__(self) -> str:
        return Tracer.__str__(self) if self.known is None else str(self.known)

    def __format__(self, form: str) -> str:
        known = self.known
        return Tracer.__format__(self, form) if known is None else format(known, form)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        known = self.known
        return Tracer.__array__(self, dtype, copy) if known is None else np.array(known, dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """NumPy's elementwise functions: NumPy's own of known numbers."""
        outs = options.get("out") or ()
        if not is_traced((inputs, options)):
            for each in [*outs, *(inputs[:1] if method == "at" else ())]:
                if isinstance(each, LateArray):
                    each._require_known_home()
            return computed(getattr(ufunc, method), inputs, options)
        return Tracer.__array_ufunc__(self, ufunc, method, *inputs, **options)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """NumPy's other functions: NumPy's own of known numbers."""
        if not is_traced((args, kwargs)):
            return computed(function, args, kwargs)
        return Tracer.__array_function__(self, function, types, args, kwargs)

    def __iter__(self) -> Iterator[Any]:
        if self.known is None:
            return called_from(sys._getframe(1), Tracer.__iter__, self)
        return iter([self[k] for k in range(len(self.known))])

    def __getattr__(self, name: str) -> Any:
        """Attributes of NumPy's array that a traced one has not."""
        if name.startswith("__") or self.known is None:
            return Tracer.__getattr__(self, name)
        return getattr(self.known, name)


def _is_of(made: Tracer, root: Tracer) -> bool:
    """Whether a traced array shares the memory of a root, or perhaps does."""
    memory = root.memory
    return memory is not None and made.memory is not None and made.memory in memory.kin


def late(data: Any) -> Any:
    """An array of NumPy's, made just now in a traced function, as a LateArray."""
    trace = tracing()
    return LateArray.of(data, trace) if trace is not None and _is_taken(data) else data


def from_outside(data: Array) -> Any:
    """An array of NumPy's that a traced function has read, and must not assign traced values to."""
    return LateArray.of(data, None) if _is_taken(data) else data


def _is_taken(data: object) -> bool:
    if type(data) is not np.ndarray:
        return False
    try:
        element_named(cast(Array, data).dtype)
    except ArgumentTypeError:
        return False
    return True


def is_traced(value: object) -> bool:
    """Whether a traced array without known numbers is among values."""
    if isinstance(value, LateArray):
        return value.known is None
    if isinstance(value, (tuple, list)):
        return any(map(is_traced, cast(Sequence[object], value)))
    if isinstance(value, dict):
        return any(map(is_traced, cast(Mapping[Any, object], value).values()))
    if isinstance(value, slice):
        return any(isinstance(x, Tracer) and is_traced(x) for x in _ends(value))
    if is_object_array(value):
        return holds_tracers([cast(Any, value).tolist()])
    return isinstance(value, Tracer | Extent)


def _ends(value: slice) -> tuple[Any, Any, Any]:
    return value.start, value.stop, value.step


def plain(value: Any) -> Any:
    """Values with NumPy's arrays in place of LateArrays, whose numbers are known."""
    if isinstance(value, LateArray):
        return value.known
    if isinstance(value, (tuple, list)):
        found = cast(Sequence[Any], value)
        made = [plain(each) for each in found]
        if all(a is b for a, b in zip(made, found, strict=True)):
            return found
        return _like(found, made)
    if isinstance(value, dict):
        return {key: plain(each) for key, each in cast(dict[Any, Any], value).items()}
    return value


def _like(found: Any, parts: list[Any]) -> Any:
    """A tuple or list of the kind of another."""
    kind: Any = type(found)
    return kind(*parts) if hasattr(kind, "_fields") else kind(parts)


def computed(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """What a function of NumPy's gives of known numbers; its arrays are LateArrays."""
    made = function(*plain(tuple(args)), **plain(dict(kwargs)))
    arrays = list(_late_in((tuple(args), dict(kwargs))))

    def again() -> Any:
        return function(*args, **kwargs)

    return _wrapped(made, arrays, again)


def _late_in(value: Any) -> Iterator[LateArray]:
    if isinstance(value, LateArray):
        yield value
    elif isinstance(value, (tuple, list)):
        for each in cast(Sequence[Any], value):
            yield from _late_in(each)
    elif isinstance(value, dict):
        yield from _late_in(list(cast(dict[Any, Any], value).values()))


def _wrapped(made: Any, arrays: Sequence[LateArray], again: Call) -> Any:
    """A result with LateArrays: an operand itself, a view of one, or a new array."""
    if isinstance(made, (tuple, list)):
        found = cast(Sequence[Any], made)
        parts = [_wrapped(each, arrays, lambda k=k: again()[k]) for k, each in enumerate(found)]
        return _like(found, parts)
    if type(made) is not np.ndarray:
        return made
    made = cast(Array, made)
    for each in arrays:
        if each.known is made:
            return each
    for each in arrays:
        known = each.known
        if known is not None and np.may_share_memory(made, known):
            if not _is_taken(made):
                return made
            if _is_reshaped(made, known):
                again = partial(registered("reshaped"), each, made.shape)
            return each.viewed(made, again)
    return late(made)


def _is_reshaped(made: Array, known: Array) -> bool:
    """Whether a view has the elements of an array in their order, under another shape."""
    both = made.flags.c_contiguous and known.flags.c_contiguous
    return both and made.size == known.size and made.dtype == known.dtype


# Operators and methods: NumPy's own where all numbers are known, else the traced array's.

_IN_PLACE = frozenset(
    f"__i{name}__"
    for name in "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift".split()
) | {"__setitem__", "fill", "sort", "partition", "put"}
_OPERATORS = [
    f"__{side}{name}__"
    for name in "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift".split()
    for side in ("", "r")
]
_METHODS = (
    *_OPERATORS, *_IN_PLACE, *("__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__"),
    *("__divmod__", "__rdivmod__", "__neg__", "__pos__", "__abs__", "__invert__", "__getitem__"),
    *("__len__", "__bool__", "__int__", "__index__", "__float__", "__complex__", "__contains__"),
    *("squeeze", "sum", "prod", "mean", "min", "max", "var", "std", "any", "all", "argmin"),
    *("argmax", "clip", "round", "ptp", "cumsum", "cumprod", "argsort", "argpartition"),
    *("searchsorted", "dot", "trace", "diagonal", "ravel", "flatten", "swapaxes", "take", "repeat"),
    *("choose", "conj", "conjugate", "nonzero", "astype", "compress", "transpose", "reshape"),
    *("item", "tolist", "tobytes", "view"),
)  # fmt: skip


def _method(name: str) -> Any:
    theirs = getattr(Tracer, name, None)
    is_write = name in _IN_PLACE

    @public
    def method(self: LateArray, *args: Any, **kwargs: Any) -> Any:
        if self.known is None or is_traced((args, kwargs)):
            if theirs is None:
                return _refuse(name)
            return theirs(self, *args, **kwargs)
        if is_write:
            self._require_known_home()
        if not hasattr(np.ndarray, name):
            return theirs(self, *args, **kwargs) if theirs is not None else _refuse(name)
        if is_write and not name.startswith("__i"):
            return getattr(self.known, name)(*plain(args), **plain(kwargs))
        called = computed(partial(_called, name), (self, *args), kwargs)
        return self if is_write else called

    method.__name__ = name
    method.__doc__ = None if theirs is None else theirs.__doc__
    return method


def _called(name: str, x: Any, *args: Any, **kwargs: Any) -> Any:
    """A method of an array."""
    return getattr(x, name)(*args, **kwargs)


def _refuse(name: str) -> NoReturn:
    raise refusal(f"{name}: not there for traced arrays")


def _attribute(name: str, get: Callable[[Any], Any]) -> Any:
    def read(self: LateArray) -> Any:
        if self.known is None:
            return getattr(Tracer, name).__get__(self)
        return computed(get, (self,), {})

    return property(read)


for _name in _METHODS:
    setattr(LateArray, _name, _method(_name))
for _name in ("T", "mT"):
    setattr(LateArray, _name, _attribute(_name, operator.attrgetter(_name)))
LateArray.__hash__ = None
