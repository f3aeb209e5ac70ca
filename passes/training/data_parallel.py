"""gradir-data-parallel: a step of training on one rank, as a step on each of several ranks.

    @step(params, state, batch) -> (params', state', loss)     calls  @f_grad

becomes `@step_parallel`, which calls a copy of @f_grad with its gradients, and its numbers as the
loss, averaged over all ranks. Each rank gets its own shard of the batch, of the type that @step is
written for; what depends on no shard is alike on all ranks, as parameters and state are.

With `deterministic=S` the batch has S shards, of that type, and a rank S / ranks of them. The step
takes them one after the other, and adds neighbours in all sums: so S shards give the same bits
for any number of ranks.

A comm.all_gather of the group `all_shards` is over all shards, of one rank and of several: so the
row slices of a gradient come together, in two tensors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeGuard

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, i64
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.array.creation import FullOp
from gradir.dialects.array.reductions import widened
from gradir.dialects.array.slicing import ConcatOp, SliceOp
from gradir.dialects.base.diagnostics import PassError, value_name
from gradir.dialects.base.shapes import (
    element_of,
    is_static,
    is_tensor,
    normalize_axis,
    shape_of,
    tensor,
)
from gradir.dialects.base.value import Emitter, Value
from gradir.dialects.comm.collectives import AllGatherOp
from gradir.dialects.comm.messages import RankOp
from gradir.passes.analysis.call_graph import functions_by_name
from gradir.passes.analysis.regions import values_read
from gradir.passes.analysis.signature import argument_attributes
from gradir.passes.differentiate.derived import function_around
from gradir.passes.differentiate.selectors import Selector
from gradir.passes.training.calls import (
    argument_name,
    callable_named,
    check_group,
    derivative_call,
    end_of,
    selected_arguments,
    symbol,
)
from gradir.passes.training.reduced_gradient import (
    Reduction,
    gradient_places,
    partial_count,
    reduced_gradient,
    whole_gradient,
)

TITLE = "gradir-data-parallel"
BUCKET_BYTES = 1 << 22
ALL_SHARDS = "all_shards"

# Odd, and without a pattern: the keys of shards are far from each other, and from their neighbours.
KEY_STEP = 0x1E3779B97F4A7C15


def data_parallel(
    module: ModuleOp,
    function: str,
    shards: Sequence[Selector],
    ranks: int,
    axis: int = 0,
    group: str = "world",
    deterministic: int | None = None,
    keys: Sequence[Selector] = (),
    local: Sequence[int] = (),
    call: str | None = None,
    bucket_bytes: int = BUCKET_BYTES,
    into: str | None = None,
) -> FuncOp:
    """Add `@into` (by default `@function_parallel`), the step on each of `ranks` ranks.

    `shards` are the arguments that differ between ranks, by index or name; `keys` those that are
    keys of random numbers, which get the number of the shard folded in. `local` are results that
    may differ. `call` is the derivative's function that @function calls, by default the one whose
    name ends in _grad or _vjp. Located PassError where the function does not fit.
    """
    source = callable_named(module, function)
    parts = _parts(source, ranks, deterministic)
    reduction = Reduction(group, ranks, parts, deterministic is not None, bucket_bytes)
    check_group(TITLE, source, group)
    split, folded = (
        selected_arguments(TITLE, what, source, given)
        for what, given in (("shards", shards), ("keys", keys))
    )
    if not split:
        raise PassError(f"{TITLE}: shards: {symbol(source)} must have a shard, got none", source)
    varying = _varying(source, [*split, *folded])
    gradient = _gradient(module, source, varying, call)
    step = _Step(source, gradient, split, folded, varying, axis, reduction)
    name = f"{function}_parallel" if into is None else into
    return step.insert(module, name, local)


def _parts(source: FuncOp, ranks: int, shards: int | None) -> int:
    """The number of shards on each rank."""
    if ranks < 1:
        raise PassError(f"{TITLE}: ranks must be positive, got {ranks}", source)
    if shards is None:
        return 1
    parts = shards // ranks
    if shards < 1 or shards % ranks or parts & (parts - 1):
        raise PassError(
            f"{TITLE}: deterministic must be a number of shards of which each of {ranks} ranks has "
            f"1, 2, 4, ..., got {shards}",
            source,
        )
    return parts


def _varying(source: FuncOp, arguments: Sequence[int]) -> set[SSAValue]:
    """The values that differ between shards, as if no gradient were averaged."""
    found: set[SSAValue] = {source.body.block.args[k] for k in arguments}
    for op in source.body.block.ops:
        if not found.isdisjoint(values_read(op)) and not _gathers_shards(op):
            found.update(op.results)
    return found


def _gathers_shards(op: Operation) -> TypeGuard[AllGatherOp]:
    return isinstance(op, AllGatherOp) and op.group == ALL_SHARDS


def _gradient(
    module: ModuleOp, source: FuncOp, varying: set[SSAValue], name: str | None
) -> tuple[CallOp, FuncOp]:
    """The call of the derivative that reads shards, and its function."""
    calls = [
        op
        for op in source.body.block.ops
        if isinstance(op, CallOp) and not varying.isdisjoint(op.operands)
    ]
    wanted = derivative_call(TITLE, source, calls, name, " that reads shards")
    return wanted, functions_by_name(module)[wanted.callee.string_value()]


class _Step:
    """The step in the making: ops that differ between shards are copied for each of them."""

    def __init__(
        self,
        source: FuncOp,
        gradient: tuple[CallOp, FuncOp],
        split: Sequence[int],
        folded: Sequence[int],
        varying: set[SSAValue],
        axis: int,
        reduction: Reduction,
    ):
        self.source, self.reduction, self.axis = source, reduction, axis
        self.call, self.callee = gradient
        self.split, self.folded = split, folded
        # what differs is found again: the gradients do not
        self.varying: set[SSAValue] = {v for v in varying if isinstance(v, BlockArgument)}
        self.block = Block()
        # the copies of values: of those that differ, by shard
        self.alike: dict[SSAValue, SSAValue] = {}
        self.of_shard: list[dict[SSAValue, SSAValue]] = [{} for _ in range(reduction.parts)]

    def insert(self, module: ModuleOp, name: str, local: Sequence[int]) -> FuncOp:
        if (found := functions_by_name(module).get(name)) is not None:
            raise PassError(f"{TITLE}: @{name} exists already; choose another with into=", found)
        self._arguments()
        for op in self.source.body.block.ops:
            if op is self.call:
                self._gradients(module)
            elif _gathers_shards(op):
                self._gather(op)
            elif not isinstance(op, ReturnOp):
                self._copy(op)
        self._return(local)
        made = function_around(name, self.block, argument_attributes(self.source))
        made.location = self.source.location
        module.body.block.add_op(made)
        return made

    def _arguments(self) -> None:
        given = self.source.body.block.args
        made = [self.block.insert_arg(self._type(a), a.index, a.location) for a in given]
        for argument, ours in zip(given, made, strict=True):
            ours.name_hint = argument.name_hint
            if argument not in self.varying:
                self.alike[argument] = ours
        for k in self.split:
            for part, values in enumerate(self.of_shard):
                values[given[k]] = self._shard(made[k], given[k], part)
        for k in self.folded:
            self._fold(made[k], given[k])

    def _type(self, argument: BlockArgument) -> Attribute:
        """The type of an argument: of a shard, with the rows of all shards of a rank."""
        if argument.index not in self.split or self.reduction.parts == 1:
            return argument.type
        shape, axis = self._rows(argument)
        shape[axis] *= self.reduction.parts
        return tensor(shape, element_of(argument.type))

    def _rows(self, argument: BlockArgument) -> tuple[list[int], int]:
        type_ = argument.type
        name = argument_name(self.source, argument.index)
        if not is_tensor(type_) or not is_static(type_):
            raise PassError(f"{TITLE}: {name} must have a static shape, got {type_}", argument)
        try:
            axis = normalize_axis(self.axis, len(shape_of(type_)))
        except VerifyException as error:
            raise PassError(f"{TITLE}: {name}: {error}", argument) from None
        return list(shape_of(type_)), axis

    def _shard(self, whole: SSAValue, argument: BlockArgument, part: int) -> SSAValue:
        if self.reduction.parts == 1:
            return whole
        shape, axis = self._rows(argument)
        start = [0] * len(shape)
        start[axis] = part * shape[axis]
        stop = [a + n for a, n in zip(start, shape, strict=True)]
        return SliceOp.on(self._emitter(self.call).value(whole), start=start, stop=stop).ssa

    def _fold(self, key: SSAValue, argument: BlockArgument) -> None:
        """The keys of a rank's shards: key + KEY_STEP * the shard's number."""
        if key.type != tensor([], i64):
            name = argument_name(self.source, argument.index)
            raise PassError(
                f"{TITLE}: {name} is a key and must be a tensor<i64>, got {key.type}", argument
            )
        emitter, parts = self._emitter(self.call), self.reduction.parts
        group = None if self.reduction.group == "world" else self.reduction.group
        rank = emitter.value(emitter.insert(RankOp.of([], group=group)).results[0])
        first = emitter.value(key) + rank * _whole(rank, parts * KEY_STEP)
        for part, values in enumerate(self.of_shard):
            values[argument] = (first + _whole(first, part * KEY_STEP) if part else first).ssa

    def _emitter(self, op: Operation) -> Emitter:
        return Emitter(self.block, op.location)

    def _copy(self, op: Operation) -> None:
        """An op as it is, or for each shard."""
        differs = not self.varying.isdisjoint(values_read(op))
        for values in self.of_shard if differs else [self.alike]:
            mapped = {**self.alike, **values}
            copy = op.clone(mapped)
            copy.location = op.location
            self.block.add_op(copy)
            values.update(zip(op.results, copy.results, strict=True))
        if differs:
            self.varying.update(op.results)

    def _gather(self, op: AllGatherOp) -> None:
        """What all shards have, one behind the other."""
        ranks, parts = self.reduction.ranks, self.reduction.parts
        if op.ranks != ranks * parts:
            raise PassError(
                f"{TITLE}: {op.name}: ranks must be {ranks * parts}, the number of all shards, got "
                f"{op.ranks}",
                op,
            )
        emitter = self._emitter(op)
        own = [emitter.value({**self.alike, **values}[op.x]) for values in self.of_shard]
        line = ConcatOp.on(*own, axis=op.axis) if len(own) > 1 else own[0]
        group = None if self.reduction.group == "world" else self.reduction.group
        whole = AllGatherOp.on(line, axis=op.axis, ranks=ranks, group=group)
        whole.named(op.y.name_hint)
        self.alike[op.y] = whole.ssa

    def _gradients(self, module: ModuleOp) -> None:
        """The calls of the derivative: for the last shard, of its copy that averages."""
        alike = [o.type for o in self.call.operands if o not in self.varying]
        gathered = {k for k, result in enumerate(self.call.results) if _is_gathered(result)}
        places = gradient_places(self.callee, alike, gathered)
        self._check_places(places)
        name = f"{self.callee.sym_name.data}_parallel"
        averaging = reduced_gradient(module, self.callee, places, self.reduction, name)
        whole = self.callee
        if len(self.of_shard) > 1:
            whole = whole_gradient(module, whole, places, f"{self.callee.sym_name.data}_whole")
        sums = _Sums()
        for values in self.of_shard[:-1]:
            found = self._insert_call(whole, self._operands(values))
            values.update(zip(self.call.results, found, strict=True))
            emitter = self._emitter(self.call)
            sums.add([widened(emitter.value(found[k])) for k in places])
        last = self.of_shard[-1]
        count = partial_count(self.reduction.parts)
        earlier = [sums.levels[level][k].ssa for k in range(len(places)) for level in range(count)]
        found = self._insert_call(averaging, [*self._operands(last), *earlier])
        for k, result in enumerate(self.call.results):
            found[k].name_hint = result.name_hint
            if k in places:
                self.alike[result] = found[k]
            else:
                last[result] = found[k]
                self.varying.add(result)

    def _check_places(self, places: Sequence[int]) -> None:
        if not places:
            raise PassError(
                f"{TITLE}: {symbol(self.callee)} must return gradients, in the types of operands "
                "that are alike on all ranks, behind its other results",
                self.call,
            )
        for k in places:
            if not is_tensor(self.call.results[k].type):
                raise PassError(
                    f"{TITLE}: gradients must be tensors, got {self.call.results[k].type}; densify "
                    "row slices",
                    self.call,
                )

    def _operands(self, values: dict[SSAValue, SSAValue]) -> list[SSAValue]:
        mapped = {**self.alike, **values}
        return [mapped[o] for o in self.call.operands]

    def _insert_call(self, callee: FuncOp, operands: Sequence[SSAValue]) -> list[SSAValue]:
        made = CallOp(callee.sym_name.data, operands, list(callee.function_type.outputs.data))
        return list(self._emitter(self.call).insert(made).results)

    def _return(self, local: Sequence[int]) -> None:
        last = end_of(self.source)
        for k, value in enumerate(last.operands):
            if value in self.varying and (k not in local or self.reduction.parts > 1):
                way_out = "average it in the loss function, or name it with local="
                if k in local:
                    way_out = "with several shards on a rank there is no one value"
                raise PassError(
                    f"{TITLE}: result {k} ({value_name(value)}) of {symbol(self.source)} must be "
                    f"alike on all ranks, and it depends on a shard other than by a gradient; "
                    f"{way_out}",
                    value,
                )
        mapped = {**self.of_shard[-1], **self.alike}
        made = ReturnOp(*(mapped[o] for o in last.operands))
        made.location = last.location
        self.block.add_op(made)


def _is_gathered(result: SSAValue) -> bool:
    """Whether a result is read, and only by ops that gather it from all shards."""
    readers = [use.operation for use in result.uses]
    return bool(readers) and all(_gathers_shards(op) for op in readers)


def _whole(like: Value, number: int) -> Value:
    """A number of 64 bits, which wraps around."""
    wrapped = (number + (1 << 63)) % (1 << 64) - (1 << 63)
    return like.emitter.value(like.emitter.insert(FullOp.fill(wrapped, like.type)).y)


class _Sums:
    """Sums of neighbours: a level for each power of two of the number of shards so far."""

    def __init__(self) -> None:
        self.count = 0
        self.levels: list[list[Value]] = []

    def add(self, values: Sequence[Value]) -> None:
        """Add the values of one more shard."""
        total, number = [*values], self.count
        while number & 1:
            total = [a + b for a, b in zip(self.levels.pop(), total, strict=True)]
            number >>= 1
        self.levels.append(total)
        self.count += 1


@dataclass(frozen=True)
class DataParallelPass(ModulePass):
    """A step of training on each of several ranks, with averaged gradients."""

    name = "gradir-data-parallel"

    function: str
    shards: tuple[int | str, ...]
    ranks: int
    axis: int = 0
    group: str = "world"
    deterministic: int | None = None
    keys: tuple[int | str, ...] = ()
    local: tuple[int, ...] = ()
    call: str | None = None
    bucket_bytes: int = BUCKET_BYTES
    into: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        data_parallel(
            *(op, self.function, self.shards, self.ranks, self.axis, self.group),
            *(self.deterministic, self.keys, self.local, self.call, self.bucket_bytes, self.into),
        )
