"""gradir.random: keys, and draws from NumPy's and JAX's distributions (docs/random.md)."""

from typing import TYPE_CHECKING, Any

from gradir.frontends.functions.missing_names import missing
from gradir.frontends.random import (
    absent,
    angles,
    arrivals,
    choices,
    continuous,
    counts,
    gammas,
    keys,
    multivariate,
)
from gradir.frontends.random.samplers import sampler

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...


_ROOMS = (keys, continuous, gammas, counts, choices, multivariate, arrivals, angles)
_FUNCTIONS = {
    f.__name__: sampler(f, choices.CHECKS.get(f.__name__))
    for room in _ROOMS
    for f in room.FUNCTIONS
}
_FUNCTIONS["PRNGKey"] = _FUNCTIONS["key"]
globals().update(_FUNCTIONS)
__all__ = [*_FUNCTIONS]

if not TYPE_CHECKING:
    __getattr__ = missing("gradir.random", absent.ABSENT)
