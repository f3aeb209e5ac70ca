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
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from gradir.aot.loader import ADD, Library, LibraryError, load_library
from gradir.aot.loader import Function as LibraryFunction
from gradir.api import Module, compile, interpret
from gradir.diagnostics import Sources, printable
from gradir.dialects.base.diagnostics import LocatedError, Place, value_name
from gradir.dialects.base.lazy_function import lazy_function
from gradir.dialects.base.shapes import DYNAMIC, compatible, is_scalar
from gradir.errors import ArgumentError, ExecutionError, gradir_errors
from gradir.passes.analysis.arguments import in_out_results
from gradir.passes.analysis.call_graph import functions_by_name
from gradir.runtime.arrays import Array, ArraySpec, as_input, dtype_of, spec_of
from gradir.symbols import function_named
from gradir.tools.closed_output import drop_output
from gradir.tools.plugin_option import load_plugins
from gradir.tools.reading import error_text, read_module, reason
from gradir.tools.run_options import INTEGER_BOUND, PROGRAM, SHOWN_WHOLE, Arguments, parser

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
        function = _choose_function(module, arguments.function)
        arrays = _inputs(function, arguments.input, arguments.random_inputs)
    folder = None if arguments.output_dir is None else _make_folder(arguments.output_dir)
    name = function.sym_name.data
    arrays, out = _split(function, arrays)
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
        arrays = _arrays(specs, arguments.input, arguments.random_inputs, f"@{function.name}")
        contents = iter(arrays[len(function.inputs) :])
        out = [np.array(next(contents)) if a.request == ADD else None for a in function.outputs]
        folder = None if arguments.output_dir is None else _make_folder(arguments.output_dir)
        given = arrays[: len(function.inputs)]
        results = function(*given, out=out, threads=arguments.threads or function.threads)
    except LibraryError as error:
        raise ExecutionError(str(error)) from None
    if folder is not None:
        _write(results, folder)
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
            try:
                Path(file).write_text(text(), encoding="utf-8")
            except (OSError, ValueError) as error:
                raise ArgumentError(f"cannot write '{file}': {reason(error)}") from None
    return [str(profile)] if arguments.profile else []


# The program


def _choose_function(module: Module, name: str | None) -> FuncOp:
    """The function of this name, or the only one."""
    if name is not None:
        return function_named(module.op, name.removeprefix("@"))
    functions = functions_by_name(module.op)
    if len(functions) != 1:
        known = ", ".join(f"@{each}" for each in functions) or "none"
        raise ArgumentError(f"--function must say which function to run; functions: {known}")
    return function_named(module.op, next(iter(functions)))


def _result_names(function: FuncOp) -> list[str | None]:
    """The source names of the returned values of a function."""
    returned = function.get_return_op()
    return [] if returned is None else [operand.name_hint for operand in returned.operands]


# Inputs


def _inputs(function: FuncOp, files: Sequence[str], seed: int | None) -> list[Array]:
    """One array per argument: from the files, then random ones."""
    specs = _signature(function, None if seed is None else len(files))
    return _arrays(specs, files, seed, f"@{function.sym_name.data}")


def _arrays(
    specs: Sequence[ArraySpec], files: Sequence[str], seed: int | None, where: str
) -> list[Array]:
    """One array per argument of the function `where`: from the files, then random ones."""
    if len(files) > len(specs):
        raise ArgumentError(f"{where} takes {_arguments(specs)}, got {len(files)} --input")
    missing = specs[len(files) :]
    if missing and seed is None:
        raise ArgumentError(
            f"{where} takes {_arguments(specs)}, got {len(files)} --input; "
            f"no input for {', '.join(f'%{s.name}: {_type(s)}' for s in missing)}; "
            "--random-inputs SEED makes random ones"
        )
    arrays = [
        _load(file, spec, f"argument {index} (%{spec.name}) of {where}")
        for index, (file, spec) in enumerate(zip(files, specs, strict=False))
    ]
    for index, spec in enumerate(missing, len(files)):
        arrays.append(random_input(spec, seed or 0, index))
    return arrays


