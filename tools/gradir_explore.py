"""gradir-explore: a program's function as one HTML page, to be opened in a browser.

The page has the source, the IR after each pass and stage, the memory plan, the profile where there
are arguments, and the native code of each kernel.
"""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Sequence
from typing import Any

from gradir.diagnostics import Sources, printable
from gradir.errors import ArgumentError, gradir_errors
from gradir.tools.near_options import name_nearest
from gradir.tools.plugin_option import load_plugins
from gradir.tools.reading import error_text, read_module
from gradir.tools.run_inputs import choose_function, inputs_of
from gradir.tools.run_options import add_end, add_program, add_threads, add_trust

PROGRAM = "gradir-explore"

DESCRIPTION = (
    "Write one HTML page on a function of a program in MLIR syntax: source, IR after "
    "each stage, memory, time, native code. It needs no network and no other file."
)

EPILOG = """\
With --random-inputs or --input for all arguments the function is called, and the page has the
times of its kernels beside the limits of this machine. Where a pass makes a gradient, the page has
its memory plans within smaller and smaller limits.

examples:
  gradir-explore program.mlir
  gradir-explore program.mlir -p 'gradir-gradient{function=f mode=grad}' --function f_grad \\
    --random-inputs 0 -o page.html
"""


class ExploreArguments(argparse.Namespace):
    """The command line."""

    file: str
    function: str | None
    input: list[str]
    random_inputs: int | None
    passes: str | None
    plugin: list[str]
    threads: int | None
    output: str | None
    trust_input: bool
    traceback: bool


def _parser() -> argparse.ArgumentParser:
    options = argparse.ArgumentParser(
        prog=PROGRAM,
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_program(options, "the program; - reads standard input")
    add_threads(options)
    options.add_argument(
        "-o",
        "--output",
        metavar="FILE.html",
        help="the page; default: the program's name with .html, in this folder",
    )
    add_trust(options)
    add_end(options, PROGRAM)
    return name_nearest(options)


def write_page(arguments: ExploreArguments, sources: Sources) -> str:
    """Write the page of a command line; its file. Adds the program's text to `sources`."""
    module = read_module(arguments.file, sources, arguments.trust_input)
    if arguments.passes is not None:
        module = module.run_passes(arguments.passes)
    with gradir_errors(sources):
        function = choose_function(module, arguments.function)
        arrays: list[Any] = []
        if arguments.input or arguments.random_inputs is not None:
            arrays = inputs_of(function, arguments.input, arguments.random_inputs)
    name = function.sym_name.data
    page = module.explore(name, *arrays, threads=arguments.threads)
    file = arguments.output or _page_beside(arguments.file)
    page.save(file)
    return file


def _page_beside(program: str) -> str:
    stem = "page" if program == "-" else os.path.splitext(os.path.basename(program))[0]
    return f"{stem}.html"


def main(argv: Sequence[str] | None = None) -> int:
    """Run gradir-explore with these arguments; the exit code."""
    try:
        load_plugins(argv)
        arguments = _parser().parse_args(argv, ExploreArguments())
    except ArgumentError as error:
        print(f"{PROGRAM}: error: {error}", file=sys.stderr)
        return 1
    except SystemExit as error:
        # argparse: 0 for --help, 2 for arguments it does not understand
        return 0 if not error.code else 1
    sources = Sources()
    try:
        print(printable(write_page(arguments, sources)))
        return 0
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        if arguments.traceback:
            traceback.print_exc()
        print(printable(error_text(error, sources, PROGRAM)), file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
