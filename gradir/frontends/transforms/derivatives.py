"""gradir.grad, value_and_grad, vjp, jvp, hvp: derivatives of Python functions, as in JAX.

During tracing, they trace the differentiated function as a function of its own, which may use
arrays of the outer one, differentiate it, and call the result: so they nest, and combine with
gradir.jit, gradir.trace and gradir.checkpoint. With arrays they are compiled and run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any, TypeVar, overload

from xdsl.dialects.builtin import StringAttr, SymbolRefAttr
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute

from gradir.api import Module
from gradir.argument_checks import short
from gradir.dialects.base.shapes import (
    NUMPY_NAMES,
    element_of,
    is_complex,
    is_inexact,
    shape_of,
)
from gradir.dialects.grad.custom_vjp import CustomVjpOp
from gradir.errors import ArgumentError, ArgumentTypeError
from gradir.frontends.functions.promotion import converted
from gradir.frontends.tracing.source_locations import SOURCES, named_options, public, refusal
from gradir.frontends.tracing.spec import spec_of, type_text
from gradir.frontends.tracing.still_values import with_still_numbers
from gradir.frontends.tracing.trace import Traced, function_name, parameter_names, traced
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import Trace, current, lifted, tracing
from gradir.frontends.tracing.trees import LEAF, Tree, flatten, leaves_like
from gradir.frontends.transforms import shared_derivatives
from gradir.frontends.transforms.derived_calls import (
    DerivativeOptions,
    add_functions,
    call_of,
    differentiated,
    has_names,
    operands_of,
    results_of,
)
from gradir.frontends.transforms.jit import Jitted, P, R, jit_transform
from gradir.frontends.transforms.program import Program, traced_function
from gradir.frontends.transforms.requests import (
    Requests,
    added_to,
    gradient_tree,
    gradients,
    leaves_of,
    may_add,
    numbers_of,
    signature,
)
from gradir.frontends.transforms.wrapped import Copied
from gradir.passes.analysis.call_graph import called_name, callees_first, functions_by_name
from gradir.passes.differentiate.program import ModuleFunctions
from gradir.passes.shapes.specialize import declarations, reachable

E = TypeVar("E", bound=ArgumentError)


@overload
def grad(
    function: Callable[P, Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    policy: str = "keep_all",
    memory_limit: int | None = None,
    sparse_argnums: int | Sequence[int] = (),
    sparse: Any = False,
    *,
    holomorphic: bool = False,
) -> Jitted[P, Any]: ...
@overload
def grad(
    function: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    policy: str = "keep_all",
    memory_limit: int | None = None,
    sparse_argnums: int | Sequence[int] = (),
    sparse: Any = False,
    req: Any = "write",
    holomorphic: bool = False,
) -> Jitted[..., Any]: ...
@named_options
def grad(
    function: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    policy: str = "keep_all",
    memory_limit: int | None = None,
    sparse_argnums: int | Sequence[int] = (),
    sparse: Any = False,
    req: Any = "write",
    holomorphic: bool = False,
) -> Jitted[..., Any]:
    """The gradient function of a function that returns a floating number of rank 0.

    `argnums` are the arguments to differentiate: the gradient has the nesting of that argument, or
    is a tuple for several; of nested arguments integers and bools have None in it. `has_aux`: the
    function returns (number, aux), its gradient (gradient, aux). `policy` and `memory_limit`
    (bytes) are as in Module.gradient. `sparse_argnums`, out of `argnums`, are the arguments with
    gradients as RowSlices: the rows read, also in traced code. `sparse` says it for single leaves:
    True or False nested like the gradient, or for a whole part of it, or a function that gives that
    for the arguments of `argnums`.

    `req` requests each gradient in the same way: "write"; "null", no gradient, None in
    its place, and nothing is computed for it; "slices", RowSlices; "add", the sum of an array of
    `out=` and the gradient, in this order. A call with "add" has `out=`, nested like the result
    with None at other places: arrays are added to in place, traced ones are read.

    The gradient by a complex argument z = x + iy is d/dx - i d/dy, as in JAX: its conjugate is the
    direction of ascent. `holomorphic`: the function maps complex numbers to a complex one and has a
    complex derivative, which the gradient is.
    """
    options = (argnums, has_aux, policy, memory_limit, sparse_argnums, sparse, req, holomorphic)
    key = shared_derivatives.key_of("grad", function, options)
    found = shared_derivatives.find(key)
    if found is not None:
        return found
    both = value_and_grad(function, *options)
    reads_out = _reads_out(function, req)

    def gradient(*args: Any, **kwargs: Any) -> Any:
        if reads_out and kwargs.get("out") is not None:
            out = kwargs["out"]
            kwargs["out"] = (None, out[0] if has_aux else out)
        value, grads = both(*args, **kwargs)
        return (grads, value[1]) if has_aux else grads

    made = jit_transform(gradient, function, grad, *options, reads_out=reads_out)
    shared_derivatives.keep(key, function, made)
    return made


@overload
def value_and_grad(
    function: Callable[P, R],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    policy: str = "keep_all",
    memory_limit: int | None = None,
    sparse_argnums: int | Sequence[int] = (),
    sparse: Any = False,
    *,
    holomorphic: bool = False,
) -> Jitted[P, tuple[R, Any]]: ...
@overload
def value_and_grad(
    function: Callable[..., R],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    policy: str = "keep_all",
    memory_limit: int | None = None,
    sparse_argnums: int | Sequence[int] = (),
    sparse: Any = False,
    req: Any = "write",
    holomorphic: bool = False,
) -> Jitted[..., tuple[R, Any]]: ...
@named_options
def value_and_grad(
    function: Callable[..., R],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    policy: str = "keep_all",
    memory_limit: int | None = None,
    sparse_argnums: int | Sequence[int] = (),
    sparse: Any = False,
    req: Any = "write",
    holomorphic: bool = False,
) -> Jitted[..., tuple[R, Any]]:
    """Like grad, but returns (value, gradient), or ((value, aux), gradient) with `has_aux`.

    Of nested arguments integers and bools have None in the gradient.
    """
    if not callable(function):
        raise ArgumentTypeError(f"function: expected a Python function, got {short(function)}")
    argnums, sparse_argnums = numbers_of(argnums), numbers_of(sparse_argnums, "sparse_argnums")
    options = (argnums, has_aux, policy, memory_limit, sparse_argnums, sparse, req, holomorphic)
    key = shared_derivatives.key_of("value_and_grad", function, options)
    found = shared_derivatives.find(key)
    if found is not None:
        return found
    asked = Requests(argnums, sparse_argnums, sparse, req)
    reads_out = _reads_out(function, req)

    def both(*args: Any, **kwargs: Any) -> Any:
        out = kwargs.pop("out", None) if reads_out else None
        trace = tracing()
        assert trace is not None
        args, kwargs = with_still_numbers(
            args, kwargs, [argnums] if isinstance(argnums, int) else argnums
        )

        def moving(arguments: Tree) -> list[int]:
            return leaves_of(arguments, argnums, len(args))

        inner = traced("grad", function, args, kwargs, outer=trace, moving=moving)
        wrt = _floating_leaves(inner, moving(inner.arguments), holomorphic)
        _require_number(inner, has_aux, holomorphic)
        requests, tree = asked.of(inner, args), gradient_tree(inner.arguments, argnums)
        floating = frozenset(wrt)
        requests = {k: r if k in floating else "null" for k, r in requests.items()}
        added = added_to(inner, requests, None if out is None else out[1], tree)
        options = DerivativeOptions("grad", policy, memory_limit, {k: requests[k] for k in wrt})
        [made] = differentiated(trace, inner, options, wrt, [0])
        operands = operands_of(trace, inner, args, kwargs)
        results = call_of(trace, made, [*operands, *map(trace.use, added)])
        grads = results[inner.results.leaf_count :]
        return results_of(inner, results), gradients(inner, grads, requests, tree)

    made = jit_transform(both, function, value_and_grad, *options, reads_out=reads_out)
    shared_derivatives.keep(key, function, made)
    return made


def _reads_out(function: Callable[..., Any], req: Any) -> bool:
    """Whether gradients may be added to `out`; ArgumentTypeError if that is a parameter."""
    if not may_add(req):
        return False
    if "out" not in parameter_names(function):
        return True
    if callable(req):
        return False
    raise ArgumentTypeError(
        f"req: 'add' needs out=, which is a parameter of {function_name(function)}"
    )


# Selected arguments and results.


def _require_number(inner: Traced, has_aux: bool, holomorphic: bool) -> None:
    """TraceError unless the function returns a floating number (and aux)."""
    tree = inner.results
    is_pair = has_aux and tree.kind is tuple and len(tree.children) == 2
    first = tree.children[0] if is_pair else tree
    wanted = "(a floating number, aux)" if has_aux else "a floating number"
    if has_aux != is_pair or first != LEAF:
        found = f"{tree.leaf_count} nested arrays"
        if tree.kind is type(None):
            found = "None; is a return missing?"
        raise refusal(f"grad: @{inner.name} must return {wanted}, got {found}")
    type_ = signature(inner).outputs.data[0]
    require_output("grad", type_, holomorphic, "gradir.vjp")
    if shape_of(type_) or not is_inexact(element_of(type_)):
        raise refusal(
            f"grad: @{inner.name} must return {wanted}, got {type_text(type_)}; "
            "sum it up, or use gradir.vjp"
        )


def _floating_leaves(inner: Traced, leaves: Sequence[int], holomorphic: bool) -> list[int]:
    """The leaves that are floating; TraceError if one that is a whole argument is not, or none."""
    types, arguments = signature(inner).inputs.data, inner.arguments.children[0]
    whole = {arguments.places(k)[0] for k, each in enumerate(arguments.children) if each == LEAF}
    found = [k for k in leaves if is_inexact(element_of(types[k]))]
    for k in leaves:
        if holomorphic:
            require_complex("grad", "inputs", types[k])
        if not is_inexact(element_of(types[k])) and (k in whole or not found):
            raise refusal(
                f"grad: argument {inner.names[k]} must be floating, got {type_text(types[k])}; "
                "pass floats, or name the floating arguments by argnums"
            )
    return found


# Complex numbers, in JAX's words.


def require_complex(what: str, ends: str, type_: Attribute) -> None:
    """TraceError for a real input or output of a function that is said to be holomorphic."""
    if not is_complex(element_of(type_)):
        dtype = NUMPY_NAMES[element_of(type_)]
        raise refusal(
            f"{what} with holomorphic=True requires {ends} with complex dtype, but got {dtype}"
        )


def require_output(what: str, type_: Attribute, holomorphic: bool, way_out: str) -> None:
    """TraceError for an output that does not fit `holomorphic`."""
    if holomorphic:
        require_complex(what, "outputs", type_)
    elif is_complex(element_of(type_)):
        raise refusal(
            f"{what} requires real-valued outputs (output dtype that is a sub-dtype of "
            f"np.floating), but got {NUMPY_NAMES[element_of(type_)]}. For holomorphic "
            "differentiation, pass holomorphic=True. For differentiation of non-holomorphic "
            f"functions involving complex outputs, use {way_out} directly"
        )


# vjp and jvp.


def all_of(arguments: Tree) -> range:
    """All leaves of the arguments."""
    return range(arguments.leaf_count)


def _derived_results(what: str, inner: Traced, has_aux: bool) -> Tree:
    """How the results are nested that have derivatives: all, or those before aux."""
    tree = inner.results
    if not has_aux:
        return tree
    if tree.kind is not tuple or len(tree.children) != 2:
        raise refusal(f"{what}: @{inner.name} must return (result, aux)")
    return tree.children[0]


def _floating(inner: Traced) -> tuple[list[int], list[int]]:
    """The floating leaves of the arguments, and of the results."""
    type_ = signature(inner)
    arguments, results = type_.inputs.data[: len(inner.names)], type_.outputs.data
    wrt, of = (
        [k for k, t in enumerate(types) if is_inexact(element_of(t))]
        for types in (arguments, results)
    )
    return wrt, of


def _chosen(
    given: Any, tree: Tree, places: Sequence[int], types: Sequence[Attribute], what: str
) -> list[Any]:
    """The leaves of (co)tangents of floating values; Python numbers get the types."""
    leaves = leaves_like(given, tree)
    if leaves is None:
        raise refusal(what)
    for k in places:
        if leaves[k] is None:
            raise refusal(f"{what}, None only at integers, got None for {type_text(types[k])}")
    return [_typed(leaves[k], types[k]) for k in places]


def _typed(value: Any, type_: Attribute) -> Any:
    """A traced array of the type; outside of a trace the value, which native code checks."""
    if tracing() is None:
        return value
    made = lifted(value)
    made = converted(made, element_of(type_)) if made.weak else made
    if made.type != type_:
        raise refusal(
            f"a cotangent or tangent must be {type_text(type_)}, got {type_text(made.type)}"
        )
    return made


def _require_types(values: Sequence[Any], types: Sequence[Attribute], kind: type[E]) -> None:
    """The error of native code that refused cotangents, in terms of these."""
    for value, type_ in zip(values, types, strict=True):
        found = spec_of(value)
        if found is None or (found[0] != type_ and not (found[1] and not shape_of(type_))):
            got = short(value) if found is None else type_text(found[0])
            raise refusal(f"a cotangent must be {type_text(type_)}, got {got}", kind) from None


@public
def vjp(function: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """The results of the function, and a function from their cotangents to the primals' cotangents.

    The cotangents are nested like the results and have their types; entries of integer results are
    not read, and may be None. The result has an entry per primal, nested like it, None at integer
    leaves. The residuals are computed once, here. With `has_aux` the function returns
    (result, aux), where only the result has cotangents; vjp returns aux as a third.
    """
    trace = tracing()
    inner = traced("vjp", function, primals, outer=trace, moving=all_of, orders=0)
    tree = _derived_results("vjp", inner, has_aux)
    wrt, of = _floating(inner)
    of = [k for k in of if k < tree.leaf_count]
    leaves, _ = flatten(primals)
    if trace is not None and has_names(inner):
        outputs, back = _transposed_later(trace, inner, tree, wrt, of, primals)
        results = results_of(inner, outputs)
        return (results[0], back, results[1]) if has_aux else (results, back)
    forward, backward = differentiated(trace, inner, DerivativeOptions("split"), wrt, of)
    captured = [] if trace is None else [Tracer(trace, value) for value in inner.captured]
    outputs = _runner(trace, inner, forward)([*leaves, *captured])
    residuals = outputs[inner.results.leaf_count :]
    back = Transposed(inner, tree, wrt, of, residuals, _runner(trace, inner, backward))
    results = results_of(inner, outputs)
    return (results[0], back, results[1]) if has_aux else (results, back)


def _transposed_later(
    trace: Trace,
    inner: Traced,
    tree: Tree,
    wrt: Sequence[int],
    of: Sequence[int],
    primals: Sequence[Any],
) -> tuple[list[Tracer], Transposed]:
    """The results of a function of named extents, and its transposed derivative.

    What the derivative reads is not known yet. It is computed by the derivative; compiled code has
    it once, as equal values merge.
    """
    program = ModuleFunctions(inner.module.op)
    function = program.function(inner.name)
    if any(map(program.has_effects, program.block(function).ops)):
        raise refusal(
            f"vjp: @{inner.name} has effects, which would happen twice with extents that are not "
            "known; use gradir.grad, or trace it for fixed shapes"
        )
    add_functions(trace, inner, [function], copies=True)
    [made] = differentiated(trace, inner, DerivativeOptions("vjp"), wrt, of)
    operands = operands_of(trace, inner, primals, {})
    outputs = call_of(trace, trace.functions[inner.name], operands)
    count = inner.results.leaf_count

    def run(values: Sequence[Any]) -> Sequence[Any]:
        return _call_in_trace(made, values)[count:]

    kept = [Tracer(trace, operand) for operand in operands]
    return outputs, Transposed(inner, tree, wrt, of, kept, run)


@dataclass(frozen=True, eq=False, repr=False)
class Transposed(Copied):
    """The function of gradir.vjp: from cotangents of the results to cotangents of the primals.

    It pickles as the program of the backward function and the residuals.
    """

    inner: Traced
    results: Tree
    wrt: Sequence[int]
    of: Sequence[int]
    residuals: Sequence[Any]
    run: Callable[[Sequence[Any]], Sequence[Any]]

    def __repr__(self) -> str:
        types = ", ".join(type_text(signature(self.inner).outputs.data[k]) for k in self.of)
        return f"<gradir.vjp of @{self.inner.name}: cotangents of {types} to those of the primals>"

    @public
    def __call__(self, cotangents: Any) -> tuple[Any, ...]:
        inner, types = self.inner, signature(self.inner).outputs.data
        what = "vjp: the cotangents must be nested like the results"
        given = _chosen(cotangents, self.results, self.of, types, what)
        try:
            results = self.run([*self.residuals, *given])
        except ArgumentError as error:
            _require_types(given, [types[k] for k in self.of], type(error))
            raise
        found = dict(zip(self.wrt, results, strict=True))
        return inner.arguments.children[0].build([found.get(k) for k in range(len(inner.names))])


def _runner(
    trace: Trace | None, inner: Traced, function: FuncOp
) -> Callable[[Sequence[Any]], Sequence[Any]]:
    """The runner of a derivative function: a call in the trace, or one in it, or native code."""
    if trace is not None:
        return partial(_call_in_trace, function)
    module = Module(inner.module.op, SOURCES, rules=inner.module.rules)
    return partial(_run_program, Program(traced_function(module, function.sym_name.data)))


def _call_in_trace(function: FuncOp, values: Sequence[Any]) -> Sequence[Any]:
    here = current("vjp")
    return call_of(here, function, [here.use(lifted(v)) for v in values])


def _run_program(program: Program, values: Sequence[Any]) -> Sequence[Any]:
    """Native code, or in a trace a call of a copy of the program."""
    if tracing() is not None:
        return _call_in_trace(_copied(program, current("vjp")), values)
    return program.executable(*values)


def _copied(program: Program, trace: Trace) -> FuncOp:
    """The function of a program in a trace, with what it calls and their own derivatives, under
    free names."""
    program.module.define_rules(module := program.module.op.clone(), program.name)
    functions, declared = functions_by_name(module), declarations(module)
    found = reachable(functions, declared, functions[program.name])
    names: dict[str, str] = {}
    for name in (function.sym_name.data for function in found):
        numbered = (f"{name}_{k}" if k else name for k in count())
        names[name] = next(n for n in numbered if n not in trace.functions)
    for function in callees_first(functions, found):
        function.detach()
        function.sym_name = StringAttr(names[function.sym_name.data])
        for call in [op for op in function.walk() if isinstance(op, CallOp)]:
            call.callee = SymbolRefAttr(names[called_name(call)])
        trace.functions[function.sym_name.data] = function
    for op in (op for name, op in declared.items() if name in names):
        trace.declarations.append(CustomVjpOp.of([names[name] for name in op.names], op))
    return trace.functions[names[program.name]]


@public
def jvp(
    function: Callable[..., Any],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    has_aux: bool = False,
) -> Any:
    """The results of the function, and their tangents for tangents of the primals (forward mode).

    `tangents` are nested like `primals`, and entries of integer ones are not read, and may be
    None. The tangents of the results are nested like these, None at integer leaves. With `has_aux`
    the function returns (result, aux), where only the result has tangents; jvp returns aux as a
    third.
    """
    for what, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, (list, tuple)):
            raise refusal(f"jvp: {what}: expected a tuple with an entry for each argument, (x,)")
    trace = tracing()
    if trace is None:
        pushed = partial(jvp, function, has_aux=has_aux)
        return Jitted(pushed, knows_values=True)(tuple(primals), tuple(tangents))
    inner = traced("jvp", function, primals, outer=trace, moving=all_of)
    tree = _derived_results("jvp", inner, has_aux)
    wrt, of = _floating(inner)
    of = [k for k in of if k < tree.leaf_count]
    [made] = differentiated(trace, inner, DerivativeOptions("jvp"), wrt, of)
    what = "jvp: the tangents must be nested like the primals"
    types = signature(inner).inputs.data
    given = _chosen(tuple(tangents), inner.arguments.children[0], wrt, types, what)
    operands = operands_of(trace, inner, primals, {})
    outputs = call_of(trace, made, [*operands, *(trace.use(t) for t in given)])
    found = dict(zip(of, outputs[inner.results.leaf_count :], strict=True))
    moved = tree.build([found.get(k) for k in range(tree.leaf_count)])
    results = results_of(inner, outputs)
    return (results[0], moved, results[1]) if has_aux else (results, moved)


@public
def hvp(function: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    """The Hessian of a function in its first argument, times a tangent: jvp of its gradient."""
    return jvp(grad(function), primals, tangents)[1]
