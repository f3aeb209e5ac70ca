"""gradir-gradient: reverse-mode differentiation of a function into new functions beside it.

What an op's derivative is, its class says; `differentiator.py` puts the derivatives together, in a
forward and a backward block. The mode decides how these become functions:

    mode=split   @f_fwd(primals) -> (results, residuals)   @f_bwd(residuals, cts) -> (grads)
    mode=vjp     @f_vjp(primals, cts) -> (results, grads)
    mode=grad    @f_grad(primals) -> (results, grads), seeded with ones
    mode=jvp     @f_jvp(primals, tangents) -> (results, tangents), forward mode (forward_mode.py)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, Operation, SSAValue

from gradir.dialects.base.interfaces import TensorOp
from gradir.dialects.base.value_names import cotangent_name
from gradir.dialects.grad.checkpoint import CheckpointOp
from gradir.dialects.grad.grad import ones
from gradir.dialects.grad.loop_policy import LoopPolicyAttr, under_policies
from gradir.dialects.grad.tape import cotangent_type
from gradir.passes.analysis.activity import Activity, Dependence, analyze
from gradir.passes.analysis.effects import effect_problem
from gradir.passes.analysis.region_flow import ops_within, region_flow
from gradir.passes.analysis.regions import values_read
from gradir.passes.cleanup.simplify import simplify_block
from gradir.passes.differentiate.call_dependence import dependence
from gradir.passes.differentiate.derived_functions import (
    Derived,
    Program,
    joint_function,
    split_functions,
)
from gradir.passes.differentiate.differentiator import Differentiator, Shared
from gradir.passes.differentiate.refusals import check_differentiable
from gradir.passes.differentiate.rule import structural_rule
from gradir.passes.differentiate.selectors import (
    Selector,
    Target,
    resolve_of,
    resolve_wrt,
)
from gradir.passes.gradient.deferred_gradient import deferred, open_op, options
from gradir.passes.gradient.prepare import prepared
from gradir.passes.gradient.requests import Requests, add_to_given, gradient_of, requested
from gradir.passes.rules.calls import differentiate_callees
from gradir.passes.rules.custom_vjp import called, flatten
from gradir.passes.shapes.specialize import waits_for_shapes

Mode = Literal["split", "vjp", "grad", "jvp"]
Choice: TypeAlias = "Callable[[Derivation], Derived]"
"""Makes a derivative with recomputation in the place of what is not kept."""

OBSERVERS: list[Callable[[Program, Derived, Mode], None]] = []
"""Are shown each derivative before it becomes functions."""


def gradient(
    module: ModuleOp,
    function: str,
    wrt: Sequence[Selector] | None = None,
    of: Sequence[Selector] | None = None,
    mode: Mode = "split",
    requests: Requests = (),
    keep: Choice | None = None,
    settings: Mapping[str, Attribute] | None = None,
) -> list[FuncOp]:
    """Add the derivative functions of `@function` behind it; returns them.

    `wrt` and `of` take indices or names. `requests` say of members of `wrt` what is done with their
    gradients (`requests.py`). `keep` decides what is recomputed; without it, all that the backward
    code reads is kept. Where shapes are not known, the function that is made waits for them
    (deferral.py), and `settings` are what stands for `keep` there. PassError, located, where it
    cannot be done.
    """
    with called(module, function) as original, prepared(module, function, flat=keep is not None):
        program = Program(module)
        source = program.function(function)
        program.functions[function] = original or source
        results = list(program.results(source))
        wanted = resolve_wrt(source, wrt)
        kept = requested(source, wanted, requests, mode)
        targets = resolve_of(source, results, of, mode)
        if waits_for_shapes(program.functions, program.custom, source):
            analysis = FunctionDifferentiator(program, source, kept, targets)
            place = open_op(program, source, analysis.activity, [*kept, *targets])
            if place is not None:
                asked = {**options(wrt, of, requests), **(settings or {})}
                return [deferred(program, source, kept, targets, mode, asked, place)]
        return derive(program, source, kept, targets, mode, keep)


def derive(
    program: Program,
    source: FuncOp,
    wrt: Sequence[Target],
    of: Sequence[Target],
    mode: Mode,
    keep: Choice | None = None,
) -> list[FuncOp]:
    """The functions of one mode, inserted into the module behind `source`."""
    if mode == "jvp":
        from gradir.passes.gradient.forward_mode import jvp_function

        return [jvp_function(program, source, wrt, of)]
    differentiator = FunctionDifferentiator(program, source, wrt, of)
    differentiate_callees(program, differentiator)
    if keep is None:
        derived = differentiator.run(seed_with_ones=mode == "grad")
    else:
        derived = keep(Derivation(differentiator, mode))
    for observer in OBSERVERS:
        observer(program, derived, mode)
    return functions_of(program, derived, mode)


def functions_of(program: Program, derived: Derived, mode: Mode) -> list[FuncOp]:
    """The code of a derivative as the functions of a mode."""
    if mode == "split":
        return list(split_functions(program, derived))
    return [joint_function(program, derived, mode)]


class FunctionDifferentiator:
    """The forward and backward code of one function.

    A callee is `threaded`: its tapes are arguments and results of its halves, so that a call in a
    loop may push on the tapes of the caller. `executions` bounds how often it is called.
    """

    def __init__(
        self,
        program: Program,
        source: FuncOp,
        wrt: Sequence[Target],
        of: Sequence[Target],
        executions: int | None = 1,
        threaded: bool = False,
    ):
        self.program = program
        self.source = source
        self.wrt = wrt
        self.of = of
        self.executions = executions
        self.threaded = threaded
        self.block = program.block(source)
        self.activity: Activity = analyze(
            self.block, [t.value for t in wrt], [t.value for t in of], self._dependence
        )
        check_differentiable(source, self.block, self.activity, structural_rule)
        self._check_effects()

    def run(self, seed_with_ones: bool) -> Derived:
        shared = Shared(self.program, self.activity, opened=self.opened())
        try:
            derived = self._derived(shared, seed_with_ones)
        except BaseException:
            shared.take_down()
            raise
        shared.take_down(derived.forward, derived.backward)
        derived.clean(simplify_block)
        return derived

    def _derived(self, shared: Shared, seed_with_ones: bool) -> Derived:
        asked = [t.value for t in self.wrt]
        sparse = [t.value for t in self.wrt if t.request == "slices"]
        work = Differentiator(
            shared, self.block, self.source.location, self.executions, self.threaded, asked, sparse
        )
        for argument in self.block.args:
            work.add_argument(argument)
        work.copy_forward()
        cotangents = self._seed(work, seed_with_ones)
        work.walk_back()
        grads = [gradient_of(work, t) for t in self.wrt]
        work.check_all_used()
        added = add_to_given(work, self.wrt, grads)
        results = [shared.primal[r] for r in self.program.results(self.source)]
        return Derived(
            self.source, work.forward, work.backward, results, cotangents, grads, work.tapes,
            added=added, loops=[shared.loops[op] for op in self.block.walk() if op in shared.loops],
        )  # fmt: skip

    def _check_effects(self) -> None:
        """PassError at the first op with effects that reads what depends on `wrt`."""
        varied = self.activity.varied
        for op in ops_within(self.block):
            if isinstance(op, TensorOp) or region_flow(op) is not None:
                continue
            if read := varied.intersection(values_read(op)):
                in_order = (v for v in values_read(op) if v in read)
                if (problem := effect_problem(op, in_order)) is not None:
                    raise problem

    def opened(self) -> set[Operation]:
        """The stages around values that were asked for."""
        opened: set[Operation] = set()
        for target in (*self.wrt, *self.of):
            owner = target.value.owner
            around = owner if isinstance(owner, Operation) else None
            while around is not None and (around := around.parent_op()) is not None:
                if isinstance(around, CheckpointOp):
                    opened.add(around)
        return opened

    def _dependence(self, op: Operation) -> Dependence | None:
        if not isinstance(op, CallOp):
            return None
        return lambda call, varied: dependence(self.program, cast(CallOp, call), varied)

    def _seed(self, work: Differentiator, with_ones: bool) -> list[SSAValue]:
        """Contribute the seed of each target; returns the cotangent arguments (of `backward`)."""
        arguments: list[SSAValue] = []
        for target in self.of:
            type_ = cotangent_type(target.value.type)
            if with_ones:
                seed = ones(type_, work.emitter).ssa
            else:
                seed = work.backward.insert_arg(type_, len(arguments))
                arguments.append(seed)
            seed.name_hint = cotangent_name(target.hint)
            work.contribute(target.value, work.emitter.value(seed))
        return arguments


@dataclass(frozen=True)
class Derivation:
    """The way to a function's derivative, which may be gone again under other loop policies."""

    differentiator: FunctionDifferentiator
    mode: Mode

    @property
    def program(self) -> Program:
        return self.differentiator.program

    @property
    def source(self) -> FuncOp:
        return self.differentiator.source

    def derived(self, policies: Mapping[Operation, LoopPolicyAttr] | None = None) -> Derived:
        """The derivative without calls, with these policies for loops of the source."""
        with under_policies(policies or {}):
            derived = self.differentiator.run(seed_with_ones=self.mode == "grad")
        flatten(self.program, derived)
        return derived
