"""Policies for the loops of a function: a series of settings, each with less memory and more
repeated iterations than the one before.

A loop without a policy of its own goes down a ladder: `store_all`; then `every = k`, with the k of
the fewest bytes; then binomial schedules with fewer and fewer slots. Where the number of iterations
is unknown, records have no bound, so the ladder begins at a schedule with slots: `binomial` for
loops that know the number at their start, `online` for others. Loops that must not run again, or
whose carried values have no snapshot, store everything; so do loops of unknown length that push on
a tape of the program, which grows under any policy.

Bytes and seconds are estimates that order the settings; passes/gradient/memory_limit.py measures
them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import comb, isqrt

from xdsl.ir import Operation

from gradir.dialects.base.attribute_names import POLICY_ATTRIBUTE
from gradir.dialects.grad.checkpoint import CheckpointOp
from gradir.dialects.grad.loop_policy import LoopPolicyAttr
from gradir.dialects.grad.tape import TapeType, record_bytes
from gradir.passes.analysis.region_flow import trips
from gradir.passes.analysis.region_ops import is_counted
from gradir.passes.differentiate.derived import DifferentiatedLoop
from gradir.passes.differentiate.program import ModuleFunctions
from gradir.passes.recompute.costs import ASSUMED_TRIPS, Costs
from gradir.passes.recompute.replayable import can_be_kept, op_with_effects
from gradir.passes.recompute.tape_limits import grows

SLOTS = (256, 128, 64, 32, 16, 8, 4, 2, 1)
"""The numbers of slots of the schedules on a ladder."""

# The most repetitions of an iteration, on average, of a schedule on a ladder.
MOST_RUNS = 64

STORE_ALL = LoopPolicyAttr.of("store_all")

Policies = Mapping[Operation, LoopPolicyAttr]


@dataclass(frozen=True)
class Setting:
    """Policies for the loops without one, the seconds of repeated iterations, and the bytes kept by
    loops."""

    policies: Policies
    cost: float
    bytes: float


@dataclass(frozen=True)
class Rung:
    """A kind of policy and its number; the number of `every` depends on the loops around."""

    kind: str
    number: int | None = None


@dataclass
class _Loop:
    """A loop, its possible rungs, and the loops in it.

    `count` is the number of iterations, `seconds` the time of one, with the loops in it. `alone`:
    it is in a checkpoint stage, so that its tapes begin and end with each replay.
    """

    op: Operation
    count: int
    seconds: float
    state_bytes: int
    record_bytes: int
    rungs: Sequence[Rung]
    alone: bool = False
    inner: list[_Loop] = field(default_factory=list["_Loop"])
    place: int = 0

    def around(self) -> Iterator[_Loop]:
        """The loop and those in it."""
        yield self
        for each in self.inner:
            yield from each.around()


@dataclass(frozen=True)
class _Size:
    """The bytes, and the seconds of repeated iterations, of a loop and those in it."""

    bytes: float
    seconds: float


def settings(
    program: ModuleFunctions, loops: Sequence[DifferentiatedLoop], costs: Costs
) -> list[Setting]:
    """The settings, from the most memory and the least time on."""
    roots = _nests(program, loops, costs)
    found = [_setting(roots)]
    steps = {k: step for k, root in enumerate(roots) if (step := _step(root, len(roots)))}
    while steps:
        k = min(steps, key=lambda k: steps[k].rate)
        steps[k].loop.place = steps[k].place
        found.append(_setting(roots))
        step = _step(roots[k], len(roots))
        steps = {j: s for j, s in steps.items() if j != k}
        if step is not None:
            steps[k] = step
    return found


def _setting(roots: Sequence[_Loop]) -> Setting:
    policies: dict[Operation, LoopPolicyAttr] = {}
    for root in roots:
        _resolve(root, 1, len(roots), policies)
    chosen = {op: p for op, p in policies.items() if not (_own_policy(op) or p == STORE_ALL)}
    sizes = [_size(root, len(roots)) for root in roots]
    return Setting(chosen, sum(s.seconds for s in sizes), sum(s.bytes for s in sizes))


@dataclass(frozen=True)
class _Step:
    """A loop's step down to a rung, and its seconds per saved byte."""

    rate: float
    loop: _Loop
    place: int


def _step(root: _Loop, roots: int) -> _Step | None:
    """The next step in a nest: of all steps to a loop's next rung of fewer bytes, the one with the
    fewest seconds per byte."""
    now, found = _size(root, roots), list[_Step]()
    for loop in root.around():
        before = loop.place
        for place in range(before + 1, len(loop.rungs)):
            loop.place = place
            then = _size(root, roots)
            loop.place = before
            if then.bytes < now.bytes:
                rate = (then.seconds - now.seconds) / (now.bytes - then.bytes)
                found.append(_Step(rate, loop, place))
                break
    return min(found, key=lambda step: step.rate, default=None)


# Bytes and seconds of a loop.


def _size(loop: _Loop, roots: int) -> _Size:
    """The size of a nest; `roots` nests share the memory of repeated iterations."""
    total, seconds = 0.0, 0.0
    pending = [(loop, 1, 1)]
    while pending:
        each, executions, runs = pending.pop()
        executions = 1 if each.alone else executions
        policy = _policy(each, executions, roots)
        own, inside = _bytes(each, policy, executions)
        total += own
        seconds += runs * each.count * _runs_again(policy, each.count) * each.seconds
        pending += [(inner, inside, runs * each.count) for inner in each.inner]
    return _Size(total, seconds)


