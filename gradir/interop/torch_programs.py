"""PyTorch's modules as programs of gradir: `functional` gives a function, `trace` a module."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from gradir.api import Module
from gradir.errors import ArgumentError, ArgumentTypeError
from gradir.frontends.imported.check import require_replayable
from gradir.frontends.imported.replay import Replay
from gradir.frontends.imported.torch_rules.table import TORCH
from gradir.frontends.tracing.source_locations import at, location_of_function, place_of_user
from gradir.frontends.tracing.spec import Spec
from gradir.frontends.tracing.trace import Traced, traced
from gradir.frontends.tracing.tracing import tracing
from gradir.frontends.transforms.jit import jit
from gradir.interop.foreign import refused
from gradir.interop.torch_export import (
    Functions,
    TorchProgram,
    exported,
    read_program,
    require_program,
    require_version,
)
from gradir.interop.torch_types import array_of
from gradir.packages import folder_of, package

torch: Any = package("torch", "torch")


def imported(
    module: Any, args: Sequence[Any], kwargs: Mapping[str, Any], functions: Functions,
    trust_derivatives: bool,
) -> TorchProgram:  # fmt: skip
    """The program of a module for arguments, or of an exported program as it is."""
    require_program(module)
    if isinstance(module, torch.nn.Module):
        program = exported(module, args, kwargs, functions)
        return read_program(program, _symbol(type(module).__name__))
    require_version()
    if not trust_derivatives:
        raise refused(
            "an exported program does not say which derivatives it has lost (of every "
            "torch.autograd.Function, and of no_grad and detach after run_decompositions): give "
            "trust_derivatives=True if it has none of these",
            ArgumentError,
        )
    return read_program(module, "forward")


def trace(
    module: Any,
    *example_inputs: Any,
    kwargs: Mapping[str, Any] | None = None,
    custom_vjp: Functions | None = None,
    trust_derivatives: bool = False,
) -> Module:
    """The program of a torch.nn.Module for inputs of some shapes and dtypes, in its mode now.

    The inputs are what the module is called with, `kwargs` those by name. The program has the
    module's class as its name. Its arguments are the parameters, then the buffers, by their names
    in the state_dict with _ for dots, then the tensors among the inputs, then a `key` (int64) if
    it draws random numbers. Its results are the tensors that the module returns, then the buffers
    that it changes. A torch.export.ExportedProgram has its own inputs, and needs
    `trust_derivatives`. `custom_vjp` gives a gradir function for each torch.autograd.Function.
    ImportedProgramError names all ops, dtypes and shapes that cannot be imported, with their lines.
    """
    with at(_place()):
        program = imported(
            module, example_inputs, kwargs or {}, custom_vjp or {}, trust_derivatives
        )
        return traced_program(program, module).module


def traced_program(program: TorchProgram, module: Any) -> Traced:
    """A program as a function of gradir."""

    require_replayable(program.graph, TORCH)  # its arguments may be of no type of gradir's

    def run(*arrays: Any) -> list[Any]:
        return Replay(TORCH).inside(program.graph, arrays)

    run.__name__ = program.graph.name
    run.__signature__ = _signature(program)  # pyrefly: ignore[missing-attribute]
    types = program.graph.input_types()
    specs = [Spec(type_.shape, type_.dtype) for type_ in types]
    forward = getattr(type(module), "forward", None)
    is_own = forward is not None and not forward.__module__.startswith("torch.")
    place = location_of_function(forward) if is_own else _place()
    return traced("trace", run, specs, place=place)


def _signature(program: TorchProgram) -> inspect.Signature:
    state = [name.replace(".", "_") for name in (*program.parameters, *program.buffers)]
    names = [*state, *program.names, *(["key"] if program.has_key else [])]
    kept: list[str] = []
    for k, name in enumerate(names):
        made = name if name.isidentifier() else f"_{name}"
        made = made if made.isidentifier() and made.isascii() else f"argument{k}"
        kept.append(made if made not in kept else f"{made}_{k}")
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Signature([inspect.Parameter(name, kind) for name in kept])


class FunctionalModule:
    """A module as a function of gradir's arrays; see `functional`."""

    def __init__(self, program: TorchProgram, state: Mapping[str, Any]):
        self._program = program
        self.parameters = {name: state[name] for name in program.parameters}
        """The values of the parameters, by their names in the state_dict."""
        self.buffers = {name: state[name] for name in program.buffers}
        """The values of the buffers."""
        self.__name__ = program.graph.name
        self._jitted: Any = None

    def __call__(
        self, parameters: Mapping[str, Any], *inputs: Any, buffers: Any = None, key: Any = None,
        **kwargs: Any,
    ) -> Any:  # fmt: skip
        """The results; with the changed buffers, where the module changes any."""
        given = (parameters, inputs, self.buffers if buffers is None else buffers, key, kwargs)
        if tracing() is not None:
            return self._run(*given)
        self._jitted = self._jitted or jit(self._run)
        return self._jitted(*given)

    def _run(
        self, parameters: Mapping[str, Any], inputs: Sequence[Any], buffers: Mapping[str, Any],
        key: Any, kwargs: Mapping[str, Any],
    ) -> Any:  # fmt: skip
        program = self._program
        arrays = [_named(parameters, program.parameters, "parameters")]
        arrays.append(_named(buffers, program.buffers, "buffers"))
        leaves = _flat_inputs(program, inputs, kwargs)
        arrays.append([x for x, is_array in zip(leaves, program.inputs, strict=True) if is_array])
        if program.has_key:
            if key is None:
                raise refused(f"{self.__name__} draws random numbers: give key=", ArgumentError)
            arrays.append([key])
        made = Replay(TORCH).run(program.graph, [x for group in arrays for x in group])
        return nested_results(program, made)


