"""`load`: a StableHLO text as a module of gradir."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from gradir.api import Module
from gradir.argument_checks import require
from gradir.diagnostics import Sources
from gradir.errors import ParseError, gradir_errors
from gradir.frontends.imported.check import require_replayable
from gradir.frontends.imported.errors import ImportedProgramError
from gradir.frontends.imported.graph import ForeignGraph
from gradir.frontends.imported.replay import UnverifiedReplay, Verifier
from gradir.frontends.imported.stablehlo_rules.table import STABLEHLO
from gradir.frontends.stablehlo.graphs import FunctionReader
from gradir.frontends.stablehlo.pretty_form import generic_form, is_verified, text_of_module
from gradir.frontends.tracing.source_locations import place_of_user, public, reading, refusal
from gradir.frontends.tracing.spec import Spec
from gradir.frontends.tracing.trace import traced
from gradir.frontends.transforms.custom_derivatives import CustomVjp
from gradir.passes.verify.verify import verify
from gradir.registry import make_context
from gradir.text.parser import parse_module
from gradir.text.source_text import check, decode

BYTECODE = b"ML\xefR"
"""The first bytes of MLIR's bytecode."""

_LOST = (
    "a StableHLO program says nothing of derivatives that its functions were given; state that "
    "none was lost by load(..., trust_derivatives=True)"
)


@public
def load(
    text_or_path: Any,
    entry: str | None = None,
    trust_derivatives: bool = False,
) -> Module:
    """A function of a StableHLO module as a module of gradir: `entry`, or @main, or the only one.

    The text, or the file of a path, is in MLIR's generic form; with jaxlib installed also in the
    pretty one. A module of jaxlib's is taken too. Functions that it calls are a part of it. A
    program has lost the derivatives that its source gave functions of its own (JAX's custom_vjp):
    gradients are refused unless `trust_derivatives` states that there were none.
    ImportedProgramError names all ops and elements that cannot be imported, with their places;
    ParseError and VerifyError a fault of the text.
    """
    require("entry", entry, str | None, "the name of a function")
    require("trust_derivatives", trust_derivatives, bool, "a bool")
    text, file = _read(text_or_path)
    texts = Sources({file: text})
    with reading(texts):
        verifier = Verifier("jaxlib", lambda: is_verified(text))
        made = load_module(parsed(text, file), entry, file, trust_derivatives, verifier)
    return Module(made.op, texts, rules=made.rules)


NO_VERIFIER = Verifier("nobody", lambda: False)


def load_module(
    module: ModuleOp,
    entry: str | None,
    file: str,
    trust_derivatives: bool = False,
    verifier: Verifier = NO_VERIFIER,
) -> Module:
    """`load` of a module that was read."""
    with gradir_errors():
        verify(module)
    reader = FunctionReader(module)
    name = entry or _only(reader, file)
    graph = reader.graph(name, reader.functions.get(name, module))
    require_replayable(graph, STABLEHLO)
    return _traced(graph, trust_derivatives, verifier)


def _read(given: Any) -> tuple[str, str]:
    """The text, and the name of its file."""
    if hasattr(getattr(given, "operation", None), "get_asm"):
        return text_of_module(given), "<module>"
    require("text_or_path", given, (str, os.PathLike), "a string, a path or a module of jaxlib's")
    if isinstance(given, str) and ("\n" in given or not given.endswith(".mlir")):
        return given, "<string>"
    path = Path(given)
    try:
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        raise refusal(f"{path}: {error}", ImportedProgramError) from None
    if data.startswith(BYTECODE):
        raise refusal(
            f"{path}: it is bytecode; stablehlo-translate --deserialize writes it as text",
            ImportedProgramError,
        )
    with gradir_errors():
        return decode(data, str(path)), str(path)


def parsed(text: str, file: str) -> ModuleOp:
    """The module of a text; what is not in generic form is read by jaxlib, if that is there."""
    # ops of other dialects are named with all that cannot be imported
    context = make_context(allow_unregistered=True)
    with gradir_errors(Sources({file: text})):
        check(text, file)  # jaxlib's parser ends the process where nesting is deep
    try:
        return parse_module(text, file, context)
    except ParseError as error:
        generic = generic_form(text, file)
        if generic is None:
            raise _with_hint(error) from None
        # what both forms lack has its place in the text that was given
        first = error
    try:
        return parse_module(generic, f"{file}, in generic form", context)
    except ParseError as error:
        raise first if _message(first) == _message(error) else error from None


def _message(error: ParseError) -> str:
    return error.diagnostic.message if error.diagnostic else str(error)


def _with_hint(error: ParseError) -> ParseError:
    return ParseError(
        f"{error}\nnote: this is not MLIR's generic form; jaxlib reads the pretty one "
        "(pip install 'gradir[jax]'), and stablehlo-opt --mlir-print-op-generic prints this one",
        error.diagnostic,
    )


def _only(reader: FunctionReader, file: str) -> str:
    """@main, or the name of the only function."""
    names = list(reader.functions)
    if "main" in names or len(names) == 1:
        return "main" if "main" in names else names[0]
    known = ", ".join(f"@{n}" for n in names) or "none"
    raise refusal(f"{file}: which function? there are {known}", ImportedProgramError)


def _traced(graph: ForeignGraph, trusted: bool, verifier: Verifier) -> Module:
    def run(*arrays: Any) -> Any:
        made = UnverifiedReplay(STABLEHLO, verifier).inside(graph, arrays)
        return made[0] if len(made) == 1 else tuple(made)

    run.__name__ = graph.name
    specs = [Spec(v.type.shape, v.type.dtype) for v in graph.inputs]
    function, orders = (run, 2) if trusted else (_without_derivative(run), 0)
    return traced("load", function, specs, place=place_of_user(), orders=orders).module


def _without_derivative(run: Any) -> Any:
    """A function whose derivative is refused."""
    function = CustomVjp(run)

    def refused(*arrays: Any) -> Any:
        raise refusal(f"{run.__name__}: {_LOST}", ImportedProgramError)

    function.defvjp(refused, refused)

    def called(*arrays: Any) -> Any:
        return function(*arrays)

    called.__name__ = run.__name__
    return called
