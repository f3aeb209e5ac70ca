"""gradir-gradient: reverse-mode differentiation of a function into new functions beside it.

Op classes define derivatives; `differentiate/` assembles them in a forward and a backward block.
The mode decides the functions:

    mode=split   @f_fwd(primals) -> (results, residuals)   @f_bwd(residuals, cts) -> (grads)
    mode=vjp     @f_vjp(primals, cts) -> (results, grads)
    mode=grad    @f_grad(primals) -> (results, grads), seeded with ones
    mode=jvp     @f_jvp(primals, tangents) -> (results, tangents), forward mode (jvp.py)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from gradir.dialects.base.attribute_names import POLICY_ATTRIBUTE
from gradir.dialects.base.lazy_function import lazy_function
from gradir.dialects.grad.loop_policy import LoopPolicyAttr
from gradir.passes.differentiate.call_masks import MasksStopAtCallsError
from gradir.passes.differentiate.derived import Derived, joint_function, split_functions
from gradir.passes.differentiate.function import FunctionDifferentiator
from gradir.passes.differentiate.program import ModuleFunctions
from gradir.passes.differentiate.selectors import resolve_of, resolve_wrt
from gradir.passes.gradient.deferred_gradient import insert_deferred, open_op
from gradir.passes.gradient.prepare import prepared
from gradir.passes.gradient.requests import DerivativeRequest, requested
from gradir.passes.gradient.rule_table import structural_rules
from gradir.passes.recompute.costs import Costs
from gradir.passes.recompute.joint_smaller import keep_smaller
from gradir.passes.rules.calls import differentiate_callees
from gradir.passes.rules.custom_vjp import flatten
from gradir.passes.shapes.specialize import waits_for_shapes

if TYPE_CHECKING:
    from gradir.passes.gradient.jvp import jvp_function
else:
    jvp_function = lazy_function("gradir.passes.gradient.jvp", "jvp_function")

Choice: TypeAlias = "Callable[[Derivation], Derived]"
"""Makes a derivative that recomputes the residuals it does not keep."""

Observer: TypeAlias = Callable[[Derived], None]
"""Called with a derivative before it becomes functions."""


def gradient(
    module: ModuleOp,
    request: DerivativeRequest,
    keep: Choice | None = None,
    observe: Observer | None = None,
) -> list[FuncOp]:
    """Add the requested derivative functions behind the function; returns them.

    `keep` decides on recomputation; without it, all residuals are kept. With dynamic shapes the
    function is a placeholder (`deferred_gradient.py`). `observe` is called with the derivative in
    reverse mode. Raises a located PassError for refusals.
    """
    try:
        return _gradient(module, request, keep, observe, flat=keep is not None)
    except MasksStopAtCallsError:
        return _gradient(module, request, keep, observe, flat=True)


def _gradient(
    module: ModuleOp,
    request: DerivativeRequest,
    keep: Choice | None,
    observe: Observer | None,
    flat: bool,
) -> list[FuncOp]:
    """As `gradient`; MasksStopAtCallsError may be raised unless calls are inlined (`flat`)."""
    program, source = prepared(module, request.function, flat)
    results = list(program.results(source))
    wrt = requested(source, resolve_wrt(source, request.wrt), request.requests, request.mode)
    of = resolve_of(source, results, request.of, request.mode)
    costs = Costs()
    analysis = FunctionDifferentiator(program, structural_rules(costs), source, wrt, of)
    if waits_for_shapes(program.functions, program.custom, source):
        place = open_op(program, source, analysis.activity, [*wrt, *of])
        if place is not None:
            return [insert_deferred(analysis, request, place)]
    if request.mode == "jvp":
        return [jvp_function(analysis)]
    derived = _reverse(Derivation(analysis, request.mode, costs), keep)
    if observe is not None:
        observe(derived)
    return functions_of(program, derived, request.mode, costs)


def _reverse(derivation: Derivation, keep: Choice | None) -> Derived:
    """The derivative in reverse mode; takes back the halves of callees where calls must be
    inlined."""
    differentiator = derivation.differentiator
    try:
        differentiate_callees(differentiator)
        if keep is not None:
            return keep(derivation)
        return differentiator.run(seed_with_ones=derivation.mode == "grad")
    except MasksStopAtCallsError:
        derivation.program.take_back()
        raise


def functions_of(
    program: ModuleFunctions, derived: Derived, mode: str, costs: Costs
) -> list[FuncOp]:
    """The functions of a mode from the code of a derivative."""
    if mode == "split":
        return list(split_functions(program, derived))
    keep_smaller(derived, costs)
    return [joint_function(program, derived, mode)]


@dataclass(frozen=True)
class Derivation:
    """A function's derivation; it can be repeated under other loop policies."""

    differentiator: FunctionDifferentiator
    mode: str
    costs: Costs

    @property
    def program(self) -> ModuleFunctions:
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
    it is. The result has the source's own loops.
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
        loop.op = originals[loop.op]
    return derived
