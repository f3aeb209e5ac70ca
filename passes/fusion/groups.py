"""Which loop ops run as one: groups of nests over one iteration space, without cycles.

A nest joins the group of a producer that it reads element for element, or of a nest that reads the
same tensor in the same way, if all of it can run at one time: nothing outside of the group may lie
on a path between two members. Sets of ops are bit masks over their positions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import accumulate, count
from math import prod
from typing import cast

from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import is_side_effect_free

from gradir.dialects.base.access import Access
from gradir.dialects.base.shapes import shape_of
from gradir.dialects.base.traced_sizes import int_of
from gradir.dialects.loopnest.loopnest import BarrierOp, ContractOp, LoopOp, NestOp
from gradir.passes.analysis.live_bytes import bytes_of
from gradir.passes.analysis.liveness import all_operands

# A group that reads more tensors than this would do little but spill their addresses.
MOST_INPUTS = 64
# A nest of more ops than this gains nothing over two, and takes long to compile.
MOST_OPS = 256
# Results this many times smaller than the tensors read for them may wait for their readers.
SMALL = 16


@dataclass(eq=False)
class FusionGroup:
    """Ops that will run as one: a contraction, if there is one, then nests.

    `space` is the iteration space, None where nothing may join; `reduced` the dimensions that its
    reductions leave out. `members`, `needs` and `readers` are masks of positions. `needs` has all
    positions of each group that this one depends on, but for ops that joined that group later and
    wait for nothing more; `readers` read any of the results, members among them. `inputs` are the
    values from outside, and whether each is read only where the iteration stands. `place` is the
    position at which it runs, as near as its needs allow.
    """

    ops: list[Operation]
    space: tuple[int, ...] | None
    reduced: frozenset[int]
    members: int
    needs: int
    inputs: dict[SSAValue, bool]
    place: int
    readers: int = 0

    @property
    def is_contraction(self) -> bool:
        return isinstance(self.ops[0], ContractOp)


class Grouping:
    """The groups of one block; `groups` are in an order in which they can run."""

    def __init__(self, block: Block):
        self.group_of: dict[Operation, FusionGroup] = {}
        # In the order of their last members: a group that grows, grows by the op being placed.
        self._all: dict[FusionGroup, None] = {}
        self._last_effect: Operation | None = None
        self._effect_before: dict[Operation, Operation] = {}
        self._readers: dict[tuple[SSAValue, Access | None, tuple[int, ...]], FusionGroup] = {}
        self._ops = list(block.ops)
        self._positions = {op: position for position, op in enumerate(self._ops)}
        # of the ops by position
        self._iterations = [_iterations(op) for op in self._ops]
        self._iterations_before = list(accumulate(self._iterations, initial=0))
        self._large: dict[int, int] = {}
        # the positions of the readers of each value, and the values that a terminator reads
        self._readers_of: dict[SSAValue, int] = {}
        self._returned: set[SSAValue] = set()
        # the positions of the ops of such values
        self._returning = 0
        for op in self._ops:
            for result in op.results:
                self._note_readers(op, result)
        for op, position in self._positions.items():
            self._place(op, position)

    def _note_readers(self, op: Operation, value: SSAValue) -> None:
        readers = 0
        for use in value.uses:
            readers |= 1 << self._position(use.operation)
            if use.operation.next_op is None:
                self._returned.add(value)
                self._returning |= 1 << self._position(op)
        self._readers_of[value] = readers

    @property
    def groups(self) -> list[FusionGroup]:
        """By the last member, each after what it needs."""
        for group in self._all:
            group.ops.sort(key=self._order)
        users: dict[FusionGroup, list[FusionGroup]] = {group: [] for group in self._all}
        missing: dict[FusionGroup, int] = {}
        for group in self._all:
            before = self._before(group)
            missing[group] = len(before)
            for other in before:
                users[other].append(group)
        number = count()  # of groups of one place, the first that is ready comes first
        ready = [(g.place, next(number), g) for g in self._all if not missing[g]]
        heapify(ready)
        ordered: list[FusionGroup] = []
        while ready:
            _, _, group = heappop(ready)
            ordered.append(group)
            for user in users[group]:
                missing[user] -= 1
                if not missing[user]:
                    heappush(ready, (user.place, next(number), user))
        assert len(ordered) == len(self._all), "fusion made a cycle"
        return ordered

    def _before(self, group: FusionGroup) -> set[FusionGroup]:
        """The direct dependencies of a group; the terminator depends on all groups."""
        if group.ops[0].next_op is None:
            return {other for other in self._all if other is not group}
        found = {self._group_of(value) for value in group.inputs}
        if group.ops[0] in self._effect_before:  # which is alone
            found.add(self.group_of[self._effect_before[group.ops[0]]])
        return {other for other in found if other is not None and other is not group}

    def _place(self, op: Operation, position: int) -> None:
        """Merge an op into its candidate groups, in their order, where that is legal."""
        needs = self._needs(op, position)
        own = _group_of_one(op, position, needs)
        for result in op.results:
            own.readers |= self._readers_of[result]
        self.group_of[op] = own
        self._all[own] = None
        if own.space is not None:
            for candidate in self._candidates(op, own):
                place = self._merged_place(candidate, own)
                if place is not None:
                    self._merge(candidate, own, place)
                    own = self.group_of[op]
        if own.space is not None and isinstance(op, NestOp):
            for value, access in zip(op.inputs, op.input_accesses, strict=True):
                if _is_worth_sharing(value, own.space):
                    self._readers[value, access, own.space] = own

    def _needs(self, op: Operation, position: int) -> int:
        """The positions that `op` depends on: its producers; of an effect, the one before; of the
        terminator, all."""
        if op.next_op is None:
            return (1 << position) - 1
        before = [o.owner for o in all_operands(op)]
        if not isinstance(op, LoopOp | BarrierOp) and not is_side_effect_free(op):
            if self._last_effect is not None:
                self._effect_before[op] = self._last_effect
                before.append(self._last_effect)
            self._last_effect = op
        needs = 0
        for owner in before:
            if isinstance(owner, Operation) and owner in self.group_of:
                group = self.group_of[owner]
                needs |= group.needs | group.members
        return needs

    def _candidates(self, op: Operation, own: FusionGroup) -> list[FusionGroup]:
        """The groups of producers, the latest first, then the groups of other readers."""
        if not isinstance(op, NestOp) or own.space is None:
            return []
        found: list[FusionGroup] = []
        for value, access in zip(reversed(op.inputs), reversed(op.input_accesses), strict=True):
            owner = value.owner
            in_place = access is not None and access.is_identity
            # one from outside of this block is in no group
            if in_place and isinstance(owner, LoopOp) and owner in self.group_of:
                found.append(self.group_of[owner])
        # of other parts of a tensor nothing is shared, but all of it would have to wait
        for value, access in zip(op.inputs, op.input_accesses, strict=True):
            reader = self._readers.get((value, access, own.space))
            if reader is not None and not reader.is_contraction:
                found.append(self.group_of[reader.ops[0]])
        return list(dict.fromkeys(g for g in found if g is not own))

    def _merged_place(self, early: FusionGroup, late: FusionGroup) -> int | None:
        """The place of two groups as one; None if merging is illegal or costs memory."""
        early = self.group_of[early.ops[0]]
        return self._best_place(early, late) if self._may_merge(early, late) else None

    def _may_merge(self, early: FusionGroup, late: FusionGroup) -> bool:
        if early is late or early.space != late.space or early.space is None:
            return False
        if late.is_contraction or (early.is_contraction and not self._is_epilogue(early, late)):
            return False
        if early.reduced and late.reduced and early.reduced != late.reduced:
            return False
        if (
            len(early.inputs) + len(late.inputs)
            > MOST_INPUTS
            < len(early.inputs.keys() | late.inputs.keys())
        ):
            return False
        if len(early.ops) + len(late.ops) > MOST_OPS or self._waits_for_more(early, late):
            return False
        if self._waits_for_more(late, early):
            return False
        # `late` may have grown by members that stand before members of `early`
        in_place = self._reads_in_place(early, late) and self._reads_in_place(late, early)
        return in_place and not self._between(early, late)

    def _is_epilogue(self, contraction: FusionGroup, late: FusionGroup) -> bool:
        """The group may run with a contraction, and its results are not only to be reduced, where
        what it reads of the contraction is kept for others: the reduction then reads that."""
        if not _is_plain(late):
            return False
        read = [v for v in late.inputs if self._group_of(v) is contraction]
        others = {u.operation for v in read for u in v.uses} - {*contraction.ops, *late.ops}
        made = (r for op in late.ops for r in op.results)
        readers = {u.operation for r in made for u in r.uses} - {*late.ops}
        return not others or not readers or not all(self._reduces(r, late) for r in readers)

    def _reduces(self, reader: Operation, made: FusionGroup) -> bool:
        """A reader can be fused with what made its operands, and not with a contraction."""
        own = self.group_of.get(reader) or _group_of_one(reader, 0, 0)
        return own.space == made.space and not _is_plain(own) and self._reads_in_place(made, own)

    def _waits_for_more(self, one: FusionGroup, other: FusionGroup) -> bool:
        """A small group that others read too would come to wait for a large nest."""
        large = self._larger_than(SMALL * int_of(prod(one.space or ())))
        more = large & other.needs & ~one.needs & ~one.members
        if not any(not self._group_at(p).members & one.needs for p in _bits(more)):
            return False
        return not self._returning & one.members and bool(
            one.readers & ~one.members & ~other.members
        )

    def _group_at(self, position: int) -> FusionGroup:
        return self.group_of[self._ops[position]]

    def _larger_than(self, iterations: int) -> int:
        """The positions of the loop ops with at least this many iterations."""
        if iterations not in self._large:
            self._large[iterations] = sum(
                1 << position
                for position, count in enumerate(self._iterations)
                if count >= iterations
            )
        return self._large[iterations]

    def _best_place(self, one: FusionGroup, other: FusionGroup) -> int | None:
        """The first group's place if hoisting the second is legal and saves bytes, else the
        second's if delaying the first saves bytes, else None. With no nests between them but small
        ones any legal place will do."""
        first, second = sorted((one, other), key=lambda g: g.place)
        before = self._before(second) - {first}
        may_hoist = all(self._may_run_by(first.place, g, second) for g in before)
        if self._iterations_between(first, second) * SMALL <= int_of(prod(first.space or ())):
            return first.place if may_hoist else second.place
        inside = first.members | second.members
        if may_hoist and self._saves_hoisted(first, second, inside):
            return first.place
        return second.place if self._saves_delayed(first, second, inside) else None

    def _may_run_by(self, place: int, group: FusionGroup, reader: FusionGroup) -> bool:
        """The group stands before a place, or what it makes is small and it could stand there."""
        if group.place < place:
            return True
        if not all(isinstance(op, NestOp) for op in group.ops) or reader.space is None:
            return False
        made = sum(prod(shape_of(r.type)) for op in group.ops for r in op.results)
        before = all(other.place < place for other in self._before(group))
        return before and made * SMALL <= prod(reader.space)

    def _iterations_between(self, first: FusionGroup, second: FusionGroup) -> int:
        """How many iterations of others stand between the places of two groups."""
        begin, end = first.place + 1, second.place
        # a merge moves what it reads to its own place: two groups may have one
        whole = (1 << max(end - begin, 0)) - 1
        ours = (first.members | second.members) >> begin & whole
        others = whole ^ ours
        few = min(others, ours, key=int.bit_count)
        counted = sum(self._iterations[begin + k] for k in _bits(few))
        if few == others:
            return counted
        return self._iterations_before[end] - self._iterations_before[begin] - counted

    def _saves_hoisted(self, first: FusionGroup, second: FusionGroup, inside: int) -> bool:
        """Hoisting the second makes no more bytes live between the two places than it frees."""
        made = sum(self._held(r, inside) for op in second.ops for r in op.results)
        if made * SMALL <= sum(map(bytes_of, second.inputs)):
            return True
        dying = [v for v in second.inputs if self._last_read(v, inside) <= first.place]
        return made <= sum(map(bytes_of, dying))

    def _saves_delayed(self, first: FusionGroup, second: FusionGroup, inside: int) -> bool:
        """Delaying the first delays no reader, and makes no more bytes live than it frees."""
        if first.readers & ~inside & ((1 << second.place) - 1):
            return False
        saved = 0
        for result in (r for op in first.ops for r in op.results):
            is_held = self._readers_of[result] & ~inside and result not in self._returned
            saved += 0 if is_held else bytes_of(result)
        dying = [v for v in first.inputs if self._last_read(v, inside) <= first.place]
        return sum(map(bytes_of, dying)) <= saved

    def _held(self, value: SSAValue, inside: int) -> int:
        """The bytes kept live for readers outside; returned values lie in the caller's buffers."""
        is_held = self._readers_of[value] & ~inside and value not in self._returned
        return bytes_of(value) if is_held else 0

    def _last_read(self, value: SSAValue, inside: int) -> int:
        """The position of the last reader outside; the end for values of other blocks."""
        readers = self._readers_of.get(value)
        if readers is None:
            return len(self._positions)
        return (readers & ~inside).bit_length() - 1

    def _position(self, op: Operation) -> int:
        """The position of `op`, or of the block's op around it."""
        while op not in self._positions:
            around = op.parent_op()
            assert around is not None
            op = around
        return self._positions[op]

    def _reads_in_place(self, early: FusionGroup, late: FusionGroup) -> bool:
        """`late` reads each result of `early` at its own iteration, and no reduction of it."""
        if len(early.ops) < len(late.inputs):
            read = [r for op in early.ops for r in op.results if r in late.inputs]
        else:
            read = [value for value in late.inputs if self._group_of(value) is early]
        return all(late.inputs[value] and _writes_in_place(value) for value in read)

    def _group_of(self, value: SSAValue) -> FusionGroup | None:
        # an argument's owner is a block, which has no group
        return self.group_of.get(cast(Operation, value.owner))

    def _between(self, early: FusionGroup, late: FusionGroup) -> bool:
        """A third group lies between the two by dependence: merging would make a cycle."""
        return any(
            group is not one and group.needs & one.members
            for one, other in ((early, late), (late, early))
            if other.needs & one.members
            for group in self._before(other)
        )

    def _merge(self, early: FusionGroup, late: FusionGroup, place: int) -> None:
        early = self.group_of[early.ops[0]]
        # nothing depends on an op that is just placed; what depends on `early` waits for no more
        is_alone = len(late.ops) == 1 and not late.needs & ~(early.needs | early.members)
        for group in self._before(max((early, late), key=lambda g: g.place)):
            group.place = min(group.place, place)
        early.place = place
        early.ops += late.ops
        early.members |= late.members
        early.readers |= late.readers
        early.needs = (early.needs | late.needs) & ~early.members
        early.reduced |= late.reduced
        for op in late.ops:
            self.group_of[op] = early
        for value, in_place in late.inputs.items():
            if self._group_of(value) is not early:
                early.inputs[value] = in_place and early.inputs.get(value, True)
        for result in (r for op in late.ops for r in op.results):
            early.inputs.pop(result, None)
        del self._all[late], self._all[early]
        if not is_alone:
            reach = early.members | early.needs
            for group in self._later(early):
                if group.needs & early.members:
                    group.needs |= reach
        self._all[early] = None

    def _later(self, one: FusionGroup) -> Iterator[FusionGroup]:
        """The groups with an op behind the first of `one`, a superset of its dependents."""
        first = one.members & -one.members
        for group in reversed(self._all):
            if group.members < first:
                return
            yield group

    def _order(self, op: Operation) -> tuple[bool, int]:
        """Program order, but a contraction first: the rest of its group is its epilogue."""
        return isinstance(op, NestOp), self._positions[op]


