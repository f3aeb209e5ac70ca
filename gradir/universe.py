"""gradir's dialects and passes for xDSL's own tools.

gradir's own tools have other packages' dialects and passes by `plugins.py`. xDSL's tools find
gradir's by an entry point in the group `xdsl.universe`, in the pyproject.toml of a project that
wants them:

    [project.entry-points."xdsl.universe"]
    gradir = "gradir.universe:COURTEOUS_UNIVERSE"

Two universes with a common name are an error in every xDSL tool of the environment, and others may
use the names `array`, `nn`, `grad` too. So COURTEOUS_UNIVERSE leaves out every name of another
installed universe. GRADIR_UNIVERSE has all names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeVar

from xdsl.universe import Universe

from gradir.builtin import Dialects, Passes, own_dialects, own_passes

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")


class CourteousUniverse(Universe):
    """A universe without the names that other installed universes have.

    The names are looked up at first use, not at import: by then xDSL has loaded all universes, so
    that neither the order nor a cycle of imports matters.
    """

    def __init__(self, universe: Universe) -> None:
        self._universe = universe

    @property
    def all_dialects(self) -> Dialects:
        """The dialects whose names are free."""
        taken = {name for other in self._others() for name in other.all_dialects}
        return _without(self._universe.all_dialects, taken)

    @property
    def all_passes(self) -> Passes:
        """The passes whose names are free."""
        taken = {name for other in self._others() for name in other.all_passes}
        return _without(self._universe.all_passes, taken)

    @property
    def all_targets(self):
        """gradir has no targets."""
        return self._universe.all_targets

    def _others(self) -> Iterator[Universe]:
        # without other courteous universes: each would wait for the other
        return (other for other in installed_universes() if not isinstance(other, type(self)))


def installed_universes() -> Iterator[Universe]:
    """The universes of the environment that can be loaded."""
    for _, universe, _ in loaded_universes():
        if universe is not None:
            yield universe


def loaded_universes() -> Iterator[tuple[EntryPoint, Universe | None, Exception | None]]:
    """The universes of the environment, or why one cannot be loaded."""
    from importlib.metadata import entry_points  # most programs never look for them

    points: list[EntryPoint] = sorted(entry_points(group="xdsl.universe"), key=lambda e: e.name)
    for point in points:
        try:
            universe = point.load()
        except Exception as error:
            yield point, None, error
            continue
        if isinstance(universe, Universe):
            yield point, universe, None


def _without(table: dict[str, Callable[[], T]], names: set[str]) -> dict[str, Callable[[], T]]:
    return {name: thunk for name, thunk in table.items() if name not in names}


GRADIR_UNIVERSE = Universe(all_dialects=own_dialects(), all_passes=own_passes())
COURTEOUS_UNIVERSE = CourteousUniverse(GRADIR_UNIVERSE)
