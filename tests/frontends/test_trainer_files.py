"""Files of gradir.Trainer: written whole, hostile ones refused, CSV, charts, the best epoch."""

from __future__ import annotations

import csv
import json
import math
import os
import re
import struct
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import ml_dtypes
import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file
from trainers import DATA, PARAMS, batches, everything, fresh, loss

import gradir
import gradir.numpy as gnp
from gradir import optim
from gradir.dialects.array.creation import numpy_dtype
from gradir.dialects.base.shapes import NUMPY_NAMES
from gradir.errors import ArgumentError, FileError
from gradir.frontends.training.chart import Curve, Panel, chart
from gradir.frontends.training.checkpoint_file import Checkpoint, Progress, read_checkpoint
from gradir.frontends.training.history import Table, epochs_since_best

Array = np.ndarray[Any, Any]
SVG = "{http://www.w3.org/2000/svg}"


# Files.


def test_arrays_of_every_element_type(tmp_path: Path) -> None:
    arrays = {n: np.arange(250, 253).astype(numpy_dtype(e)) for e, n in NUMPY_NAMES.items()}
    Checkpoint(arrays, Progress(0), Table(), Table()).write(tmp_path / "run")
    kinds = {name: f"{name}[3]" for name in arrays}
    for name, array in read_checkpoint(tmp_path / "run", kinds).arrays.items():
        assert array.dtype == arrays[name].dtype
        np.testing.assert_array_equal(array, arrays[name])


def test_a_checkpoint_file_is_plain_safetensors(tmp_path: Path) -> None:
    made = fresh()
    made.fit(DATA, 1, 5, folder=tmp_path)
    found = load_file(tmp_path / "checkpoint.safetensors")
    np.testing.assert_array_equal(found["params['table']"], made.params["table"])
    np.testing.assert_array_equal(found["params['b'][0]"], made.params["b"][0])
    assert found["state[0].trace['table']"].dtype == np.float32
    assert found["history.steps"].shape == (5, 4)


def test_bfloat16(tmp_path: Path) -> None:
    half = {"w": np.array([[0.5, 1.5, 3.0]], ml_dtypes.bfloat16)}
    optimizer = optim.adam(0.1, state_dtype="float32")
    made = gradir.Trainer(lambda p, x: gnp.mean(p["w"] * x), optimizer, half)
    data = np.ones((4, 3), ml_dtypes.bfloat16)
    made.fit(data, 1, 2, folder=tmp_path)
    with safe_open(tmp_path / "checkpoint.safetensors", "numpy") as file:
        assert file.get_slice("params['w']").get_dtype() == "BF16"
    path, bits = tmp_path / "checkpoint.safetensors", everything(made)
    made.fit(data, 2, 2)
    twice = everything(made)
    made.load(path)
    assert everything(made) == bits and made.params["w"].dtype == ml_dtypes.bfloat16
    made.fit(data, 2, 2)
    assert everything(made) == twice


def test_a_write_that_fails_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.safetensors"
    made = fresh()
    made.save(path)
    old = path.read_bytes()

    def no_space(*args: Any) -> None:
        raise OSError(28, "No space left on device")

    made.fit(DATA, 1, 5)
    for name in ("fsync", "replace"):
        with monkeypatch.context() as patched:
            patched.setattr(os, name, no_space)
            with pytest.raises(
                FileError, match=r"a\.safetensors: cannot be written: No space left"
            ):
                made.save(path)
            with pytest.raises(FileError, match=r"a\.csv: cannot be written: No space left"):
                made.history.write_csv(tmp_path / "a.csv")
        assert path.read_bytes() == old and os.listdir(tmp_path) == [path.name]
    made.save(path)
    assert path.read_bytes() != old and os.listdir(tmp_path) == [path.name]
    with pytest.raises(FileError, match=r"nowhere/a: cannot be written: No such file"):
        made.save(tmp_path / "nowhere" / "a")
    (tmp_path / "link").symlink_to(path)
    fresh().save(tmp_path / "link")
    assert path.read_bytes() == old and (tmp_path / "link").is_symlink()


def header(**about: Any) -> Callable[[bytes], bytes]:
    """A change of the metadata's fields."""

    def change(whole: bytes) -> bytes:
        length = struct.unpack("<Q", whole[:8])[0]
        found = json.loads(whole[8 : 8 + length])
        known = json.loads(found["__metadata__"]["gradir"])
        for name, value in about.items():
            known[name] = {**known[name], **value} if isinstance(value, dict) else value
        found["__metadata__"]["gradir"] = json.dumps(known)
        text = json.dumps(found).encode()
        return struct.pack("<Q", len(text)) + text + whole[8 + length :]

    return change


