"""Transformations whose state is running moments of the gradients, each nested like these."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradir.frontends.optim.leaves import aligned, filled_like, floating_element, require_state
from gradir.frontends.optim.transformation import GradientTransformation


def of_moments(
    what: str,
    kind: type[Any],
    first: Sequence[float],
    dense: Callable[..., tuple[Any, ...]],
    state_dtype: Any,
    lazy: bool,
) -> GradientTransformation:
    """A transformation whose state is a NamedTuple `kind` of moments, which begin as `first`.

    `dense(update, *moments)` gives a leaf's new update, and its new moments. `lazy`: of row slices,
    the moments change and give updates in their rows alone. Errors begin with `what`.
    """
    dtype = floating_element(state_dtype)

    def init(params: Any) -> Any:
        return kind(*(filled_like(what, params, number, dtype) for number in first))

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        require_state(what, state, kind)
        moments = {f"state.{name}": moment for name, moment in state._asdict().items()}
        leaves = aligned(what, {"updates": updates, **moments})
        made, *new = leaves.map(dense, 1 + len(first), lazy)
        return made, kind(*new)

    return GradientTransformation(init, update)
