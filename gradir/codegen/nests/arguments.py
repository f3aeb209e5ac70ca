"""The arguments of a pass's body: loads, guarded where they may be outside, hoisted from loops."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import reduce

from gradir.codegen.bodies.emitter import LlvmValue
from gradir.codegen.nests.loops import PassLoops
from gradir.codegen.nests.pieces import holds
from gradir.codegen.nests.space import Guard, Linear, LinearRead
from gradir.codegen.text.functions import is_number


class BodyArguments:
    """Loads the arguments of the body, or gives those that were loaded further out."""

    def __init__(self, loops: PassLoops):
        self.loops, self.f = loops, loops.f
        self.one, self.lanes = loops.one, loops.lanes
        # by argument and shift; the shift is None for values that are the same in all lanes
        self._hoisted: dict[tuple[int, int | None], LlvmValue] = {}

    @contextmanager
    def hoisting(self, inside: frozenset[int], shifts: dict[int, str | None]) -> Generator[None]:
        """Load now the reads that do not change over the dimensions `inside`.

        Reads that are the same in all lanes are loaded once, others for each shift (with its mask).
        """
        before = self._hoisted
        self._hoisted = dict(before)
        for k, read in enumerate(self.one.reads):
            if read is None or read.uses(inside) or (k, None) in before:
                continue
            if self._is_uniform(read):
                self._hoisted[k, None] = self.load(k, 0, None)
                continue
            for shift, mask in shifts.items():
                self._hoisted[k, shift] = self.load(k, shift, mask)
        yield
        self._hoisted = before

    @contextmanager
    def given(self, values: dict[int, LlvmValue]) -> Generator[None]:
        """These arguments of the body are known, for the first vector."""
        before = self._hoisted
        self._hoisted = before | {(k, 0): value for k, value in values.items()}
        yield
        self._hoisted = before

    def _is_uniform(self, read: LinearRead) -> bool:
        v = self.one.vector_dim
        return self.lanes == 1 or read.empty or not read.uses(frozenset([v]))

    def load(self, k: int, shift: int, mask: str | None) -> LlvmValue:
        """Argument k of the body `shift` elements further along the vector dimension."""
        found = self._hoisted.get((k, shift)) or self._hoisted.get((k, None))
        if found is not None:
            return found
        read = self.one.reads[k]
        if read is None:
            return LlvmValue("poison", 1)
        if read.offset is None:
            return LlvmValue(read.pointer, 1)
        if read.empty:
            return LlvmValue(read.other, 1)
        if self._is_uniform(read):
            return LlvmValue(self._scalar(read, shift), 1)
        return LlvmValue(self._vector(read, shift, mask), self.lanes)

    def _scalar(self, read: LinearRead, shift: int) -> str:
        inside, address = self._guarded_address(read, read.guards, shift)
        loaded = self.f.load(read.kind, 1, address)
        return self.f.select(read.kind, 1, inside, loaded, read.other) if inside else loaded

    def _guarded_address(
        self, read: LinearRead, guards: Sequence[Guard], shift: int
    ) -> tuple[str | None, str]:
        """Whether guards that all lanes share hold, None without any, and where to read then.

        Where they do not hold that is the first element: it is there to be read. Elsewhere a load
        could fail, and takes hundreds of cycles even without active lanes.
        """
        assert read.offset is not None
        inside = self._all_of([self._inside(g.row, g.extent, shift) for g in guards])
        address = self.loops.address(read.pointer, read.kind, read.offset, shift)
        if inside is not None:
            address = self.loops.f.emit(f"select i1 {inside}, ptr {address}, ptr {read.pointer}")
        return inside, address

    def _inside(self, row: Linear, extent: int, shift: int) -> str:
        value = self.loops.along_lanes(row, shift)
        return self.loops.f.emit(f"icmp ult i64 {value}, {extent}")

    def _all_of(self, conditions: Sequence[str], lanes: int = 1) -> str | None:
        """Whether all conditions hold, by lane; None without any."""
        if not conditions:
            return None
        return reduce(lambda one, other: self.f.binary("and", "i1", lanes, one, other), conditions)

    def _state(self, guard: Guard, shift: int) -> bool | None:
        """Whether a guard is known to hold in all lanes, or in none."""
        if guard in self.loops.held:
            return self.loops.held[guard]
        if not is_number(self.loops.linears[guard.row]):
            return None
        first = int(self.loops.along_lanes(guard.row, shift))
        return holds(guard, first, guard.row.coefficients[self.one.vector_dim], self.lanes)

    def _vector(self, read: LinearRead, shift: int, mask: str | None) -> str:
        assert read.offset is not None
        states = {guard: self._state(guard, shift) for guard in read.guards}
        if False in states.values():
            return self.f.splat(read.kind, self.lanes, read.other)
        unknown = [guard for guard, known in states.items() if not known]
        masks = [] if mask is None else [mask]
        masks += [self._lanes_inside(g, shift) for g in unknown if self._varies(g)]
        uniform = [g for g in unknown if not self._varies(g)]
        inside, address = self._guarded_address(read, uniform, shift)
        if inside is not None:
            masks.append(self.f.splat("i1", self.lanes, inside))
        stride = read.offset.coefficients[self.one.vector_dim]
        active = self._all_of(masks, self.lanes)
        return self.f.load_strided(read.kind, self.lanes, address, stride, active, read.other)

    def _varies(self, guard: Guard) -> bool:
        """Whether a guard differs by lane."""
        return guard.row.coefficients[self.one.vector_dim] != 0

    def _lanes_inside(self, guard: Guard, shift: int) -> str:
        """The lanes whose element is in the tensor."""
        lanes, step = self.lanes, guard.row.coefficients[self.one.vector_dim]
        start = self.loops.along_lanes(guard.row, shift)
        if not is_number(start):
            start = self.f.cast("trunc", "i64", "i32", 1, start)
        numbers = self.f.lane_numbers(lanes, start, step, "i32")
        limit = self.f.splat("i32", lanes, str(guard.extent))
        return self.loops.f.emit(f"icmp ult <{lanes} x i32> {numbers}, {limit}")
