"""ONNX models as functions: `load` reads one, with its weights as named parameters."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Mapping
from itertools import count
from typing import Any

import numpy as np

from gradir.api import Module
from gradir.diagnostics import Sources
from gradir.errors import ArgumentError, ArgumentTypeError
from gradir.frontends.imported.check import require_replayable
from gradir.frontends.imported.errors import ImportedProgramError
from gradir.frontends.imported.onnx_rules.table import ONNX
from gradir.frontends.imported.replay import UnverifiedReplay, Verifier
from gradir.frontends.onnx.expansion import (
    converted,
    expand,
    newest_version,
    require_valid,
)
from gradir.frontends.onnx.files import is_checked, outline_of, read_model
from gradir.frontends.onnx.graphs import OnnxInput, OnnxProgram, OnnxReader
from gradir.frontends.tracing.source_locations import place_of_user, public, reading, refusal
from gradir.frontends.tracing.spec import Spec
from gradir.frontends.tracing.trace import traced
from gradir.frontends.tracing.tracing import lifted, tracing
from gradir.frontends.transforms.jit import jit

MOST_VERSIONS = 2**31 - 1

NO_TEXTS = Sources()
"""Places are numbers of nodes, not of lines."""

OLDEST = 13
"""The first version of ONNX's operator set whose operators have the meanings of today."""


@public
def load(
    model: Any, bind: Mapping[str, Any] | None = None, parameters: Collection[str] | None = None
) -> OnnxModel:
    """An ONNX model as a function of its parameters and inputs.

    `model` is a path or an `onnx.ModelProto`. `bind` gives names of extents their numbers
    (`{"batch": 8}`), and inputs that shapes depend on their values, which are no inputs then.
    `parameters` are the names of the float initializers that are parameters; without it all of
    rank 1 and more are; numbers (the limits of a Clip, an epsilon) and running statistics are
    constants.
    Operator sets before version 13 are converted by ONNX's converter. ImportedProgramError names
    all operators and dtypes that cannot be imported, by the number of their node.
    """
    proto, file, folder = read_model(model)
    outline = outline_of(proto)
    given = dict(bind or {})
    version = max(
        (e.version for e in proto.opset_import if e.domain in ("", "ai.onnx")), default=OLDEST
    )
    _require_versions(proto, file)
    require_valid(proto, lambda name: name in ONNX.absent, file)
    if version < OLDEST:
        proto, version = converted(proto, OLDEST, file), OLDEST
    inputs = {v.name for v in proto.graph.input}
    bound = {name: np.asarray(value) for name, value in given.items() if name in inputs}
    extents = {name: value for name, value in given.items() if name not in inputs}
    _bind_extents(proto, extents)
    proto = expand(proto, lambda name: name in ONNX.rules or name in ONNX.absent, file)
    reader = OnnxReader(file, folder, version, bound, count(1))
    program = reader.program(proto, parameters)
    require_replayable(program.graph, ONNX)
    return OnnxModel(program, file, outline)


def _require_versions(proto: Any, file: str) -> None:
    """ImportedProgramError for an operator set that the package onnx does not know."""
    for entry in proto.opset_import:
        newest = newest_version() if entry.domain in ("", "ai.onnx") else MOST_VERSIONS
        if not 1 <= entry.version <= newest:
            what = f"operator set {entry.domain or 'ai.onnx'} of version {entry.version}"
            raise refusal(f"{file}: {what}; versions 1 to {newest} are known", ImportedProgramError)


def _bind_extents(proto: Any, extents: Mapping[str, Any]) -> None:
    found: set[str] = set()
    for value in (*proto.graph.input, *proto.graph.output, *proto.graph.value_info):
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param in extents:
                found.add(dim.dim_param)
                dim.dim_value = int(extents[dim.dim_param])
    lost = sorted(extents.keys() - found)
    if lost:
        known = [v.name for v in proto.graph.input]
        raise refusal(f"bind: {lost[0]!r} is neither an extent nor an input of the model; its "
                      f"inputs are {', '.join(known)}", ArgumentError)  # fmt: skip


