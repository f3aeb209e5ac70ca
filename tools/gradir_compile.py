"""gradir-compile: write functions of a program as native code for C, with a header.

The file is a shared library that needs neither Python nor gradir; no compiler or linker is needed
to write it. docs/ahead-of-time.md says how it is called.
"""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Sequence

from gradir import __version__
from gradir.aot.export import export_library
from gradir.aot.groups import read_groups
from gradir.aot.mpi import LIBRARIES
from gradir.aot.program import LEVELS_OF_X86
from gradir.codegen.text.target import LEVELS
from gradir.diagnostics import Sources, printable
from gradir.errors import ArgumentError
from gradir.runtime.threads import MAX_THREADS
from gradir.tools.closed_output import drop_output
from gradir.tools.near_options import name_nearest
from gradir.tools.plugin_option import load_plugins, plugin_option
from gradir.tools.reading import error_text, read_module

PROGRAM = "gradir-compile"

EPILOG = f"""\
levels:
  {", ".join(LEVELS)}. A library of several uses the best that the processor has;
  one that has none of them gets an error, not a crash.

examples:
  gradir-compile f.mlir -p 'gradir-gradient{{function=f mode=vjp}}' --function f_vjp -o libf.so
  gradir-compile f.mlir --function f --function g=other_g --threads 8 -o libf.so
  gradir-compile f.mlir --function f --target aarch64 -c -o f.o
  cc main.c -I. -L. -lf -o main
"""


class CompileArguments(argparse.Namespace):
    """The command line."""

    file: str
    function: list[str]
    output: str
    object: bool
    static: bool
    target: str | None
    threads: int
    linker: str | None
    mpi: str
    group: list[str]
    passes: str | None
    plugin: list[str]
    trust_input: bool
    traceback: bool


def parser() -> argparse.ArgumentParser:
    """The parser of the command line."""
    options = argparse.ArgumentParser(
        prog=PROGRAM,
        description="Write functions of a program in MLIR syntax as a library for C.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = options.add_argument
    add("--version", action="version", version=f"{PROGRAM} {__version__}")
    add("file", metavar="FILE", help="the program; - reads standard input")
    add(
        "--function",
        metavar="NAME[=C_NAME]",
        action="append",
        default=[],
        help="a function to export, by its name in C if that is another one; may be repeated, and "
        "is not needed if there is only one",
    )
    add(
        "-o",
        "--output",
        metavar="FILE",
        required=True,
        help="the library; a header (.h) and a description (.json) are written beside it",
    )
    kind = options.add_mutually_exclusive_group()
    kind.add_argument("-c", "--object", action="store_true", help="write a relocatable object")
    kind.add_argument("--static", action="store_true", help="write an archive with that object")
    add(
        "--target",
        metavar="LEVELS",
        help="levels of processors, separated by commas; default: "
        f"{','.join(LEVELS_OF_X86)}, or aarch64 on such a machine",
    )
    add(
        "--threads",
        metavar="N",
        type=_threads,
        default=1,
        help="the most threads of a call, which the library starts itself; default: %(default)s",
    )
    add("--linker", metavar="COMMAND", help="link by this command: gcc, clang, 'zig cc'")
    add(
        "--mpi",
        choices=[*LIBRARIES],
        default="mpich",
        help="the MPI library that collectives call; default: %(default)s",
    )
    add(
        "--group",
        metavar="NAME=RANKS",
        action="append",
        default=[],
        help="the ranks of a group of the program: even=0,2, or lists of which each rank is in "
        "one: rows=0,1/2,3; may be repeated",
    )
    add("-p", "--passes", metavar="PIPELINE", help="run these passes first, as with gradir-opt -p")
    plugin_option(options)
    add(
        "--trust-input",
        action="store_true",
        help="compile loop nests and buffers that are not proven to stay inside of their memory",
    )
    add("--traceback", action="store_true", help="show where in gradir an error comes from")
    return name_nearest(options)


def _threads(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= MAX_THREADS):
        message = f"expected an integer from 1 to {MAX_THREADS}, got {text!r}"
        raise argparse.ArgumentTypeError(message)
    return int(text)


def compile_file(arguments: CompileArguments, sources: Sources) -> None:
    """Run the command line; adds the program's text to `sources`, for messages."""
    module = read_module(arguments.file, sources, arguments.trust_input)
    if arguments.passes is not None:
        module = module.run_passes(arguments.passes)
    kind = "object" if arguments.object else "static" if arguments.static else "shared"
    export_library(
        module,
        arguments.output,
        functions=_functions(arguments.function),
        targets=arguments.target,
        threads=arguments.threads,
        kind=kind,
        linker=arguments.linker,
        mpi=arguments.mpi,
        groups=read_groups(arguments.group),
    )


def _functions(given: Sequence[str]) -> dict[str, str] | None:
    """The names in C, by those in the program."""
    found: dict[str, str] = {}
    for text in given:
        source, _, name = text.removeprefix("@").partition("=")
        if source in found:
            raise ArgumentError(f"--function: {source} is named twice")
        found[source] = name or source
    return found or None


def main(argv: Sequence[str] | None = None) -> int:
    """Run gradir-compile with these arguments; the exit code."""
    sources = Sources()
    arguments = None
    try:
        load_plugins(argv)
        arguments = parser().parse_args(argv, CompileArguments())
        compile_file(arguments, sources)
        return 0
    except SystemExit as error:
        # argparse: 0 for --help, 2 for arguments it does not understand
        return 0 if not error.code else 1
    except BrokenPipeError:
        drop_output()
        return 1
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        if arguments is not None and arguments.traceback:
            traceback.print_exc()
        print(printable(error_text(error, sources, PROGRAM)), file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
