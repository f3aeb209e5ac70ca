"""Optimizers as functions of a program, for gradir-train-step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import UnitAttr

from gradir.api import Module
from gradir.dialects.array.creation import numpy_dtype
from gradir.dialects.base.attribute_names import LOSS_SCALE
from gradir.dialects.base.shapes import element_of, shape_of
from gradir.errors import ArgumentTypeError
from gradir.frontends.optim.transformation import (
    GradientTransformation,
    LossScaled,
    apply_updates,
)
from gradir.frontends.tracing.source_locations import public
from gradir.frontends.tracing.spec import Spec, spec_of, type_text
from gradir.frontends.tracing.trace import Traced, traced
from gradir.frontends.tracing.trees import flatten, leaves_like
from gradir.passes.analysis.signature import argument_attributes, set_argument_attributes
from gradir.runtime.row_slices import RowSlices
from gradir.symbols import function_named


@public
def to_module(
    optimizer: GradientTransformation,
    params: Any,
    rows: Any = None,
    init: str = "init",
    update: str = "update",
) -> Module:
    """An optimizer as the functions @init and @update of a module, which other text can call.

    `params` are arrays or gradir.Specs, nested as in gradir.trace; their leaves, in its order, are
    the arguments: `@init(params) -> (state)` and `@update(params, grads, state) -> (params',
    state')`. The second is `optimizer.update` and `apply_updates`, as in a step by train_step, to
    the bit. `rows`, nested like the parameters or None, are numbers of rows: of a leaf with one the
    gradient is row slices, two arguments, the indices and that many rows. `init` and `update` are
    the names. With loss scaling, the argument that is the scale has `grad.loss_scale`, and the
    gradients are of the loss times that. `Module.merge` puts the functions beside a program.
    """
    if not isinstance(cast(object, optimizer), GradientTransformation):
        raise ArgumentTypeError(f"optimizer: expected one of gradir.optim, got {optimizer!r}")

    def step(params: Any, grads: Any, state: Any) -> tuple[Any, Any]:
        updates, new_state = optimizer.update(grads, state, params)
        return apply_updates(params, updates), new_state

    first = traced("to_module", optimizer.init, (params,), name=init)
    state = first.results.build(_result_specs(first))
    second = traced("to_module", step, (params, _gradients(params, rows), state), name=update)
    if isinstance(optimizer, LossScaled):
        _mark_scale(second, state, optimizer.factor(state))
    return first.module.merge(second.module)


def _mark_scale(made: Traced, state: Any, scale: Spec) -> None:
    """Tell which argument of @update the loss is multiplied by: the leaf `scale` of the state."""
    leaves = flatten(state)[0]
    place = len(made.names) - len(leaves) + [leaf is scale for leaf in leaves].index(True)
    function = function_named(made.module.op, made.name)
    given = argument_attributes(function)
    given[place] |= {LOSS_SCALE: UnitAttr()}
    set_argument_attributes(function, given)


def _gradients(params: Any, rows: Any) -> Any:
    """What stands for the gradients of parameters: row slices where a number of rows is given."""
    leaves, tree = flatten(params)
    counts = leaves_like(rows, tree)
    if counts is None:
        raise ArgumentTypeError(f"rows: expected numbers, or None, nested like params, got {rows}")
    made: list[Any] = []
    for path, leaf, count in zip(tree.paths("rows"), leaves, counts, strict=True):
        found = None if count is None else spec_of(leaf)
        if found is None:
            made.append(leaf)
            continue
        shape = shape_of(found[0])
        if type(count) is not int or count < 0 or not shape:
            raise ArgumentTypeError(
                f"{path}: expected None, or the number of rows of slices of an array of rows, got "
                f"{count!r} for {type_text(found[0])}"
            )
        values = Spec((count, *shape[1:]), numpy_dtype(element_of(found[0])))
        made.append(RowSlices(Spec(count, "int64"), values, shape))
    return tree.build(made)


def _result_specs(made: Traced) -> Sequence[Spec]:
    """Specs of the results of a traced function."""
    types = function_named(made.module.op, made.name).function_type.outputs.data
    return [Spec(shape_of(t), numpy_dtype(element_of(t))) for t in types]
