"""gradir-train-step: a loss function and an optimizer's function, as one step of training.

    @f(args...) -> (loss, results...)                  wrt: the arguments that are parameters
    @update(params, grads, state) -> (params', state')

become `@f_step(params, state, carried, batch) -> (params', state', carried', loss, results)`.
Carried are arguments of @f whose new values are results of @f, as running statistics are; the batch
is all other arguments. The body is two calls: of `@f_grad`, which gradir-gradient makes, and of
@update, which is ordinary code. So the formula of an optimizer is nowhere in this pass. Where
a state of @update is a factor of the loss (grad.loss_scale), the first call is of `@f_vjp`, and the
factor is the cotangent of the loss.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, SSAValue
from xdsl.passes import ModulePass

from gradir.dialects.base.attribute_names import IN_OUT, INACTIVE_ATTRIBUTE, STATE
from gradir.dialects.base.diagnostics import PassError
from gradir.dialects.base.slice_type import is_slices
from gradir.passes.analysis.activity import carries_cotangent
from gradir.passes.analysis.arguments import in_out_results, state_results
from gradir.passes.analysis.signature import argument_attributes
from gradir.passes.differentiate.selectors import Selector, argument_or_name, resolve_wrt
from gradir.passes.gradient.gradient import Observer
from gradir.passes.gradient.gradient_pass import apply_gradient, parse_requests
from gradir.passes.gradient.requests import DerivativeRequest
from gradir.passes.lower.expand_slices import expand_slices
from gradir.passes.training.calls import (
    Caller,
    argument_name,
    callable_named,
    require_loss,
    returned,
    symbol,
)
from gradir.passes.training.optimizer import (
    TITLE,
    check_gradients,
    check_optimizer,
    gradient_places,
    is_indices,
    is_sparse,
    loss_scale,
)

if TYPE_CHECKING:
    from gradir.passes.gradient.measured_peak import Measure

Carry = Sequence[tuple[Selector, int]]
"""Arguments of the loss function, each with the result that is its new value."""


def train_step(
    module: ModuleOp,
    function: str,
    optimizer: str = "update",
    wrt: Sequence[Selector] | None = None,
    carry: Carry = (),
    policy: str = "keep_all",
    memory_limit: int | None = None,
    in_place: bool = False,
    into: str | None = None,
    *,
    measuring: Callable[[], Measure],
    observe: Observer | None = None,
) -> FuncOp:
    """Add `@into` (by default `@f_step`), one step of training, and the gradient that it calls.

    `wrt` are indices or names of the parameters, by default all floating arguments that are not
    carried or marked {grad.inactive}. Arguments with grad.in_out or grad.state are carried, and
    arguments in `carry`. `policy` and `memory_limit` go to gradir-gradient. With `in_place`, the
    new values lie in the buffers of the old ones. Located PassError where the functions do not fit.
    """
    source, update = callable_named(module, function), callable_named(module, optimizer)
    require_loss(TITLE, source)
    carried = _carried(source, carry)
    params = _parameters(source, wrt, carried)
    taken = gradient_places(source, params, update)
    check_optimizer(source, params, update, taken)
    inputs = update.function_type.inputs.data
    sparse = [inputs[places[0]] for places in taken]
    requests = [(k, "slices") for k, t in zip(params, sparse, strict=True) if is_sparse(t)]
    scale = loss_scale(source, update, taken)
    mode = "grad" if scale is None else "vjp"
    request = DerivativeRequest(function, params, [0], mode, policy, memory_limit, requests)
    (gradient,) = apply_gradient(module, request, measuring, observe)
    if any(map(is_indices, sparse)):
        _require_dense(source)
        expand_slices(module)
        taken = gradient_places(source, params, update)
        scale = loss_scale(source, update, taken)
    check_gradients(source, params, update, taken, gradient)
    step = _Step(source, update, gradient, params, carried, scale)
    return step.insert(module, f"{function}_step" if into is None else into, in_place)


def _require_dense(source: FuncOp) -> None:
    """PassError for row slices in the signature, whose places move when they become two tensors."""
    for argument in source.body.block.args:
        if is_slices(argument.type):
            raise PassError(
                f"{TITLE}: {argument_name(source, argument.index)} must be a tensor, as the "
                f"optimizer takes indices and values, got {argument.type}; pass both",
                argument,
            )
    for k, value in enumerate(returned(source)):
        if is_slices(value.type):
            raise PassError(
                f"{TITLE}: result {k} of {symbol(source)} must be a tensor, as the optimizer takes "
                f"indices and values, got {value.type}; densify it",
                value,
            )


def _carried(source: FuncOp, carry: Carry) -> dict[int, int]:
    """The results that are new values of arguments, by argument."""
    found = dict(in_out_results(source)) | dict(state_results(source))
    attributes = argument_attributes(source)
    for selector, result in carry:
        argument = _index(argument_or_name("carry", source, selector, attributes).value, selector)
        if found.get(argument, result) != result or (
            argument not in found and result in found.values()
        ):
            raise PassError(
                f"{TITLE}: carry: each result and argument must be paired once, got result "
                f"{result} and {argument_name(source, argument)}, one of them again",
                source.body.block.args[argument],
            )
        found[argument] = result
    for argument, result in found.items():
        _check_carried(source, argument, result)
    return dict(sorted(found.items()))


def _check_carried(source: FuncOp, argument: int, result: int) -> None:
    place, results = source.body.block.args[argument], returned(source)
    what = f"{TITLE}: {argument_name(source, argument)} is carried and"
    if not 0 < result < len(results):
        raise PassError(
            f"{what} must have its new value in a result behind the loss, got index {result} of "
            f"{len(results)}",
            place,
        )
    if results[result].type != place.type:
        raise PassError(
            f"{what} must have the type of its new value, result {result}, which is "
            f"{results[result].type}, got {place.type}",
            place,
        )


def _parameters(
    source: FuncOp, wrt: Sequence[Selector] | None, carried: Mapping[int, int]
) -> list[int]:
    """The indices of the arguments that an optimizer updates."""
    if wrt is None:
        attributes = argument_attributes(source)
        wrt = [
            a.index
            for a in source.body.block.args
            if carries_cotangent(a)
            and a.index not in carried
            and INACTIVE_ATTRIBUTE not in attributes[a.index]
        ]
    if not wrt:
        raise PassError(f"{TITLE}: wrt: {symbol(source)} must have a parameter, got none", source)
    targets = resolve_wrt(source, wrt)
    found = [_index(t.value, selector) for t, selector in zip(targets, wrt, strict=True)]
    for index in found:
        if index in carried:
            raise PassError(
                f"{TITLE}: {argument_name(source, index)} must be a parameter (wrt) or carried, "
                f"got both: result {carried[index]} is its new value",
                source.body.block.args[index],
            )
    return found


def _index(value: SSAValue, selector: Selector) -> int:
    """The index of an argument; PassError for other values."""
    if not isinstance(value, BlockArgument):
        raise PassError(
            f"{TITLE}: a step has new values of arguments, got {selector!r}, which is computed",
            value,
        )
    return value.index


@dataclass(frozen=True)
class _Step:
    """The functions of a step that fit, the parameters, the carried arguments' results, and
    the optimizer's argument that scales the loss."""

    source: FuncOp
    update: FuncOp
    gradient: FuncOp
    params: Sequence[int]
    carried: Mapping[int, int]
    scale: int | None

    def insert(self, module: ModuleOp, name: str, in_place: bool) -> FuncOp:
        """Add the function of the step."""
        caller = Caller(TITLE)
        values = dict(zip(self.params, caller.arguments(self.source, self.params), strict=True))
        first = len(self.source.function_type.outputs)
        count = len(self.params) + len(self.gradient.function_type.outputs) - first
        states = caller.arguments(self.update, range(count, len(self.update.args)))
        for indices in (self.carried, self._batch()):
            values |= zip(indices, caller.arguments(self.source, indices), strict=True)
        given = [values[k] for k in sorted(values)]
        if self.scale is not None:  # the cotangent of the loss
            factor = states[self.scale - count]
            loss = returned(self.source)[0].type
            given.append(caller.converted(factor, loss, self.source))
        found = caller.call(self.gradient, given)
        results, grads = found[:first], found[first:]
        new = caller.call(self.update, [*(values[k] for k in self.params), *grads, *states])
        new += [results[k] for k in self.carried.values()]
        others = [r for k, r in enumerate(results) if k not in self.carried.values()]
        places = dict(enumerate(range(len(new)))) if in_place else {}
        state = self._state(len(new) - len(self.carried))
        ties = {IN_OUT: places, STATE: state}
        return caller.insert(module, name, [*new, *others], self.source, ties)

    def _state(self, first: int) -> dict[int, int]:
        """The arguments of the step that are the function's state, which are from `first` on."""
        kept = state_results(self.source)
        return {first + k: first + k for k, a in enumerate(self.carried) if a in kept}

    def _batch(self) -> list[int]:
        taken = {*self.params, *self.carried}
        return [k for k in range(len(self.source.args)) if k not in taken]


