"""Derivatives as functions of a trace: what gradir.grad, vjp and jvp make, and calls of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, Operation, SSAValue

from gradir.compiler.measured_gradient import apply_gradient
from gradir.frontends.tracing.trace import Traced, traced
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import Trace, current, lifted
from gradir.frontends.tracing.trees import flatten
from gradir.frontends.transforms.requests import pass_by_value
from gradir.gc_pause import paused_gc
from gradir.passes.analysis.call_graph import callees_first, functions_by_name, uses_in
from gradir.passes.gradient.requests import DerivativeRequest
from gradir.passes.lower.expand_slices import expand_slices
from gradir.passes.shapes.specialize import declarations, waits_for_shapes


@dataclass(frozen=True)
class DerivativeOptions:
    """The options of a differentiation."""

    mode: str
    policy: str = "keep_all"
    memory_limit: int | None = None
    requests: Mapping[int, str] = field(default_factory=dict[int, str])


def operands_of(
    trace: Trace, inner: Traced, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> list[SSAValue]:
    """The arguments of a call: leaves, then captured values of the inner function."""
    leaves, _ = flatten((tuple(args), dict(kwargs)))
    return [*(trace.use(lifted(leaf)) for leaf in leaves), *inner.captured]


def differentiated(
    trace: Trace | None,
    inner: Traced,
    options: DerivativeOptions,
    wrt: Sequence[int],
    of: Sequence[int],
) -> list[FuncOp]:
    """Add the derivative functions to the outer trace; returns them."""
    module = inner.module.op
    inner.module.define_rules(module, inner.name, wrt)
    with paused_gc():
        request = DerivativeRequest(
            *(inner.name, wrt, of, options.mode, options.policy, options.memory_limit),
            [*options.requests.items()],
        )
        made = apply_gradient(module, request)
        if "slices" in options.requests.values():
            # two results for each, so that derivatives flow through the values
            expand_slices(module)
        if "add" in options.requests.values():
            for function in made:
                pass_by_value(function)
    if trace is not None:
        add_functions(trace, inner, made)
    return made


def add_functions(
    trace: Trace, inner: Traced, made: Sequence[FuncOp], copies: bool = False
) -> None:
    """Add functions of an inner trace, or copies, and what they use, to a trace."""
    functions = functions_by_name(inner.module.op)
    for function in callees_first(functions, made, follow=uses_in):
        name = function.sym_name.data
        if name in trace.functions:
            continue
        if copies or name == inner.name:  # whose signature is still read
            trace.functions[name] = function.clone()
            trace.functions[name].location = function.location
            continue
        function.detach()
        trace.functions[name] = function


def results_of(inner: Traced, results: Sequence[Any]) -> Any:
    """The results of the function itself, with their nesting and weakness."""
    for result, is_weak in zip(results, inner.weak, strict=False):
        if isinstance(result, Tracer):
            result.weak = is_weak
    return inner.results.build(results[: inner.results.leaf_count])


def call_of(trace: Trace, function: FuncOp, operands: Sequence[SSAValue]) -> list[Tracer]:
    types: list[Attribute] = list(function.function_type.outputs)
    op = trace.emit(CallOp(function.sym_name.data, list(operands), types))
    return [Tracer(trace, result) for result in op.results]


def has_names(inner: Traced) -> bool:
    """Whether the derivative waits for the values of named extents."""
    functions = functions_by_name(inner.module.op)
    custom = declarations(inner.module.op)
    return waits_for_shapes(functions, custom, functions[inner.name])


def _defined_values(op: Operation) -> list[SSAValue]:
    """The results of an op, and the arguments of its blocks."""
    return [*op.results, *(a for region in op.regions for b in region.blocks for a in b.args)]


@dataclass(frozen=True, eq=False)
class SplitDerivative:
    """The derivative of a function in a trace, in two functions that may be called repeatedly.

    It is made for some operands, whose types alone count, and differentiates the results
    `of` in the operands `wrt`. The function must not use other arrays of the trace.
    """

    inner: Traced
    forward: FuncOp
    backward: FuncOp

    @classmethod
    def build(
        cls,
        function: Callable[..., Any],
        operands: Sequence[Tracer],
        wrt: Sequence[int],
        of: Sequence[int],
        name: str,
        sparse: tuple[int, ...] = (),
    ) -> SplitDerivative:
        """The two functions, with names that begin with `name`.

        `sparse`, out of `wrt`, have row slices as cotangents: indices and values.
        """
        trace = current(name)
        inner = traced(name, function, operands, outer=trace, name=name)
        assert not inner.captured, f"{name} uses arrays from around it"
        options = DerivativeOptions("split", requests=dict.fromkeys(sparse, "slices"))
        forward, backward = differentiated(trace, inner, options, wrt, of)
        for value in (
            v for f in (forward, backward) for op in f.walk() for v in _defined_values(op)
        ):
            # so that they get the names of what they are in each call
            value.name_hint = None
        return cls(inner, forward, backward)

    def ahead(self, operands: Sequence[Tracer]) -> tuple[list[Tracer], list[Tracer]]:
        """The results, and what `back` reads of this run."""
        trace = current(self.inner.name)
        outputs = call_of(trace, self.forward, [trace.use(x) for x in operands])
        count = self.inner.results.leaf_count
        for output, weak in zip(outputs, self.inner.weak, strict=False):
            output.weak = weak
        return outputs[:count], outputs[count:]

    def back(self, residuals: Sequence[Tracer], cotangents: Sequence[Tracer]) -> list[Tracer]:
        """The cotangents of `wrt`, two arrays for row slices, from the cotangents of `of`."""
        trace = current(self.inner.name)
        return call_of(trace, self.backward, [trace.use(x) for x in (*residuals, *cotangents)])
