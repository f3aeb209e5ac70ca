"""Rules of derivatives written by hand in Python: they are traced when a derivative asks for them.

A call of such a function traces the function alone, and declares that it has a derivative. So a
rule that calls the function again, on a new function of its own, ends: it is one rule for each
order of differentiation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import SSAValue

from gradir.dialects.base.diagnostics import PassError
from gradir.dialects.grad.custom_vjp import CustomVjpOp
from gradir.dialects.grad.derivative import DerivativeOp
from gradir.forking import RenewedLock
from gradir.frontends.tracing.tracing import Trace, tracing
from gradir.passes.analysis.call_graph import called_name, callees_first, functions_by_name, uses_in
from gradir.passes.analysis.edits import erase
from gradir.passes.shapes.specialize import declarations, reachable

Rule = Callable[[Trace], Sequence[str]]
"""Traces a rule into a trace: the names of all functions that grad.custom_vjp declares."""


@dataclass(frozen=True)
class LaterRules:
    """The rules of the functions of a trace that were not traced yet."""

    trace: Trace
    _lock: RenewedLock = field(default_factory=RenewedLock, repr=False)

    def define(self, module: ModuleOp, function: str, wrt: Sequence[int] | None = None) -> None:
        """Add the rules to a module that the derivative of @function, by arguments `wrt`, needs.

        They are those of functions that it calls on what depends on these, by default on anything,
        or that their own rules call.
        """
        if not any(not op.has_rules for op in declarations(module).values()):
            return
        running = tracing()
        if running is not None and running.rules is self.trace.rules:
            _define(_named(function, running), module, function, wrt)
            return
        with self._lock:
            _define(_named(function, self.trace), module, function, wrt)


def _named(function: str, outer: Trace) -> Trace:
    """A trace in which functions have other names than the differentiated one."""
    made = Trace([], outer)
    made.name = function
    return made


def _define(trace: Trace, module: ModuleOp, function: str, wrt: Sequence[int] | None) -> None:
    functions, declared = functions_by_name(module), declarations(module)
    if function not in functions:
        return  # refused by who asked
    root = functions[function]
    roots = [root] if wrt is None or function in declared else _moving(functions, root, wrt)
    reached = [f for each in roots for f in reachable(functions, declared, each)]
    for name in dict.fromkeys(f.sym_name.data for f in reached):
        op = declared.get(name)
        if op is None or op.has_rules:
            continue
        if trace.rules.get(name, _define) is None:
            # a rule differentiates its own function, as a linear one does: by its body
            erase(op)
            continue
        rules = declaration_of(trace, name)
        if rules is None or not rules.has_rules:
            continue
        copy = CustomVjpOp.of(rules.names, op)
        module.body.block.insert_op_after(copy, op)
        erase(op)
        _add(trace, module, root, rules.names)


def _moving(functions: dict[str, FuncOp], root: FuncOp, wrt: Sequence[int]) -> list[FuncOp]:
    """The functions that one calls on what depends on some of its arguments."""
    arguments = root.body.block.args
    moving: set[SSAValue] = {arguments[k] for k in wrt}
    found: list[FuncOp] = []
    for op in root.body.walk():
        inside = op.walk() if op.regions else (op,)
        if not any(o in moving for each in inside for o in each.operands):
            continue
        moving.update(op.results)
        moving.update(a for region in op.regions for block in region.blocks for a in block.args)
        if isinstance(op, CallOp | DerivativeOp) and called_name(op) in functions:
            found.append(functions[called_name(op)])
    return found


def declaration_of(trace: Trace, name: str) -> CustomVjpOp | None:
    """The declaration of @name in a trace, with its rules, which are traced if they were not."""
    found = ((k, d) for k, d in enumerate(trace.declarations) if d.names[0] == name)
    place, op = next(found, (0, None))
    rule = trace.rules.get(name)
    if rule is None or op is None:
        return op
    trace.rules[name] = None  # while it is traced
    try:
        names = rule(trace)
    except BaseException:
        trace.rules[name] = rule
        raise
    del trace.rules[name]
    trace.declarations[place] = CustomVjpOp.of([name, *names[1:]], op)
    return trace.declarations[place]


def _add(trace: Trace, module: ModuleOp, before: FuncOp, names: Sequence[str]) -> None:
    """Add functions of a trace, and all that they use, to a module; PassError for other ones."""
    declared = {d.names[0]: d for d in trace.declarations}
    known, beside = functions_by_name(module), declarations(module)
    wanted = list(names)
    for root in (trace.functions[name] for name in wanted):
        for function in callees_first(trace.functions, [root], follow=uses_in):
            name = function.sym_name.data
            if name in known:
                _require_same(known[name], function)
                continue
            known[name] = copy = function.clone()
            copy.location = function.location
            module.body.block.insert_op_before(copy, before)
            if name in declared and name not in beside:
                beside[name] = own = CustomVjpOp.of(declared[name].names, declared[name])
                module.body.block.insert_op_before(own, before)
                wanted += own.names[1:]


def _require_same(found: FuncOp, wanted: FuncOp) -> None:
    is_same = found.function_type == wanted.function_type
    if not (is_same and found.body.is_structurally_equivalent(wanted.body)):
        name = found.sym_name.data
        raise PassError(f"@{name} is not the traced function any more; rename it", found)


def program_of(trace: Trace, names: Sequence[str]) -> ModuleOp:
    """Copies of functions of a trace, with all that they use and their declarations."""
    module = ModuleOp([])
    last = FuncOp("", ((), ()))
    module.body.block.add_op(last)
    _add(trace, module, last, names)
    erase(last)
    return module
