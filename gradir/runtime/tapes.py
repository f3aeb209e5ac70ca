"""Tapes returned by native functions: opaque objects, arguments for the function that takes them.

A tape with a capacity is one array per column, and the number of its records; any other one is
memory that grew during the call, freed with the last reference to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

import numpy as np

from gradir.dialects.grad.tape import TapeType
from gradir.errors import ArgumentTypeError
from gradir.runtime import threads
from gradir.runtime.arrays import Array


class GrownMemory:
    """Memory of the C library with `records` records, freed with this object."""

    __slots__ = ("address", "records")

    def __init__(self, address: int, records: int):
        self.address, self.records = address, records

    def __reduce__(self) -> NoReturn:
        # a copy would free the memory twice
        raise ArgumentTypeError("a tape cannot be copied or pickled: its memory is native")

    def __del__(self) -> None:
        threads.free(self.address)


@dataclass(frozen=True, eq=False)
class NativeTape:
    """A tape as an argument: `arrays`, the last one with the number of records."""

    type: TapeType
    arrays: Sequence[Array]
    memory: GrownMemory | None = field(default=None, repr=False)

    @staticmethod
    def grown(type_: TapeType, memory: GrownMemory, count: Array) -> NativeTape:
        count.setflags(write=False)
        return NativeTape(type_, (np.array(memory.address, np.int64), count), memory)

    @property
    def handed_over(self) -> Sequence[Array]:
        """The arrays for native code, which trusts the address and the number of records."""
        if self.memory is None:
            return self.arrays
        return [np.array(n, np.int64) for n in (self.memory.address, self.memory.records)]

    @staticmethod
    def slots(type_: TapeType | None, grows: bool = False) -> int:
        """The number of arrays of a tape of the type; 1 for None, an array. A growing result has
        one: the call finds its memory itself."""
        if type_ is None or grows:
            return 1
        return 2 if type_.records is None else len(type_.columns) + 1

    @property
    def size(self) -> int:
        """The number of records."""
        return int(self.arrays[-1])


def unboxed(
    given: Sequence[object], types: Sequence[TapeType | None], function: str
) -> Iterator[object]:
    """Arguments with the arrays of each tape in its place."""
    for k, (value, type_) in enumerate(zip(given, types, strict=True)):
        if type_ is None:
            yield value
        elif isinstance(value, NativeTape) and value.type == type_:
            yield from value.handed_over
        else:
            got = value.type if isinstance(value, NativeTape) else type(value).__name__
            raise ArgumentTypeError(f"{function}: argument {k}: expected a {type_}, got {got}")
