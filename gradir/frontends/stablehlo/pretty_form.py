"""MLIR's pretty form of StableHLO by jaxlib: its generic form, with the places of the text."""

from __future__ import annotations

import re
from typing import Any

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr

from gradir.diagnostics import Sources, diagnostic_of, render
from gradir.dialects.base.diagnostics import LocatedError
from gradir.errors import ParseError
from gradir.packages import MissingPackage, package

_FAULT = re.compile(r'^(?:error: )?"-":(\d+):(\d+): (?:error: )?(.*)', re.MULTILINE)


def generic_form(text: str, file: str) -> str | None:
    """A text in generic form; None where jaxlib is not installed, ParseError where it refuses."""
    try:
        ir = package("jaxlib.mlir.ir", "jax", "frontends")
        for name in ("stablehlo", "chlo", "func"):
            package(f"jaxlib.mlir.dialects.{name}", "jax")
        enter = package("jax._src.interpreters.mlir", "jax").make_ir_context
    except MissingPackage:
        return None
    with enter() as context:
        context.allow_unregistered_dialects = True
        try:
            module = ir.Module.parse(text)
        except ir.MLIRError as error:
            raise _located(str(error), text, file) from None
        printed = text_of_module(module)
    # jaxlib's name of a text without a file; inside of strings quotes are escaped
    return printed.replace('loc("-":', f'loc("{_escaped(file)}":')


def is_verified(text: str) -> bool:
    """Whether jaxlib is installed, and its verifier accepts a text."""
    try:
        return generic_form(text, "") is not None
    except ParseError:
        return False


def text_of_module(module: Any) -> str:
    """The generic form of a module of jaxlib's, with its locations."""
    return module.operation.get_asm(print_generic_op_form=True, enable_debug_info=True)


def _escaped(file: str) -> str:
    return file.replace("\\", "\\\\").replace('"', '\\"')


def _located(message: str, text: str, file: str) -> ParseError:
    """What jaxlib says, at its place in the text."""
    found = _FAULT.search(message)
    line, column, what = (int(found[1]), int(found[2]), found[3]) if found else (1, 1, message)
    place = FileLineColLoc(StringAttr(file), IntAttr(line), IntAttr(column))
    diagnostic = diagnostic_of(LocatedError(f"jaxlib: {what}", place))
    return ParseError(render(diagnostic, Sources({file: text})), diagnostic)
