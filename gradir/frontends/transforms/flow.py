"""gradir.while_loop, fori_loop and scan: loops that depend on values, as in JAX.

Their functions are traced into the regions of an scf op, and may capture values. Carried values
keep their nesting, shapes and dtypes; a Python number takes the dtype of the body's result. Outside
of tracing, a function that calls them is compiled and run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar, cast

from xdsl.dialects import arith, scf, tensor
from xdsl.dialects.builtin import i64
from xdsl.ir import Block, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.array.dynamic_slices import DynamicUpdateSliceOp
from gradir.dialects.array.indexing import TakeOp
from gradir.dialects.array.movement import ExpandDimsOp
from gradir.dialects.base.attribute_names import POLICY_ATTRIBUTE
from gradir.dialects.base.shapes import tensor as tensor_type
from gradir.dialects.building.control_flow import make_while
from gradir.dialects.grad.loop_policy import LoopPolicyAttr
from gradir.frontends.functions.promotion import converted
from gradir.frontends.tracing.callbacks import call_user
from gradir.frontends.tracing.source_locations import public, refusal
from gradir.frontends.tracing.spec import as_shape
from gradir.frontends.tracing.trace import yielded
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import (
    Trace,
    element,
    emit_one,
    filled,
    lifted,
    tracing,
)
from gradir.frontends.tracing.trees import LEAF, Tree, flatten
from gradir.frontends.transforms.block_values import (
    agreed,
    close,
    constant_index,
    gives_way,
    index,
    index_of,
    require_functions,
    require_type,
    truth,
    zero,
)  # fmt: skip
from gradir.frontends.transforms.jit import jit

Function = Callable[..., Any]
Yielded = tuple[list[Tracer], Tree]
Body = Callable[[list[Tracer], Tree], Yielded]
LoopT = TypeVar("LoopT", bound=Operation)


def _carried(trace: Trace, init: Any, body: Body, what: str) -> Yielded:
    """The initial values of a loop. Weak ones get the types of the body's results.

    To find these the body is traced into a temporary block; again where that changes the types of
    other results.
    """
    leaves, tree = flatten(init)
    values = [lifted(leaf, what=f"{what}: init: ") for leaf in leaves]
    while any(v.weak for v in values):
        with trace.region(Block(arg_types=[v.ssa.type for v in values])) as block:
            after, _ = body(_tracers(trace, block, values), tree)
        # its ops must not count as users
        block.erase(safe_erase=False)
        agreed = [_like_result(trace, v, r) for v, r in zip(values, after, strict=False)]
        pairs = list(zip(values, agreed, strict=False))
        if len(pairs) < len(values) or all(old is new for old, new in pairs):
            break
        values = agreed
    return values, tree


def _like_result(trace: Trace, value: Tracer, result: Tracer) -> Tracer:
    """A carried value; a weak one has the type of the body's result."""
    if gives_way(value, result):
        return Tracer(trace, trace.use(converted(value, element(result))), result.weak)
    if value.weak and not result.weak and value.type == result.type:
        return Tracer(trace, trace.use(value))
    return value


def _with_counter(step: Callable[[Tracer, list[Tracer], Tree], Yielded]) -> Body:
    """The body of a counted loop, for its types: with 0 as the counter."""

    def body(values: list[Tracer], tree: Tree) -> Yielded:
        return step(zero(), values, tree)

    return body


def _tracers(trace: Trace, block: Block, like: Sequence[Tracer]) -> list[Tracer]:
    """The last arguments of a block, as tracers of values."""
    arguments = block.args[len(block.args) - len(like) :]
    made = [Tracer(trace, a, v.weak) for a, v in zip(arguments, like, strict=True)]
    for tracer, value in zip(made, like, strict=True):
        if value.ssa.name_hint is not None:
            tracer.named(value.ssa.name_hint)
    return made


def _body_results(
    trace: Trace, block: Block, carried: Sequence[Tracer], results: tuple[list[Tracer], Tree],
    tree: Tree, what: str,
) -> list[Tracer]:  # fmt: skip
    """The body's results, with the types of its arguments."""
    after, other = results
    if other != tree:
        raise refusal(f"{what}: the body must return what it is handed, nested alike")
    for k, value in enumerate(carried):
        after[k] = agreed(trace, block, after[k], value)
        require_type(after[k], value, f"{what}: the body must return the types of init", k)
    return after


