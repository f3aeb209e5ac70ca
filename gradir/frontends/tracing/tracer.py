"""Traced arrays: the arguments of a Python function during tracing.

They have the operators, attributes and methods of the Array API's arrays; each is the function of
gradir.numpy with the same meaning, which that module registers here. They have a shape and a dtype
but no values: a read of values is refused, except of those that a derivative of arrays knows
(`values`). Assignment gives an array another SSA value (`memory`).
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Iterator
from functools import partial
from math import prod
from operator import index
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, cast

import numpy as np
from xdsl.ir import SSAValue

from gradir.dialects.array.creation import numpy_dtype
from gradir.dialects.base.extents import Extent
from gradir.dialects.base.lazy_function import lazy_function
from gradir.dialects.base.shapes import AnyTensor, shape_of
from gradir.errors import ForeignCodeError, TraceError
from gradir.frontends.tracing.memory import ArrayMemory, View, is_argument, refresh
from gradir.frontends.tracing.object_arrays import ZEROS, array_of, method_of
from gradir.frontends.tracing.source_locations import (
    NUMPY,
    called_from,
    is_called_by_code,
    public,
    refusal,
)
from gradir.frontends.tracing.spec import type_text
from gradir.frontends.tracing.values import (
    fixed_value_of,
    has_value,
    still_value_of,
    text_of,
    value_of,
)
from gradir.nearest import close_names
from gradir.runtime.row_slices import RowSlices

if TYPE_CHECKING:
    from gradir.frontends.tracing.tracing import Trace, tracing
else:
    tracing = lazy_function("gradir.frontends.tracing.tracing", "tracing")

_NO_VALUE = "{what}: a traced array has no value yet; {way_out}"
_CHOICE = (
    "choose with gradir.cond, gradir.while_loop or gradir.numpy.where instead of if, while, and, "
    "or, not"
)
_INDEX = "take elements with gradir.numpy.take or x[i], without range()"
_STILL = (
    "compute with the array itself (numpy.sin, not math.sin), or ask for the value of "
    f"gradir.no_grad(x); {ZEROS}"
)
_TEXT = "print it with gradir.debug.print"
_VALUE = "return it from the traced function and ask for it outside"
_NUMBER = f"{_VALUE}; {ZEROS}"


# Where NumPy reduces arrays of objects in Python.
_OF_OBJECTS = os.path.join(NUMPY, "_core", "_methods.py")

DEVICE = "cpu"
"""The device of all arrays, NumPy's name of it."""
FUNCTIONS: dict[str, Any] = {}
"""The functions behind operators and methods by name, and their module as `namespace`."""


def registered(name: str) -> Any:
    """A function of FUNCTIONS."""
    assert name in FUNCTIONS, f"{name}: no module of gradir.frontends.functions has registered it"
    return FUNCTIONS[name]


def _operator(name: str) -> Callable[[Tracer, object], Any]:
    @public
    def operator(self: Tracer, other: object) -> Any:
        if not _is_operand(other) or (name == "multiply" and _repeats(self, other)):
            return NotImplemented
        return registered(name)(self, other)

    return operator


def _swapped(name: str) -> Callable[[Tracer, object], Any]:
    @public
    def operator(self: Tracer, other: object) -> Any:
        if not _is_operand(other) or (name == "multiply" and _repeats(self, other)):
            return NotImplemented
        return registered(name)(other, self)

    return operator


def _comparison(name: str) -> Callable[[Tracer, object], Any]:
    def operator(self: Tracer, other: object) -> Any:
        if not _is_operand(other):
            return NotImplemented
        frame = sys._getframe(1)
        if not self.is_array and not getattr(other, "shape", ()) and is_called_by_code(frame):
            called_from(frame, _require_no_nan, self, other)
        return called_from(frame, registered(name), self, other)

    return operator


