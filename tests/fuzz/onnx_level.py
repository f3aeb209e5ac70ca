"""ONNX files with something changed: each is read and traced, or refused with a reason.

The files are cases of onnx.backend.test, one byte of which, or one field, is another. Without the
package onnx there are none.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import gradir
from fuzz.outcome import Broken, Outcome, must_work
from gradir import GradirError
from gradir.packages import package

EDGES = (0, 1, 2, 3, -1, -2, 7, 64, 127, 128, 255, 65536, 2**31 - 1, 2**31, 2**40, 2**62, -(2**63))
LARGEST = 8_000
"""Bytes of a file: larger ones take longer and have no more to find."""


@dataclass(frozen=True)
class Model:
    """The bytes of a file."""

    data: bytes


@cache
def bases() -> tuple[bytes, ...]:
    """ONNX's own test models."""
    import warnings

    node = package("onnx.backend.test.case.node", "onnx")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = sorted(node.collect_testcases(None), key=lambda case: case.name)
    found = [case.model.SerializeToString() for case in cases]
    return tuple(data for data in found if len(data) <= LARGEST)


def make(seed: int) -> Model:
    """A mutant of a random model."""
    choose = Random(seed)
    data = choose.choice(bases())
    if choose.random() < 0.3:
        return Model(_bytes_changed(choose, data))
    model = package("onnx", "onnx").ModelProto.FromString(data)
    for _ in range(choose.choice([1, 1, 2, 3])):
        _change(choose, model)
    return Model(model.SerializeToString())


def _bytes_changed(choose: Random, data: bytes) -> bytes:
    at = choose.randrange(len(data))
    match choose.randrange(4):
        case 0:
            return data[:at]
        case 1:
            return data[:at] + bytes([choose.randrange(256)]) + data[at + 1 :]
        case 2:
            return data[:at] + data[at + choose.choice([1, 2, 8]) :]
        case _:
            return data[:at] + data[choose.randrange(len(data)) :][:16] + data[at:]


def _messages(message: Any) -> Iterator[Any]:
    """A message and all inside of it."""
    yield message
    for descriptor, value in message.ListFields():
        if descriptor.message_type is not None:
            parts = list(value) if hasattr(value, "append") or hasattr(value, "add") else [value]
            for part in parts:
                yield from _messages(part)


def _change(choose: Random, model: Any) -> None:
    """Change a field, of any message of the model."""
    fields = [(m, d, v) for m in _messages(model) for d, v in m.ListFields()]
    message, descriptor, value = choose.choice(fields)
    if hasattr(value, "append") or hasattr(value, "add"):
        _change_list(choose, message, descriptor, value, fields)
    elif descriptor.message_type is not None:
        others = [v for _, d, v in fields if d.message_type is descriptor.message_type]
        alike = [v for v in others if type(v) is type(value)]
        value.CopyFrom(type(value).FromString(choose.choice(alike).SerializeToString()))
    elif choose.random() < 0.1:
        message.ClearField(descriptor.name)
    else:
        with suppress(ValueError):  # out of the range of the field
            setattr(message, descriptor.name, _other(choose, value, fields))


def _change_list(choose: Random, message: Any, descriptor: Any, value: Any, fields: Any) -> None:
    at = choose.randrange(len(value))
    kind = choose.randrange(3)
    if kind == 0:
        del value[at]
    elif descriptor.message_type is not None:
        value.add().CopyFrom(value[at])  # twice, behind the others
    elif kind == 1:
        value.append(value[at])
    else:
        with suppress(ValueError):
            value[at] = _other(choose, value[at], fields)


def _other(choose: Random, value: Any, fields: Sequence[Any]) -> Any:
    """Another value of a field: an edge, or one that stands elsewhere."""
    if isinstance(value, int):
        return choose.choice(EDGES)
    if isinstance(value, float):
        return choose.choice([0.0, -1.0, 1e30, float("nan"), float("inf")])
    alike = [v for _, _, v in fields if type(v) is type(value)]
    alike += [n for _, _, v in fields if hasattr(v, "append") for n in v if type(n) is type(value)]
    return choose.choice([*alike, type(value)()])


# What is promised of them.


def check(subject: Model) -> Outcome:
    """Fine, or an exception."""
    from gradir.frontends.onnx import load

    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        path.write_bytes(subject.data)
        try:
            model = load(path)
            module = model.trace()
        except GradirError as error:
            if not str(error).strip():
                raise Broken("a refusal says why", repr(error)) from error
            raise
    with must_work("parsing what was traced"):
        gradir.parse(str(module))
    return Outcome("fine", done=("traced",))


def smaller(subject: Model) -> Iterator[Model]:
    """Models without one node, initializer or attribute."""
    onnx = package("onnx", "onnx")
    try:
        model = onnx.ModelProto.FromString(subject.data)
    except Exception:
        return
    for name in ("node", "initializer", "value_info", "input"):
        for k in range(len(getattr(model.graph, name))):
            made = onnx.ModelProto()
            made.CopyFrom(model)
            del getattr(made.graph, name)[k]
            yield Model(made.SerializeToString())


def write(subject: Model) -> str:
    """The text that a file of it holds."""
    return f"\n{base64.b64encode(subject.data).decode()}\n"


def read(text: str) -> Model:
    """The model of a file."""
    return Model(base64.b64decode(text.split("\n", 2)[2]))
