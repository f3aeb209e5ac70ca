"""ONNX files: the model, and its tensors, which may lie in files beside it.

A file beside a model must be in the model's folder: paths that leave it, by .., by links or from
the root, are refused, as are parts of a file that it does not have.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from gradir.dialects.array.creation import numpy_dtype
from gradir.frontends.imported.errors import ImportedProgramError
from gradir.frontends.imported.onnx_rules.types import NAMES
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.spec import ELEMENTS
from gradir.packages import package

onnx: Any = package("onnx", "onnx", "frontends")
numpy_helper: Any = package("onnx.numpy_helper", "onnx", "frontends")

checker: Any = package("onnx.checker", "onnx", "frontends")

EXTERNAL = 1
"""TensorProto.EXTERNAL: a tensor's elements are in another file."""

SMALL = 64
"""Elements of a tensor that may say an extent or an axis, which onnx's checker reads."""


def read_model(given: Any) -> tuple[Any, str, Path | None]:
    """A model from a path or a ModelProto, a name for its places, and the folder of its tensors."""
    if isinstance(given, onnx.ModelProto):
        copy = onnx.ModelProto()
        copy.CopyFrom(given)
        _require_text(copy, "<onnx model>")
        return copy, "<onnx model>", None
    if not isinstance(given, (str, os.PathLike)):
        raise refusal(
            f"onnx.load: expected a path or an onnx.ModelProto, got {type(given).__name__}",
            ImportedProgramError,
        )
    path = Path(given)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise refusal(f"{path}: {error.strerror}", ImportedProgramError) from None
    return _parsed(data, path), str(path), path.parent


def _parsed(data: bytes, path: Path) -> Any:
    model = onnx.ModelProto()
    try:
        model.ParseFromString(data)
    except Exception as error:  # protobuf has several of its own
        raise refusal(f"{path}: it is not an ONNX model: {error}", ImportedProgramError) from None
    if not model.HasField("graph") or not model.opset_import:
        raise refusal(f"{path}: it is not an ONNX model: it has no graph or no opset",
                      ImportedProgramError)  # fmt: skip
    _require_text(model, str(path))
    return model


def _require_text(model: Any, file: str) -> None:
    """ImportedProgramError for a name that is not UTF-8, which protobuf hands over as bytes."""
    rest = [model]
    while rest:
        for field, value in rest.pop().ListFields():
            if field.type == field.TYPE_MESSAGE:
                rest += [value] if hasattr(value, "ListFields") else list(value)
                continue
            parts = [value] if isinstance(value, (str, bytes)) else value
            if field.type == field.TYPE_STRING and not all(isinstance(p, str) for p in parts):
                what = f"a {field.name} of a {field.containing_type.name} is not UTF-8"
                raise refusal(f"{file}: it is not an ONNX model: {what}", ImportedProgramError)


def outline_of(model: Any) -> bytes:
    """A model without its large and external weights, which are inputs there, for the checker."""
    made = onnx.ModelProto()
    _copy_fields(model, made, "graph")
    _copy_fields(model.graph, made.graph, "initializer")
    inputs = {value.name for value in made.graph.input}
    for tensor in model.graph.initializer:
        if tensor.data_location != EXTERNAL and prod(tensor.dims) <= SMALL:
            made.graph.initializer.add().CopyFrom(tensor)
        elif tensor.name not in inputs:
            value = made.graph.input.add(name=tensor.name)
            value.type.tensor_type.elem_type = tensor.data_type
            for extent in tensor.dims:
                value.type.tensor_type.shape.dim.add(dim_value=extent)
    return made.SerializeToString()


def _copy_fields(source: Any, target: Any, absent: str) -> None:
    """Copy the fields of a message that are set, but for one, which may be large."""
    for field, value in source.ListFields():
        if field.name == absent:
            continue
        if hasattr(value, "MergeFrom"):
            getattr(target, field.name).MergeFrom(value)
        else:
            setattr(target, field.name, value)


def is_checked(outline: bytes) -> bool:
    """Whether onnx's checker, which infers types and shapes too, finds no fault in a model."""
    try:
        checker.check_model(outline, full_check=True)
    except Exception:  # its C++ code has errors of its own
        return False
    return True


def array_of(tensor: Any, folder: Path | None, file: str) -> np.ndarray[Any, Any]:
    """The elements of a TensorProto."""
    try:
        if tensor.data_location == EXTERNAL:
            return _external(tensor, folder, file)
        return _with_elements(np.asarray(numpy_helper.to_array(tensor)))
    except (ValueError, TypeError, KeyError) as error:
        raise refusal(f"{file}: tensor {tensor.name!r}: {error}", ImportedProgramError) from None


def _with_elements(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The array that onnx 1.18 means, which hands over the bits of bfloat16 and float8."""
    if array.dtype.names is None:
        return array
    [kind, *_] = array.dtype.names
    if kind != "bfloat16":
        raise ValueError(f"there are no elements of type {kind}")
    return array.astype(np.uint16).view(numpy_dtype(ELEMENTS[kind]))


def _external(tensor: Any, folder: Path | None, file: str) -> np.ndarray[Any, Any]:
    entries = {entry.key: entry.value for entry in tensor.external_data}
    if folder is None:
        raise ValueError("its elements are in another file; load the model by its path")
    path = _inside(folder, entries.get("location", ""))
    name = NAMES.get(tensor.data_type, "")
    if name not in ELEMENTS:
        raise ValueError(f"there are no elements of type {name or tensor.data_type}")
    dtype = np.dtype(numpy_dtype(ELEMENTS[name]))
    count = int(np.prod(tensor.dims, dtype=object)) * dtype.itemsize
    offset, length = int(entries.get("offset", 0)), int(entries.get("length", count))
    if length != count or offset < 0 or offset + length > path.stat().st_size:
        raise ValueError(f"{path.name} does not have its {count} bytes at {offset}")
    made = np.fromfile(
        path, dtype.newbyteorder("<"), count // max(dtype.itemsize, 1), offset=offset
    )
    return made.astype(dtype, copy=False).reshape(tuple(tensor.dims))


def _inside(folder: Path, location: str) -> Path:
    root = folder.resolve()
    path = (root / location).resolve()
    if not location or not path.is_relative_to(root) or not path.is_file():
        raise ValueError(
            f"its elements are in {location!r}, which is no file in the model's folder"
        )
    return path


def subgraphs(node: Any) -> Iterator[Any]:
    """The graphs among the attributes of a node; of an If the one of true first."""
    for attribute in sorted(node.attribute, key=lambda each: each.name, reverse=True):
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs
