"""The library interface: modules as values, their gradients, native code, and the interpreter."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from xdsl.dialects.builtin import ModuleOp

from gradir.argument_checks import (
    known_arguments,
    require,
    result_index,
    selector,
    selectors,
    short,
)
from gradir.checks import NAN_VARIABLE, is_asked_for
from gradir.compiler.provenance import Provenance
from gradir.diagnostics import Sources
from gradir.dialects.base.lazy_function import lazy_function
from gradir.dialects.base.shapes import is_open
from gradir.dialects.grad.host_call import hold_functions
from gradir.errors import ArgumentError, ArgumentTypeError, gradir_errors
from gradir.explore.steps import Change, Lineage, Step, step_of_pass
from gradir.gc_pause import paused_gc
from gradir.passes.analysis.call_graph import functions_by_name
from gradir.passes.verify.verify import verify
from gradir.symbols import function_named, merged, module_of_copies, needed_functions

if TYPE_CHECKING:
    from gradir.compiler.compiler import compile_function
    from gradir.compiler.dynamic import SpecializingExecutable
    from gradir.compiler.measured_gradient import apply_gradient
    from gradir.compiler.measured_step import train_step
    from gradir.compiler.sized_code import SizedCode
    from gradir.dialects.base.traced_sizes import SizeGraph
    from gradir.explain.watched import Again, results_of_primal, watched
    from gradir.explore.cells import text_cell
    from gradir.explore.collect import explored, is_spec
    from gradir.explore.page import ExplorerPage
    from gradir.passes.batch.vmap import vmap
    from gradir.passes.differentiate.selectors import Selector
    from gradir.passes.gradient.requests import DerivativeRequest
    from gradir.passes.training.append_loss import append_loss
    from gradir.passes.training.lift_constants import lift_constants
    from gradir.profiling.profile import Profile
    from gradir.profiling.run import profiled
    from gradir.runtime.constant_arrays import arrays_of
    from gradir.runtime.executable import Executable
    from gradir.stablehlo.to_stablehlo import to_stablehlo
    from gradir.text.parser import parse_module
    from gradir.text.printer import program_text
else:
    text_cell = lazy_function("gradir.explore.cells", "text_cell")
    explored = lazy_function("gradir.explore.collect", "explored")
    is_spec = lazy_function("gradir.explore.collect", "is_spec")
    ExplorerPage = lazy_function("gradir.explore.page", "ExplorerPage")
    apply_gradient = lazy_function("gradir.compiler.measured_gradient", "apply_gradient")
    DerivativeRequest = lazy_function("gradir.passes.gradient.requests", "DerivativeRequest")
    compile_function = lazy_function("gradir.compiler.compiler", "compile_function")
    profiled = lazy_function("gradir.profiling.run", "profiled")
    Again = lazy_function("gradir.explain.watched", "Again")
    results_of_primal = lazy_function("gradir.explain.watched", "results_of_primal")
    watched = lazy_function("gradir.explain.watched", "watched")
    append_loss = lazy_function("gradir.passes.training.append_loss", "append_loss")
    arrays_of = lazy_function("gradir.runtime.constant_arrays", "arrays_of")
    lift_constants = lazy_function("gradir.passes.training.lift_constants", "lift_constants")
    parse_module = lazy_function("gradir.text.parser", "parse_module")
    to_stablehlo = lazy_function("gradir.stablehlo.to_stablehlo", "to_stablehlo")
    train_step = lazy_function("gradir.compiler.measured_step", "train_step")
    vmap = lazy_function("gradir.passes.batch.vmap", "vmap")
    program_text = lazy_function("gradir.text.printer", "program_text")


_PATH = re.compile(r"[\w.\-~:/\\\\]*[./\\\\][\w.\-~:/\\\\]*")
"""The text of a path, which no program is."""
PICKLED = "<pickle>"
"""The file name of a pickled module's text."""


