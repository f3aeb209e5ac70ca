"""gradir-run: read a program, run one of its functions once, print the results.

Inputs are .npy files or random; results are printed in a form for tests, and optionally written as
.npy files. Runs native code, or the interpreter under --interpret: never one for the other.
"""

from __future__ import annotations

import copy
import os
import signal
import sys
import traceback
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects.func import FuncOp

from gradir.aot.loader import ADD, Library, LibraryError, load_library
from gradir.aot.loader import Function as LibraryFunction
from gradir.api import Module, compile, interpret
from gradir.diagnostics import Sources, printable
from gradir.dialects.base.lazy_function import lazy_function
from gradir.errors import ArgumentError, ExecutionError, gradir_errors
from gradir.runtime.arrays import Array, ArraySpec
from gradir.tools.closed_output import drop_output
from gradir.tools.plugin_option import load_plugins
from gradir.tools.reading import error_text, read_module, reason, write_text
from gradir.tools.result_plot import result_chart
from gradir.tools.run_inputs import arrays_for, choose_function, inputs_of, split_inputs
from gradir.tools.run_options import PROGRAM, SHOWN_WHOLE, Arguments, parser

if TYPE_CHECKING:
    from gradir.debug import explain
    from gradir.profiling.profile import Profile
else:
    explain = lazy_function("gradir.debug", "explain")

LIBRARY = b"\x7fELF"
"""How the files begin that are loaded, not read."""

TIMER_REPEATS = 0.05
"""Seconds."""


class _TimeLimit(BaseException):
    """The time is up. No handler of `Exception` takes it for an error of the program."""


@contextmanager
def _time_limit(seconds: float | None) -> Generator[None]:
    """A context with a time limit; ExecutionError after it. None is no limit.

    A signal handler raises, wherever Python is; native code polls for signals.
    """
    if seconds is None:
        yield
        return
    is_over = False

    def end(number: int, frame: object) -> None:
        if not is_over:
            raise _TimeLimit

    before = signal.signal(signal.SIGALRM, end)
    try:
        # repeatedly: Python drops an exception in a __del__
        signal.setitimer(signal.ITIMER_REAL, seconds, TIMER_REPEATS)
        yield
        is_over = True
    except _TimeLimit:
        is_over = True
        raise ExecutionError(f"the time limit of {seconds:g} s is exceeded (--timeout)") from None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def run(arguments: Arguments, sources: Sources) -> None:
    """Run the command line; adds the program's text to `sources`, for messages."""
    if arguments.interpret:
        _require_native(arguments)
    if _is_library(arguments.file):
        _run_library(arguments)
        return
    module = read_module(arguments.file, sources, arguments.trust_input)
    if arguments.passes is not None:
        module = module.run_passes(arguments.passes)
    with gradir_errors(sources):
        function = choose_function(module, arguments.function)
        arrays = inputs_of(function, arguments.input, arguments.random_inputs)
    folder = None if arguments.output_dir is None else _make_folder(arguments.output_dir)
    name = function.sym_name.data
    arrays, out = split_inputs(function, arrays)
    profile: Profile | None = None
    given = copy.deepcopy(out)
    if arguments.interpret:
        results = interpret(module, name, *arrays, out=out)
    else:
        compiled = compile(module, name, arguments.threads)
        added = copy.deepcopy(out)  # each call of a profile adds to them
        results = compiled(*arrays, out=out)
        if _wants_profile(arguments):
            profile = compiled.profile(*arrays, out=added)
    explanation = _explained(arguments, module, name, arrays, given)
    if folder is not None:
        _write(results, folder)
    labels = _result_names(function)
    _plot(arguments, results, labels)
    texts = [
        shown(f"result{index}", array, label, arguments.precision)
        for index, (array, label) in enumerate(zip(results, labels, strict=True))
    ]
    if profile is not None:
        texts += _profile_texts(profile, arguments)
    _print([*texts, *explanation])


def _is_library(name: str) -> bool:
    """Whether a file is a library, by its contents."""
    # not a pipe, which can be read only once
    if name == "-" or not os.path.isfile(name):
        return False
    try:
        with open(name, "rb") as file:
            return file.read(len(LIBRARY)) == LIBRARY
    except OSError:
        return False  # whoever reads it says why


def _run_library(arguments: Arguments) -> None:
    """Run a function of a library that gradir-compile has made.

    The inputs are its arguments, and then the contents of results that are read first.
    """
    if arguments.passes is not None or arguments.interpret or arguments.explain:
        raise ArgumentError("-p, --interpret and --explain are for programs, not for a library")
    if _wants_profile(arguments):
        raise ArgumentError("a profile is of a program; a library is compiled already")
    try:
        library = load_library(arguments.file)
        function = _library_function(library, arguments.function)
        read = [a for a in function.outputs if a.request == ADD]
        specs = [ArraySpec(a.name, a.shape, a.dtype) for a in (*function.inputs, *read)]
        arrays = arrays_for(specs, arguments.input, arguments.random_inputs, f"@{function.name}")
        contents = iter(arrays[len(function.inputs) :])
        out = [np.array(next(contents)) if a.request == ADD else None for a in function.outputs]
        folder = None if arguments.output_dir is None else _make_folder(arguments.output_dir)
        given = arrays[: len(function.inputs)]
        results = function(*given, out=out, threads=arguments.threads or function.threads)
    except LibraryError as error:
        raise ExecutionError(str(error)) from None
    if folder is not None:
        _write(results, folder)
    _plot(arguments, results, [a.name for a in function.outputs])
    rows = zip(results, function.outputs, strict=True)
    _print([
        shown(f"result{k}", array, a.name, arguments.precision)
        for k, (array, a) in enumerate(rows)
    ])  # fmt: skip


