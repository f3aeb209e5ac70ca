"""The examples: the digits program against NumPy, and the demo from start to end."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import gradir

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
SIZES = (64, 128, 64, 10)
BATCH = 64
SVG = "{http://www.w3.org/2000/svg}"

Array = np.ndarray[Any, Any]


@pytest.fixture(scope="module")
def program() -> gradir.Module:
    return gradir.parse(EXAMPLES / "digits_mlp.mlir")


def arguments() -> tuple[Array, Array, list[Array]]:
    """Images, labels, and the weights and biases of the three layers."""
    random = np.random.default_rng(0)
    parameters: list[Array] = []
    for fan_in, fan_out in pairwise(SIZES):
        parameters.append(random.normal(0, fan_in**-0.5, (fan_in, fan_out)).astype(np.float32))
        parameters.append(random.normal(0, 0.1, fan_out).astype(np.float32))
    images = random.random((BATCH, SIZES[0]), np.float32)
    return images, random.integers(0, SIZES[-1], BATCH), parameters


def by_hand(x: Array, labels: Array, parameters: list[Array]) -> tuple[Array, Array, list[Array]]:
    """Logits, loss and gradients of the network in float64."""
    w1, b1, w2, b2, w3, b3 = (p.astype(np.float64) for p in parameters)
    h1 = np.maximum(x @ w1 + b1, 0)
    h2 = np.maximum(h1 @ w2 + b2, 0)
    logits = h2 @ w3 + b3
    log_probs = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    z3_ct = (np.exp(log_probs) - np.eye(SIZES[-1])[labels]) / BATCH
    z2_ct = z3_ct @ w3.T * (h2 > 0)
    z1_ct = z2_ct @ w2.T * (h1 > 0)
    gradients: list[Array] = []
    for inputs, ct in ((x, z1_ct), (h1, z2_ct), (h2, z3_ct)):
        gradients += [inputs.T @ ct, ct.sum(axis=0)]
    return logits, -log_probs[np.arange(BATCH), labels].mean(), gradients


@pytest.mark.parametrize("native", [True, False], ids=["native", "interpreted"])
def test_digits_program(program: gradir.Module, native: bool) -> None:
    """Logits, loss and gradients are those that one derives by hand."""
    x, labels, parameters = arguments()
    logits, loss, gradients = by_hand(x, labels, parameters)

    def run(module: gradir.Module, function: str, *arrays: Array) -> tuple[Array, ...]:
        if native:
            return gradir.compile(module, function)(*arrays)
        return gradir.interpret(module, function, *arrays)

    np.testing.assert_allclose(
        run(program, "predict", x, *parameters)[0], logits, rtol=1e-4, atol=1e-6
    )
    results = run(program.gradient("main", mode="grad"), "main_grad", x, labels, *parameters)
    for result, wanted in zip(results, [loss, *gradients], strict=True):
        np.testing.assert_allclose(result, wanted, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", ["lenet", "transformer_block"])
def test_gradients_of_the_larger_programs(name: str) -> None:
    """Native code gives what the interpreter gives for the loss and every gradient."""
    module = gradir.parse(EXAMPLES / f"{name}.mlir").gradient("main", mode="grad")
    compiled = gradir.compile(module, "main_grad")
    random = np.random.default_rng(0)
    arrays = [
        random.normal(0, 0.2, spec.shape).astype(np.float32)
        if spec.dtype.kind == "f"
        else random.integers(0, 10, spec.shape)
        for spec in compiled.inputs
    ]
    expected = gradir.interpret(module, "main_grad", *arrays)
    for found, wanted in zip(compiled(*arrays), expected, strict=True):
        scale = float(np.abs(wanted).max())
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5 * scale)


def run(*command: str, folder: Path) -> str:
    """What an example prints."""
    name, *arguments = command
    result = subprocess.run(
        [sys.executable, str(EXAMPLES / name), *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout


def accuracy_in(output: str) -> str:
    """The held-out accuracy in percent."""
    found = re.search(r"^held-out accuracy: ([\d.]+)% of 389 images$", output, re.MULTILINE)
    assert found is not None
    return found[1]


def test_lenet_learns_the_digits(tmp_path: Path) -> None:
    assert float(accuracy_in(run("digits.py", "lenet.mlir", folder=tmp_path))) >= 98


def test_demo(tmp_path: Path) -> None:
    """The demo learns to read digits, tells how well, and draws both curves."""
    output = run("digits.py", "digits_mlp.mlir", folder=tmp_path)
    # the bar is for terminals
    assert "\r" not in output
    epochs = re.findall(r"^epoch +(\d+)/30  loss ([\d.]+)  held-out ", output, re.MULTILINE)
    assert [int(number) for number, _ in epochs] == [1, 5, 10, 15, 20, 25, 30]
    assert float(epochs[-1][1]) < 0.01 < float(epochs[0][1])
    accuracy = accuracy_in(output)
    assert float(accuracy) >= 97
    assert re.search(r"^training speed: [\d,]+ examples per second$", output, re.MULTILINE)

    drawing = ElementTree.parse(tmp_path / "digits_loss.svg").getroot()
    loss, right = (curve.get("points", "").split() for curve in drawing.iter(f"{SVG}polyline"))
    assert len(loss) == len(right) == 30
    # downwards is upwards on the page
    assert float(loss[0].split(",")[1]) < float(loss[-1].split(",")[1])
    assert float(right[0].split(",")[1]) > float(right[-1].split(",")[1])
    texts = {text.text or "" for text in drawing.iter(f"{SVG}text")}
    assert {"Training loss", "Held-out accuracy in %", "epoch"} <= texts
    labels = [float(text) for text in texts if re.fullmatch(r"[\d.]+", text)]
    assert min(abs(label - float(accuracy)) for label in labels) <= 0.051


def test_custom_op(tmp_path: Path) -> None:
    """A program with NumPy's FFT in it learns."""
    output = run("custom_op.py", folder=tmp_path)
    losses = [float(x) for x in re.findall(r"loss ([\d.]+)", output)]
    assert losses[-1] < 1e-3 < losses[0]


