"""An optimizer's function in gradir-train-step: (params, grads, state) -> (params', state').

A gradient is one argument of the parameter's type, or row slices: one `!grad.slices`, or two, the
indices (i64) and the values. So the signature says in which form a gradient is wanted, and where
the state is: behind the gradients. One of these arguments may be a factor of the loss, and then has
the attribute grad.loss_scale.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from gradir.dialects.base.attribute_names import LOSS_SCALE
from gradir.dialects.base.diagnostics import PassError
from gradir.dialects.base.shapes import element_of, is_tensor, shape_of
from gradir.dialects.base.slice_type import SlicesType
from gradir.passes.analysis.signature import argument_attributes
from gradir.passes.training.calls import argument_name, is_number, returned, symbol

TITLE = "gradir-train-step"


def gradient_places(source: FuncOp, params: Sequence[int], update: FuncOp) -> list[range]:
    """The arguments of an optimizer that are the gradient of each parameter.

    One, or two for row slices: indices, where no parameter has a gradient, and values. PassError
    unless the optimizer has these arguments, and a new value for each parameter and state.
    """
    inputs, outputs = update.function_type.inputs.data, update.function_type.outputs.data
    count, made = len(params), list[range]()
    end = count
    for _ in params:
        size = 2 if end < len(inputs) and is_indices(inputs[end]) else 1
        made.append(range(end, end + size))
        end += size
    if len(inputs) < end or len(outputs) != len(inputs) - end + count:
        raise PassError(
            f"{TITLE}: {symbol(update)} must be (params, grads, state...) -> (params', state'...) "
            f"of {count} parameters of {symbol(source)}, got {len(inputs)} arguments and "
            f"{len(outputs)} results; wrt= chooses the parameters",
            update,
        )
    return made


def check_optimizer(
    source: FuncOp, params: Sequence[int], update: FuncOp, taken: Sequence[range]
) -> None:
    """PassError unless the optimizer takes the parameters, and each result fits its argument."""
    inputs, outputs = update.function_type.inputs.data, update.function_type.outputs.data
    for k, index in enumerate(params):
        wanted = source.body.block.args[index].type
        _check_argument(update, k, f"is {argument_name(source, index)}", wanted)
        if not is_sparse(inputs[taken[k][0]]):
            _check_argument(update, taken[k][0], _gradient_of(source, index), wanted)
    before = [*range(len(params)), *range(taken[-1].stop, len(inputs))]
    for k, (argument, type_) in enumerate(zip(before, outputs, strict=True)):
        if type_ != inputs[argument]:
            raise PassError(
                f"{TITLE}: result {k} of {symbol(update)} is the new value of "
                f"{argument_name(update, argument)} and must be {inputs[argument]}, got {type_}",
                returned(update)[k],
            )


def loss_scale(source: FuncOp, update: FuncOp, taken: Sequence[range]) -> int | None:
    """The argument of an optimizer that scales the loss (grad.loss_scale), None where none does.

    PassError unless it is a floating number among the state, and the loss a tensor.
    """
    given = argument_attributes(update)
    found = [k for k, attributes in enumerate(given) if LOSS_SCALE in attributes]
    if not found:
        return None
    index, loss = found[-1], returned(source)[0]
    argument = update.body.block.args[index]
    if found[:-1] or index < taken[-1].stop or not is_number(argument.type):
        raise PassError(
            f"{TITLE}: one argument of {symbol(update)}, behind the gradients, may have "
            f"{LOSS_SCALE}, and must be a floating number, got {argument_name(update, index)}: "
            f"{argument.type}",
            argument,
        )
    if not (is_tensor(argument.type) and is_tensor(loss.type)):
        raise PassError(
            f"{TITLE}: with {LOSS_SCALE} the loss and its factor must be tensors, got {loss.type} "
            f"and {argument.type}",
            loss,
        )
    return index


def check_gradients(
    source: FuncOp, params: Sequence[int], update: FuncOp, taken: Sequence[range], gradient: FuncOp
) -> None:
    """PassError unless row slices have the number of rows that the optimizer takes."""
    made = iter(gradient.function_type.outputs.data[len(returned(source)) :])
    for index, places in zip(params, taken, strict=True):
        for place in places:
            _check_argument(update, place, _gradient_of(source, index), next(made))


def _gradient_of(source: FuncOp, index: int) -> str:
    return f"is the gradient of {argument_name(source, index)}"


def _check_argument(update: FuncOp, index: int, role: str, wanted: Attribute) -> None:
    argument = update.body.block.args[index]
    if argument.type != wanted:
        raise PassError(
            f"{TITLE}: {argument_name(update, index)} {role} and must be {wanted}, "
            f"got {argument.type}",
            argument,
        )


def is_sparse(type_: Attribute) -> bool:
    """Whether an optimizer that takes this for a gradient, or first, takes row slices."""
    return isinstance(type_, SlicesType) or is_indices(type_)


def is_indices(type_: Attribute) -> bool:
    return is_tensor(type_) and element_of(type_) == i64 and len(shape_of(type_)) == 1