@public
def while_loop(condition: Function, body: Function, init: Any, policy: str = "store_all") -> Any:
    """`body` applied to `init`, then to its result, while `condition` of the value is true.

    `policy` is the derivative's loop policy: "store_all", "every=K" or "online=S"
    (docs/control-flow.md).
    """
    require_functions("while_loop", condition, body)
    trace = tracing()
    if trace is None:
        return jit(partial(while_loop, condition, body, policy=policy))(init)

    def step(values: list[Tracer], tree: Tree) -> Yielded:
        result = call_user("while_loop", body, tree.build(values))
        return yielded(result, "the body of while_loop")

    values, tree = _carried(trace, init, step, "while_loop")
    types = [v.ssa.type for v in values]
    with trace.region(Block(arg_types=types)) as before:
        handed = _tracers(trace, before, values)
        result = call_user("while_loop", condition, tree.build(handed))
        goes_on = truth(trace, result, "while_loop: the condition")
        trace.emit(scf.ConditionOp(goes_on, *before.args))
    with trace.region(Block(arg_types=types)) as after:
        handed = _tracers(trace, after, values)
        made = _body_results(trace, after, handed, step(handed, tree), tree, "while_loop")
    close(trace, after, made)
    op = make_while([trace.use(v) for v in values], before, after)
    return tree.build(trace.results_like(trace.emit(_with_policy(op, policy)), values))


@public
def fori_loop(
    lower: Any,
    upper: Any,
    body: Callable[[Any, Any], Any],
    init: Any,
    policy: str = "store_all",
) -> Any:
    """`body(i, x)` for i from `lower` up to `upper - 1`; x is `init`, then the last result.

    The bounds are integers, Python's or traced; i is int64. `policy` is the derivative's loop
    policy: "store_all", "every=K" or "binomial=S"; "online=S" means the last one here.
    """
    require_functions("fori_loop", body)
    trace = tracing()
    if trace is None:
        return jit(partial(fori_loop, body=body, policy=policy))(lower, upper, init=init)

    def step(i: Tracer, values: list[Tracer], tree: Tree) -> Yielded:
        result = call_user("fori_loop", body, i, tree.build(values))
        return yielded(result, "the body of fori_loop")

    bounds = [index_of(trace, b, "fori_loop: bounds") for b in (lower, upper)]
    values, tree = _carried(trace, init, _with_counter(step), "fori_loop")
    with trace.region(_counted(values)) as block:
        handed = _tracers(trace, block, values)
        results = step(_counter(trace, block.args[0]), handed, tree)
        made = _body_results(trace, block, handed, results, tree, "fori_loop")
    close(trace, block, made)
    first, last = bounds
    op = scf.ForOp(first, last, constant_index(trace, 1), [trace.use(v) for v in values], block)
    return tree.build(trace.results_like(trace.emit(_with_policy(op, policy)), values))


@public
def scan(
    function: Callable[[Any, Any], Any],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    policy: str = "store_all",
) -> Any:
    """(carry, ys) of `carry, y = function(carry, x)` for each x in turn, from `init`.

    x are the slices of the arrays `xs` along their first axis; None without `xs`, then `length`
    is their number. ys are the y, stacked along a new first axis. `reverse`: from last to first.
    `policy` as for fori_loop; snapshots leave out the ys.
    """
    require_functions("scan", function)
    trace = tracing()
    if trace is None:
        return jit(partial(scan, function, length=length, reverse=reverse, policy=policy))(init, xs)
    rows = _Rows(xs, length)
    body = _ScanBody(function, rows)
    values, tree = _carried(trace, init, _with_counter(body), "scan")
    first, end, one = (constant_index(trace, n) for n in (0, rows.count, 1))
    last = constant_index(trace, rows.count - 1) if reverse else None
    with trace.region(_counted(values)) as block:
        handed = _tracers(trace, block, values)
        number: SSAValue = block.args[0]
        if last is not None:
            number = trace.emit(arith.SubiOp(last, number)).result
        at = _counter(trace, number)
        made = _body_results(trace, block, handed, body(at, handed, tree), tree, "scan")
        stacks = [_written(trace, block, y, at, rows.count) for y in body.ys if rows.count]
    close(trace, block, [*made, *stacks])
    empty = [filled(0, s.type) for s in stacks]
    op = scf.ForOp(first, end, one, [trace.use(v) for v in (*values, *empty)], block)
    found = trace.results_like(trace.emit(_with_policy(op, policy)), [*values, *stacks])
    if rows.count == 0:
        found += [filled(0, tensor_type([0, *y.shape], element(y))) for y in body.ys]
    return tree.build(found[: len(values)]), body.outputs.build(found[len(values) :])


