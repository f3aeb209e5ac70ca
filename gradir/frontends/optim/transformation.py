"""Gradient transformations, optax's form of an optimizer, and what joins and applies them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

from gradir.errors import ArgumentError, ArgumentTypeError
from gradir.frontends.optim.leaves import aligned, with_integers
from gradir.frontends.optim.rows import added
from gradir.frontends.tracing.source_locations import named_options, refusal
from gradir.frontends.transforms.jit import jit

Init = Callable[[Any], Any]
Update = Callable[..., tuple[Any, Any]]


class GradientTransformation:
    """An optimizer, or a part of one: two functions, which keep nothing to themselves.

    `init(params)` gives the state to begin with. `update(updates, state, params)` gives the new
    updates and the new state: the first transformation takes the gradients, and what the last one
    gives is added to the parameters. Trees are nested like the parameters. `params` may be left out
    where the transformation does not read them. Updates may have RowSlices as leaves, as
    docs/training.md says. In a traced function, as under gradir.jit, both are traced; called
    with arrays by themselves they are compiled for these shapes and dtypes, once, and run. Raises
    TraceError that names the path of a leaf where trees or shapes differ.
    """

    init: Init
    update: Update

    def __init__(self, init: Init, update: Update):
        self.init = jit(init)
        self.update = jit(update)

    def __repr__(self) -> str:
        return "<gradir.optim.GradientTransformation: init(params), update(grads, state, params)>"


class EmptyState(NamedTuple):
    """The state of a transformation that has none."""


def stateless(update: Callable[[Any, Any], Any]) -> GradientTransformation:
    """A transformation without a state, from a function of updates and parameters."""

    def init(params: Any) -> EmptyState:
        return EmptyState()

    def with_state(updates: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        return update(updates, params), state

    with_state.__name__ = "update"
    return GradientTransformation(init, with_state)


@named_options
def identity() -> GradientTransformation:
    """Updates as they are."""
    return stateless(lambda updates, params: updates)


@named_options
def chain(*transformations: GradientTransformation) -> GradientTransformation:
    """One transformation after the other; the state is the tuple of their states."""
    for k, each in enumerate(transformations):
        if not isinstance(cast(object, each), GradientTransformation):
            raise ArgumentTypeError(f"chain: item {k} must be a transformation, got {each!r}")
        if isinstance(each, LossScaled):
            raise ArgumentError(
                "chain: loss scaling must be around the chain, as what comes before it would get "
                "scaled gradients: dynamic_loss_scale(chain(...))"
            )

    def init(params: Any) -> tuple[Any, ...]:
        return tuple(each.init(params) for each in transformations)

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        count = len(cast(Sequence[Any], state)) if isinstance(state, tuple) else None
        if count != len(transformations):
            raise refusal(
                f"chain: the state must be what init gives, a tuple of {len(transformations)}, "
                f"got {_kind(state)}"
            )
        states: list[Any] = []
        for each, its in zip(transformations, cast(Sequence[Any], state), strict=True):
            updates, new = each.update(updates, its, params)
            states.append(new)
        return updates, tuple(states)

    return GradientTransformation(init, update)


def _kind(state: Any) -> str:
    name: str = type(state).__name__
    return f"a tuple of {len(state)}" if name == "tuple" else f"a {name}"


class LossScaled(GradientTransformation):
    """A transformation of the gradients of a loss that is multiplied by a factor first."""

    def __init__(self, init: Init, update: Update, factor: Callable[[Any], Any]):
        super().__init__(init, update)
        self.factor = factor
        """The factor, float32 of rank 0, by the state."""


@named_options
def apply_updates(params: Any, updates: Any) -> Any:
    """params + updates, leaf by leaf; each sum is rounded once, to the dtype of the parameter."""
    return _applied(params, updates)


@jit
def _applied(params: Any, updates: Any) -> Any:
    made = aligned("apply_updates", {"params": params, "updates": updates}).map_any(added)
    return with_integers(made, params)
