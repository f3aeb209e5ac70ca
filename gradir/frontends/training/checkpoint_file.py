"""Checkpoint files: the arrays of a training run and how far it is, in the safetensors format.

The arrays have their paths for names (`params['w']`, `state[0].count`), so that other tools read
them. Two more hold the history, and the metadata under "gradir" what follows from no array.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, cast

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from gradir.errors import FileError
from gradir.frontends.training.history import COUNTS, Table
from gradir.frontends.training.whole_files import file_errors, whole_file

FORM = 1
"""The form of the metadata; a later gradir that changes it counts on."""

DTYPES = {
    **{"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16"},
    **{"I64": "int64", "I32": "int32", "I16": "int16", "I8": "int8", "BOOL": "bool"},
    **{"U64": "uint64", "U32": "uint32", "U16": "uint16", "U8": "uint8"},
}
"""The dtypes of gradir by the format's names."""


@dataclass(frozen=True)
class Progress:
    """How far a run is: `epoch` are done, and `batch` batches of the next one; `steps` in all.

    `cut` is what the borders of that epoch's batches follow from; its order follows from `seed`.
    """

    seed: int
    epoch: int = 0
    batch: int = 0
    steps: int = 0
    cut: tuple[int, ...] = ()


@dataclass(frozen=True)
class Checkpoint:
    """A run at one moment: its arrays by their paths."""

    arrays: Mapping[str, Any]
    progress: Progress
    epochs: Table
    steps: Table

    def write(self, path: Path) -> None:
        """Write the file; the old one stays if that fails."""
        tables = {"history.epochs": self.epochs, "history.steps": self.steps}
        about = {
            "form": FORM,
            "progress": asdict(self.progress),
            "columns": {name: list(table.columns) for name, table in tables.items()},
        }
        arrays = {name: _in_floats(array) for name, array in self.arrays.items()}
        arrays |= {name: _matrix(table) for name, table in tables.items()}
        with whole_file(path) as new:
            try:
                save_file(arrays, new, {"gradir": json.dumps(about)})
            except SafetensorError as error:  # of the operating system
                raise FileError(f"{path}: cannot be written: {error}") from None


def read_checkpoint(path: Path, kinds: Mapping[str, str]) -> Checkpoint:
    """The file, which must have arrays of these kinds (`float32[2, 3]`) at these paths.

    FileError, with the path and the array, for any other file.
    """
    try:
        with (
            file_errors(path, "cannot be read"),
            cast(Any, safe_open(str(path), framework="numpy", backend="pread")) as file,
        ):
            return _Reader(path, file).checkpoint(kinds)
    except SafetensorError as error:
        raise FileError(f"{path}: is no whole file in the safetensors format: {error}") from None


# The format has no complex128: complex numbers are pairs of floats along a last axis.

_FLOATS = {"complex64": "float32", "complex128": "float64"}


def _in_floats(array: Any) -> Any:
    floats = _FLOATS.get(array.dtype.name)
    if floats is None:
        return array
    return np.ascontiguousarray(array)[..., None].view(floats).reshape(*array.shape, 2)


def _kind_in_floats(kind: str) -> str:
    dtype, bracket, extents = kind.partition("[")
    if dtype not in _FLOATS:
        return kind
    inner = extents.removesuffix("]")
    return f"{_FLOATS[dtype]}{bracket}{inner + ', ' if inner else ''}2]"


def _as_kind(array: Any, kind: str) -> Any:
    dtype = kind.partition("[")[0]
    return array.view(dtype)[..., 0] if dtype in _FLOATS else array


