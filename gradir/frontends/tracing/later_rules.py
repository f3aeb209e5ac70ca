"""Rules of derivatives written by hand in Python: they are traced when a derivative asks for them.

A call of such a function traces the function alone, and declares that it has a derivative. So a
rule that calls the function again, on a new function of its own, ends: it is one rule for each
order of differentiation.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp

from gradir.dialects.base.diagnostics import PassError
from gradir.dialects.grad.custom_vjp import CustomVjpOp
from gradir.forking import RenewedLock
from gradir.frontends.tracing.tracing import Trace, tracing
from gradir.passes.analysis.activity import analyze
from gradir.passes.analysis.call_graph import callees_first, functions_by_name, uses_in
from gradir.passes.analysis.edits import erase
from gradir.passes.shapes.specialize import declarations, references

Rule = Callable[[Trace], Sequence[str]]
"""Traces a rule into a trace: the names of all functions that grad.custom_vjp declares."""


@dataclass(frozen=True)
class LaterRules:
    """The rules of the functions of a trace that were not traced yet."""

    trace: Trace
    _lock: RenewedLock = field(default_factory=RenewedLock, repr=False)

    def define(self, module: ModuleOp, function: str, wrt: Sequence[int] | None = None) -> None:
        """Add the rules to a module that the derivative of @function needs.

        They are the rules of functions that it calls, or that rules there call, with arguments
        that depend on the arguments `wrt` of @function, by default on any.
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
    places = range(len(root.args)) if wrt is None else wrt
    for name in _active_functions(functions, declared, root, places):
        op = declared.get(name)
        if op is None or op.has_rules:
            continue
        rules = declaration_of(trace, name)
        if rules is None or not rules.has_rules:
            continue
        copy = CustomVjpOp.of(rules.names, op)
        module.body.block.insert_op_after(copy, op)
        erase(op)
        _add(trace, module, root, rules.names)


def _active_functions(
    functions: Mapping[str, FuncOp],
    declared: Mapping[str, CustomVjpOp],
    root: FuncOp,
    wrt: Sequence[int],
) -> list[str]:
    """The names of a function, of functions that it calls with arguments that depend on `wrt`, and
    of rules of these and functions that the rules call."""
    found: dict[tuple[str, frozenset[int]], None] = {}
    pending = [(root.sym_name.data, frozenset(wrt))]
    while pending:
        name, places = pending.pop()
        function = functions.get(name)
        if (name, places) in found or function is None:
            continue
        found[name, places] = None
        if name in declared:
            rules = [functions[rule] for rule in declared[name].names[1:]]
            pending += [(r.sym_name.data, frozenset(range(len(r.args)))) for r in rules]
        pending += _active_calls(function, places)
    return list(dict.fromkeys(name for name, _ in found))


def _active_calls(function: FuncOp, wrt: Container[int]) -> list[tuple[str, frozenset[int]]]:
    """The functions that one calls with arguments that depend on some of its own, and which."""
    if function.is_declaration:
        return []
    block, calls = function.body.block, list[tuple[str, frozenset[int]]]()
    arguments = [arg for k, arg in enumerate(block.args) if k in wrt]
    varied = analyze(block, arguments, (), lambda op: None).varied
    for op, name in references(function):
        # an op that is no call yet is a derivative, by any argument
        whole = not isinstance(op, CallOp)
        places = frozenset(k for k, o in enumerate(op.operands) if whole or o in varied)
        if places:
            calls.append((name, places))
    return calls


def declaration_of(trace: Trace, name: str) -> CustomVjpOp | None:
    """The declaration of @name in a trace, with its rules, which are traced if they were not."""
    found = ((k, d) for k, d in enumerate(trace.declarations) if d.names[0] == name)
    place, op = next(found, (0, None))
    # a rule that differentiates its own function finds none
    rule = trace.rules.pop(name, None)
    if rule is None or op is None:
        return op
    names = rule(trace)
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
