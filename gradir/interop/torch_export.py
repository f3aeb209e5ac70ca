"""PyTorch's modules as exported programs, and these as foreign graphs with named arguments.

torch.export calls the forward of a torch.autograd.Function and forgets its backward: while it runs,
such calls are refused, or given to a gradir function by an op of our own.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from threading import RLock
from typing import Any, TypeAlias

from gradir.errors import ArgumentTypeError, GradirError
from gradir.frontends.imported.errors import ImportedProgramError
from gradir.frontends.imported.graph import ForeignGraph, ForeignType, ForeignValue
from gradir.frontends.imported.torch_rules.table import TORCH
from gradir.frontends.tracing.source_locations import place_of_user, refusal
from gradir.interop.foreign import refused, require_between
from gradir.interop.torch_graphs import TorchReader
from gradir.interop.torch_lost import lost_calls, require_kept, require_none
from gradir.interop.torch_types import Unreadable, dtype_name, foreign_constant, foreign_type
from gradir.interop.torch_views import Held, Memory
from gradir.packages import folder_of, package

torch: Any = package("torch", "torch")

OLDEST, NEWEST = (2, 9), (2, 14)
"""The versions of PyTorch whose exported programs are read: from the first, below the second."""
Functions = Mapping[type, Callable[..., Any]]
_READER = "torch._dynamo.variables.misc"
_LOCK = RLock()
_ASSIGNED = re.compile(r"tensor attributes? .* assigned during export")


@dataclass(frozen=True)
class TorchProgram:
    """A graph and what its arguments and results are.

    The arguments are `parameters` and `buffers` by their names in the module, then the tensors
    among the inputs, called `names`, whose nesting is `nesting`, then a key if `has_key`. The
    results are the tensors among `outputs`, which has None in their places, then the buffers that
    are `changed`.
    """

    graph: ForeignGraph
    parameters: tuple[str, ...]
    buffers: tuple[str, ...]
    changed: tuple[str, ...]
    nesting: Any
    inputs: tuple[bool, ...]
    names: tuple[str, ...]
    outputs: tuple[Any, ...]
    results: Any
    has_key: bool


def require_version() -> None:
    """GradirError for a PyTorch whose graphs may be others than those that are read here."""
    require_between("PyTorch", torch.__version__, OLDEST, NEWEST)


@contextmanager
def _unchecked_distributions() -> Generator[None]:
    """torch.distributions do not check their arguments: a check reads values."""
    kind: Any = package("torch.distributions", "torch").Distribution
    before = kind._validate_args
    kind.set_default_validate_args(False)
    try:
        yield
    finally:
        kind.set_default_validate_args(before)


def exported(
    module: Any, args: Sequence[Any], kwargs: Mapping[str, Any], functions: Functions
) -> Any:
    """The program of a module for arguments, undecomposed."""
    require_version()
    require_kept(module, (args, kwargs))
    with (
        _LOCK,
        _autograd_functions(functions) as found,
        lost_calls() as lost,
        _unchecked_distributions(),
        warnings.catch_warnings(record=True) as told,
    ):
        warnings.simplefilter("always")
        try:
            with torch.autograd.graph.saved_tensors_hooks(_same, _same):  # and not those around
                program = torch.export.export(module, tuple(args), dict(kwargs))
        except GradirError:
            raise
        except Exception as error:
            if found:
                raise _of_functions(found) from None
            require_none(lost, error)
            raise refused(
                f"torch.export gives up {type(module).__name__}: {_short(error)}",
                ImportedProgramError,
            ) from error
    if found:
        raise _of_functions(found)
    require_none(lost)
    _require_no_assignment(module, [str(warning.message) for warning in told])
    return program


def _same(tensor: Any) -> Any:
    return tensor


def _require_no_assignment(module: Any, told: Sequence[str]) -> None:
    """ImportedProgramError for attributes that forward assigns, which export only warns of."""
    for text in filter(_ASSIGNED.search, told):
        names = [n for n in re.findall(r"self\.[\w.\[\]]+", text) if "._flat_weights[" not in n]
        if names:
            raise refused(
                f"{type(module).__name__} assigns {', '.join(names)}, which would be lost: "
                "register a buffer, and change it in place",
                ImportedProgramError,
            )


def _short(error: Exception) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    return "\n".join(lines[:6]) if lines else type(error).__name__


# torch.autograd.Function.


@contextmanager
def _autograd_functions(functions: Functions) -> Generator[list[tuple[type, Any]]]:
    """Calls of a torch.autograd.Function are noted, or become an op that stands for a function.

    In loops and branches torch.compile reads Python, and calls none.
    """
    base, reader = torch.autograd.Function, package(_READER, "torch").AutogradFunctionVariable
    original, read = base.__dict__["apply"], reader.call_apply
    found: list[tuple[type, Any]] = []

    def note(cls: Any) -> None:
        if not cls.__module__.startswith("torch."):  # those are what their ops are
            found.append((cls, place_of_user(folder_of(torch))))

    def call_apply(self: Any, *args: Any, **kwargs: Any) -> Any:
        note(self.fn_cls)
        return read(self, *args, **kwargs)

    def apply(cls: Any, *args: Any, **kwargs: Any) -> Any:
        if cls in functions and not kwargs:
            return _stand_in(cls, functions[cls], args)
        note(cls)
        return original.__get__(None, cls)(*args, **kwargs)

    base.apply, reader.call_apply = classmethod(apply), call_apply
    try:
        yield found
    finally:
        base.apply, reader.call_apply = original, read


def _of_functions(found: Sequence[tuple[type, Any]]) -> GradirError:
    names = sorted({cls.__qualname__ for cls, _ in found})
    return refusal(
        f"PyTorch: the derivative of a torch.autograd.Function is lost in torch.export: "
        f"{', '.join(names)}; give a function with a gradir.custom_vjp for each by custom_vjp=",
        ImportedProgramError,
        found[0][1],
    )


Call: TypeAlias = tuple[type, tuple[tuple[bool, Any], ...], Callable[..., Any]]
_CALLS: list[Call] = []
"""The calls that stand for functions, by number: the class, its arguments, gradir's function."""