NO_FORMAT = "is no whole file in the safetensors format"
HOSTILE: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "empty": (lambda b: b"", NO_FORMAT),
    "short": (lambda b: b[:-1], NO_FORMAT),
    "header only": (lambda b: b[:40], NO_FORMAT),
    "longer": (lambda b: b + b"\0", NO_FORMAT),
    "text": (lambda b: b"loss,epoch\n" * 99, NO_FORMAT),
    "huge header": (lambda b: b"\xff" * 7 + b"\x7f" + b[8:], NO_FORMAT),
    "no metadata": (lambda b: struct.pack("<Q", 2) + b"{}", "is no checkpoint of a gradir.Trainer"),
    "form": (header(form=2), "has the form 2, this gradir reads 1"),
    "no counts": (header(progress={"steps": -1}), "progress must be counts"),
    "strings": (header(progress={"seed": "0"}), "progress must be counts"),
    "other fields": (header(progress={"more": 1}), "progress must be counts"),
    "no progress": (header(progress=None), "progress must be counts, got None"),
    "no cut": (header(progress={"cut": 3}), "progress must be counts"),
    "more steps": (header(progress={"steps": 6}), "history does not agree"),
    "more batches": (header(progress={"batch": 2}), "history does not agree"),
    "more epochs": (header(progress={"epoch": 2}), "history does not agree"),
    "columns": (header(columns={"history.steps": ["a"]}), r"history.steps is float64\[5, 4\], its"),
    "no names": (header(columns={"history.steps": [[], {}, 1, 2]}), "history.steps is float64"),
    "one name": (header(columns={"history.steps": ["a"] * 4}), "history.steps is float64"),
    "no columns": (header(columns=3), "history.epochs is float64"),
    "not counts": (
        header(columns={"history.steps": ["step", "epoch", "loss", "rows"]}),
        "column 'rows' must hold counts",
    ),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_files_that_are_no_checkpoint(tmp_path: Path, kind: str) -> None:
    """The error names the file, and nothing is loaded."""
    change, message = HOSTILE[kind]
    made, path = fresh(), tmp_path / "run.safetensors"
    made.fit(DATA, 1, 5)
    made.save(path)
    path.write_bytes(change(path.read_bytes()))
    before = everything(made)
    with pytest.raises(FileError, match=message) as caught:
        made.load(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert everything(made) == before


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("params['table']", np.ones(7, np.float32), r"is float32\[7\], and the trainer.s is"),
        ("params['table']", np.ones(6), r"is float64\[6\], and the trainer's is float32\[6\]"),
        ("params['table']", np.ones(6, np.complex64), r"is C64\[6\], and the trainer's is"),
        ("params['b'][0]", None, r"has no array params\['b'\]\[0\]"),
        ("state[1]", np.ones(2), r"has an array state\[1\], which the trainer does not have"),
        ("history.steps", None, "history.steps is missing"),
        ("history.steps", np.full((5, 4), np.nan), "column 'step' must hold counts"),
    ],
)  # fmt: skip
def test_files_of_other_trainers(tmp_path: Path, name: str, value: Any, message: str) -> None:
    made, path = fresh(), tmp_path / "run.safetensors"
    made.fit(DATA, 1, 5)
    before = everything(made)
    made.save(path)
    with safe_open(path, "numpy") as file:
        arrays, metadata = {k: file.get_tensor(k) for k in file.keys()}, file.metadata()
    arrays = {k: v for k, v in {**arrays, name: value}.items() if v is not None}
    save_file(arrays, path, metadata)
    with pytest.raises(FileError, match=message) as caught:
        made.load(path)
    assert str(caught.value).startswith(f"{path}: ") and name in str(caught.value)
    assert everything(made) == before


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    for path in (tmp_path / "none", tmp_path):
        with pytest.raises(FileError, match=f"^{path}: cannot be read: "):
            fresh().load(path)


# Records.