class _Rows:
    """The slices of nested arrays along their first axis. `count` is their number."""

    def __init__(self, xs: Any, length: int | None):
        leaves, self.tree = flatten(xs)
        self.arrays = [lifted(leaf, what="scan: xs: ") for leaf in leaves]
        self.count = _length(self.arrays, length)

    def at(self, place: Tracer) -> Any:
        return self.tree.build([_row(array, place) for array in self.arrays])


class _ScanBody:
    """The function of scan as the body of a counted loop; `ys` are its further results."""

    def __init__(self, function: Callable[[Any, Any], Any], rows: _Rows):
        self.function = function
        self.rows = rows
        self.ys: list[Tracer] = []
        self.outputs: Tree = LEAF

    def __call__(self, at: Tracer, values: list[Tracer], tree: Tree) -> Yielded:
        result = call_user("scan", self.function, tree.build(values), self.rows.at(at))
        if not (isinstance(result, tuple) and len(cast(Any, result)) == 2):
            raise refusal("scan: the function must return (carry, y)")
        carry, y = cast(tuple[Any, Any], result)
        self.ys, self.outputs = yielded(y, "the function of scan")
        return yielded(carry, "the function of scan")


def _written(trace: Trace, block: Block, y: Tracer, at: Tracer, count: int) -> Tracer:
    """The ys so far, a new argument of the block, with a row written."""
    type_ = tensor_type([count, *y.shape], element(y))
    so_far = Tracer(trace, block.insert_arg(type_, len(block.args)))
    row = emit_one(ExpandDimsOp, y, axis=0)
    starts = [at, *(zero() for _ in y.shape)]
    return emit_one(DynamicUpdateSliceOp, so_far, row, *starts)


def _row(x: Tracer, at: Tracer) -> Tracer:
    """The slice of x at an index; zeros of its type for a body that never runs."""
    if x.shape[0] == 0:
        return filled(0, tensor_type(x.shape[1:], element(x)))
    return emit_one(TakeOp, x, at, axis=0)


def _length(arrays: Sequence[Tracer], length: int | None) -> int:
    """The number of slices; TraceError where the arrays and `length` disagree."""
    for array in arrays:
        if not array.shape:
            raise refusal(f"scan: xs must have rank >= 1, got {array!r}")
    counts = {a.shape[0] for a in arrays}
    if length is not None:
        counts |= set(as_shape([length]))
    if len(counts) != 1:
        got = ", ".join(map(str, sorted(counts))) or "none"
        raise refusal(f"scan: xs and length must say one number of slices, got {got}")
    return counts.pop()


def _with_policy(op: LoopT, policy: str) -> LoopT:
    """The loop with a policy attribute; TraceError for an unknown policy."""
    if not isinstance(policy, str):
        raise refusal(f'policy: expected text such as "every=8", got {policy!r}')
    kind, _, number = (part.strip() for part in policy.partition("="))
    try:
        count = int(number) if number else None
        written = LoopPolicyAttr.of(kind, count)
    except (ValueError, VerifyException) as error:
        raise refusal(f"policy {policy!r}: {error}") from None
    if kind != "store_all":
        op.attributes[POLICY_ATTRIBUTE] = written
    return op


def _counted(values: Sequence[Tracer]) -> Block:
    """The block of a counted loop with carried values."""
    block = Block(arg_types=[index, *(v.ssa.type for v in values)])
    block.args[0].name_hint = "i"
    return block


def _counter(trace: Trace, number: SSAValue) -> Tracer:
    """An index as a traced array of rank 0."""
    wide = trace.emit(arith.IndexCastOp(number, i64)).result
    op = tensor.FromElementsOp.create(operands=[wide], result_types=[tensor_type([], i64)])
    return Tracer(trace, trace.emit(op).results[0])
