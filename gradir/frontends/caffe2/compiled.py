"""Nets as modules and as native code."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from inspect import Parameter, Signature
from typing import Any, TypeAlias

import numpy as np
from xdsl.dialects.builtin import ModuleOp, UnknownLoc
from xdsl.ir import Block as IrBlock
from xdsl.ir import Region

from gradir.api import Module
from gradir.cache.memory import Store
from gradir.dialects.grad.custom_vjp import CustomVjpOp
from gradir.errors import ArgumentError, ArgumentTypeError
from gradir.frontends.caffe2.errors import OperatorError
from gradir.frontends.caffe2.lowering import Lowering, hint
from gradir.frontends.caffe2.operator import VERSIONED, GradientSlice, NetLike
from gradir.frontends.caffe2.shapes import as_rows
from gradir.frontends.tracing.source_locations import SOURCES
from gradir.frontends.tracing.spec import spec_of
from gradir.frontends.tracing.trace import traced
from gradir.frontends.transforms.program import Program, traced_function
from gradir.symbols import function_named

Fetch: TypeAlias = "Sequence[str | GradientSlice] | str"


class _Fetched:
    """What is fetched: for each result its name, and the slice that it is a part of."""

    def __init__(self, net: NetLike, fetch: Fetch | None):
        self.rows: dict[str, GradientSlice | None] = {}
        given = net.default_fetch if fetch is None else fetch
        several = [given] if isinstance(given, str | GradientSlice) else given
        if not isinstance(several, Sequence):
            raise ArgumentTypeError(f"fetch: expected a list of blobs, got {fetch!r}")
        for each in several:
            if isinstance(each, GradientSlice):
                self.rows |= dict.fromkeys(each, each)
            elif isinstance(each, str):
                self.rows.setdefault(each, None)
            else:
                raise ArgumentTypeError(f"fetch: expected blobs and slices, got {each!r}")

    def values(self, run: Lowering, net: NetLike) -> list[Any]:
        """The results of a run."""
        for version, gradient in net.loose:
            if gradient in self.rows and version in run.values:
                self._require_shape(run, version, gradient)
        return [self._value(run, name, rows) for name, rows in self.rows.items()]

    def _require_shape(self, run: Lowering, version: tuple[str, int], gradient: str) -> None:
        """OperatorError where a blob was broadcast into a sum and has the sum's gradient."""
        blob, found = run.values[version], _blob(run, gradient)
        if blob.shape != found.shape:
            name, shape = version[0], list(blob.shape)
            raise OperatorError(
                f'fetch: "{gradient}" is the gradient of a sum, of shape {list(found.shape)}, and '
                f'the gradient of "{name}", which Add broadcasts from {shape}; ask for that by '
                f'wrt=["{name}"], or give Add broadcast=1'
            )

    def _value(self, run: Lowering, name: str, rows: GradientSlice | None) -> Any:
        if rows is None:
            return _blob(run, name)
        indices, values = as_rows(*(_blob(run, part) for part in rows))
        return indices if name == rows.indices else values


def _blob(run: Lowering, name: str) -> Any:
    """The last version of a blob, or the one that name@k names."""
    frontier, found = run.replay.frontier, VERSIONED.fullmatch(name)
    version = (name, frontier.get(name, 0))
    if name not in frontier and found:
        version = (found[1], int(found[2]))
    if version not in run.values:
        raise OperatorError(f'fetch: the net has no blob "{name}"')
    return run.values[version]


def module_of(
    net: NetLike, specs: Mapping[str, Any] | Sequence[Any], fetch: Fetch | None
) -> Module:
    """The program of a net for inputs of some types."""
    given = _by_name(net, specs) if isinstance(specs, Mapping) else list(specs)
    if len(given) != len(net.external_inputs):
        raise ArgumentError(
            f"specs: the net has {len(net.external_inputs)} inputs, got {len(given)} specs"
        )
    return _traced(net, given, _Fetched(net, fetch))


