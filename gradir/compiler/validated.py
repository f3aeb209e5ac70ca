"""GRADIR_VALIDATE=1: a compilation whose stages and native code are held against the interpreter.

Native code is not taken from disk then, as that was made by another compilation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from gradir.compiler import pipeline
from gradir.compiler.compiler import isolate_function, native_code
from gradir.compiler.pipeline import Machine, Plans
from gradir.dialects.grad.host_functions import HostFunction
from gradir.errors import ExecutionError
from gradir.passes.analysis.arguments import in_out_results
from gradir.runtime.executable import Executable
from gradir.runtime.native_code import loaded
from gradir.symbols import function_named
from gradir.validation.runs import Outcome, as_planes
from gradir.validation.stages import Validation


def validated_executable(
    make: Callable[[], ModuleOp],
    name: str,
    machine: Machine,
    functions: Mapping[str, HostFunction],
) -> Executable:
    """The native code of `@name` of the module that `make` makes.

    ValidationError where a stage is wrong. gradir.debug.validations() lists the report.
    """
    program = make()
    in_out = in_out_results(isolate_function(program, name))
    validation = Validation.of(program, name)

    def stages(module: ModuleOp, machine: Machine) -> Plans:
        plans: Plans = validation.run(module, machine, pipeline.STAGES)
        return plans

    made = loaded(native_code(make(), name, machine, stages=stages), machine.target, functions)
    count = len(function_named(program, name).function_type.outputs)

    def call(arguments: Sequence[Any]) -> Outcome:
        out: list[Any] = [None] * count
        for k, result in in_out.items():
            out[result] = arguments[k]
        given = [a for k, a in enumerate(arguments) if k not in in_out]
        try:
            return Outcome(tuple(map(as_planes, made(*given, out=out if in_out else None))))
        except ExecutionError as error:
            return Outcome(error=str(error))

    validation.hold_native(call)
    return made