def _arguments(specs: Sequence[ArraySpec]) -> str:
    names = ", ".join(f"%{spec.name}" for spec in specs)
    count = f"{len(specs)} argument{'' if len(specs) == 1 else 's'}"
    return f"{count} ({names})" if specs else count


def _split(function: FuncOp, arrays: list[Array]) -> tuple[list[Array], list[Array | None] | None]:
    """The passed inputs, and those given by `out`, to which results are added."""
    in_out = in_out_results(function)
    if not in_out:
        return arrays, None
    out: list[Array | None] = [None] * len(function.function_type.outputs)
    for k, result in in_out.items():
        out[result] = np.array(arrays[k], order="C")
    return [array for k, array in enumerate(arrays) if k not in in_out], out


def _signature(function: FuncOp, files: int | None) -> list[ArraySpec]:
    """The specification of each argument; LocatedError if one, or a result, cannot be an array.

    Only arguments with files may have dynamic extents; `files` is their number, None for all.
    """
    specs: list[ArraySpec] = []
    where = f"@{function.sym_name.data}"
    for index, argument in enumerate(function.args):
        place = f"{where}: argument {index} ({value_name(argument)})"
        type_ = _array_type(argument.type, place, argument)
        if files is not None and index >= files and not type_.has_static_shape():
            raise LocatedError(
                f"{place}: --random-inputs needs static shapes, got {type_}; give an --input",
                argument,
            )
        specs.append(spec_of(argument.name_hint or f"arg{index}", type_))
    for index, type_ in enumerate(function.function_type.outputs):
        _array_type(type_, f"{where}: result {index}", function)
    return specs


def _array_type(type_: Attribute, where: str, place: Place) -> TensorType[Attribute]:
    if is_scalar(type_):
        # handed over as an array of rank 0
        type_ = TensorType(type_, [])
    if not isinstance(type_, TensorType):
        raise LocatedError(
            f"{where}: {PROGRAM} runs functions of tensors and numbers, got {type_}", place
        )
    tensor = cast(TensorType[Attribute], type_)
    try:
        dtype_of(tensor.element_type)
    except ArgumentError as error:
        raise LocatedError(f"{where}: {error}", place) from None
    return tensor


def _load(file: str, spec: ArraySpec, role: str) -> Array:
    """The array in a .npy file, of exactly the dtype and shape that the argument has."""
    try:
        with open(file, "rb") as stream:
            array: Array = np.lib.format.read_array(stream, allow_pickle=False)
    except OSError as error:
        raise ArgumentError(f"cannot read '{file}': {reason(error)}") from None
    except (ValueError, EOFError, OverflowError, MemoryError) as error:
        raise ArgumentError(f"cannot read '{file}' as an .npy file of numbers: {error}") from None
    if spec.dtype.name == "bfloat16" and array.dtype == np.dtype("V2"):
        # a .npy file has only the two bytes per element of a bfloat16 array
        array = array.view(spec.dtype)
    if compatible(spec.shape, array.shape):
        spec = ArraySpec(spec.name, array.shape, spec.dtype)
    return as_input(array, spec, f"{file}: {role}")


def random_input(spec: ArraySpec, seed: int, index: int) -> Array:
    """A random array, a function of seed, position, shape and type."""
    # NumPy promises that RandomState never changes; its newer generators may, with a release
    random = np.random.RandomState([seed, index])
    if spec.dtype.kind == "b":
        return random.randint(0, 2, spec.shape).astype(spec.dtype)
    if spec.dtype.kind in "iu":
        return random.randint(0, INTEGER_BOUND, spec.shape).astype(spec.dtype)
    return np.asarray(random.standard_normal(spec.shape)).astype(spec.dtype)


# Results


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


def _type(spec: ArraySpec) -> str:
    extents = ("?" if n == DYNAMIC else str(n) for n in spec.shape)
    return f"{spec.dtype}[{','.join(extents)}]"


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