def _require_no_nan(*numbers: Any) -> None:
    """TraceError where NumPy's loops over objects, which take the larger one, would lose a nan."""
    for each in numbers:
        if isinstance(each, Tracer) and each.dtype.kind == "f" and has_value(each):
            if bool(each != each):
                raise refusal(
                    "comparison: largest and sorted numbers lose nan, by Python's functions and by "
                    "numpy's of arrays of objects; make the array with gradir.numpy.array or "
                    "numpy.stack"
                )


def _in_place(name: str) -> Any:
    """An operator such as +=. Numbers do not change: Python makes `y = y + x` of it."""

    @public
    def operator(self: Tracer, other: object) -> Any:
        if not self.is_array or not _is_operand(other):
            return NotImplemented
        return registered("updated")(self, name, other)

    return operator


def _method(name: str) -> Any:
    @public
    def method(self: Tracer, *args: Any, **kwargs: Any) -> Any:
        return registered(name)(self, *args, **kwargs)

    method.__name__ = name
    method.__doc__ = f"gradir.numpy.{name} of this array."
    return method


def _refused(what: str, way_out: str = _VALUE) -> Any:
    @public
    def refused(self: Tracer, *args: object, **kwargs: object) -> NoReturn:
        raise refusal(_NO_VALUE.format(what=what, way_out=way_out))

    return refused


def _read(what: str, way_out: str, convert: Callable[..., Any], is_still: bool = False) -> Any:
    """A read of a value that is known; `is_still`: of one without a derivative."""

    @public
    def read(self: Tracer, *args: Any, **kwargs: Any) -> Any:
        value = still_value_of(self, what, _STILL) if is_still else value_of(self)
        if value is None:
            kind = ForeignCodeError if is_still else TraceError
            raise refusal(_NO_VALUE.format(what=what, way_out=way_out), kind)
        return convert(value, *args, **kwargs)

    return read


def _in_python(name: str, convert: Callable[..., Any]) -> Any:
    """A method whose result is Python's numbers, and traced ones where they have no values."""

    @public
    def method(self: Tracer, *args: Any) -> Any:
        value = fixed_value_of(self)
        return registered(name)(self, *args) if value is None else convert(value, *args)

    return method


def _one_tuple(given: tuple[Any, ...]) -> Any:
    return given[0] if len(given) == 1 else given


_OF_TORCH = {
    "backward": "gradients are results, of gradir.grad(f)(x)",
    "grad": "gradients are results, of gradir.grad(f)(x)",
    "detach": "use gradir.no_grad(x)",
    "requires_grad_": "gradir.grad(f, argnums=...) names what is differentiated",
    "numpy": "return it from the traced function",
}
"""What to write for attributes of PyTorch's tensors."""


def _hint(name: str) -> str:
    """The way out for an attribute that is not there: `; did you mean sum?`."""
    close = close_names(name, dir(Tracer)) if name[0] != "_" else []
    found = _OF_TORCH.get(name) or (f"did you mean {close[0]}?" if close else "")
    return f"; {found}" if found else ""


def _repeats(number: Tracer, other: object) -> bool:
    """Whether a list is repeated, as by NumPy's integers: `[0] * n`."""
    if not isinstance(other, (list, tuple)) or number.is_array:
        return False
    return number.dtype.kind in "iu"


def _is_operand(value: object) -> bool:
    """Whether an operator takes a value beside a traced array; else the other operand may."""
    if isinstance(value, RowSlices):
        return False
    is_array = hasattr(value, "dtype") and hasattr(value, "shape")
    return isinstance(value, (Tracer, bool, int, float, complex, Extent, list, tuple)) or is_array