def nested_results(program: TorchProgram, made: Sequence[Any]) -> Any:
    """What the module returns; with the changed buffers by name, where there are any."""
    count = len(made) - len(program.changed)
    rest = iter(made[:count])
    leaves = [next(rest) if x is None else x[0] for x in program.outputs]
    found = torch.utils._pytree.tree_unflatten(leaves, program.results)
    if not program.changed:
        return found
    return found, dict(zip(program.changed, made[count:], strict=True))


def _named(given: Mapping[str, Any], names: Sequence[str], what: str) -> list[Any]:
    missing = [name for name in names if name not in given]
    if missing:
        raise refused(f"{what}: there is no {', '.join(missing)}", ArgumentError)
    return [given[name] for name in names]


def _flat_inputs(program: TorchProgram, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """The leaves of the inputs, nested as those that the module was exported with."""
    tree = torch.utils._pytree
    leaves, spec = tree.tree_flatten((tuple(args), dict(kwargs)))
    if spec != program.nesting:
        raise refused(
            f"expected inputs nested as those of the import, {program.nesting}, got {spec}",
            ArgumentTypeError,
        )
    return leaves


def functional(
    module: Any,
    *example_inputs: Any,
    kwargs: Mapping[str, Any] | None = None,
    custom_vjp: Functions | None = None,
    trust_derivatives: bool = False,
) -> FunctionalModule:
    """The module as a function of gradir's arrays, `f(parameters, *inputs, buffers=, key=)`.

    `parameters` is a dict by the names of the state_dict; `f.parameters` and `f.buffers` have the
    module's values as arrays of NumPy. `buffers` are these where they are not given. `key` is for
    modules that draw random numbers. The results are nested as the module's; where it changes
    buffers they are a pair with a dict of these. gradir.grad, jit, vmap, train_step and
    export_library take it as any function. Arguments are as for `trace`.
    """
    with at(_place()):
        program = imported(
            module, example_inputs, kwargs or {}, custom_vjp or {}, trust_derivatives
        )
    return FunctionalModule(program, {n: array_of(x) for n, x in named_state(module).items()})


def named_state(module: Any) -> dict[str, Any]:
    """All parameters and buffers by name, also those under several names."""
    if isinstance(module, torch.nn.Module):
        found = dict(module.named_parameters(remove_duplicate=False))
        return found | dict(module.named_buffers(remove_duplicate=False))
    return dict(module.state_dict) | dict(module.constants)


def _symbol(name: str) -> str:
    return name if name.isidentifier() and name.isascii() else "forward"


def _place() -> Any:
    return place_of_user(folder_of(torch))
