"""The command line of gradir-run."""

from __future__ import annotations

import argparse

from gradir import __version__
from gradir.tools.near_options import name_nearest
from gradir.tools.plugin_option import plugin_option

PROGRAM = "gradir-run"

INTEGER_BOUND = 8
"""Random integers are drawn from [0, INTEGER_BOUND)."""

LONGEST_TIMEOUT = 10_000_000
"""Seconds; a limit of the timers of all systems."""

SHOWN_WHOLE = 100
"""Arrays of more elements than this are printed in part: three entries from each end of an axis."""

DESCRIPTION = "Run a function of a program in MLIR syntax once and print its results."

EPILOG = f"""\
inputs:
  The files of --input are the first arguments of the function, in order. Their shapes and element
  types must be exactly the function's; the file gives the extents that it leaves open (?).
  --random-inputs makes the other arguments: floats are standard normal,
  integers uniform in [0, {INTEGER_BOUND}), booleans true or false alike.
  Each depends on the seed, its position, shape and type only. A bf16 array is the file that
  numpy.save makes of an ml_dtypes.bfloat16 array.

output:
  For each result a line `result0: float32[64,10]` and its values, on the same line if there is only
  one: `result0: float32[] = 2.302585`. The name of the returned value follows, as in `// %loss`.
  Arrays of more than {SHOWN_WHOLE} elements are shortened.

examples:
  gradir-run program.mlir --function f --random-inputs 0
  gradir-run program.mlir --function f --input x.npy --input w.npy --output-dir results
  gradir-run program.mlir -p 'gradir-gradient{{function=f mode=grad}}' --function f_grad \\
    --random-inputs 0
  gradir-run libf.so --function f_vjp --random-inputs 0
"""


class Arguments(argparse.Namespace):
    """The command line."""

    file: str
    function: str | None
    input: list[str]
    random_inputs: int | None
    output_dir: str | None
    passes: str | None
    plugin: list[str]
    threads: int | None
    timeout: float | None
    interpret: bool
    explain: bool
    profile: bool
    profile_json: str | None
    profile_svg: str | None
    plot: str | None
    trust_input: bool
    precision: int
    traceback: bool


def parser() -> argparse.ArgumentParser:
    """The parser of the command line; its help lists the options in this order."""
    options = argparse.ArgumentParser(
        prog=PROGRAM,
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_program(
        options, "the program; - reads standard input; a library of gradir-compile ends in .so"
    )
    options.add_argument(
        "--output-dir", metavar="DIR", help="write result0.npy, result1.npy, ... to this folder"
    )
    _add_machine(options)
    _add_reports(options)
    _add_precautions(options)
    return name_nearest(options)


def add_program(options: argparse.ArgumentParser, file: str) -> None:
    """The options of a command that takes a function and its arguments; `file` is the first's
    help."""
    add = options.add_argument
    add("file", metavar="FILE", help=file)
    add("--function", metavar="NAME", help="the function; not needed if there is only one")
    add("--input", metavar="FILE.npy", action="append", default=[], help="an argument's array")
    add(
        "--random-inputs",
        metavar="SEED",
        type=_seed,
        help="make the arguments for which there is no --input from this seed",
    )
    add("-p", "--passes", metavar="PIPELINE", help="run these passes first, as with gradir-opt -p")
    plugin_option(options)


def add_threads(options: argparse.ArgumentParser) -> None:
    """The option for the number of threads."""
    options.add_argument(
        "--threads", metavar="N", type=_count, help="use at most N threads; default: all cores"
    )


def _add_machine(options: argparse.ArgumentParser) -> None:
    """How the function runs."""
    add = options.add_argument
    add_threads(options)
    add(
        "--timeout",
        metavar="SECONDS",
        type=_seconds,
        help="end with an error if reading, compiling and running take longer than this",
    )
    add("--interpret", action="store_true", help="use the NumPy interpreter, not native code")


def _add_reports(options: argparse.ArgumentParser) -> None:
    """What is said of the run behind its results."""
    add = options.add_argument
    add(
        "--explain",
        action="store_true",
        help="print behind the results where the first nan or infinite number in them comes from; "
        "the function is run once more for it, by the interpreter",
    )
    add(
        "--profile",
        action="store_true",
        help="print behind the results how long each kernel of the native code takes, beside the "
        "limits of this machine; the function is called some hundred times for it",
    )
    add("--plot", metavar="FILE.svg", help="draw the results over their last axis, as a picture")
    add("--profile-json", metavar="FILE", help="write that profile as JSON")
    add("--profile-svg", metavar="FILE", help="write it as a picture")


def _add_precautions(options: argparse.ArgumentParser) -> None:
    """Trust in the program, and how results and errors are shown."""
    add = options.add_argument
    add_trust(options)
    add(
        "--precision",
        metavar="DIGITS",
        type=_count,
        default=6,
        help="print this many digits after the point; default: %(default)s",
    )
    add_end(options, PROGRAM)


def add_trust(options: argparse.ArgumentParser) -> None:
    """The option that trusts a program."""
    options.add_argument(
        "--trust-input",
        action="store_true",
        help="run loop nests and buffers that are not proven to stay inside of their memory: the "
        "program can then read and write all memory of this process",
    )


def add_end(options: argparse.ArgumentParser, program: str) -> None:
    """The options of every command."""
    add = options.add_argument
    add("--traceback", action="store_true", help="show where in gradir an error comes from")
    add("--version", action="version", version=f"{program} {__version__}")


def _seed(text: str) -> int:
    return _integer(text, 0, (1 << 32) - 1)


def _count(text: str) -> int:
    return _integer(text, 1, 1024)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0.0 < seconds <= LONGEST_TIMEOUT:
        message = f"expected a number of seconds above 0, at most {LONGEST_TIMEOUT}, got {text!r}"
        raise argparse.ArgumentTypeError(message)
    return seconds


def _integer(text: str, low: int, high: int) -> int:
    if not (text.isascii() and text.isdigit() and low <= int(text) <= high):
        message = f"expected an integer from {low} to {high}, got {text!r}"
        raise argparse.ArgumentTypeError(message)
    return int(text)