def _bytes(loop: _Loop, policy: LoopPolicyAttr, executions: int) -> tuple[float, int]:
    """The bytes kept by a loop, and the number of its inner loops' record sets at a time."""
    match policy.kind.data:
        case "store_all":
            inside = executions * loop.count
            return inside * loop.record_bytes, inside
        case "every":
            size = min(policy.count, max(loop.count, 1))
            snapshots = executions * -(-loop.count // size) * loop.state_bytes
            return snapshots + size * loop.record_bytes, size
        case _:
            # a snapshot also has its iteration's number
            snapshots = executions * policy.count * (loop.state_bytes + 8)
            return snapshots + loop.record_bytes, 1


def _runs_again(policy: LoopPolicyAttr, count: int) -> float:
    """The repetitions of an iteration, on average."""
    match policy.kind.data:
        case "store_all":
            return 0.0
        case "every":
            return 1.0
        case _:
            return max(least_runs(count, policy.count) / max(count, 1), 1.0)


def least_runs(length: int, slots: int) -> int:
    """The fewest repeated iterations of a schedule: t * length - beta(slots + 1, t - 1), where
    t is the least with beta(slots, t) >= length and beta(s, t) = (s + t)! / (s! t!) (Griewank and
    Walther, "Algorithm 799: revolve", 2000).
    """
    if length <= 1:
        return 0
    if slots == 1:
        return length * (length - 1) // 2
    t = 1 + bisect_left(range(1, length), length, key=lambda t: comb(slots + t, t))
    return t * length - comb(slots + t, t - 1)


# Policies.


def _own_policy(op: Operation) -> LoopPolicyAttr | None:
    found = op.attributes.get(POLICY_ATTRIBUTE)
    return found if isinstance(found, LoopPolicyAttr) else None


def _resolve(
    loop: _Loop, executions: int, roots: int, policies: dict[Operation, LoopPolicyAttr]
) -> None:
    """Add the policies of a loop and those in it."""
    executions = 1 if loop.alone else executions
    policies[loop.op] = _policy(loop, executions, roots)
    _, inside = _bytes(loop, policies[loop.op], executions)
    for inner in loop.inner:
        _resolve(inner, inside, roots, policies)


def _policy(loop: _Loop, executions: int, roots: int) -> LoopPolicyAttr:
    """The policy of a loop's rung."""
    rung = loop.rungs[loop.place]
    number = _best_interval(loop, executions * roots) if rung.kind == "every" else rung.number
    if (own := _own_policy(loop.op)) is not None:
        return own
    return LoopPolicyAttr.of(rung.kind, number)


def _best_interval(loop: _Loop, times: int) -> int:
    """The k of the fewest bytes: snapshots of every k-th iteration, `times` of them, and the
    records of k iterations. The repeated iterations do not depend on k.
    """
    records = loop.record_bytes + sum(_size(inner, 1).bytes for inner in loop.inner)
    best = isqrt(loop.count * loop.state_bytes * times // max(int(records), 1))
    return min(max(best, 1), loop.count)


# The loops of a function.


def _nests(
    program: ModuleFunctions, loops: Sequence[DifferentiatedLoop], costs: Costs
) -> list[_Loop]:
    """The outermost loops, with those in them."""
    made: dict[Operation, _Loop] = {}
    roots: list[_Loop] = []
    for each in loops:
        loop = made[each.op] = _loop(program, each, costs)
        around = each.op.parent_op()
        while around is not None and around not in made:
            loop.alone = loop.alone or isinstance(around, CheckpointOp)
            around = around.parent_op()
        (roots if around is None else made[around].inner).append(loop)
    return roots


def _loop(program: ModuleFunctions, loop: DifferentiatedLoop, costs: Costs) -> _Loop:
    known = trips(loop.op)
    count = ASSUMED_TRIPS if known is None else known
    seconds = costs.of(loop.op).seconds / max(count, 1)
    state = record_bytes(TapeType.of(loop.state)) if loop.state and _is_kept(loop) else 0
    rungs = _ladder(program, loop, known)
    return _Loop(loop.op, count, seconds, state, loop.record_bytes, rungs)


def _is_kept(loop: DifferentiatedLoop) -> bool:
    return loop.state is not None and all(map(can_be_kept, loop.state))


def _ladder(program: ModuleFunctions, loop: DifferentiatedLoop, known: int | None) -> list[Rung]:
    """The possible rungs of a loop."""
    op = loop.op
    may_run_again = _is_kept(loop) and op_with_effects(program, op) is None
    if _own_policy(op) is not None or not may_run_again:
        return [Rung("store_all")]
    if known is not None and known <= 1:
        return [Rung("store_all")]
    if known is None and any(map(grows, op.results)):
        # no schedule bounds the records of such a loop
        return [Rung("store_all")]
    kind = "binomial" if is_counted(op) else "online"
    count = ASSUMED_TRIPS if known is None else known
    slots = [s for s in SLOTS if least_runs(count, s) <= MOST_RUNS * count]
    schedules = [Rung(kind, s) for s in slots]
    if known is None:
        return schedules
    return [Rung("store_all"), Rung("every"), *(r for r in schedules if (r.number or 0) < known)]
