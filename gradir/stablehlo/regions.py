"""StableHLO ops with regions: reductions, sorts, scatters, windows, loops and branches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf

from xdsl.dialects.builtin import IntegerAttr, i1, i64
from xdsl.ir import Attribute, Block, Region

from gradir.dialects.base.shapes import byte_size, is_bool, is_float, is_unsigned, tensor
from gradir.stablehlo.dialect import ScatterAttr
from gradir.stablehlo.values import (
    Hlo,
    HloEmitter,
    concatenate,
    matrix,
    number,
    number_of,
    numbers,
    reshape,
)

COMBINERS = {
    "add": "add",
    "multiply": "multiply",
    "maximum": "maximum",
    "minimum": "minimum",
    "and": "and",
    "or": "or",
}
"""The ops that combine two numbers, by the names of loop nests."""


def neutral_number(combiner: str, element: Attribute) -> float:
    """The number that changes nothing."""
    if combiner in ("add", "or"):
        return 0
    if combiner == "multiply":
        return 1
    if is_bool(element):
        return int(combiner in ("and", "minimum"))
    if is_float(element):
        return inf if combiner == "minimum" else -inf
    if combiner == "and":
        return -1
    bits = 8 * byte_size(element)
    if is_unsigned(element):
        return 0 if combiner == "maximum" else (1 << bits) - 1
    return -(1 << bits - 1) if combiner == "maximum" else (1 << bits - 1) - 1


def combine(combiner: str, x: Hlo, y: Hlo) -> Hlo:
    """Two tensors, element by element; a sum of bools is or, their product and."""
    if is_bool(x.element):
        combiner = {"add": "or", "multiply": "and", "maximum": "or", "minimum": "and"}.get(
            combiner, combiner
        )
    return x.emit(COMBINERS[combiner], y)


def function_region(
    emitter: HloEmitter,
    types: Sequence[Attribute],
    function: Callable[[HloEmitter, list[Hlo]], Sequence[Hlo]],
) -> Region:
    """A region of one block that computes a function of its arguments."""
    block = Block(arg_types=list(types))
    inside = HloEmitter(block, emitter.location)
    made = function(inside, inside.values(block.args))
    inside.emit("return", made, [])
    return Region(block)


def combining_region(emitter: HloEmitter, combiner: str, element: Attribute) -> Region:
    """The region that combines two numbers; of the combiner "none" the second one."""
    type_ = tensor([], element)

    def function(inside: HloEmitter, xs: list[Hlo]) -> Sequence[Hlo]:
        return xs[1:] if combiner == "none" else [combine(combiner, *xs)]

    return function_region(emitter, [type_, type_], function)


def reduce_axes(x: Hlo, axes: Sequence[int], combiner: str) -> Hlo:
    """All elements along some axes in one."""
    if not axes:
        return x
    start = number_of(x.at, neutral_number(combiner, x.element), x.element)
    type_ = tensor([n for d, n in enumerate(x.shape) if d not in axes], x.element)
    region = combining_region(x.at, combiner, x.element)
    made = x.at.emit("reduce", [x, start], [type_], [region], dimensions=numbers(sorted(axes)))
    return made[0]


def reduce_windows(
    x: Hlo,
    combiner: str,
    window: Sequence[int],
    stride: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[tuple[int, int]],
    shape: Sequence[int],
) -> Hlo:
    """The elements of each window in one; `shape` is the result's."""
    start = number_of(x.at, neutral_number(combiner, x.element), x.element)
    return x.at.emit(
        "reduce_window",
        [x, start],
        [tensor(shape, x.element)],
        [combining_region(x.at, combiner, x.element)],
        window_dimensions=numbers(window),
        window_strides=numbers(stride),
        base_dilations=numbers([1] * len(window)),
        window_dilations=numbers(dilation),
        padding=matrix(padding),
    )[0]


def scatter_elements(base: Hlo, places: Sequence[Hlo], updates: Hlo, combiner: str) -> Hlo:
    """base with elements combined into places, one index (i64) per axis, in bounds."""
    rank, shape = len(places), updates.shape
    columns = [reshape(p, [*shape, 1]) for p in places]
    index = concatenate(columns, len(shape))
    axes = list(range(rank))
    dims = (
        f"inserted_window_dims = {axes}, scatter_dims_to_operand_dims = {axes}, "
        f"index_vector_dim = {len(shape)}"
    )
    return base.at.emit(
        "scatter",
        [base, index, updates],
        [base.type],
        [combining_region(base.at, combiner, base.element)],
        scatter_dimension_numbers=ScatterAttr.of(dims),
        indices_are_sorted=IntegerAttr(0, i1),
        unique_indices=IntegerAttr(0, i1),
    )[0]


def sort(
    xs: Sequence[Hlo], axis: int, before: Callable[[list[Hlo]], Hlo], stable: bool = True
) -> list[Hlo]:
    """Tensors sorted together along an axis; `before(a0, b0, a1, b1, ...)` says whether a is."""
    emitter = xs[0].at
    types = [tensor([], x.element) for x in xs for _ in range(2)]
    region = function_region(emitter, types, lambda inside, pairs: [before(pairs)])
    return emitter.emit(
        "sort",
        xs,
        [x.type for x in xs],
        [region],
        dimension=number(axis),
        is_stable=IntegerAttr(int(stable), i1),
    )


Branch = Callable[[HloEmitter], Sequence[Hlo]]
Body = Callable[[HloEmitter, list[Hlo]], Sequence[Hlo]]


def branch(condition: Hlo, then: Branch, other: Branch, types: Sequence[Attribute]) -> list[Hlo]:
    """The results of one of two branches, which may read values around them."""
    regions = [
        function_region(condition.at, [], lambda inside, _, give=give: give(inside))
        for give in (then, other)
    ]
    return condition.at.emit("if", [condition], types, regions)


def choose_case(index: Hlo, cases: Sequence[Branch], types: Sequence[Attribute]) -> list[Hlo]:
    """The results of the branch of this number (i32), of the last one beyond."""
    regions = [
        function_region(index.at, [], lambda inside, _, give=give: give(inside)) for give in cases
    ]
    return index.at.emit("case", [index], types, regions)


def loop(
    emitter: HloEmitter, initial: Sequence[Hlo], condition: Callable[..., Hlo], body: Body
) -> list[Hlo]:
    """A loop on carried values while `condition(emitter, values)` holds."""
    types = [x.type for x in initial]
    test = function_region(emitter, types, lambda inside, xs: [condition(inside, xs)])
    return emitter.emit("while", initial, types, [test, function_region(emitter, types, body)])


def count_loop(
    emitter: HloEmitter, count: Hlo | int, initial: Sequence[Hlo], body: Body
) -> list[Hlo]:
    """A loop of `count` steps (i64); `body(emitter, [step, *carried])` gives the carried values."""
    first = number_of(emitter, 0, i64)

    def is_below(inside: HloEmitter, xs: list[Hlo]) -> Hlo:
        limit = number_of(inside, count, i64) if isinstance(count, int) else inside.hlo(count.ssa)
        return inside.hlo((xs[0] < limit).ssa)

    def step(inside: HloEmitter, xs: list[Hlo]) -> Sequence[Hlo]:
        return [xs[0] + 1, *body(inside, xs)]

    return loop(emitter, [first, *initial], is_below, step)[1:]