def test_records(tmp_path: Path) -> None:
    """CSV that reads back as the same numbers, a curve for each column, and the aux of a loss."""

    def both(params: Any, ids: Any, targets: Any) -> Any:
        value = loss(params, ids, targets)
        return value, {"root": gnp.sqrt(value), "nothing": value * math.nan}

    made = gradir.Trainer(both, optim.sgd(0.1), PARAMS, has_aux=True, metrics={"error": loss})
    history = made.fit(DATA, 4, 11, held_out=DATA, folder=tmp_path / "new" / "run")
    files = sorted(os.listdir(tmp_path / "new" / "run"))
    assert files == ["checkpoint.safetensors", "epochs.csv", "epochs.svg", "steps.csv"]
    with (tmp_path / "new" / "run" / "steps.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["step"] for row in rows] == list("12345678")
    assert [float(row["root"]) for row in rows] == history.steps["root"]
    assert {row["nothing"] for row in rows} == {""}
    with (tmp_path / "new" / "run" / "epochs.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["epoch", "loss", "nothing", "root", "held_out_error"]
    assert [float(row["held_out_error"]) for row in rows] == history.epochs["held_out_error"]
    assert made.evaluate(DATA, 11) == {"error": history.epochs["held_out_error"][-1]}
    drawing = ElementTree.parse(tmp_path / "new" / "run" / "epochs.svg").getroot()
    curves = [curve.get("points", "").split() for curve in drawing.iter(f"{SVG}polyline")]
    assert list(map(len, curves)) == [4, 4, 4]  # of nan there is none
    texts = [text.text for text in drawing.iter(f"{SVG}text")]
    assert {"loss", "root", "nothing", "held out error", "epoch"} <= set(texts)
    history.write_svg(tmp_path / "steps.svg", "steps", "one", {"two <&": history})
    drawing = ElementTree.parse(tmp_path / "steps.svg").getroot()
    assert [len(c.get("points", "").split()) for c in drawing.iter(f"{SVG}polyline")] == [8] * 4
    texts = [text.text for text in drawing.iter(f"{SVG}text")]
    assert {"one", "two <&", "step"} <= set(texts)
    with pytest.raises(ArgumentError, match=r"^per: expected 'epochs' or 'steps', got 'years'"):
        history.write_csv(tmp_path / "a", "years")  # pyrefly: ignore[bad-argument-type]


@pytest.mark.parametrize(
    "values",
    [
        [],
        [math.nan, math.inf],
        [0.0],
        [3.0, 3.0],
        [-1e-320, 1e-320],
        [1e-300, 1e299, -math.inf],
        [-1e300, 1e299],
        [1e-3, 5.0, 1e9],
        [5e-324, 2.0],
    ],
)
def test_curves_stay_in_their_panels(values: list[float]) -> None:
    """Of any numbers; upwards for larger ones."""
    drawing = chart([Panel("loss", [Curve("", list(enumerate(values, 1)))])], "epoch")
    assert "nan" not in drawing and "inf" not in drawing
    places = [
        tuple(map(float, place.split(",")))
        for curve in ElementTree.fromstring(drawing).iter(f"{SVG}polyline")
        for place in curve.get("points", "").split()
    ]
    finite = [v for v in values if abs(v) < 1e300]
    assert len(places) == len(finite)
    assert all(70 <= x <= 330 and 50 <= y <= 250 for x, y in places)
    heights = [-y for _, y in places]
    assert all(a < b for a, b in pairwise(heights) if finite == [1e-3, 5.0, 1e9])


def test_early_stop(tmp_path: Path) -> None:
    """After two epochs without a lower error; the best parameters are in a file."""
    made = fresh()
    history = made.fit(DATA, 90, 5, held_out=DATA)
    errors = history.epochs["held_out_error"]
    found = next(n for n in range(1, 90) if epochs_since_best(errors[:n], "lower") == 2)
    made = fresh()
    options: dict[str, Any] = dict(held_out=DATA, patience=2, watch="held_out_error")
    made.fit(DATA, 90, 5, **options, folder=tmp_path)
    assert made.epoch == found < 90
    made.fit(DATA, 90, 5, **options)
    assert made.epoch == found
    made.load(tmp_path / "best.safetensors")
    assert made.epoch == found - 2
    assert made.evaluate(DATA, 5)["error"] == min(errors[:found])


@pytest.mark.parametrize(
    ("values", "better", "expected"),
    [
        ([3, 2, 2, 4], "lower", 2),
        ([3, 2, 2, 4], "higher", 0),
        ([1, math.nan, math.nan], "lower", 2),
        ([math.nan, math.nan], "higher", 2),
        ([math.nan, 5], "higher", 0),
        ([], "lower", 0),
    ],
)
def test_epochs_since_best(values: list[float], better: Any, expected: int) -> None:
    assert epochs_since_best(values, better) == expected


def test_progress_bar(capsys: pytest.CaptureFixture[str]) -> None:
    made = fresh()
    made.fit(DATA, 2, 5)
    assert capsys.readouterr().err == ""
    made.fit(DATA, 3, 5, progress=True)
    shown = capsys.readouterr().err.split("\r")[-1]
    assert "epoch 3/3" in shown and "15/15" in shown and "loss=" in shown
    made.fit(iter([*batches()]), 4, progress=True)
    assert "epoch 4/4" in capsys.readouterr().err


def test_charts_of_places_below_zero() -> None:
    """The scale begins at the least of them, and no line leaves its panel."""
    text = chart([Panel("p", [Curve("c", [(-2.0, 1.0), (0.0, 2.0), (1.0, 1.5)])])], "x")
    [line] = re.findall(r'<polyline points="([^"]*)"', text)
    assert [pair.split(",")[0] for pair in line.split()] == ["70.0", "243.3", "330.0"]
