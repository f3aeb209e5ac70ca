"""gradir.comm.data_parallel: a step of training that runs on each of several ranks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from gradir.api import Module
from gradir.errors import ArgumentError, ArgumentTypeError, gradir_errors
from gradir.frontends.comm.functions import WORLD, axis_size
from gradir.frontends.comm.shards import RankMemory, Sharded, Shards, memory_of
from gradir.frontends.optim.shards import shards as shards_of_step
from gradir.frontends.tracing.source_locations import SOURCES, public, refusal
from gradir.frontends.tracing.spec import Spec, spec_of
from gradir.frontends.tracing.trace import Traced, traced
from gradir.frontends.tracing.trees import Tree, flatten
from gradir.frontends.transforms.donation import argument_numbers
from gradir.frontends.transforms.jit import Jitted
from gradir.frontends.transforms.wrapped import Parts
from gradir.passes.training.data_parallel import BUCKET_BYTES
from gradir.passes.training.data_parallel import data_parallel as make_parallel
from gradir.passes.training.shard_state import shard_state
from gradir.runtime.arrays import dtype_of


class ParallelStep(Jitted[..., Any]):
    """A step on this rank, compiled like a jitted function; see `data_parallel`."""

    def __init__(
        self,
        step: Callable[..., Any],
        threads: int | None,
        donate_argnums: int | Sequence[int],
        settings: dict[str, Any],
    ):
        parts: Parts = (ParallelStep, (step, threads, donate_argnums, settings))
        super().__init__(step, threads, donate_argnums, parts=parts, trace=self._of_a_rank)
        self._settings = settings
        self._shards = Shards(settings["sharded"], settings["group"])

    @public
    def shard(self, params: Any, state: Any) -> tuple[Any, Any]:
        """This rank's parts of params and state, which are alike on all ranks: what a call takes.

        Without `sharded` they are params and state themselves.
        """
        return self._shards.divided(params, state) if self._shards.what else (params, state)

    @public
    def whole(self, params: Any, state: Any) -> tuple[Any, Any]:
        """The whole params and state, from all ranks' parts; all ranks call it."""
        return self._shards.whole(params, state) if self._shards.what else (params, state)

    @public
    def memory(self, *args: Any) -> RankMemory:
        """The bytes of a call with arguments like these on this rank, as planned; print it."""
        return memory_of(self.compiled(*args), args)

    def call_traced(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        raise refusal("data_parallel: a parallel step is called outside of traced functions")

    def _of_a_rank(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Traced:
        """The program of a rank, made of the program of a shard."""
        given = self._settings
        ranks = axis_size(given["group"])
        parts = 1 if given["deterministic"] is None else max(given["deterministic"] // ranks, 1)
        shards = given["shards"] or range(2, len(args))
        shown = self._of_a_shard(args, shards, parts)
        parted: list[int] = []
        if self._shards.what:
            _, tree = flatten(tuple(shown[:2]))
            specs = self._shards.specs(tree)
            shown[:2] = tree.build(specs)
            parted = self._shards.places(tree, specs)
        with shards_of_step(ranks * parts):
            made = traced("data_parallel", self._function, shown, kwargs)
        by_position = made.arguments.children[0]
        keys = [k for n in given["keys"] for k in by_position.places(n)]
        split = [k for n in shards for k in by_position.places(n) if k not in keys]
        local = [k for n in given["local"] for k in _places(made.results, n)]
        with gradir_errors(SOURCES):
            module, name = made.module.op.clone(), made.name
            if parted:
                step = shard_state(module, name, parted, ranks, given["group"])
                name = step.sym_name.data
            step = make_parallel(
                *(module, name, split, ranks),
                group=given["group"],
                deterministic=given["deterministic"],
                keys=keys,
                local=local,
                bucket_bytes=given["bucket_bytes"],
            )
        return replace(made, module=Module(module, SOURCES), name=step.sym_name.data)

    def _of_a_shard(self, args: Sequence[Any], shards: Sequence[int], parts: int) -> list[Any]:
        """The arguments, those that differ between shards as one of a rank's `parts` shards."""
        keys = self._settings["keys"]
        for number in (*shards, *keys):
            if not 0 <= number < len(args):
                raise ArgumentError(
                    f"data_parallel: there must be an argument {number}, got {len(args)} arguments"
                )
        return [
            _of_a_shard(arg, number, parts) if number in shards and number not in keys else arg
            for number, arg in enumerate(args)
        ]

    def __reduce__(self) -> Parts:
        return self._parts

    def __repr__(self) -> str:
        return f"<gradir.comm.data_parallel of {self._function!r}>"


def _places(results: Tree, number: int) -> Sequence[int]:
    if results.kind is None or not 0 <= number < len(results.children):
        raise ArgumentError(f"data_parallel: local: the step has no result {number}")
    return results.places(number)


def _of_a_shard(value: Any, number: int, parts: int) -> Any:
    """What stands for the arrays of one of a rank's shards."""
    leaves, tree = flatten(value)
    return tree.build([_part(leaf, number, parts) for leaf in leaves])


def _part(leaf: Any, number: int, parts: int) -> Any:
    found = spec_of(leaf)
    if found is None or parts == 1:
        return leaf
    type_ = found[0]
    shape = type_.get_shape()
    if not shape or shape[0] % parts:
        raise ArgumentError(
            f"data_parallel: argument {number} must have rows for {parts} shards on this rank, got "
            f"shape {tuple(shape)}"
        )
    return Spec((shape[0] // parts, *shape[1:]), dtype_of(type_.element_type))


@public
def data_parallel(
    step: Callable[..., Any],
    *,
    shards: int | Sequence[int] = (),
    keys: int | Sequence[int] = (),
    deterministic: int | None = None,
    sharded: Sharded | None = None,
    local: int | Sequence[int] = (),
    group: str = WORLD,
    bucket_bytes: int = BUCKET_BYTES,
    threads: int | None = None,
    donate_argnums: int | Sequence[int] = (),
) -> ParallelStep:
    """A step of training on each rank of a group, with gradients and losses averaged over all.

    `step(params, state, *batch)` is one of gradir.optim.train_step, or a function that takes a
    gradient. Each rank calls the result with its own rows of the batch, and with equal parameters
    and state, which stay equal. The loss is a mean over rows, and ranks have equally many.

    shards: positions of the arguments that differ between ranks; all from the third on if none is
    given. keys: those among the arguments that are keys of random numbers; each shard gets its own.
    local: positions of results that may differ, as predictions; others that would are refused.

    deterministic: the number of shards that the whole batch has, in equal parts on all ranks, 1, 2,
    4, ... on each. The program runs once for each shard, and shards are summed as neighbours: so
    results are the same bits on any number of ranks.

    sharded: with "state" each rank has, and updates, its part of the optimizer's state, which works
    element by element; with "params" also of the parameters, which are gathered where they are
    used (ZeRO, stages 2 and 3). A call takes and gives parts: the step's `shard(params, state)`
    makes them of whole arrays, `whole(params, state)` the way back, and `memory(params, state,
    *batch)` says how many bytes a rank needs.

    Gradients are averaged in buckets of `bucket_bytes`, in the order in which they are made.
    `threads` and `donate_argnums` as for gradir.jit.
    """
    if not callable(step):
        raise ArgumentTypeError(f"step: expected a Python function, got {step!r}")
    for what, number in (("deterministic", deterministic), ("bucket_bytes", bucket_bytes)):
        if number is not None and (not isinstance(cast(object, number), int) or number < 1):
            raise ArgumentError(f"{what}: expected a positive number, got {number!r}")
    settings: dict[str, Any] = {
        "shards": argument_numbers(shards), "keys": argument_numbers(keys),
        "local": argument_numbers(local), "deterministic": deterministic, "group": group,
        "sharded": sharded, "bucket_bytes": bucket_bytes,
    }  # fmt: skip
    return ParallelStep(step, threads, donate_argnums, settings)