@cache
def _library() -> Any:
    """PyTorch's library of the op that stands for functions."""
    made = torch.library.Library("gradir", "FRAGMENT")
    made.define("autograd_function(Tensor[] xs, int number) -> Tensor[]")
    torch.library.register_fake("gradir::autograd_function", _shapes, lib=made)
    return made


class _Context:
    """What a forward is given in place of a context, where only shapes are asked for."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *_, **__: None


def _stand_in(cls: Any, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    _library()
    tensors = [x for x in args if isinstance(x, torch.Tensor)]
    rest = tuple(None if isinstance(x, torch.Tensor) else x for x in args)
    flags = tuple(isinstance(x, torch.Tensor) for x in args)
    _CALLS.append((cls, tuple(zip(flags, rest, strict=True)), function))
    made = torch.ops.gradir.autograd_function(tensors, len(_CALLS) - 1)
    return made[0] if len(made) == 1 else tuple(made)


def _shapes(xs: Sequence[Any], number: int) -> list[Any]:
    cls, places, _ = _CALLS[number]
    made = _forward(cls, _with_arrays(places, xs))
    return [torch.empty_like(x) for x in made]


def _forward(cls: Any, args: Sequence[Any]) -> Sequence[Any]:
    is_split = cls.setup_context is not torch.autograd.function._SingleLevelFunction.setup_context
    with torch.no_grad():
        made = cls.forward(*args) if is_split else cls.forward(_Context(), *args)
    return made if isinstance(made, (tuple, list)) else (made,)


def _with_arrays(places: Sequence[Any], arrays: Sequence[Any]) -> list[Any]:
    rest = iter(arrays)
    return [next(rest) if is_array else value for is_array, value in places]


def stand_in(number: int, arrays: Sequence[Any]) -> Any:
    """The results of the gradir function of a call."""
    _, places, function = _CALLS[number]
    return function(*_with_arrays(places, arrays))


# Graphs.


def read_program(program: Any, name: str) -> TorchProgram:
    """The graph of an exported program."""
    signature = program.graph_signature
    reader = TorchReader(_is_known, stand_in)
    given, inputs = _arguments(program, reader)
    by_name: dict[str, Held] = {n: h for n, h in given.targets.items()}
    made = reader.run(program.graph_module, given.every)
    outputs, changed = _outputs(signature, made, by_name, reader)
    values = [reader.operand(x) for x in outputs if isinstance(x, Held)]
    reader.has_gradients = False
    values += [reader.operand(by_name[n]) if c is None else reader.operand(c) for n, c in changed]
    graph = reader.graph(name, inputs, values)
    flat = [None if isinstance(x, Held) else (x,) for x in outputs]
    return TorchProgram(
        graph, tuple(given.parameters), tuple(given.buffers), tuple(n for n, _ in changed),
        program.call_spec.in_spec, tuple(given.inputs), tuple(given.names), tuple(flat),
        program.call_spec.out_spec, bool(reader.draws),
    )  # fmt: skip


def _is_known(name: str) -> bool:
    return name in TORCH.rules or name in TORCH.absent


class _Given:
    """What the placeholders of a graph stand for."""

    def __init__(self) -> None:
        self.every: list[Any] = []
        self.parameters: list[str] = []
        self.buffers: list[str] = []
        self.inputs: list[bool] = []
        self.names: list[str] = []
        self.targets: dict[str, Held] = {}


def _arguments(program: Any, reader: TorchReader) -> tuple[_Given, list[ForeignValue]]:
    given, kinds = _Given(), torch.export.graph_signature.InputKind
    groups: tuple[list[ForeignValue], ...] = ([], [], [])
    nodes = [node for node in program.graph_module.graph.nodes if node.op == "placeholder"]
    for node, spec in zip(nodes, program.graph_signature.input_specs, strict=True):
        value = node.meta.get("val")
        if spec.kind is kinds.CONSTANT_TENSOR:
            held = reader.hold(foreign_constant(program.constants[spec.target]))
            given.every.append(held)
            continue
        if not isinstance(value, torch.Tensor):
            if spec.kind is not kinds.USER_INPUT or not _is_static(value):
                reader.refuse(spec.arg.name, f"an argument is {spec.kind.name}", _nowhere())
            given.inputs += [False] if spec.kind is kinds.USER_INPUT else []
            given.every.append(value)
            continue
        made = ForeignValue(_type_of(reader, spec.arg.name, value))
        given.every.append(_placed(spec, kinds, made, given, groups))
    return given, [value for group in groups for value in group]


def _placed(
    spec: Any, kinds: Any, made: ForeignValue, given: _Given, groups: Sequence[list[ForeignValue]]
) -> Held:
    """A tensor of an argument, of the kind that the signature says."""
    if spec.kind is kinds.PARAMETER:
        given.parameters.append(spec.target)
        groups[0].append(made)
        held = Held(made, Memory(owner=f"the parameter {spec.target}"))
    elif spec.kind is kinds.BUFFER:
        given.buffers.append(spec.target)
        groups[1].append(made)
        held = Held(made, Memory(is_plain=True))
    else:
        given.inputs.append(True)
        given.names.append(spec.arg.name)
        groups[2].append(made)
        return Held(made, Memory(owner=f"the argument {spec.arg.name}"))
    given.targets[spec.target] = held
    return held


def _is_static(value: Any) -> bool:
    return value is None or isinstance(value, int | float | bool | str)


def _nowhere() -> Any:
    return place_of_user(folder_of(torch))


def _type_of(reader: TorchReader, name: str, value: Any) -> ForeignType:
    try:
        return foreign_type(value)
    except Unreadable as error:
        reader.refuse(f"argument {name}", str(error), _nowhere())
        return ForeignType((), dtype_name(value.dtype))


def _outputs(
    signature: Any, made: Sequence[Any], by_name: Mapping[str, Held], reader: TorchReader
) -> tuple[list[Any], list[tuple[str, Any]]]:
    """What the module returns; the buffers that it changes, with a value if that is a result."""
    kinds = torch.export.graph_signature.OutputKind
    outputs: list[Any] = []
    changed: dict[str, Any] = {name: None for name, held in by_name.items() if held.memory.version}
    for spec, value in zip(signature.output_specs, made, strict=True):
        if spec.kind is kinds.USER_OUTPUT:
            outputs.append(value)
        elif spec.kind is kinds.BUFFER_MUTATION:
            changed[spec.target] = value
        else:
            reader.refuse("output", f"a result is {spec.kind.name}", _nowhere())
    return outputs, list(changed.items())


def require_program(program: Any) -> None:
    """ArgumentTypeError for what is neither a module nor an exported program."""
    if not isinstance(program, torch.nn.Module | torch.export.ExportedProgram):
        kind = type(program)
        raise refused(
            "expected a torch.nn.Module, or a torch.export.ExportedProgram (a file is loaded by "
            f"torch.export.load), got {kind.__name__} of {kind.__module__.partition('.')[0]}",
            ArgumentTypeError,
        )