class _Reader:
    """An open file, whose header the library has checked against its length."""

    def __init__(self, path: Path, file: Any):
        self.path = path
        self.file = file
        self.kinds = {name: self._kind(name) for name in file.keys()}

    def checkpoint(self, kinds: Mapping[str, str]) -> Checkpoint:
        about = self._about()
        columns = self._columns(about)
        for name, wanted in kinds.items():
            if name not in self.kinds:
                raise self._refusal(f"has no array {name}, which the trainer has as {wanted}")
            if self.kinds[name] != _kind_in_floats(wanted):
                raise self._refusal(f"{name} is {self.kinds[name]}, and the trainer's is {wanted}")
        for name in self.kinds:
            if name not in kinds and name not in columns:
                raise self._refusal(f"has an array {name}, which the trainer does not have")
        progress = self._progress(about)
        epochs, steps = (self._table(name, names) for name, names in columns.items())
        self._require_agreement(progress, epochs, steps)
        arrays = {n: _as_kind(self.file.get_tensor(n), kind) for n, kind in kinds.items()}
        return Checkpoint(arrays, progress, epochs, steps)

    def _refusal(self, text: str) -> FileError:
        return FileError(f"{self.path}: {text}")

    def _kind(self, name: str) -> str:
        found = self.file.get_slice(name)
        return f"{DTYPES.get(found.get_dtype(), found.get_dtype())}{found.get_shape()}"

    def _about(self) -> dict[str, Any]:
        metadata = cast(dict[str, str], self.file.metadata() or {})
        text = metadata.get("gradir")
        if text is None:
            raise self._refusal("is no checkpoint of a gradir.Trainer: its metadata lacks 'gradir'")
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise self._refusal("metadata 'gradir': expected an object in JSON")
        about = cast(dict[str, Any], found)
        form = about.get("form")
        if form != FORM:
            raise self._refusal(
                f"metadata 'gradir': has the form {form!r}, this gradir reads {FORM}"
            )
        return about

    def _progress(self, about: Mapping[str, Any]) -> Progress:
        given = about.get("progress")
        if isinstance(given, dict) and set(cast(Any, given)) == {f.name for f in fields(Progress)}:
            values = cast(dict[str, Any], given)
            cut = _list(values.pop("cut"))
            if all(type(n) is int and n >= 0 for n in [*cut, *values.values()]):
                return Progress(**values, cut=tuple(cut))
        raise self._refusal(f"metadata 'gradir': progress must be counts, got {given!r:.200}")

    def _columns(self, about: Mapping[str, Any]) -> dict[str, list[str]]:
        given = about.get("columns")
        columns: dict[str, list[str]] = {}
        for table in ("history.epochs", "history.steps"):
            names = _list(cast(Any, given).get(table)) if isinstance(given, dict) else []
            kind = self.kinds.get(table, "")
            rows = kind.removeprefix("float64[").partition(",")[0]
            is_matrix = kind == f"float64[{rows}, {len(names)}]"
            if not is_matrix or len({n for n in names if isinstance(n, str)}) != len(names):
                raise self._refusal(
                    f"{table} is {kind or 'missing'}, its columns are {names!r:.200}"
                )
            columns[table] = names
        return columns

    def _table(self, name: str, names: Sequence[str]) -> Table:
        values = self.file.get_tensor(name)
        columns = {label: values[:, k].tolist() for k, label in enumerate(names)}
        for label in COUNTS:
            found = columns.get(label, [])
            if not all(x >= 0 and x.is_integer() for x in found):
                raise self._refusal(f"{name}: column {label!r} must hold counts")
            columns |= {label: list(map(int, found))} if label in columns else {}
        return Table(columns)

    def _require_agreement(self, progress: Progress, epochs: Table, steps: Table) -> None:
        """Raise unless the history has the epochs and steps that the progress counts."""
        begin = progress.steps - progress.batch
        numbers = steps.columns.get("epoch", [])[max(begin, 0) :]
        agree = (len(epochs), len(steps)) == (progress.epoch, progress.steps) and begin >= 0
        named = not len(steps) or set(COUNTS) <= set(steps.columns)
        if not (agree and named and all(n == progress.epoch + 1 for n in numbers)):
            raise self._refusal(f"history does not agree with {progress}")


def _list(given: object) -> list[Any]:
    return cast(list[Any], given) if isinstance(given, list) else [None]


def _matrix(table: Table) -> np.ndarray[Any, Any]:
    columns = list(table.columns.values())
    return np.array(columns, np.float64).reshape(len(columns), len(table)).T.copy()