def _library_function(library: Library, name: str | None) -> LibraryFunction:
    """The function of this name, or the only one."""
    if name is None and len(library.functions) == 1:
        name = library.functions[0]
    known = ", ".join(f"@{each}" for each in library.functions)
    if name is None:
        raise ArgumentError(f"--function must say which function to run; functions: {known}")
    name = name.removeprefix("@")
    if name not in library.functions:
        raise ArgumentError(f"no function @{name}; functions: {known}")
    return library[name]


def _explained(
    arguments: Arguments, module: Module, name: str, arrays: Sequence[Array], out: Any
) -> list[str]:
    """Why results are not finite, if that is asked for."""
    if not arguments.explain:
        return []
    return [str(explain((module, name), *arrays, out=out))]


def _require_native(arguments: Arguments) -> None:
    """ArgumentError for options that mean nothing to the interpreter."""
    if arguments.threads is not None:
        raise ArgumentError("--threads is for native code; leave it out with --interpret")
    if _wants_profile(arguments):
        raise ArgumentError("a profile is of native code; leave --interpret out")


def _wants_profile(arguments: Arguments) -> bool:
    return arguments.profile or bool(arguments.profile_json or arguments.profile_svg)


def _profile_texts(profile: Profile, arguments: Arguments) -> list[str]:
    """Write the files of a profile; returns the texts to print."""
    for file, text in (
        (arguments.profile_json, profile.to_json),
        (arguments.profile_svg, profile.to_svg),
    ):
        if file is not None:
            write_text(file, text())
    return [str(profile)] if arguments.profile else []


# Results


def _result_names(function: FuncOp) -> list[str | None]:
    """The source names of the returned values of a function."""
    returned = function.get_return_op()
    return [] if returned is None else [operand.name_hint for operand in returned.operands]


def shown(name: str, array: Array, label: str | None = None, precision: int = 6) -> str:
    """An array as text: `result0: float32[2,3]`, then the values as NumPy prints them."""
    head = f"{name}: {array.dtype.name}[{','.join(map(str, array.shape))}]"
    note = "" if label is None else f"  // %{label}"
    plain = array.astype(np.float32) if array.dtype.name == "bfloat16" else array
    values = np.array2string(
        plain.reshape(()) if plain.size == 1 else plain,
        max_line_width=100,
        precision=precision,
        floatmode="fixed",
        threshold=SHOWN_WHOLE,
        edgeitems=3,
    )
    return f"{head} = {values}{note}" if array.size == 1 else f"{head}{note}\n{values}"


def _print(texts: Sequence[str]) -> None:
    try:
        for text in texts:
            print(text)
        # here rather than at the end of the process, which ignores failures
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        drop_output()
        raise ArgumentError(f"cannot write to standard output: {reason(error)}") from None


def _plot(arguments: Arguments, results: Sequence[Any], labels: Sequence[str | None]) -> None:
    """Draw the results, if that is asked for."""
    if arguments.plot is not None:
        write_text(arguments.plot, result_chart(results, labels))


def _make_folder(folder: str) -> Path:
    """The output folder, made and tested before the run."""
    path = Path(folder)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ArgumentError(f"cannot write to '{folder}': {reason(error)}") from None
    if not os.access(path, os.W_OK | os.X_OK):
        raise ArgumentError(f"cannot write to '{folder}': Permission denied")
    return path


def _write(results: Sequence[Any], folder: Path) -> None:
    for index, array in enumerate(results):
        file = folder / f"result{index}.npy"
        try:
            np.save(file, array, allow_pickle=False)
        except OSError as error:
            raise ArgumentError(f"cannot write '{file}': {reason(error)}") from None


# Errors


def main(argv: Sequence[str] | None = None) -> int:
    """Run gradir-run with these arguments; the exit code."""
    try:
        load_plugins(argv)
        arguments = parser().parse_args(argv, Arguments())
        return _run(arguments)
    except ArgumentError as error:
        print(f"{PROGRAM}: error: {error}", file=sys.stderr)
        return 1
    except SystemExit as error:
        # argparse: 0 for --help, 2 for arguments it does not understand
        return 0 if not error.code else 1
    except BrokenPipeError:
        drop_output()
        return 1
    except KeyboardInterrupt:
        return 130


def _run(arguments: Arguments) -> int:
    sources = Sources()
    try:
        with _time_limit(arguments.timeout):
            run(arguments, sources)
        return 0
    except BrokenPipeError:
        raise
    except Exception as error:
        if arguments.traceback:
            traceback.print_exc()
        print(printable(error_text(error, sources, PROGRAM)), file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