class Rules(Protocol):
    """The rules of derivatives written in Python that were not traced with a module."""

    def define(self, module: ModuleOp, function: str, wrt: Sequence[int] | None = None) -> None:
        """Add those to a module that the derivative of @function, by arguments `wrt`, needs."""
        ...


class Module:
    """A verified program. It is immutable: transformations return a new one.

    `str(module)` prints IR that parses back. `functions` are the names of its functions. It
    pickles as this text; a copy of it is the module itself.
    """

    def __init__(
        self,
        op: ModuleOp,
        sources: Sources | None = None,
        provenance: Provenance | None = None,
        rules: Rules | None = None,
        lineage: Lineage | None = None,
    ):
        """A verified module, the doubts about its source text, rules yet to trace, and its past."""
        if "xdsl.dialects.linalg" in sys.modules:  # its ops may be made without a text
            import_module("gradir.dialects.foreign.linalg")
        self._op = op
        self._sources = sources or Sources()
        self._provenance = provenance or Provenance()
        self.rules = rules
        self._lineage = lineage or Lineage(op)

    @property
    def op(self) -> ModuleOp:
        """The xDSL module. Do not change it: clone it."""
        return self._op

    @property
    def functions(self) -> tuple[str, ...]:
        return tuple(functions_by_name(self._op))

    def __str__(self) -> str:
        return program_text(self._op)

    def __reduce__(self) -> tuple[Any, ...]:
        origin = self._provenance
        return _unpickled, (str(self), origin.is_trusted, origin.is_text)

    def __copy__(self) -> Module:
        return self

    def __deepcopy__(self, memo: object) -> Module:
        return self

    def __repr__(self) -> str:
        return f"<gradir.Module {', '.join('@' + f for f in self.functions)}>"

    @known_arguments
    def gradient(
        self,
        function: str,
        wrt: Sequence[Selector] | Selector | None = None,
        mode: str = "split",
        of: Sequence[Selector] | Selector | None = None,
        policy: str = "keep_all",
        memory_limit: int | None = None,
        req: Mapping[Selector, str] | None = None,
    ) -> Module:
        """A module in which `@function` has its derivative beside it.

        mode "split" adds `@f_fwd(primals) -> (results, residuals)` and `@f_bwd(residuals,
        cotangents) -> grads`; "vjp" adds `@f_vjp(primals, cotangents) -> (results, grads)`; "grad"
        adds `@f_grad(primals) -> (results, grads)`, seeded with ones; "jvp" (forward mode) adds
        `@f_jvp(primals, tangents) -> (results, tangents)`, with tangents of `wrt`, then of `of`.

        `wrt` and `of` take indices, or names set by grad.name; by default all floating arguments
        that are not marked {grad.inactive}, and all floating results (mode "grad": result 0). A
        cotangent has the type of its primal. `req` maps members of `wrt` to "write", "null" (no
        gradient: pruned), "add" (to the contents of the array given in `out`) or "slices" (the
        gradient as RowSlices of the rows that were read). `policy` names the values to keep for the
        backward code; for a `memory_limit` in bytes, recomputation and the policies of loops are
        chosen so that the arena is no larger. Raises PassError, located in the source.
        """
        require("function", function, str, "the name of a function")
        if req is not None:
            require("req", req, Mapping, "a mapping such as {'w': 'null'}")
        requests = [(selector(s), request) for s, request in (req or {}).items()]

        def of_limit(limit: int | None, policy: str = "keep_all") -> Change:
            def differentiate(copy: ModuleOp) -> None:
                hold_functions([copy])
                self.define_rules(copy, function)
                request = DerivativeRequest(
                    *(function, selectors(wrt), selectors(of), mode, policy, limit, requests)
                )
                apply_gradient(copy, request)

            return differentiate

        limited = None if mode == "jvp" else of_limit
        step = Step(f"gradient of @{function}", of_limit(memory_limit, policy), limited)
        return self._after(step, self._provenance.of_gradient(self._op, function), self.rules)

    def define_rules(self, copy: ModuleOp, function: str, wrt: Sequence[int] | None = None) -> None:
        """Add the rules to a copy that were not traced and that @function's derivative needs."""
        if self.rules is not None:
            self.rules.define(copy, function, wrt)

    @known_arguments
    def vmap(
        self,
        function: str,
        size: int,
        rows: Sequence[Selector] | Selector | None = None,
        axis: str | None = None,
    ) -> Module:
        """A module with `@f_vmap`: the function on `size` rows of some arguments at once.

        `rows` are these arguments, by index or name, by default all; they and all results have one
        more axis in front. Shapes must be static. Collectives of the group `axis` are between the
        rows: `comm.all_reduce {group = "batch"}` is the sum of all. Raises PassError.
        """
        require("function", function, str, "the name of a function")

        def change(copy: ModuleOp) -> None:
            vmap(copy, function, size, selectors(rows), axis)

        return self._after(Step(f"vmap of @{function}", change))

    @known_arguments
    def append_loss(
        self,
        function: str,
        loss: str,
        joined: Sequence[int] | int = 0,
        into: str | None = None,
    ) -> Module:
        """A module with `@into`, by default `@f_loss`: `@function`, then `@loss` of its results.

        The first arguments of the loss are the results `joined`. The new function takes the
        function's arguments and the loss's further ones, and returns what the loss returns, first
        a floating number, and the results that are not joined. Raises PassError.
        """
        require("function", function, str, "the name of a function")
        require("loss", loss, str, "the name of a function")
        require("into", into, str | None, "the name of a function")
        several = joined if isinstance(joined, (list, tuple, range)) else [joined]
        results = [result_index("joined", each) for each in several]

        def change(copy: ModuleOp) -> None:
            append_loss(copy, function, loss, results, into)

        return self._after(Step(f"@{function} with its loss", change))

    @known_arguments
    def lift_constants(self, function: str, elements: int = 2) -> tuple[Module, dict[str, Any]]:
        """A module whose `@function` takes its constant tensors as further arguments, and these.

        Floating constants of so many elements count, as trained weights of other tools. The arrays
        stand by the arguments' names, in order. Raises PassError where `@function` is called.
        """
        require("function", function, str, "the name of a function")
        found: dict[str, Any] = {}
        title = f"constants of @{function} as arguments"
        made = self._after(
            Step(title, lambda copy: found.update(lift_constants(copy, function, elements)))
        )
        return made, arrays_of(found)

    @known_arguments
    def train_step(
        self,
        function: str,
        optimizer: str = "update",
        wrt: Sequence[Selector] | Selector | None = None,
        carry: Mapping[Selector, int] | None = None,
        policy: str = "keep_all",
        memory_limit: int | None = None,
        in_place: bool = False,
        into: str | None = None,
    ) -> Module:
        """A module with `@into`, by default `@f_step`: a step of training of `@function`.

        Result 0 of the function is the loss, `wrt` are the parameters, and `@optimizer` is
        `(params, grads, state...) -> (params', state'...)`, as gradir.optim.to_module makes it. The
        step is `(params, state, carried, batch) -> (params', state', carried', loss, results)`.
        `carry` maps arguments of the function to the results that are their new values, such as
        running statistics; the batch is all its other arguments. `policy` and `memory_limit` are
        for the gradient, `@f_grad`. With `in_place` parameters, state and carried arguments
        are not passed but given in `out`, and updated there. Raises PassError.
        """
        require("function", function, str, "the name of a function")
        require("optimizer", optimizer, str, "the name of a function")
        require("into", into, str | None, "the name of a function")
        if carry is not None:
            require("carry", carry, Mapping, "a mapping such as {'mean': 1}")
        pairs = [(selector(k), result_index("carry", r)) for k, r in (carry or {}).items()]

        def of_limit(limit: int | None, policy: str = "keep_all") -> Change:
            def change(copy: ModuleOp) -> None:
                self.define_rules(copy, function)
                train_step(
                    *(copy, function, optimizer, selectors(wrt), pairs, policy, limit),
                    *(in_place, into),
                )

            return change

        title = f"step of training of @{function}"
        return self._after(Step(title, of_limit(memory_limit, policy), of_limit))

    def _after(
        self, step: Step, provenance: Provenance | None = None, rules: Rules | None = None
    ) -> Module:
        """The module after a step, by code of gradir's."""
        with gradir_errors(self._sources), paused_gc():
            copy = self._op.clone()
            step.change(copy)
            verify(copy)
        origin = provenance or self._provenance.derived()
        return Module(copy, self._sources, origin, rules, self._lineage.after(step))

    @known_arguments
    def merge(self, other: Module) -> Module:
        """A module with the functions of both. PassError where two of one name differ."""
        require("other", other, Module, "a gradir.Module")
        sources = self._sources.beside(other._sources)
        with gradir_errors(sources), paused_gc():
            made = merged(self._op, other.op)
            verify(made)
        return Module(made, sources, self._provenance.beside(other._provenance))

    @known_arguments
    def run_passes(self, pipeline: str) -> Module:
        """The module after a pipeline of passes, spelled as for `gradir-opt -p`."""
        from gradir.registry import make_context, parse_passes

        require("pipeline", pipeline, str, "pass names in a string")
        with gradir_errors(self._sources), paused_gc():
            copy = self._op.clone()
            passes = parse_passes(pipeline)
            passes.apply(make_context(), copy)
            verify(copy)
        names = [each.name for each in passes.passes]
        origin = self._provenance.after(names, copy)
        past = self._lineage.after(*map(step_of_pass, passes.passes))
        return Module(copy, self._sources, origin, lineage=past)

    @known_arguments
    def to_stablehlo(self, function: str | None = None) -> str:
        """The functions on tensors as StableHLO, MLIR text that jaxlib and IREE read.

        With `function` that one alone, under the name @main. Numbers are tensors of rank 0, a tape
        is a tensor for each column and a count. An index out of range is clamped there, as
        StableHLO has no errors at run time. Raises PassError that names every op without a form.
        """
        require("function", function, str | None, "the name of a function")
        with gradir_errors(self._sources), paused_gc():
            return program_text(to_stablehlo(self._op.clone(), function)) + "\n"

    @known_arguments
    def explore(
        self, function: str | None = None, *arrays: Any, threads: int | None = None
    ) -> ExplorerPage:
        """A page on `@function`, by default the only one: stages, memory, time and code.

        `page.save("page.html")` writes it, and a notebook shows it. With arrays for all arguments
        the function is called, and the page has times; dynamic shapes need them. Raises as compile.
        """
        require("function", function, str | None, "the name of a function")
        if function is None and len(self.functions) != 1:
            known = ", ".join(f"@{each}" for each in self.functions) or "none"
            raise ArgumentError(f"function: which one to explore? functions: {known}")
        return self.explored(function or self.functions[0], threads, arrays)

    def explored(
        self,
        function: str,
        threads: int | None,
        arrays: Sequence[object],
        profile: Callable[[], Profile] | None = None,
        limited: Callable[[int], ModuleOp] | None = None,
    ) -> ExplorerPage:
        """The page on `@function`; `limited` makes its module for a memory limit in bytes."""
        if profile is None and arrays and not any(map(is_spec, arrays)):
            profile = partial(compile(self, function, threads).profile, *arrays)
        with gradir_errors(self._sources), paused_gc():
            found = explored(self._lineage, self._op, function, threads, arrays, limited)
        found.profile = None if profile is None else profile()
        return ExplorerPage(found, self._sources)

    def _repr_html_(self) -> str:
        return text_cell(repr(self), str(self))


