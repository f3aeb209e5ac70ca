"""The function that a command runs, and its arguments: from .npy files, or random."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from gradir.api import Module
from gradir.dialects.base.diagnostics import LocatedError, Place, value_name
from gradir.dialects.base.shapes import DYNAMIC, compatible, is_scalar
from gradir.errors import ArgumentError
from gradir.passes.analysis.arguments import in_out_results
from gradir.passes.analysis.call_graph import functions_by_name
from gradir.runtime.arrays import Array, ArraySpec, as_input, dtype_of, spec_of
from gradir.symbols import function_named
from gradir.tools.reading import reason
from gradir.tools.run_options import INTEGER_BOUND, PROGRAM


def choose_function(module: Module, name: str | None) -> FuncOp:
    """The function of this name, or the only one."""
    if name is not None:
        return function_named(module.op, name.removeprefix("@"))
    functions = functions_by_name(module.op)
    if len(functions) != 1:
        known = ", ".join(f"@{each}" for each in functions) or "none"
        raise ArgumentError(f"--function must say which function to run; functions: {known}")
    return function_named(module.op, next(iter(functions)))


def inputs_of(function: FuncOp, files: Sequence[str], seed: int | None) -> list[Array]:
    """One array per argument: from the files, then random ones."""
    specs = _signature(function, None if seed is None else len(files))
    return arrays_for(specs, files, seed, f"@{function.sym_name.data}")


def arrays_for(
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


def split_inputs(
    function: FuncOp, arrays: list[Array]
) -> tuple[list[Array], list[Array | None] | None]:
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
    numbers = np.asarray(random.standard_normal(spec.shape))
    if spec.dtype.kind == "c":
        numbers = numbers + 1j * random.standard_normal(spec.shape)
    return numbers.astype(spec.dtype)


def _type(spec: ArraySpec) -> str:
    extents = ("?" if n == DYNAMIC else str(n) for n in spec.shape)
    return f"{spec.dtype}[{','.join(extents)}]"