class OnnxModel:
    """A model as a function of its parameters and inputs; see `load`."""

    def __init__(self, program: OnnxProgram, file: str, outline: bytes):
        self._program, self._file = program, file
        self._verifier = Verifier("onnx's checker", lambda: is_checked(outline))
        self.parameters = dict(program.parameters)
        """The float initializers by their names: the first argument of the function."""
        self.inputs = dict(program.inputs)
        """The dtype and the extents of each input."""
        self.outputs = program.outputs
        """The names of the results."""
        self.__name__ = program.graph.name
        self._jitted: Any = None

    def __call__(self, parameters: Mapping[str, Any], *inputs: Any, **named: Any) -> Any:
        """The result, or a tuple of several, of parameters and of inputs in order or by name."""
        given = self._ordered(inputs, named)
        if tracing() is not None:
            return self._run(parameters, given)
        self._jitted = self._jitted or jit(self._run)
        return self._jitted(dict(parameters), given)

    def trace(self, *examples: Any) -> Module:
        """The model as a module: its arguments are the parameters, then the inputs, by name.

        `examples` are inputs, or gradir.Specs; without them all extents of the inputs must be
        known (`bind`).
        """
        names = [*self.parameters, *self.inputs]
        specs: list[Any] = [Spec(a.shape, a.dtype.name) for a in self.parameters.values()]
        specs += list(examples) if examples else [self._spec(n) for n in self.inputs]

        def run(*arrays: Any) -> Any:
            return self._replayed(arrays)

        run.__name__ = self.__name__
        run.__signature__ = _signature(names)  # pyrefly: ignore[missing-attribute]
        return traced("trace", run, specs, place=place_of_user()).module

    def __repr__(self) -> str:
        given = ", ".join(f"{n}: {_text(i)}" for n, i in self.inputs.items())
        count = sum(a.size for a in self.parameters.values())
        results = ", ".join(self.outputs)
        return f"<OnnxModel {self.__name__}({given}) -> {results}; {count:,} parameters>"

    def _run(self, parameters: Mapping[str, Any], inputs: list[Any]) -> Any:
        lost = self.parameters.keys() ^ parameters.keys()
        if lost:
            what = f"parameters differ from the model's by {sorted(lost)[0]!r}"
            raise refusal(f"{self.__name__}: {what}", ArgumentError)
        weights = [parameters[name] for name in self.parameters]
        made = self._replayed([*weights, *inputs])
        return made[0] if len(made) == 1 else tuple(made)

    def _replayed(self, arrays: Any) -> list[Any]:
        tracers = [lifted(a) for a in arrays]
        for name, x in zip(self.inputs, tracers[len(self.parameters) :], strict=True):
            self._check(name, x)
        with reading(NO_TEXTS):
            return UnverifiedReplay(ONNX, self._verifier).inside(self._program.graph, tracers)

    def _check(self, name: str, x: Any) -> None:
        wanted = self.inputs[name]
        is_like = str(x.dtype) == wanted.dtype and (
            wanted.shape is None
            or (
                len(wanted.shape) == x.ndim
                and all(
                    d == n for d, n in zip(wanted.shape, x.shape, strict=True) if isinstance(d, int)
                )
            )
        )
        if not is_like:
            raise refusal(
                f"{self.__name__}: input {name!r} is {_text(wanted)}, got {x.dtype}{list(x.shape)}",
                ArgumentTypeError,
            )

    def _ordered(self, inputs: tuple[Any, ...], named: Mapping[str, Any]) -> list[Any]:
        names = list(self.inputs)
        given = dict(zip(names, inputs, strict=False)) | dict(named)
        if len(inputs) > len(names) or given.keys() != self.inputs.keys():
            raise refusal(
                f"{self.__name__}: its inputs are {', '.join(names)}; got {len(inputs)} and "
                f"{', '.join(named) or 'none'} by name",
                ArgumentError,
            )
        return [given[name] for name in names]

    def _spec(self, name: str) -> Spec:
        wanted = self.inputs[name]
        if wanted.shape is None or not all(isinstance(d, int) for d in wanted.shape):
            raise refusal(
                f"{self.__name__}: the extents of input {name!r}, {_text(wanted)}, must be known; "
                "give them by onnx.load(bind=), or examples of the inputs",
                ArgumentError,
            )
        return Spec([int(d or 0) for d in wanted.shape], wanted.dtype)


def _text(wanted: OnnxInput) -> str:
    if wanted.shape is None:
        return f"{wanted.dtype} of any rank"
    return f"{wanted.dtype}[{', '.join('?' if d is None else str(d) for d in wanted.shape)}]"


def _signature(names: list[str]) -> inspect.Signature:
    kept: list[str] = []
    for k, name in enumerate(names):
        made = "".join(c if c.isalnum() and c.isascii() else "_" for c in name)
        made = made if made.isidentifier() else f"_{made}"
        kept.append(made if made not in kept else f"{made}_{k}")
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Signature([inspect.Parameter(name, kind) for name in kept])