@known_arguments
def parse(
    text_or_path: str | os.PathLike[str], filename: str = "<string>", trusted: bool = False
) -> Module:
    """The program in a text, or in a named file (`*.mlir`, or any path object).

    Programs on tensors may come from anybody: their native code stays inside of its memory. Loop
    nests and programs of loads and stores are compiled only where each access is proven to be
    inside (gradir-prove-bounds), and ops on buffers never, unless the text is `trusted`: then its
    accesses are not checked, and it can read and write all memory of the process. Results of passes
    on a trusted module are trusted; a printed and parsed module is text again.

    Raises ParseError or VerifyError with the place, the source line and a caret.
    """
    require("text_or_path", text_or_path, (str, os.PathLike), "a string or a path")
    require("filename", filename, str, "a string")
    require("trusted", trusted, bool, "a bool")
    is_path = isinstance(text_or_path, os.PathLike)
    if is_path or ("\n" not in text_or_path and text_or_path.endswith(".mlir")):
        filename = os.fsdecode(text_or_path)
        try:
            text = Path(filename).read_text()
        except (OSError, ValueError) as error:
            shown = filename if filename.isprintable() else repr(filename)
            reason = getattr(error, "strerror", None) or error
            raise ArgumentError(f"cannot read {shown!r}: {reason}") from None
    else:
        text = text_or_path
        if _PATH.fullmatch(text):
            raise ArgumentError(
                f"parse: {text!r} is no program; a file whose name does not end in .mlir is read "
                f"by gradir.parse(pathlib.Path({text!r}))"
            )
    sources = Sources({filename: text})
    with gradir_errors(sources), paused_gc():
        op = parse_module(text, filename)
        verify(op)
        provenance = Provenance() if trusted else Provenance.of_text(op)
    return Module(op, sources, provenance)


