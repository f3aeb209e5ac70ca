"""The iterations of snapshots: the arithmetic of two schedules, as emitted code.

Both are in terms of beta(s, t) = (s + t)! / (s! t!), the most iterations that s snapshots can
reverse with at most t repetitions of each (Griewank and Walther, "Algorithm 799: revolve", 2000).

binomial: the length is known. From a snapshot, run m iterations and keep another; with the least t
such that beta(s, t) >= length,

    m = max(beta(s, t - 2), length - beta(s - 1, t))

which repeats as few iterations as possible.

online: the length is known at the end. Each iteration gets a snapshot; where no slot is free, the
new one replaces the last snapshot whose two adjacent gaps together are not too long: of s
snapshots, the gap behind the k-th may have beta(s - k + 1, t) iterations. The k-th to the last
snapshot can reverse these with at most t repetitions, and their slots are free by then. Where no
snapshot can be replaced, t grows by one. By then more than beta(s, t) iterations have passed: the
first two gaps alone are longer. So t is never above the least with beta(s, t) >= length, the bound
of Wang, Moin and Iaccarino, "Minimal repetition dynamic checkpointing algorithm for unsteady
adjoint calculation", 2009. They replace snapshots by levels, and the last iteration always has one;
by lengths of gaps, fewer iterations are repeated in all.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import IndexType, i64
from xdsl.ir import SSAValue

from gradir.dialects.base.value import Emitter
from gradir.dialects.building.control_flow import (
    Integers,
    WhileBuilder,
    cast_integer,
    choose,
    compare,
    name_all,
    named,
)

INDEX = IndexType()


def choose_steps(
    is_simple: SSAValue, simple: SSAValue, length: SSAValue, slots: SSAValue, emitter: Emitter
) -> SSAValue:
    """The number of iterations to run: `simple`, or as the binomial schedule says."""
    (steps,) = choose(
        is_simple,
        ["steps"],
        lambda _: [simple],
        lambda inside: [binomial_steps(length, slots, inside)],
        emitter,
    )
    return steps


def binomial_steps(length: SSAValue, slots: SSAValue, emitter: Emitter) -> SSAValue:
    """m of the schedule, for a length above 1 and `slots` that count the last snapshot."""
    one = Integers(INDEX, emitter).constant(1)
    most = emitter.insert(arith.AddiOp(slots, one)).result
    loop = WhileBuilder([one, most], ["t", "beta"], emitter.location)
    loop.run_while(lambda carried, there: compare(carried[1], "slt", length, there))
    t, beta = loop.arguments
    inside = Integers(INDEX, loop.emitter)
    following = named(inside.value(inside.add(t, 1)), "t")
    factor = inside.value(inside.add(slots, following))
    product = inside.value(inside.multiply(beta, factor))
    found = loop.finish([following, inside.value(inside.divide(product, following))], emitter)
    whole = Integers(INDEX, emitter)
    t, beta = found
    both = whole.value(whole.add(slots, t))
    # beta(s - 1, t), beta(s, t - 1) and beta(s, t - 2) from beta(s, t)
    fewer_slots = whole.divide(whole.multiply(beta, slots), both)
    once_less = whole.divide(whole.multiply(beta, t), both)
    twice_less = whole.divide(
        whole.multiply(once_less, whole.subtract(t, 1)), whole.subtract(both, 1)
    )
    rest = whole.value(whole.subtract(length, fewer_slots))
    steps = emitter.insert(arith.MaxSIOp(whole.value(twice_less), rest)).result
    return emitter.insert(arith.MaxSIOp(steps, one)).result


def online_place(
    at: SSAValue, times: SSAValue, slots: int, emitter: Emitter
) -> tuple[SSAValue, SSAValue]:
    """The place of the replaced snapshot, where no slot is free, and the next t.

    `at` are the iterations of the snapshots in order, then the new one's iteration, and the next
    one; `times` is t so far. The place `slots` is for the new one itself.
    """
    index = Integers(INDEX, emitter)
    last = index.constant(slots)
    initial = [last, times, _most_at_the_end(times, emitter)]
    loop = WhileBuilder(initial, ["place", "times", "most"], emitter.location)
    loop.run_while(lambda carried, there: _is_too_long(at, carried, there))
    handed_on = _next_place(loop.arguments, last, slots, loop.emitter)
    place, times, _ = loop.finish(handed_on, emitter)
    return place, times


def _next_place(
    carried: Sequence[SSAValue], last: SSAValue, slots: int, emitter: Emitter
) -> Sequence[SSAValue]:
    """The place before, and the most iterations of its gaps; after the first place the last one,
    with t + 1."""
    place, times, most = carried
    is_first = named(compare(place, "eq", 1, emitter), "is_first")

    def from_the_last(inside: Emitter) -> list[SSAValue]:
        index = Integers(INDEX, inside)
        more = named(index.value(index.add(times, 1)), "times")
        return [last, more, _most_at_the_end(more, inside)]

    def one_before(inside: Emitter) -> list[SSAValue]:
        index = Integers(INDEX, inside)
        previous = named(index.value(index.subtract(place, 1)), "place")
        # beta(k, t) = beta(k - 1, t) (k + t) / k for the k = slots + 1 - place usable there
        usable = named(index.value(index.subtract(slots + 1, previous)), "usable")
        product = index.multiply(most, index.value(index.add(usable, times)))
        following = named(index.value(index.divide(product, usable)), "most")
        return [previous, times, following]

    return choose(is_first, ["place", "times", "most"], from_the_last, one_before, emitter)


def _most_at_the_end(times: SSAValue, emitter: Emitter) -> SSAValue:
    """beta(1, t): the most iterations that the last snapshot can reverse."""
    index = Integers(INDEX, emitter)
    return named(index.value(index.add(times, 1)), "most")


def _is_too_long(at: SSAValue, carried: Sequence[SSAValue], emitter: Emitter) -> SSAValue:
    """Whether the gap without the snapshot at a place would be too long."""
    place, _, most = carried
    index = Integers(INDEX, emitter)
    around = [index.value(index.subtract(place, 1)), index.value(index.add(place, 1))]
    start, end = (emitter.insert(tensor.ExtractOp(at, [k], i64)).result for k in around)
    name_all([start, end], ["start", "end"])
    length = emitter.insert(arith.SubiOp(end, start)).result
    gap = named(cast_integer(length, INDEX, emitter), "gap")
    return compare(gap, "sgt", most, emitter)
