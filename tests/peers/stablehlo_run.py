"""StableHLO text on XLA's CPU through jaxlib: parsed, verified, compiled and run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax._src import compiler
from jax._src.interpreters import mlir
from jax._src.lib import xla_client
from jax._src.lib.mlir import ir
from jax.extend import backend

Array = np.ndarray[Any, np.dtype[Any]]


def verified(text: str) -> Any:
    """jaxlib's module of a text, verified; to be used inside of `mlir.make_ir_context()`."""
    module = ir.Module.parse(text)
    module.operation.verify()
    return module


def run_on_xla(text: str, arrays: Sequence[Array]) -> list[Array]:
    """The results of @main."""
    client = backend.get_backend("cpu")
    devices = client.devices()[:1]
    options = compiler.get_compile_options(num_replicas=1, num_partitions=1)
    with jax.enable_x64(True):
        with mlir.make_ir_context():
            program = client.compile_and_load(
                verified(text),
                executable_devices=xla_client.DeviceList(tuple(devices)),
                compile_options=options,
            )
        made = program.execute_sharded([jax.device_put(a, devices[0]) for a in arrays])
        parts = made.disassemble_into_single_device_arrays()
        return [np.asarray(part[0]) for part in parts]
