"""gradir.kernel: an op written as a loop nest, one element at a time, which fuses as others do.

The body is run once, on symbolic subscripts: each read is an `array.affine_gather` over the grid of
the nest, computations are ops on arrays of the grid, and sums are reductions of its last axes. So
derivatives of every order are these ops' own, and code generation makes loops of them again.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from functools import partial
from threading import local
from typing import Any, ClassVar, cast

import numpy as np
from xdsl.ir import Block, SSAValue

from gradir.dialects.array.affine import AffineGatherOp
from gradir.dialects.array.creation import ConstantOp, FullOp
from gradir.dialects.array.movement import BroadcastToOp, ExpandDimsOp, ReshapeOp
from gradir.dialects.base.access import Access, Row, dim_row
from gradir.dialects.base.interfaces import is_terminator
from gradir.dialects.base.shapes import is_tensor, shape_of
from gradir.dialects.building.kinds import ElementwiseOp
from gradir.errors import ArgumentError, ArgumentTypeError
from gradir.frontends.functions import numpy as gnp
from gradir.frontends.tracing.callbacks import call_user
from gradir.frontends.tracing.source_locations import named_options, public, refusal
from gradir.frontends.tracing.spec import Spec
from gradir.frontends.tracing.trace import function_name
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import current, lifted, tracing
from gradir.frontends.transforms.jit import jit
from gradir.frontends.transforms.markers import checkpoint
from gradir.frontends.transforms.wrapped import Parts, Wrapped, look_like
from gradir.passes.analysis.region_ops import is_region_op

COMBINE = {"add": "sum", "multiply": "prod", "minimum": "min", "maximum": "max"}
"""How elements of a result are combined over the further indices, and by which reduction."""

Extents = int | Sequence[int] | Callable[..., int | Sequence[int]]


@named_options
def kernel(
    body: Callable[..., Any] | None = None,
    *,
    shape: Extents | None = None,
    over: Extents = (),
    combine: str = "add",
    pad: float | None = None,
) -> Any:
    """An op whose result is computed element by element: `op(*arrays)`, traced or not.

    `body(*indices, *arrays)` returns an element of the result, or a tuple of them for several
    results, from elements of the arrays: `x[i - 1, 2 * j + k]`, with a subscript for each axis,
    affine in the indices. It computes with them as with arrays, by gradir.numpy. An index in a
    computation is an integer. An array of rank 0 is used as it is. Without a body: a decorator.

    shape: the shape of the results, or a function of the arrays' Specs; the first array's if
        absent. There is an index for each of its axes.
    over: the extents of further indices, over which elements are combined.
    combine: "add", "multiply", "minimum" or "maximum".
    pad: what reads outside of an array give; without it they are refused.

    Derivatives compute the kernel's values again, and keep its arguments alone.
    """
    if combine not in list(COMBINE):
        known = ", ".join(COMBINE)
        raise ArgumentError(f"combine: expected one of {known}, got {combine!r}")
    options = {"shape": shape, "over": over, "combine": combine, "pad": _number(pad)}
    if body is None:
        return partial(_make_kernel, options=options)
    if not callable(body):
        raise ArgumentTypeError(f"body: expected a Python function, got {body!r}")
    return KernelFunction(body, options)


def _number(pad: object) -> float | None:
    given: object = cast(Any, pad).item() if isinstance(pad, np.generic) else pad
    if isinstance(given, bool) or not isinstance(given, int | float | None):
        raise ArgumentTypeError(f"pad: expected a number or None, got {pad!r}")
    return given


class KernelFunction(Wrapped):
    """An op of a body; see `gradir.kernel`."""

    def __init__(self, body: Callable[..., Any], options: dict[str, Any]):
        parts: Parts = (_make_kernel, (body, options))
        super().__init__(body, parts)
        self._body, self._options = body, options

        def run(*arrays: Any) -> Any:
            return self._traced([lifted(a) for a in arrays])

        look_like(run, body)
        run.__name__ = run.__qualname__ = function_name(body)
        run.__dict__.pop("__wrapped__", None)
        self._jitted = jit(run)

    @public
    def __call__(self, *arrays: Any) -> Any:
        if tracing() is None:
            return self._jitted(*arrays)
        return self._traced([lifted(a) for a in arrays])

    def _traced(self, arrays: Sequence[Tracer]) -> Any:
        specs = [Spec(a.shape, a.dtype) for a in arrays]
        given = self._options["shape"]
        if given is None and not arrays:
            raise refusal("kernel: a kernel without arrays needs a shape")
        shape = arrays[0].shape if given is None else _extents("shape", given, specs)
        bounds = (*shape, *_extents("over", self._options["over"], specs))

        def stage(*operands: Any) -> Any:
            return self._results(operands, len(shape), bounds)

        return checkpoint(stage)(*arrays)

    def _results(self, arrays: Sequence[Tracer], rank: int, bounds: tuple[int, ...]) -> Any:
        grid = KernelGrid(bounds)
        indices = [Index(grid, dim_row(len(bounds), d)) for d in range(len(bounds))]
        pad = self._options["pad"]
        read = [KernelArgument(a, grid, pad) if a.shape else a for a in arrays]
        block = current("kernel").blocks[-1]
        with grid.running():
            returned = call_user("kernel", self._body, *indices, *read)
            several = isinstance(returned, tuple)
            values = list(map(_plain, cast(Sequence[Any], returned) if several else [returned]))
        _require_elements(block, grid.elements)
        made = [self._result(value, rank, bounds) for value in values]
        return tuple(made) if several else made[0]

    def _result(self, value: Any, rank: int, bounds: tuple[int, ...]) -> Tracer:
        if isinstance(value, KernelArgument):
            raise refusal("kernel: the body must return elements, got an array without subscripts")
        made = lifted(value, what="kernel: the body must return elements: ")
        if made.shape not in ((), bounds):
            raise refusal(
                f"kernel: the body must return elements, over {list(bounds)}, got an array of "
                f"shape {list(made.shape)}"
            )
        whole = gnp.broadcast_to(made, bounds)
        if rank == len(bounds):
            return whole
        reduction = getattr(gnp, COMBINE[self._options["combine"]])
        return reduction(whole, axis=tuple(range(rank, len(bounds))))


# Ops of elements, and those that reads, indices and numbers are made of, which keep elements in
# their order. Control flow may be around them.
_OF_ELEMENTS = (
    *(ElementwiseOp, AffineGatherOp, BroadcastToOp, ConstantOp, ExpandDimsOp, FullOp, ReshapeOp),
)


def _require_elements(block: Block, elements: set[SSAValue]) -> None:
    """TraceError for an op that computes an element from others than those at its place; `elements`
    are the reads and indices in use, to which all that is made of them is added."""
    known = -1
    while known < len(elements):  # once more for what loops carry round
        known = len(elements)
        for op in block.walk():
            if elements.isdisjoint(op.operands):
                continue
            if is_terminator(op):
                around = op.parent_op()
                elements.update(_arrays(around.results if around is not None else ()))
                continue
            if not (isinstance(op, _OF_ELEMENTS) or is_region_op(op)):
                raise refusal(
                    f"kernel: {op.name} is no op of single elements; call it outside of the "
                    "kernel, or combine elements with `over`",
                    place=op.location,
                )
            inner = (arg for region in op.regions for b in region.blocks for arg in b.args)
            elements.update(_arrays((*op.results, *inner)))


def _arrays(values: Iterable[SSAValue]) -> Iterable[SSAValue]:
    """Without numbers, which no element is: a loop's counter, for one."""
    return (v for v in values if is_tensor(v.type) and shape_of(v.type))