@dataclass(frozen=True)
class TrainStepPass(ModulePass):
    """Join a loss function and an optimizer's function into a step of training."""

    name = "gradir-train-step"

    function: str
    optimizer: str = "update"
    wrt: tuple[int | str, ...] | None = None
    carry: str | None = None
    policy: str = "keep_all"
    memory_limit: int | None = None
    in_place: bool = False
    into: str | None = None

    @abstractmethod
    def measure(self) -> Measure:
        """The measure of arenas: bytes by function."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        self.run(op)

    def run(self, module: ModuleOp, observe: Observer | None = None) -> None:
        """Apply the pass; `observe` is called with the derivative."""
        train_step(
            *(module, self.function, self.optimizer, self.wrt, parse_carry(self.carry, module)),
            *(self.policy, self.memory_limit, self.in_place, self.into),
            measuring=self.measure,
            observe=observe,
        )


def parse_carry(text: str | None, place: ModuleOp) -> list[tuple[Selector, int]]:
    """`mean=1,4=2` as pairs of an argument and the result that is its new value."""
    form = f"{TITLE}: carry must be argument=result,..."
    pairs = parse_requests(text, place, form)
    for argument, result in pairs:
        if not (result.isascii() and result.isdigit()):
            raise PassError(f"{form}, got '{argument}={result}'", place)
    return [(argument, int(result)) for argument, result in pairs]