def _bits(number: int) -> Iterator[int]:
    """The positions of the ones of a number, the lowest first."""
    while number:
        lowest = number & -number
        yield lowest.bit_length() - 1
        number ^= lowest


def _group_of_one(op: Operation, position: int, needs: int) -> FusionGroup:
    """The group of one op."""
    return FusionGroup([op], _space(op), _reduced(op), 1 << position, needs, _inputs(op), position)


def _is_worth_sharing(value: SSAValue, space: tuple[int, ...]) -> bool:
    """A read of the value is much of what an iteration over the space reads. The same number for
    many updates of weights is not: as one nest, these would only fill it up."""
    return SMALL * int_of(prod(shape_of(value.type))) >= int_of(prod(space))


def _iterations(op: Operation) -> int:
    """How many iterations an op has; none if it is no loop op."""
    return int_of(prod(op.extents)) if isinstance(op, LoopOp) else 0


def _space(op: Operation) -> tuple[int, ...] | None:
    """The iteration space that other ops may join; for a contraction, the space of its output."""
    if isinstance(op, NestOp):
        scattered = any(r.symbol is not None for a in op.output_accesses for r in a.rows)
        return None if scattered or op.inits else op.extents
    if isinstance(op, ContractOp):
        last = op.free_dims
        plain = all(a.dims == tuple(range(last)) for a in op.output_accesses)
        return op.extents[:last] if plain else None
    return None