def _unpickled(text: str, trusted: bool, is_text: bool) -> Module:
    """The pickled module; constants of any size are accepted, as in the original."""
    sources = Sources({PICKLED: text})
    with gradir_errors(sources), paused_gc():
        op = parse_module(text, PICKLED, bounded=False)
        verify(op)
        provenance = Provenance(is_text=is_text) if trusted else Provenance.of_text(op)
    return Module(op, sources, provenance)


def _require_program(module: object, function: object) -> None:
    require("module", module, Module, "a gradir.Module, as parse returns")
    require("function", function, str, "the name of a function")


@known_arguments
def interpret(module: Module, function: str, *arrays: Any, out: object = None) -> tuple[Any, ...]:
    """The results of `@function` by the NumPy reference interpreter, as a tuple of arrays.

    `out` as for a compiled function: an array, or None, for each result.
    """
    from gradir.compiler.dynamic import needs_shapes, shapes_of_arrays, specialized
    from gradir.interpreter.interpreter import interpret as run

    _require_program(module, function)
    with gradir_errors(module._sources):
        op = module.op
        if needs_shapes(op, function):
            shapes = shapes_of_arrays(function_named(op, function), arrays)
            with paused_gc():
                op = specialized(op, function, shapes)
        return run(op, function, arrays, out)