def test_native_op(tmp_path: Path) -> None:
    """A program with a solver in C learns."""
    if not any(map(shutil.which, ("cc", "gcc", "clang"))):
        pytest.skip("no C compiler")
    output = run("native_op/diffusion.py", folder=tmp_path)
    losses = [float(x) for x in re.findall(r"loss (\S+)", output)]
    assert losses[-1] < 1e-6 < losses[0]


def test_native_op_without_a_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    command = [sys.executable, str(EXAMPLES / "native_op/diffusion.py")]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (1, "")
    assert re.match("error: no C compiler .* is installed to compile tridiagonal.c", result.stderr)


def test_docstrings(tmp_path: Path) -> None:
    """Both gradients of the table lead to the same accuracy, and their curves are drawn."""
    output = run("docstrings.py", folder=tmp_path)
    found = re.findall(r"^(.*): held-out accuracy ([\d.]+)%, 11 epochs in ", output, re.MULTILINE)
    assert [name for name, _ in found] == ["dense", "row slices"]
    (dense, rows) = (float(accuracy) for _, accuracy in found)
    assert abs(dense - rows) < 1 and dense >= 80
    drawing = ElementTree.parse(tmp_path / "docstrings_loss.svg").getroot()
    curves = [curve.get("points", "").split() for curve in drawing.iter(f"{SVG}polyline")]
    assert list(map(len, curves)) == [12] * 4
    texts = [text.text for text in drawing.iter(f"{SVG}text")]
    assert {"loss", "held out accuracy", "dense", "row slices", "epoch"} <= set(texts)


def run_with(package: str, name: str, folder: Path) -> str | None:
    """What an example prints that needs an optional package; None where it refuses without it."""
    if find_spec(package) is not None:
        return run(name, folder=folder)
    command = [sys.executable, str(EXAMPLES / name)]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (1, "")
    room = "frontends" if package == "onnx" else "interop"
    assert f"error: gradir.{room}.{package} needs the package {package}" in result.stderr
    assert f"pip install 'gradir[{package}]'" in result.stderr
    return None


def test_interop_torch(tmp_path: Path) -> None:
    """PyTorch learns through gradir's loop; `make test-peers` runs it with PyTorch."""
    output = run_with("torch", "interop_torch.py", tmp_path)
    if output is not None:
        assert "found: friction 0.350, length 1.700" in output


def test_torch_memory(tmp_path: Path) -> None:
    """A PyTorch module trains within half its memory; `make test-peers` runs it with PyTorch."""
    output = run_with("torch", "torch_memory.py", tmp_path)
    if output is not None:
        kept = re.search(r"([\d.]+) MB by PyTorch, ([\d.]+) MB by gradir", output)
        assert kept is not None and float(kept[2]) <= float(kept[1]) / 2


def test_torch_library(tmp_path: Path) -> None:
    """A library has a module's gradient; `make test-peers` runs it with PyTorch."""
    output = run_with("torch", "torch_library.py", tmp_path)
    if output is not None:
        assert "after 200 steps by the library: loss 0.0" in output


def test_onnx_train(tmp_path: Path) -> None:
    """An ONNX file learns; `make test-peers` runs it with onnx."""
    output = run_with("onnx", "onnx_train.py", tmp_path)
    if output is not None:
        assert "the file now: <OnnxModel points(x: float32[batch, 2]) -> y" in output


def test_stablehlo_in(tmp_path: Path) -> None:
    assert "slope 0.353553391, bend -0.088388348" in run("stablehlo_in.py", folder=tmp_path)


def test_linalg_layer(tmp_path: Path) -> None:
    assert "found: 0.500 -1.000 0.250" in run("linalg_layer.py", folder=tmp_path)


@pytest.mark.skipif(find_spec("iree") is None, reason="IREE is not installed")
def test_stablehlo_out(tmp_path: Path) -> None:
    """IREE has gradir's gradients; it runs where the extra is installed."""
    assert "6 gradients are equal" in run("stablehlo_out.py", folder=tmp_path)


def test_interop_jax(tmp_path: Path) -> None:
    """JAX fits through a while loop; `make test-peers` runs it with JAX."""
    output = run_with("jax", "interop_jax.py", tmp_path)
    if output is not None:
        assert "JAX: Reverse-mode differentiation does not work for lax.while_loop" in output
        assert "found: length 1.3000" in output


@pytest.mark.skipif(find_spec("diffrax") is None, reason="diffrax is not installed")
def test_jax_diffrax(tmp_path: Path) -> None:
    """A solve without a limit of steps has diffrax's gradient; `make test-peers` runs it."""
    output = run("jax_diffrax.py", folder=tmp_path)
    assert "gradir: " in output and "diffrax, at most 256 steps: " in output


def test_interop_scipy(tmp_path: Path) -> None:
    """Both methods with derivatives find the peaks; `make test-peers` runs it with SciPy."""
    output = run_with("scipy", "interop_scipy.py", tmp_path)
    if output is not None:
        lines = re.findall(r"^(.*): loss ([\d.]+), (\d+) evaluations, ", output, re.MULTILINE)
        assert [method for method, _, _ in lines] == ["Nelder-Mead", "L-BFGS-B", "trust-ncg"]
        counts = [int(count) for _, _, count in lines]
        assert counts == sorted(counts, reverse=True) and counts[1] < 100