class Tracer:
    """A traced array: an SSA value of a trace. `weak`: it promotes as a Python number.

    `home` is the block that the array was made in; `view_of` tells what it is a view of. `stored`:
    it is an array where its rank is 0 too, and no number as NumPy's results are.
    """

    __slots__ = ("_ssa", "home", "made_in", "memory", "stored", "view_of", "weak")
    __hash__: ClassVar[None] = None

    def __init__(self, trace: Trace, ssa: SSAValue, weak: bool = False):
        self.made_in = trace
        self.home = trace.blocks[-1]
        self._ssa = ssa
        self.weak = weak
        self.stored = False
        self.memory: ArrayMemory | None = None
        self.view_of: View | None = None

    @property
    def ssa(self) -> SSAValue:
        """The SSA value; a view whose base was written since is read again."""
        if self.memory is not None:
            refresh(self, self.memory)
        return self._ssa

    def bind(self, ssa: SSAValue, trace: Trace) -> None:
        """Another SSA value of the same type."""
        self._ssa, self.made_in = ssa, trace

    @public
    def copy(self) -> Tracer:
        """The array as one of its own: assigning to one does not change the other.

        A number's copy is a number; an argument's an array, as it may be NumPy's array of rank 0.
        """
        trace = tracing() or self.made_in
        made = Tracer(trace, trace.use(self), self.weak)
        made.stored = self.stored or is_argument(self)
        return made

    def __copy__(self) -> Tracer:
        return self.copy()

    def __deepcopy__(self, _: object) -> Tracer:
        return self.copy()

    def require_home(self) -> None:
        """TraceError unless the array was made in the block under construction."""
        if not self.made_in.is_building(self.home):
            raise refusal(
                "assignment: the array is one from outside of this function, which is traced on "
                "its own (the body of a loop or branch, a checkpoint, a differentiated function); "
                "take it as an argument or carried value and return it, or assign to a copy, "
                "y = x.copy()"
            )

    def named(self, name: str) -> None:
        """Name the SSA value, if it has no name and this one is valid."""
        if self._ssa.name_hint is None and name.isascii() and SSAValue.is_valid_name(name):
            # xDSL takes a number off the end: of `_0` nothing is left
            self._ssa.name_hint = SSAValue.extract_valid_name(name) or None

    @property
    def name(self) -> str | None:
        """The name of the SSA value."""
        return self._ssa.name_hint

    def name_as(self, other: Tracer) -> None:
        """Name the SSA value as another array's, if it has no name."""
        name = other.name
        if name is not None:
            self.named(name)

    # Facts.

    @property
    def type(self) -> AnyTensor:
        """The tensor type."""
        return cast(AnyTensor, self._ssa.type)

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents of the axes."""
        return shape_of(self.type)

    @shape.setter
    @public
    def shape(self, shape: Any) -> None:
        raise refusal("shape: it does not change; y = x.reshape(shape) is the array in another one")

    @property
    def flat(self) -> Any:
        """The elements in row-major order: to loop over, and to read and assign by number."""
        return registered("flat")(self)

    @flat.setter
    @public
    def flat(self, values: Any) -> None:
        registered("flat")(self)[...] = values

    @property
    def dtype(self) -> Any:
        """The NumPy dtype of the elements.

        NumPy's mean, var and std of objects see none: they would make numbers of its type.
        """
        if sys._getframe(1).f_code.co_filename == _OF_OBJECTS:
            raise AttributeError("dtype")
        return numpy_dtype(self.type.element_type)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self.shape)

    @property
    def device(self) -> str:
        """The device of the array's memory."""
        return DEVICE

    @property
    def T(self) -> Any:
        """The array with its axes in reverse order."""
        return registered("transpose")(self)

    @property
    def mT(self) -> Any:
        """The array with its last two axes exchanged."""
        return registered("matrix_transpose")(self)

    @property
    def is_array(self) -> bool:
        """Whether it can be assigned to; numbers do not change."""
        return self.stored or bool(self.shape)

    @property
    def itemsize(self) -> int:
        """The bytes of an element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """The bytes of all elements."""
        return self.size * self.itemsize

    @property
    def real(self) -> Any:
        """The real parts; of real numbers the array."""
        return registered("real")(self) if self.dtype.kind == "c" else self

    @property
    def imag(self) -> Any:
        """The imaginary parts; of real numbers zeros."""
        return registered("imag")(self)

    @property
    def at(self) -> Any:
        """`x.at[key].set(values)` and the like: x with other values where x[key] reads."""
        return registered("at")(self)

    def __repr__(self) -> str:
        name = f"%{self._ssa.name_hint} " if self._ssa.name_hint else ""
        return f"<traced array {name}{type_text(self.type)}>"

    @public
    def __str__(self) -> str:
        value = text_of(self)
        return repr(self) if value is None else str(value)

    @public
    def __format__(self, form: str) -> str:
        value = text_of(self)
        if value is not None:
            return format(value if value.ndim else value.item(), form)
        if form:
            raise refusal(_NO_VALUE.format(what="format", way_out=_TEXT))
        return repr(self)

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        return registered("namespace")

    # Operators.

    __add__, __radd__ = _operator("add"), _swapped("add")
    __sub__, __rsub__ = _operator("subtract"), _swapped("subtract")
    __mul__, __rmul__ = _operator("multiply"), _swapped("multiply")
    __truediv__, __rtruediv__ = _operator("divide"), _swapped("divide")
    __floordiv__, __rfloordiv__ = _operator("floor_divide"), _swapped("floor_divide")
    __mod__, __rmod__ = _operator("remainder"), _swapped("remainder")
    __pow__, __rpow__ = _operator("pow"), _swapped("pow")
    __matmul__, __rmatmul__ = _operator("matmul"), _swapped("matmul")
    __and__, __rand__ = _operator("bitwise_and"), _swapped("bitwise_and")
    __or__, __ror__ = _operator("bitwise_or"), _swapped("bitwise_or")
    __xor__, __rxor__ = _operator("bitwise_xor"), _swapped("bitwise_xor")
    __lshift__, __rlshift__ = _operator("left_shift"), _swapped("left_shift")
    __rshift__, __rrshift__ = _operator("right_shift"), _swapped("right_shift")
    __divmod__, __rdivmod__ = _operator("divmod"), _swapped("divmod")
    __lt__, __le__ = _comparison("less"), _comparison("less_equal")
    __gt__, __ge__ = _comparison("greater"), _comparison("greater_equal")
    __eq__, __ne__ = _operator("equal"), _operator("not_equal")
    __neg__, __pos__ = _method("negative"), _method("positive")
    __abs__, __invert__ = _method("abs"), _method("bitwise_invert")

    __iadd__, __isub__, __imul__ = _in_place("add"), _in_place("subtract"), _in_place("multiply")
    __itruediv__, __ifloordiv__ = _in_place("divide"), _in_place("floor_divide")
    __imod__, __ipow__, __imatmul__ = _in_place("remainder"), _in_place("pow"), _in_place("matmul")
    __iand__, __ior__ = _in_place("bitwise_and"), _in_place("bitwise_or")
    __ixor__ = _in_place("bitwise_xor")

    # Methods of the Array API's or NumPy's arrays.

    squeeze = _method("squeeze")
    sum, prod, mean = _method("sum"), _method("prod"), _method("mean")
    min, max, var, std = _method("min"), _method("max"), _method("var"), _method("std")
    any, all = _method("any"), _method("all")
    argmin, argmax = _method("argmin"), _method("argmax")
    clip, round, ptp = _method("clip"), _method("round"), _method("ptp")
    cumsum, cumprod, argsort = _method("cumsum"), _method("cumprod"), _method("argsort")
    argpartition, searchsorted = _method("argpartition"), _method("searchsorted")
    dot, trace, diagonal = _method("dot"), _method("trace"), _method("diagonal")
    ravel, flatten, swapaxes = _method("ravel"), _method("flatten"), _method("swapaxes")
    take, repeat, choose = _method("take"), _method("repeat"), _method("choose")
    conj, conjugate, nonzero = _method("conj"), _method("conjugate"), _method("nonzero")
    fill = _method("fill")

    @public
    def astype(
        self, dtype: Any, order: str = "K", casting: Any = "unsafe", subok: bool = True,
        copy: bool = True,
    ) -> Any:  # fmt: skip
        """gradir.numpy.astype of this array; `casting` says which dtypes are allowed."""
        made = registered("astype")(self, dtype, copy=copy)
        if not np.can_cast(self.dtype, made.dtype, casting):
            raise refusal(
                f"astype: {self.dtype} values do not become {made.dtype} by casting={casting!r}"
            )
        return made

    @public
    def to_device(self, device: Any, *, stream: Any = None) -> Any:
        """The array, which is on the only device."""
        if device != DEVICE or stream is not None:
            raise refusal(f'to_device: device must be "{DEVICE}", without a stream, got {device!r}')
        return self

    @public
    def compress(self, condition: Any, axis: Any = None) -> Any:
        """gradir.numpy.compress of this array."""
        return registered("compress")(condition, self, axis)

    @public
    def transpose(self, *axes: Any) -> Any:
        """gradir.numpy.transpose of this array; the axes as one tuple or as several numbers."""
        return registered("transpose")(self, _one_tuple(axes) if axes else None)

    @public
    def reshape(self, *shape: Any, **options: Any) -> Any:
        """gradir.numpy.reshape of this array; the shape as one tuple or as several numbers."""
        return registered("reshape")(self, _one_tuple(shape), **options)

    @public
    def __getitem__(self, key: Any) -> Any:
        return registered("get")(self, key)

    @public
    def __iter__(self) -> Iterator[Any]:
        if not self.shape:
            raise refusal("iteration: expected an array of rank >= 1, got one of rank 0")
        return iter([self[k] for k in range(self.shape[0])])

    @public
    def __len__(self) -> int:
        if not self.shape:
            raise refusal("len: expected an array of rank >= 1, got one of rank 0")
        return index(self.shape[0])

    # Reads and writes of values.

    __bool__ = _read("bool", _CHOICE, bool)
    __int__ = _read("int", _VALUE, int)
    __index__ = _read("index", _INDEX, index)
    __trunc__ = _read("math.trunc", _VALUE, int)
    __floor__ = _read("math.floor", _VALUE, math.floor)
    __ceil__ = _read("math.ceil", _VALUE, math.ceil)
    __float__ = _read("float", _NUMBER, float, is_still=True)
    __complex__ = _read("complex", _VALUE, complex, is_still=True)
    item, tolist = _in_python("item", np.ndarray.item), _in_python("tolist", np.ndarray.tolist)
    tobytes = _read("tobytes", _VALUE, np.ndarray.tobytes, is_still=True)
    sort, partition, put = _method("sorted"), _method("partitioned"), _method("put_values")
    resize = _refused("resize", "y = gradir.numpy.resize(x, shape) makes another")
    view = _refused("view", "its bytes are not at hand; convert with .astype")

    @public
    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        """The numbers as NumPy's array, or the traced numbers in one of dtype object."""
        return array_of(self, dtype, copy)

    def __getattr__(self, name: str) -> Any:
        """NumPy's elementwise functions as methods of numbers, for its arrays of objects."""
        method = None if name.startswith("_") or self.ndim else method_of(name, registered)
        if method is None:
            raise AttributeError(
                f"a traced array has no attribute {name!r}{_hint(name)}", name=name, obj=self
            )
        return partial(method, self)

    @public
    def __round__(self, digits: int | None = None) -> Any:
        """gradir.numpy.round of this array."""
        return registered("round")(self, digits or 0)

    @public
    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """NumPy's elementwise functions and operators, by the functions of gradir.numpy."""
        return registered("of_ufunc")(ufunc, method, inputs, options)

    @public
    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """NumPy's other functions; those that have no counterpart are refused."""
        return registered("of_function")(function, args, kwargs)

    @public
    def __setitem__(self, key: object, value: object) -> None:
        registered("assign")(self, key, value)
