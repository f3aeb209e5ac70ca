"""gradir-gradient: reverse-mode differentiation of a function into new functions beside it.

One forward walk clones the function and fills a map from its values; one reverse walk appends the
vjp of each active op through one emitter. What an op's derivative is, its class says. The code is
split in a forward and a backward block; the mode decides how they become functions:

    mode=split   @f_fwd(primals) -> (results, residuals)   @f_bwd(residuals, cts) -> (grads)
    mode=vjp     @f_vjp(primals, cts) -> (results, grads)
    mode=grad    @f_grad(primals) -> (results, grads), seeded with ones
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from gradir.dialects.diagnostics import PassError
from gradir.dialects.grad import accumulated, ones, zero
from gradir.dialects.interfaces import Cotangents, TensorOp, vjp_rule
from gradir.dialects.value import Emitter, Value
from gradir.passes.activity import Activity, Dependence, analyze, values_read
from gradir.passes.calls import differentiate_callees
from gradir.passes.cleanup import is_dead, remove_dead_ops
from gradir.passes.derived_functions import Derived, Program, joint_function, split_functions
from gradir.passes.effects import effect_problem
from gradir.passes.refusals import check_differentiable
from gradir.passes.simplify import simplify_block
from gradir.passes.structural import StructuralRule, structural_rule
from gradir.passes.targets import (
    Selector,
    Target,
    resolve_of,
    resolve_requested,
    resolve_wrt,
)

Mode = Literal["split", "vjp", "grad"]


def gradient(
    module: ModuleOp,
    function: str,
    wrt: Sequence[Selector] | None = None,
    of: Sequence[Selector] | None = None,
    mode: Mode = "split",
    requests: Sequence[tuple[Selector, str]] = (),
) -> list[FuncOp]:
    """Add the derivative functions of `@function` behind it; returns them.

    `wrt` and `of` take indices or names. `requests` say of members of `wrt` "write", or "null": the
    gradient is not wanted, and pruned before differentiation. PassError, located, where it cannot
    be done.
    """
    program = Program(module)
    source = program.function(function)
    results = list(program.results(source))
    wanted = resolve_wrt(source, wrt)
    kept = _kept(source, wanted, requests)
    targets = resolve_of(source, results, of, mode)
    return derive(program, source, kept, targets, mode)


def _kept(
    source: FuncOp, wanted: list[Target], requests: Sequence[tuple[Selector, str]]
) -> list[Target]:
    """What is left of `wrt`; PassError for a request that is unknown, or of what is not in it."""
    asked = resolve_requested(source, [selector for selector, _ in requests])
    members = {target.value for target in wanted}
    pruned: set[SSAValue] = set()
    for (selector, request), target in zip(requests, asked, strict=True):
        if request not in ("write", "null"):
            raise PassError(
                f"gradir-gradient: req must be write or null, got {request!r} for {selector!r}",
                source,
            )
        if target.value not in members:
            raise PassError(
                f"req: {request} was asked for what is not in wrt: {target.hint}", source
            )
        if request == "null":
            pruned.add(target.value)
    return [target for target in wanted if target.value not in pruned]


def derive(
    program: Program, source: FuncOp, wrt: Sequence[Target], of: Sequence[Target], mode: Mode
) -> list[FuncOp]:
    """The functions of one mode, inserted into the module behind `source`."""
    differentiator = Differentiator(program, source, wrt, of)
    differentiate_callees(program, differentiator)
    derived = differentiator.run(seed_with_ones=mode == "grad")
    if mode == "split":
        return list(split_functions(program, derived))
    return [joint_function(program, derived, mode)]


class Differentiator:
    """The forward and backward code of one function."""

    def __init__(
        self, program: Program, source: FuncOp, wrt: Sequence[Target], of: Sequence[Target]
    ):
        self.program = program
        self.source = source
        self.wrt = wrt
        self.of = of
        self.block = program.block(source)
        self.activity: Activity = analyze(
            self.block, [t.value for t in wrt], [t.value for t in of], self._dependence
        )
        check_differentiable(source, self.block, self.activity, structural_rule)
        self._check_effects()
        self.primal: dict[SSAValue, SSAValue] = {}
        self.saved: dict[Operation, object] = {}
        self.contributions: dict[SSAValue, list[Value]] = {}
        self.found: dict[SSAValue, Value] = {}
        self.forward = Block(arg_types=[a.type for a in self.block.args])
        self.backward = Block()
        self.emitter = Emitter(self.backward, source.location)

    def run(self, seed_with_ones: bool) -> Derived:
        self._clone_forward()
        cotangents = self._seed(seed_with_ones)
        self._walk_back()
        grads = [self._gradient(t) for t in self.wrt]
        results = [self.primal[r] for r in self.program.results(self.source)]
        derived = Derived(self.source, self.forward, self.backward, results, cotangents, grads)
        derived.clean(simplify_block, remove_dead_ops)
        return derived

    def _check_effects(self) -> None:
        """PassError at the first op with effects that reads what depends on `wrt`."""
        varied = self.activity.varied
        for op in self.block.ops:
            if not isinstance(op, TensorOp) and (read := varied.intersection(values_read(op))):
                in_order = (v for v in values_read(op) if v in read)
                if (problem := effect_problem(op, in_order)) is not None:
                    raise problem

    # Forward.

    def _dependence(self, op: Operation) -> Dependence | None:
        rule = structural_rule(op)
        return None if rule is None else partial(rule.dependence, self.program)

    def _clone_forward(self) -> None:
        for ours, argument in zip(self.forward.args, self.block.args, strict=True):
            ours.name_hint = argument.name_hint
            self.primal[argument] = ours
        for op in self.block.ops:
            if op is self.block.last_op:
                continue
            if self._is_active(op) and (rule := structural_rule(op)) is not None:
                self._forward_by_rule(rule, op)
            else:
                copy = op.clone(self.primal)
                copy.location = op.location
                self.forward.add_op(copy)

    def _forward_by_rule(self, rule: StructuralRule, op: Operation) -> None:
        """An op whose forward code changes (a call becomes one that returns residuals)."""
        emitter = Emitter(self.forward, op.location)
        operands = [self.primal[o] for o in op.operands]
        active = self._active_operands(op), [self.activity.is_active(r) for r in op.results]
        results, self.saved[op] = rule.forward(self.program, op, operands, *active, emitter)
        for result, ours in zip(op.results, results, strict=True):
            ours.name_hint = result.name_hint
            self.primal[result] = ours

    def _is_active(self, op: Operation) -> bool:
        return any(map(self.activity.is_active, op.results))

    def _active_operands(self, op: Operation) -> list[bool]:
        return [self.activity.is_active(o) for o in op.operands]

    # Backward.

    def _seed(self, with_ones: bool) -> list[SSAValue]:
        """Contribute the seed of each target; returns the cotangent arguments (of `backward`)."""
        arguments: list[SSAValue] = []
        for target in self.of:
            type_ = target.value.type
            if with_ones:
                seed = ones(type_, self.emitter).ssa
            else:
                seed = self.backward.insert_arg(type_, len(self.backward.args))
                arguments.append(seed)
            seed.name_hint = f"{target.hint}_ct"
            self._contribute(target.value, self.emitter.value(seed))
        return arguments

    def _contribute(self, value: SSAValue, ct: Value) -> None:
        if self.activity.is_active(value):
            assert ct.ssa.type == value.type, f"cotangent {ct.ssa.type} of {value.type}"
            self.contributions.setdefault(value, []).append(ct)

    def _walk_back(self) -> None:
        asked = {t.value for t in self.wrt}
        op = self.block.last_op
        while op is not None:
            if any(r in self.contributions for r in op.results):
                self.emitter.location = op.location
                cts = [self._cotangent(r) for r in op.results]
                for result, ct in zip(op.results, cts, strict=True):
                    if ct is not None and result in asked:
                        self.found[result] = ct
                self._propagate(op, cts)
            op = op.prev_op
        self.emitter.location = self.source.location

    def _cotangent(self, value: SSAValue) -> Value | None:
        """The sum of the contributions to a value; None if there are none."""
        parts = self.contributions.pop(value, None)
        if parts is None:
            return None
        return accumulated(parts).named(_cotangent_hint(value))

    def _propagate(self, op: Operation, cts: Cotangents) -> None:
        """Append the derivative of one op and hand its operands their cotangents."""
        active = self._active_operands(op)
        if not any(active):
            return
        before = self.backward.last_op
        flowing = self._apply_rule(op, cts)
        kept: set[SSAValue] = set()
        for operand, ct, wanted in zip(op.operands, flowing, active, strict=True):
            if ct is not None and wanted:
                kept.add(ct.ssa)
                self._contribute(operand, ct.named(_cotangent_hint(operand)))
        self._drop_unused(before, kept)

    def _apply_rule(self, op: Operation, cts: Cotangents) -> Cotangents:
        if (structural := structural_rule(op)) is not None:
            return structural.backward(self.program, op, self.saved[op], cts, self.emitter)
        rule = vjp_rule(op)
        assert rule is not None  # check_differentiable has seen to it
        results, operands = (
            [self.emitter.value(self.primal[v]) for v in values]
            for values in (op.results, op.operands)
        )
        return rule(op, cts, results, operands)

    def _drop_unused(self, before: Operation | None, kept: set[SSAValue]) -> None:
        """Erase what a rule emitted (everything behind `before`) only for inactive operands."""
        op = self.backward.last_op
        while op is not None and op is not before:
            previous = op.prev_op
            if is_dead(op) and kept.isdisjoint(op.results):
                op.detach()
                op.erase()
            op = previous

    def _gradient(self, target: Target) -> SSAValue:
        value = target.value
        ct = self.found.get(value) or self._cotangent(value)
        if ct is None:
            ct = zero(value.type, self.emitter).named(f"{target.hint}_ct")
        return ct.ssa


def _cotangent_hint(value: SSAValue) -> str:
    return f"{value.name_hint}_ct" if value.name_hint else "ct"


@dataclass(frozen=True)
class GradientPass(ModulePass):
    """Differentiate a function into forward and backward functions (reverse mode)."""

    name = "gradir-gradient"

    function: str
    wrt: tuple[int | str, ...] | None = None
    of: tuple[int | str, ...] | None = None
    mode: Mode = "split"
    policy: str = "keep_all"
    memory_limit: int | None = None
    req: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_gradient(
            op, self.function, self.wrt, self.of, self.mode, self.policy, self.memory_limit,
            parse_requests(self.req, op),
        )  # fmt: skip


def apply_gradient(
    module: ModuleOp,
    function: str,
    wrt: Sequence[Selector] | None,
    of: Sequence[Selector] | None,
    mode: str,
    policy: str,
    memory_limit: int | None,
    requests: Sequence[tuple[Selector, str]],
) -> list[FuncOp]:
    """`gradient` with all options of the pass; PassError for what is not there yet."""
    if mode not in ("split", "vjp", "grad"):
        raise PassError(f"gradir-gradient: mode must be split, vjp or grad, got {mode!r}", module)
    if policy != "keep_all":
        raise PassError(f"gradir-gradient: policy must be keep_all, got {policy!r}", module)
    if memory_limit is not None:
        raise PassError("gradir-gradient: memory_limit is not supported yet", module)
    return gradient(module, function, wrt, of, mode, requests)


def parse_requests(text: str | None, place: ModuleOp) -> list[tuple[Selector, str]]:
    """`w=null,1=write` as pairs of selector and request."""
    pairs: list[tuple[Selector, str]] = []
    for entry in (text or "").split(","):
        if not entry.strip():
            continue
        name, separator, request = (part.strip() for part in entry.partition("="))
        if not separator:
            raise PassError(f"gradir-gradient: req must be name=request,..., got {entry!r}", place)
        pairs.append((int(name) if name.isascii() and name.isdigit() else name, request))
    return pairs
