"""What an installed gradir must do, in an environment with nothing but it and what it needs.

    python -W error smoke.py VERSION FOLDER [ANY]

FOLDER has a program `digits_mlp.mlir`; files are written there. ANY allows optional packages.
It ends with the line `smoke: N checks passed`. Standard library and NumPy alone, no pytest.
"""

import importlib
import os
import pkgutil
import subprocess
import sys
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

VERSION, FOLDER, ANY = sys.argv[1], Path(sys.argv[2]), sys.argv[3:] == ["ANY"]
OPTIONAL = ("torch", "jax", "scipy", "mpi4py", "ziglang", "sympy", "z3", "numba")
BINARIES = Path(sys.executable).parent


def call(*command: str | Path) -> str:
    """The standard output of an installed command that must succeed and warn of nothing."""
    words = [str(BINARIES / command[0]), *map(str, command[1:])]
    environment = os.environ | {"PYTHONWARNINGS": "error"}
    done = subprocess.run(
        words, cwd=FOLDER, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{words}\n{done.stdout}{done.stderr}"
    assert "Warning" not in done.stderr, done.stderr
    return done.stdout


def check_version() -> None:
    import gradir

    assert gradir.__version__ == metadata.version("gradir") == VERSION, gradir.__version__
    assert "site-packages" in Path(gradir.__file__ or "").parts, gradir.__file__
    assert call("gradir", "--version") == f"gradir {VERSION}\n"
    for name in ("gradir-opt", "gradir-run", "gradir-compile"):
        assert f"{name} {VERSION}" in call(name, "--version")


def check_files() -> None:
    import gradir

    package = Path(gradir.__file__ or "").parent
    assert (package / "py.typed").is_file()
    assert (Path(gradir.include_dir()) / "gradir_op.h").is_file()
    assert not (package / "dialects").is_symlink() and (package / "dialects").is_dir()
    names = {Path(str(file)).name for file in metadata.files("gradir") or []}
    assert {"LICENSE", "NOTICE"} <= names


def check_imports() -> None:
    """Every module imports, or says which optional package it needs."""
    assert ANY or not [name for name in OPTIONAL if find_spec(name)]
    package = importlib.import_module("gradir")
    count = 0
    for found in pkgutil.walk_packages(package.__path__, "gradir.", onerror=lambda name: None):
        if found.name.endswith("__main__"):
            continue
        try:
            importlib.import_module(found.name)
            count += 1
        except ImportError as error:
            name = (error.name or "").partition(".")[0]
            assert name in OPTIONAL or "pip install" in str(error), f"{found.name}: {error}"
    assert count > 500, count


def check_messages() -> None:
    """The public modules that need an optional package name the extra."""
    if ANY:
        return
    for name in ("torch", "jax", "scipy"):
        try:
            importlib.import_module(f"gradir.interop.{name}")
        except ImportError as error:
            assert f"pip install 'gradir[{name}]'" in str(error), error
        else:
            raise AssertionError(f"gradir.interop.{name} has what it needs?")


def check_derivatives() -> None:
    """The loop of README.md, compiled, a network, and its text."""
    import numpy as np

    import gradir
    import gradir.numpy as gnp

    def root(a: Any) -> Any:
        return gradir.while_loop(lambda x: abs(x * x - a) > 1e-12, lambda x: (x + a / x) / 2, a)

    slope = gradir.jit(gradir.grad(root))
    bend = gradir.jit(gradir.grad(gradir.grad(root)))
    assert abs(slope(2.0) - 0.125**0.5) < 1e-12
    assert abs(bend(2.0) + 0.25 * 2**-1.5) < 1e-12

    def loss(w: Any, x: Any) -> Any:
        return gnp.mean(gnp.tanh(x @ w) ** 2)

    w, x = np.linspace(-1, 1, 12).reshape(4, 3), np.linspace(0, 1, 20).reshape(5, 4)
    found = gradir.jit(gradir.grad(loss))(w, x)
    step = np.zeros_like(w)
    step[1, 2] = 1e-6
    difference = (loss(w + step, x) - loss(w - step, x)) / 2e-6
    assert abs(float(found[1, 2]) - float(difference)) < 1e-8
    module = gradir.trace(loss, w, x)
    assert str(gradir.parse(str(module))) == str(module)


def check_training() -> None:
    """Low precision, random numbers, an optimizer, checkpoint files."""
    import ml_dtypes
    import numpy as np

    import gradir
    import gradir.numpy as gnp
    from gradir import optim

    x = np.arange(8, dtype=ml_dtypes.bfloat16)
    assert gradir.jit(lambda v: gnp.sum(v * v))(x).dtype == ml_dtypes.bfloat16
    trainer = gradir.Trainer(
        lambda p, v: gnp.mean((v @ p["w"]) ** 2), optim.adam(1e-2), {"w": np.ones(3)}
    )
    before = float(np.abs(trainer.params["w"]).sum())
    trainer.fit((np.eye(3)[np.arange(6) % 3],), epochs=3, batch_size=3)
    assert float(np.abs(trainer.params["w"]).sum()) < before
    trainer.save(FOLDER / "state.safetensors")
    trainer.load(FOLDER / "state.safetensors")


def check_commands() -> None:
    """gradir-opt, gradir-run and gradir-compile on an example; the library that is written."""
    import gradir

    pipeline = "gradir-gradient{function=main mode=grad}"
    text = call("gradir-opt", "digits_mlp.mlir", "-p", pipeline)
    assert "func.func @main_grad" in text
    (FOLDER / "grad.mlir").write_text(text)
    assert call("gradir-opt", "grad.mlir") == text
    expected = call("gradir-run", "grad.mlir", "--function", "main_grad", "--random-inputs", "0")
    assert "float32" in expected
    call("gradir-compile", "grad.mlir", "--function", "main_grad", "-o", "libgrad.so")
    found = call("gradir-run", "libgrad.so", "--function", "main_grad", "--random-inputs", "0")
    assert found.splitlines()[0].split("//")[0] == expected.splitlines()[0].split("//")[0]
    assert gradir.load_library(FOLDER / "libgrad.so")
    assert call("gradir", "doctor").endswith("nothing is wrong\n")


def check_xdsl() -> None:
    """xDSL's own tool has gradir's dialects by the entry point."""
    (FOLDER / "tanh.mlir").write_text(
        "func.func @f(%x: tensor<2xf64>) -> tensor<2xf64> {\n"
        "  %y = array.tanh %x : tensor<2xf64>\n  func.return %y : tensor<2xf64>\n}\n"
    )
    words = [str(BINARIES / "xdsl-opt"), str(FOLDER / "tanh.mlir")]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "array.tanh" in done.stdout, done.stderr


CHECKS = (
    check_version,
    check_files,
    check_imports,
    check_messages,
    check_derivatives,
    check_training,
    check_commands,
    check_xdsl,
)

if __name__ == "__main__":
    for check in CHECKS:
        check()
    print(f"smoke: {len(CHECKS)} checks passed")
