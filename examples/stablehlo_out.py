"""Writes the gradient of a text as StableHLO, and runs it by IREE beside gradir's native code.

It needs IREE's compiler and runtime: `pip install 'gradir[iree]'`. `gradir-opt` writes the same
text: docs/stablehlo.md.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

import gradir

try:
    from iree import compiler, runtime
except ImportError:
    sys.exit("error: this example needs IREE; run: pip install 'gradir[iree]'")


def arguments(function: Any) -> list[Any]:
    """Small random weights and images, and classes below 10."""
    generator = np.random.default_rng(0)
    return [
        (0.2 * generator.normal(size=spec.shape)).astype(spec.dtype)
        if spec.dtype.kind == "f"
        else generator.integers(0, 10, spec.shape)
        for spec in function.inputs
    ]


def main() -> None:
    """The loss and the gradients of the digits' network, twice."""
    path = Path(__file__).parent / "digits_mlp.mlir"
    derivative = gradir.parse(path).gradient("main", mode="grad")
    native = gradir.compile(derivative, "main_grad")
    arrays = arguments(native)
    code = compiler.compile_str(
        derivative.to_stablehlo("main_grad"),
        input_type="stablehlo",
        target_backends=["llvm-cpu"],
        extra_args=["--iree-llvmcpu-target-cpu=host"],
    )
    program = runtime.load_vm_flatbuffer(code, driver="local-sync")
    found = [np.asarray(each.to_host()) for each in program.main(*arrays)]
    wanted = native(*arrays)
    print(f"loss by IREE {float(found[0]):.5f}, by gradir {float(wanted[0]):.5f}")
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
    print(f"{len(found) - 1} gradients are equal")


if __name__ == "__main__":
    main()