@known_arguments
def register_host_function(
    name: str,
    function: Callable[..., Any],
    shape: Callable[..., Any] | None = None,
    backward: str | Callable[..., Any] | None = None,
    pure: bool = False,
) -> None:
    """Make a Python function callable from programs, as grad.host_call {callee = name}.

    `function(*arrays)` returns an array, or a tuple of them, of the op's declared types; the arrays
    are its own. `shape(*inputs) -> outputs` checks that declaration: inputs and outputs are pairs
    of shape and dtype name, outputs one pair or a list. `backward` is the derivative, a function or
    a registered name: its arguments are the op's `deps`, its results the cotangents of the floating
    inputs. `pure`: it has no effects, and equal arguments give equal results, so that calls may be
    repeated or dropped. A name may be registered again.
    """
    from gradir.dialects.grad import host_functions

    require("name", name, str, "the name of a function")
    for what, given in (("function", function), ("shape", shape), ("backward", backward)):
        is_name = what == "backward" and isinstance(given, str)
        if not (callable(given) or is_name or (given is None and what != "function")):
            raise ArgumentTypeError(f"{what}: expected a function, got {short(given)}")
    host_functions.register_host_function(name, function, shape, backward, pure)


@known_arguments
def compile(
    module: Module, function: str, threads: int | None = None, wait: bool = False
) -> Executable | SpecializingExecutable:
    """Native code for `@function`: a callable `fn(*arrays, out=None) -> tuple` of arrays.

    For arguments with dynamic extents (`?`) the arrays of a call give them: code is made at the
    first call for its shapes, and at the next call with other shapes for many (docs/shapes.md).

    `threads` is the most threads; None for all cores (or GRADIR_NUM_THREADS). `fn.plan` has the
    place of each buffer (`fn.plan.peak_bytes` is the arena, without arguments and results),
    `fn.llvm_ir` and `fn.asm` show the code. Raises PassError or CompileError; PassError also for a
    module from text that could read or write outside of its tensors, see `parse`.

    Kernels with short runs have quickly compiled code first, until better code with the same bits
    is there. With `wait` (or GRADIR_TIERS=0) all code is compiled well before it runs.

    The callable pickles as these four arguments, and is compiled again by unpickling.
    """
    made = _compiled(module, function, threads, wait)
    made.source = compile, (module, function, threads, wait)
    made.explorer = partial(module.explored, function, threads)
    return made


