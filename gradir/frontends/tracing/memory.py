"""The memory of traced arrays: which of them are views, and what a write to one changes.

A traced array is an SSA value, which never changes; a write binds the array to another value. What
NumPy makes as a view holds its base: it is read again from the base when that was written since,
and a write to it writes to the base. Where NumPy makes a view or a copy by the layout in memory,
which is not known here, both arrays have memories of one kin, and a write to one puts the other in
doubt.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from gradir.frontends.tracing.source_locations import location, refusal

if TYPE_CHECKING:
    from gradir.frontends.tracing.tracer import Tracer

Read = Callable[["Tracer"], "Tracer"]
Write = Callable[["Tracer", "Tracer"], "Tracer"]


class ArrayMemory:
    """What an array and its views share: the number of writes, and the argument that it is of."""

    __slots__ = ("argument", "doubt", "is_held", "kin", "of_elements", "version")

    def __init__(self, argument: str | None = None):
        self.version = 0
        self.is_held = False  # by an array of NumPy's, as an object
        self.of_elements = False  # that an array of NumPy's has taken
        self.argument = argument
        self.doubt: str | None = None
        self.kin: list[ArrayMemory] = [self]

    def require_known(self) -> None:
        """TraceError if a write has put the values in doubt."""
        if self.doubt is not None:
            raise refusal(self.doubt)

    def changed(self) -> None:
        """Count a write; others of the kin are in doubt from now on."""
        self.version += 1
        for each in self.kin:
            if each.of_elements:
                each.doubt = (
                    "numpy.asarray of a traced array shares its memory, which was assigned to at "
                    f"{_place()}; give it a copy, numpy.asarray(y.copy())"
                )
            elif each is not self:
                each.doubt = (
                    f"this array may share memory with one that was assigned to at {_place()}: "
                    "NumPy makes a view or a copy here, by the layout in memory; say which by "
                    ".copy() before the assignment"
                )


def _place() -> str:
    return str(location()).removeprefix("loc(").removesuffix(")")


class View:
    """How a view is read from its base, and the base made of the view's new value.

    `write` is None for views that NumPy makes read-only; `key` is set where the view is base[key].
    """

    __slots__ = ("base", "key", "read", "version", "write")

    def __init__(self, base: Tracer, read: Read, write: Write | None, key: Any, version: int):
        self.base, self.read, self.write = base, read, write
        self.key, self.version = key, version


def root_of(tracer: Tracer) -> Tracer:
    """The array that owns the memory of a view."""
    while tracer.view_of is not None:
        tracer = tracer.view_of.base
    return tracer


def refresh(tracer: Tracer, memory: ArrayMemory) -> None:
    """Read a view again if its memory was written since."""
    memory.require_known()
    view = tracer.view_of
    if view is None or view.version == memory.version:
        return
    root = root_of(tracer)
    with root.made_in.ending(root.home):
        made = view.read(view.base)
        tracer.bind(made.ssa, root.made_in)
    view.version = memory.version


def _memory(tracer: Tracer) -> ArrayMemory:
    if tracer.memory is None:
        tracer.memory = ArrayMemory()
    return tracer.memory


def as_array(made: Tracer) -> Tracer:
    """A new value as an array, which can be assigned to, also where its rank is 0."""
    made.stored = True
    return made


def as_view(base: Tracer, made: Tracer, read: Read, write: Write | None, key: Any = None) -> Tracer:
    """The array `made`, read from the base just now, as a view of it; of a number it is a copy."""
    made = as_array(base.copy() if made is base else made)
    if write is not None and not base.is_array and not is_argument(base):
        return made
    made.memory = memory = _memory(base)
    made.view_of = View(base, read, write, key, memory.version)
    return made


def is_argument(tracer: Tracer) -> bool:
    """Whether the memory belongs to an argument of the traced function."""
    return tracer.memory is not None and tracer.memory.argument is not None


def as_kin(base: Tracer, made: Tracer) -> Tracer:
    """The array `made` as one that is a view of the base or a copy, which is not known."""
    made = as_array(base.copy() if made is base else made)
    if not base.is_array and not is_argument(base):
        return made
    around = _memory(base)
    made.view_of, made.memory = None, ArrayMemory(around.argument)
    around.kin.append(made.memory)
    made.memory.kin = around.kin
    return made


def share_doubt(base: Tracer, numbers: Sequence[Tracer]) -> None:
    """Numbers that NumPy would read from the base's memory: a write to it puts them in doubt."""
    if is_argument(base):
        return  # which nothing is written to
    memory = ArrayMemory()
    memory.of_elements = True
    memory.kin = _memory(base).kin
    memory.kin.append(memory)
    for each in numbers:
        each.memory = memory


def hold(x: Tracer) -> None:
    """Note that an array of NumPy's holds this array itself, which then must not change."""
    if not is_argument(x):
        _memory(x).is_held = True


def is_held(x: Tracer) -> bool:
    """Whether nothing is written to the array any more, as `hold` says."""
    return is_argument(x) or (x.memory is not None and x.memory.is_held)


def store(target: Tracer, value: Tracer) -> None:
    """Give an array, and what shares its memory, a new value of the array's type."""
    root, memory = root_of(target), target.memory
    if memory is not None:
        memory.require_known()
        if memory.argument is not None:
            raise refusal(
                f"assignment: {memory.argument} is an argument of the traced function, and NumPy "
                "would change the caller's array; assign to a copy, x = x.copy(), or make a new "
                "array with x.at[key].set(values) or x = x + y"
            )
    if memory is not None and memory.is_held:
        raise refusal(
            "assignment: an array of NumPy's, made by numpy.array or a list, holds this array of "
            "rank 0; make that of a copy, y.copy(), or write y = y + x for y += x"
        )
    root.require_home()
    _write(target, value)


def _write(target: Tracer, value: Tracer) -> None:
    view, memory = target.view_of, target.memory
    if view is None:
        value.name_as(target)
        target.bind(value.ssa, value.made_in)
        if memory is not None:
            memory.changed()
        return
    if view.write is None:
        raise refusal("assignment: a broadcast array is read-only; assign to a copy, y = x.copy()")
    _write(view.base, view.write(view.base, value))
    assert memory is not None
    target.bind(value.ssa, value.made_in)
    view.version = memory.version
