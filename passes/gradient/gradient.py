"""gradir-gradient: reverse-mode differentiation of a function into new functions beside it.

Op classes define derivatives; `differentiate/` assembles them in a forward and a backward block.
The mode decides the functions:

    mode=split   @f_fwd(primals) -> (results, residuals)   @f_bwd(residuals, cts) -> (grads)
    mode=vjp     @f_vjp(primals, cts) -> (results, grads)
    mode=grad    @f_grad(primals) -> (results, grads), seeded with ones
    mode=jvp     @f_jvp(primals, tangents) -> (results, tangents), forward mode (forward_mode.py)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, TypeAlias

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue

from gradir.dialects.base.attribute_names import POLICY_ATTRIBUTE
from gradir.dialects.grad.loop_policy import LoopPolicyAttr
from gradir.passes.differentiate.call_masks import MasksStopAtCallsError
from gradir.passes.differentiate.derived import Derived, joint_function, split_functions
from gradir.passes.differentiate.function import FunctionDifferentiator
from gradir.passes.differentiate.program import Program
from gradir.passes.differentiate.selectors import Selector, resolve_of, resolve_wrt
from gradir.passes.gradient.deferred_gradient import deferred, open_op, options
from gradir.passes.gradient.jvp import jvp_function
from gradir.passes.gradient.prepare import prepared
from gradir.passes.gradient.requests import Requests, requested
from gradir.passes.gradient.rule_table import structural_rules
from gradir.passes.recompute.costs import Costs
from gradir.passes.recompute.joint_bits import keep_as_bits
from gradir.passes.rules.calls import differentiate_callees
from gradir.passes.rules.custom_vjp import flatten
from gradir.passes.shapes.specialize import waits_for_shapes

Mode = Literal["split", "vjp", "grad", "jvp"]
Choice: TypeAlias = "Callable[[Derivation], Derived]"
"""Makes a derivative that recomputes the residuals it does not keep."""

Observer: TypeAlias = Callable[[Derived], None]
"""Called with a derivative before it becomes functions."""


def gradient(
    module: ModuleOp,
    function: str,
    wrt: Sequence[Selector] | None = None,
    of: Sequence[Selector] | None = None,
    mode: Mode = "split",
    requests: Requests = (),
    keep: Choice | None = None,
    settings: Mapping[str, Attribute] | None = None,
    observe: Observer | None = None,
) -> list[FuncOp]:
    """Add the derivative functions of `@function` behind it; returns them.

    `wrt` and `of` take indices or names. `requests` are the forms of gradients of members of `wrt`
    (`requests.py`). `keep` decides on recomputation; without it, all residuals are kept. With
    dynamic shapes the function is a placeholder (`deferred_gradient.py`), with `settings` in place
    of `keep`. `observe` is called with the derivative in reverse mode. Raises a located PassError
    for refusals.
    """
    derivative = partial(
        _gradient, module, function, wrt, of, mode, requests, keep, settings, observe
    )
    try:
        return derivative(flat=keep is not None)
    except MasksStopAtCallsError:
        return derivative(flat=True)


def _gradient(
    module: ModuleOp,
    function: str,
    wrt: Sequence[Selector] | None,
    of: Sequence[Selector] | None,
    mode: Mode,
    requests: Requests,
    keep: Choice | None,
    settings: Mapping[str, Attribute] | None,
    observe: Observer | None,
    flat: bool,
) -> list[FuncOp]:
    """As `gradient`; MasksStopAtCallsError may be raised unless calls are inlined (`flat`)."""
    program, source = prepared(module, function, flat)
    results = list(program.results(source))
    wanted = resolve_wrt(source, wrt)
    kept = requested(source, wanted, requests, mode)
    targets = resolve_of(source, results, of, mode)
    costs = Costs()
    rules = structural_rules(costs)
    if waits_for_shapes(program.functions, program.custom, source):
        analysis = FunctionDifferentiator(program, rules, source, kept, targets)
        place = open_op(program, source, analysis.activity, [*kept, *targets])
        if place is not None:
            attributes = {**options(wrt, of, requests), **(settings or {})}
            return [deferred(program, source, kept, targets, mode, attributes, place)]
    if mode == "jvp":
        return [jvp_function(FunctionDifferentiator(program, rules, source, kept, targets))]
    differentiator = FunctionDifferentiator(program, rules, source, kept, targets)
    try:
        differentiate_callees(differentiator)
        if keep is None:
            derived = differentiator.run(seed_with_ones=mode == "grad")
        else:
            derived = keep(Derivation(differentiator, mode, costs))
    except MasksStopAtCallsError:
        program.take_back()
        raise
    if observe is not None:
        observe(derived)
    return functions_of(program, derived, mode, costs)


def functions_of(program: Program, derived: Derived, mode: Mode, costs: Costs) -> list[FuncOp]:
    """The functions of a mode from the code of a derivative."""
    if mode == "split":
        return list(split_functions(program, derived))
    keep_as_bits(derived, costs)
    return [joint_function(program, derived, mode)]


@dataclass(frozen=True)
class Derivation:
    """A function's derivation; it can be repeated under other loop policies."""

    differentiator: FunctionDifferentiator
    mode: Mode
    costs: Costs

    @property
    def program(self) -> Program:
        return self.differentiator.program

    @property
    def source(self) -> FuncOp:
        return self.differentiator.source

    def derived(self, policies: Mapping[Operation, LoopPolicyAttr] | None = None) -> Derived:
        """The derivative with calls inlined, under these policies for loops of the source."""
        differentiator, with_ones = self.differentiator, self.mode == "grad"
        if policies:
            derived = _run_under(policies, differentiator, with_ones)
        else:
            derived = differentiator.run(with_ones)
        flatten(self.program, derived)
        return derived


def _run_under(
    policies: Mapping[Operation, LoopPolicyAttr], given: FunctionDifferentiator, with_ones: bool
) -> Derived:
    """The derivative of a copy of the source on whose loops the policies are written.

    So loops that are copied into the derivative bring these policies along, and the source stays as
    it is. The loops of the result are those of the source.
    """
    values: dict[SSAValue, SSAValue] = {}
    copy = given.source.clone(values)
    originals = dict(zip(copy.walk(), given.source.walk(), strict=True))
    for ours, op in originals.items():
        if op in policies:
            ours.attributes[POLICY_ATTRIBUTE] = policies[op]
    wrt, of = ([replace(t, value=values[t.value]) for t in ts] for ts in (given.wrt, given.of))
    derived = FunctionDifferentiator(given.program, given.rules, copy, wrt, of).run(with_ones)
    derived.source = given.source
    for loop in derived.loops:
        original = originals[loop.op]
        assert isinstance(original, type(loop.op))
        loop.op = original
    return derived