def _compiled(
    module: Module, function: str, threads: int | None, wait: bool
) -> Executable | SpecializingExecutable:
    from gradir.compiler.dynamic import (
        Shapes,
        SpecializingExecutable,
        needs_shapes,
        specialized,
    )
    from gradir.compiler.kept_code import executable
    from gradir.runtime.threads import thread_count

    _require_program(module, function)
    sources = module._sources
    with gradir_errors(sources), paused_gc():
        op = module.op
        module._provenance.check(op, function)
        if not needs_shapes(op, function):
            needed = needed_functions(op, function)

            def static() -> ModuleOp:
                return module_of_copies(needed)

            made = executable(needed, function, threads, static, wait=wait)
            made.profiler = _profiler(static, sources)
            return _watched(made, static, module)
        count = thread_count(threads)

        def program(shapes: Shapes) -> ModuleOp:
            made = specialized(op, function, shapes)
            return module_of_copies(needed_functions(made, function))

        def make(shapes: Shapes) -> Executable:
            one = partial(program, shapes)
            made = executable([op], function, count, one, shapes, wait=wait)
            return _watched(made, one, module)

        from gradir.compiler.sized_code import compile_sized, may_be_sized

        def make_sized(shapes: Shapes, graph: SizeGraph) -> SizedCode:
            return compile_sized(program(shapes), function, graph, count, wait)

        def profiler_of(shapes: Shapes) -> Callable[..., Profile]:
            return _profiler(partial(program, shapes), sources)

        arguments = function_named(op, function).body.block.args
        if any(is_open(a.type) for a in arguments):
            sized = make_sized if may_be_sized(op) else None
            return SpecializingExecutable(op, function, count, make, sources, profiler_of, sized)
        # its callees have dynamic shapes, but its arguments determine all
        made = make(shapes := (None,) * len(arguments))
        made.profiler = profiler_of(shapes)
        return made


def _watched(plain: Executable, program: Callable[[], ModuleOp], module: Module) -> Executable:
    """The code of a program, watched for results that are not finite if that is asked for."""
    if not is_asked_for(NAN_VARIABLE):
        return plain
    checked = results_of_primal(module.op, plain.name)
    return watched(plain, Again(program, plain.name, module._sources, checked))


def _profiler(program: Callable[[], ModuleOp], sources: Sources) -> Callable[..., Profile]:
    """What makes profiles of the code of a program."""

    def profile(plain: Executable, arrays: Sequence[object], out: object) -> Profile:
        with gradir_errors(sources), paused_gc():
            plain.wait_for_code()
            timed = compile_function(program(), plain.name, plain.threads, profile=True)
        return profiled(timed, plain, arrays, out, sources)

    return profile