def _is_plain(group: FusionGroup) -> bool:
    """The group may be an epilogue: it neither reduces nor pads, which would change the order of
    a contraction's sums."""
    ops = [op for op in group.ops if isinstance(op, LoopOp)]
    combiners = {combiner for op in ops for combiner in op.output_combiners}
    return combiners == {"none"} and all(pad is None for op in ops for pad in op.input_pads)


def _reduced(op: Operation) -> frozenset[int]:
    if not isinstance(op, NestOp):
        return frozenset()
    dims = range(len(op.extents))
    kinds = zip(op.output_accesses, op.output_combiners, strict=True)
    return frozenset(d for a, c in kinds if c != "none" for d in dims if d not in a.used)


def _inputs(op: Operation) -> dict[SSAValue, bool]:
    found = dict.fromkeys(all_operands(op), False)
    if isinstance(op, LoopOp):
        rows = zip(op.inputs, op.input_accesses, op.input_pads, strict=True)
        moved = {
            v
            for v, access, pad in rows
            if access is None or pad is not None or not access.is_identity
        }
        found |= {v: v not in moved and v not in op.inits for v in op.inputs}
    return found


def _writes_in_place(value: SSAValue) -> bool:
    """The value is written once an element, at the place of the iteration, as it is yielded."""
    op = value.owner
    assert isinstance(op, LoopOp)
    results: list[SSAValue] = [*op.results]
    k = results.index(value)
    access, combiner = op.output_accesses[k], op.output_combiners[k]
    in_place = combiner == "none" and access.dims == tuple(range(len(access.rows)))
    return in_place and op.is_stored_as_yielded(k)