def _make_kernel(body: Callable[..., Any], options: Any) -> Any:
    """A kernel by its decorator, or after unpickling."""
    return kernel(body, **options)


_make_kernel.__name__ = "kernel"


def _extents(what: str, given: Any, specs: Sequence[Spec]) -> tuple[int, ...]:
    found = call_user("kernel", given, *specs) if callable(given) else given
    several = cast(Sequence[Any], found if isinstance(found, (tuple, list)) else (found,))
    for extent in several:
        if not _is_int(extent) or extent < 0:
            raise refusal(f"kernel: {what} must be extents, got {found!r}")
    return tuple(map(int, several))


class _Running(local):
    def __init__(self) -> None:
        self.grids: list[KernelGrid] = []


_running = _Running()


class KernelGrid:
    """The indices of one run of a body; indices of another kernel or another run are refused."""

    def __init__(self, bounds: tuple[int, ...]):
        self.bounds = bounds
        self.elements: set[SSAValue] = set()

    def holding(self, made: Tracer) -> Tracer:
        """An array of elements of the grid, which no op may mix."""
        self.elements.add(made.ssa)
        return made

    @contextmanager
    def running(self) -> Generator[None]:
        """A context in which the body runs."""
        _running.grids.append(self)
        try:
            yield
        finally:
            _running.grids.pop()

    def require_running(self, what: str) -> None:
        """TraceError unless the innermost running body belongs to this grid."""
        if _running.grids[-1:] != [self]:
            raise refusal(
                f"kernel: {what} of another kernel is used here; call that kernel outside, and "
                "hand its result to this one"
            )