def _by_name(net: NetLike, given: Mapping[str, Any]) -> list[Any]:
    """Values in the order of the external inputs; OperatorError unless names are theirs."""
    wanted = net.external_inputs
    missing = [f'"{n}"' for n in wanted if n not in given]
    unknown = [f'"{n}"' for n in given if n not in wanted]
    for what, found in (("missing", missing), ("unknown", unknown)):
        if found:
            raise OperatorError(
                f"{net.name}: {what} input {', '.join(found)}; "
                f"inputs: {', '.join(wanted) or 'none'}"
            )
    return [given[name] for name in wanted]


def _traced(net: NetLike, specs: Sequence[Any], fetched: _Fetched) -> Module:
    """The program, in one function but for those with a derivative of their own."""

    def run_net(*arguments: Any) -> list[Any]:
        run = Lowering(net.ops)
        for name, value in zip(net.external_inputs, arguments, strict=True):
            value.ssa.name_hint = None
            value.named(hint(name))
        run.run(dict(zip(net.external_inputs, arguments, strict=True)))
        return fetched.values(run, net)

    run_net.__signature__ = _signature(len(specs))  # pyrefly: ignore[missing-attribute]
    place = next((op.place for op in net.ops if op.place), UnknownLoc())
    made = traced("caffe2", run_net, [_array(s) for s in specs], name=net.name, place=place)
    module = made.module.run_passes("gradir-inline,cse,gradir-dce")
    if any(isinstance(op, CustomVjpOp) for op in module.op.ops):
        return module  # its calls stay, so that it can be differentiated
    program = function_named(module.op, made.name).clone()
    return Module(ModuleOp(Region(IrBlock([program]))), SOURCES)


def _array(spec: Any) -> Any:
    """A spec, or what NumPy makes an array of."""
    return spec if spec_of(spec) is not None and not isinstance(spec, bool | int | float) else (
        np.asarray(spec)
    )  # fmt: skip


def _signature(count: int) -> Signature:
    """Parameters without names, so that values get no other names before the blobs' own."""
    kind = Parameter.POSITIONAL_ONLY
    return Signature([Parameter(f"_{k}", kind) for k in range(count)])


class CompiledNet:
    """A net as native code: `run(feeds) -> arrays`, both by blob.

    It is compiled at the first call with arrays of some shapes and types, and kept for others of
    these. After a call, `module`, `plan` and `llvm_ir` show that call, as gradir.compile
    has them.
    """

    def __init__(self, net: NetLike, fetch: Fetch | None, threads: int | None):
        self._net = net
        self._fetched = _Fetched(net, fetch)
        self._threads = threads
        self._programs = Store[Hashable, Program]()
        self._last: Program | None = None

    def __call__(self, feeds: Mapping[str, Any]) -> dict[str, np.ndarray[Any, Any]]:
        """The fetched arrays. `feeds` has one for each external input."""
        if not isinstance(feeds, Mapping):
            raise ArgumentTypeError(f"feeds: expected a dict of arrays, got {type(feeds).__name__}")
        arrays = [np.asarray(value) for value in _by_name(self._net, feeds)]
        key = tuple((a.shape, a.dtype) for a in arrays)
        program = self._last = self._programs.find_or_make(key, lambda: self._traced(arrays))
        results = program.executable(*arrays)
        return dict(zip(self._fetched.rows, results, strict=True))

    @property
    def fetched(self) -> tuple[str, ...]:
        """The names of what it gives."""
        return tuple(self._fetched.rows)

    def _traced(self, arrays: Sequence[Any]) -> Program:
        module = _traced(self._net, arrays, self._fetched)
        return Program(traced_function(module, self._net.name), self._threads)

    def _last_program(self) -> Program:
        if self._last is None:
            raise ArgumentError(f"{self._net.name}: it is compiled when it is called first")
        return self._last

    @property
    def module(self) -> Module:
        """The program of the last call."""
        return self._last_program().module

    @property
    def plan(self) -> Any:
        """Where each buffer of the last call lives."""
        return self._last_program().executable.plan

    @property
    def llvm_ir(self) -> str:
        """The code of the last call."""
        return self._last_program().executable.llvm_ir