class Index:
    """A subscript that is affine in the indices of a kernel; in a computation, an integer."""

    __array_ufunc__: ClassVar[None] = None

    def __init__(self, grid: KernelGrid, row: Row):
        self.grid, self.bounds, self.row = grid, grid.bounds, row

    def values(self) -> Tracer:
        """The numbers over the grid, which promote as Python's integers do."""
        self.grid.require_running("an index")
        total = gnp.full(self.bounds, self.row.constant, dtype="int64")
        for d, c in enumerate(self.row.coefficients):
            if c:
                shape = [n if d == axis else 1 for axis, n in enumerate(self.bounds)]
                places = gnp.reshape(gnp.arange(self.bounds[d], dtype="int64"), shape)
                total = total + places * c
        total.weak = True
        return self.grid.holding(total)

    def __gradir_array__(self) -> Tracer:
        return self.values()

    def _scaled(self, factor: int, constant: int = 0) -> Index:
        by, more = int(factor), int(constant)
        coefficients = tuple(c * by for c in self.row.coefficients)
        return Index(self.grid, Row(coefficients, self.row.constant * by + more))

    def _sum(self, other: Index, sign: int) -> Index:
        for each in (self, other):
            each.grid.require_running("an index")
        pairs = zip(self.row.coefficients, other.row.coefficients, strict=True)
        coefficients = tuple(a + sign * b for a, b in pairs)
        return Index(self.grid, Row(coefficients, self.row.constant + sign * other.row.constant))

    def __add__(self, other: Any) -> Any:
        if isinstance(other, Index):
            return self._sum(other, 1)
        return self._scaled(1, other) if _is_int(other) else self.values() + other

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, Index):
            return self._sum(other, -1)
        return self._scaled(1, -other) if _is_int(other) else self.values() - other

    def __rsub__(self, other: Any) -> Any:
        return self._scaled(-1, other) if _is_int(other) else other - self.values()

    def __mul__(self, other: Any) -> Any:
        return self._scaled(other) if _is_int(other) else self.values() * _plain(other)

    def __neg__(self) -> Index:
        return self._scaled(-1)

    def __pos__(self) -> Index:
        return self

    def __abs__(self) -> Tracer:
        return abs(self.values())

    __radd__, __rmul__ = __add__, __mul__

    def __repr__(self) -> str:
        terms = [f"{c} * d{d}" for d, c in enumerate(self.row.coefficients) if c]
        return " + ".join([*terms, str(self.row.constant)])


def _operator(name: str) -> Any:
    def operator(self: Index, other: Any) -> Any:
        return getattr(self.values(), name)(_plain(other))

    return operator


for _name in (
    *("__truediv__", "__rtruediv__", "__floordiv__", "__rfloordiv__", "__mod__", "__rmod__"),
    *("__pow__", "__rpow__", "__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__"),
):
    setattr(Index, _name, _operator(_name))


def _is_int(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _plain(value: Any) -> Any:
    return value.values() if isinstance(value, Index) else value


class KernelArgument:
    """An argument of a kernel: `x[i, j]` are its elements at subscripts, over the grid."""

    def __init__(self, array: Tracer, grid: KernelGrid, pad: float | None):
        self._array, self._grid, self._bounds, self._pad = array, grid, grid.bounds, pad

    @property
    def shape(self) -> tuple[int, ...]:
        return self._array.shape

    @property
    def dtype(self) -> Any:
        return self._array.dtype

    @property
    def ndim(self) -> int:
        return self._array.ndim

    @public
    def __getitem__(self, key: Any) -> Tracer:
        self._grid.require_running("an array")
        subscripts = cast(tuple[Any, ...], key if isinstance(key, tuple) else (key,))
        if len(subscripts) != self.ndim:
            raise refusal(
                f"kernel: {self.ndim} subscripts expected for an array of shape "
                f"{list(self.shape)}, got {len(subscripts)}"
            )
        rows = tuple(self._row(s) for s in subscripts)
        places = Access(len(self._bounds), rows).to_map()
        read = gnp.affine_gather(self._array, places, self._bounds, self._pad)
        return self._grid.holding(read)

    def _row(self, subscript: Any) -> Row:
        if isinstance(subscript, Index):
            subscript.grid.require_running("an index")
            return subscript.row
        if _is_int(subscript):
            return Row((0,) * len(self._bounds), int(subscript))
        got = repr(subscript) if isinstance(subscript, Tracer) else type(subscript).__name__
        raise refusal(
            f"kernel: a subscript must be affine in the indices, as 2 * i + j - 1, got {got}; "
            "subscripts that are computed are for gradir.numpy.take, outside of the kernel"
        )
