"""Net: operators on named blobs, built one by one, differentiated, compiled, read and written."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, cast

from gradir.api import Module
from gradir.errors import ArgumentTypeError
from gradir.frontends.caffe2.backward import Gradients, parts
from gradir.frontends.caffe2.compiled import CompiledNet, Fetch, module_of
from gradir.frontends.caffe2.errors import OperatorError
from gradir.frontends.caffe2.ir import IR
from gradir.frontends.caffe2.netdef import message_of, read_content, read_file
from gradir.frontends.caffe2.netdef_binary import bytes_of
from gradir.frontends.caffe2.netdef_text import text_of
from gradir.frontends.caffe2.operator import (
    VERSIONED,
    GradientSlice,
    Names,
    NetBlock,
    Operator,
    names,
)
from gradir.frontends.caffe2.replay import forward_of
from gradir.frontends.caffe2.scopes import ScopeNames as Known
from gradir.frontends.caffe2.scopes import reads, resolved
from gradir.frontends.caffe2.table import TYPES, check
from gradir.frontends.tracing.source_locations import place_of_user
from gradir.gc_pause import paused_gc


class Net(NetBlock):
    """A list of operators on named, mutable blobs.

    `net.FC(["x", "w", "b"], "y")` appends an operator of the type FC and returns "y";
    `strict_versions`: refuse what Caffe2 refuses to differentiate.
    """

    def __init__(self, name: str, strict_versions: bool = False):
        if not isinstance(name, str) or not name:
            raise ArgumentTypeError(f"Net: expected a name, got {name!r}")
        self.name = name
        self.strict_versions = strict_versions
        self._ops: list[Operator] = []
        self._reads: dict[str, None] = {}
        self._writes: dict[str, None] = {}
        self._inputs: dict[str, None] = {}
        self._promised: tuple[str, ...] = ()
        self._outputs: dict[str, None] = {}
        self._asked: dict[str | GradientSlice, None] = {}
        self.loose: list[tuple[tuple[str, int], str | GradientSlice]] = []

    # What it is.

    @property
    def ops(self) -> tuple[Operator, ...]:
        """The operators in order; gradient operators are the last."""
        return tuple(self._ops)

    @property
    def external_inputs(self) -> tuple[str, ...]:
        """The blobs that are read before they are written, then others that were declared."""
        return tuple({**self._reads, **self._inputs})

    @property
    def external_outputs(self) -> tuple[str, ...]:
        """The blobs that AddExternalOutput named."""
        return tuple(self._outputs)

    @property
    def default_fetch(self) -> tuple[str | GradientSlice, ...]:
        """What is fetched unless something is named: external outputs, else ys and gradients.

        Without these, the blobs whose last version nothing reads.
        """
        if self._outputs or self._asked:
            return self.external_outputs or tuple(self._asked)
        unread: dict[str, None] = {}
        for op in self._ops:
            for name in (*op.inputs, *reads(op)):
                unread.pop(name, None)
            unread |= dict.fromkeys(op.results)
        return tuple(name for name in unread if "\0" not in name)

    def __eq__(self, other: object) -> bool:
        """Whether name, operators, inputs and outputs are equal."""
        return isinstance(other, Net) and self._facts() == other._facts()

    __hash__: ClassVar[None] = None

    def _facts(self) -> tuple[object, ...]:
        return self.name, self.ops, self.external_inputs, self.external_outputs

    def __repr__(self) -> str:
        return f"<Net {self.name!r} of {len(self._ops)} operators>"

    def copy(self) -> Net:
        """A net of its own with the same operators."""
        made = Net(self.name, self.strict_versions)
        made._inputs, made._outputs = dict(self._inputs), dict(self._outputs)
        made._reads, made._writes = dict(self._reads), dict(self._writes)
        made._ops, made._asked = list(self._ops), dict(self._asked)
        made.loose, made._promised = list(self.loose), self._promised
        return made

    # How it grows.

    def AddExternalInput(self, *names: Names) -> None:
        """Declare blobs that the caller feeds: names, or one list of names."""
        self._inputs |= dict.fromkeys(_listed("AddExternalInput", names))

    def AddExternalOutput(self, *names: Names) -> None:
        """Declare blobs that are fetched unless others are named."""
        self._outputs |= dict.fromkeys(_listed("AddExternalOutput", names))

    def add_op(
        self, type: str, inputs: Names, outputs: Names, *, device: str | None = None,
        name: str = "", **args: Any,
    ) -> str | tuple[str, ...]:  # fmt: skip
        """Append an operator; the name of its output, or a tuple of names if it has not one.

        Names are a string, or a list of them. OperatorError for an unknown type, or operands or
        arguments that do not fit it.
        """
        made = Operator(
            type, cast(Any, inputs), cast(Any, outputs), args, device, name, place=place_of_user()
        )
        outputs = self.append(made).outputs
        return outputs[0] if len(outputs) == 1 else outputs

    def append(self, op: Operator) -> Operator:
        """Append an operator, as it is then in the net; nested nets are copied."""
        if forward_of(op) is None:
            check(op)
            op = self._checked(op)
        known = Known((self._reads, self._writes, self._inputs), (self._promised,))
        made = resolved(op, known)
        for name in reads(made):
            if name not in self._writes:
                self._reads[name] = None
        self._writes |= dict.fromkeys(made.results)
        self._ops.append(made)
        return made

    def _checked(self, op: Operator) -> Operator:
        """The operator with nested nets of its own; OperatorError for names kept for gradients."""
        for name in (*(() if op.is_gradient_op else op.inputs), *op.outputs):
            if VERSIONED.fullmatch(name) or "\0" in name:
                raise OperatorError(f"{op.type}: {name!r} is no name for a blob, as it has @number")
        nets = {k: net.copy() for k, net in op.nets().items() if isinstance(net, Net)}
        return replace(op, args={**op.args, **nets}) if nets else op

    def __getattr__(self, type: str) -> Callable[..., str | tuple[str, ...]]:
        if type not in TYPES:
            raise AttributeError(f"a Net has no attribute and there is no operator type {type!r}")
        return partial(self.add_op, type)

    # Gradients.

    def AddGradientOperators(
        self, ys: object, skip: int = 0, wrt: Sequence[str] | None = None
    ) -> Gradients:
        """Append the operators of the gradient of ys; map each blob's name to its gradient's.

        `ys` is a list of blobs (seeds of one), or a mapping to None (ones), a blob or a
        GradientSlice. The map has every blob with a gradient, of its earliest version; with `wrt`
        exactly these blobs, and nothing else is computed. The first `skip` operators are not
        differentiated. Gradient operators may be differentiated again.
        """
        if not isinstance(skip, int) or skip < 0:
            raise ArgumentTypeError(f"skip: expected a number of operators, got {skip!r}")
        wanted = None if wrt is None else names("wrt", wrt)
        taken = {*self._reads, *self._writes, *self._inputs, *_inner_names(self._ops)}
        with paused_gc():
            ir = IR(self._ops, self.strict_versions)
            ir.declare(self._inputs)
            ops, gradients = ir.backward(ys, skip, wanted, taken)
            made = self.copy()
            for op in ops:
                made.append(op)
        made.loose += ir.loose
        made._asked |= dict.fromkeys([*cast("Sequence[str]", ys), *gradients.values()])
        for gradient in gradients.values():
            made.AddExternalInput(*(n for n in parts(gradient) if not made._has(n)))
        self.__dict__.update(made.__dict__)  # all of it, or none
        return gradients

    def _has(self, name: str) -> bool:
        found = VERSIONED.fullmatch(name)
        bare = found[1] if found else name
        return bare in self._reads or bare in self._writes or bare in self._inputs

    def _require(self, fetched: Iterable[str]) -> None:
        for name in fetched:
            if not self._has(name):
                raise OperatorError(f'fetch: the net has no blob "{name}"')

    # What it is good for.

    def compile(self, fetch: Fetch | None = None, threads: int | None = None) -> CompiledNet:
        """A function `run(feeds) -> arrays`, both by name: native code, made at the first call.

        `fetch`: names of blobs, and GradientSlices, which give two arrays each; by default
        `default_fetch`. `threads` as for gradir.compile.
        """
        made = CompiledNet(self.copy(), fetch, threads)
        self._require(made.fetched)
        return made

    def to_module(
        self, specs: Mapping[str, Any] | Sequence[Any], fetch: Fetch | None = None
    ) -> Module:
        """The program @name: its arguments are the external inputs, its results the fetched blobs.

        `specs` are arrays or gradir.Spec, by name or in the order of external_inputs.
        """
        return module_of(self, specs, fetch)

    # Files.

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Net:
        """The net in a file: .pbtxt and .prototxt are text, .pb is binary.

        NetDefError, with its place in the file, for other files; OperatorError, with its
        place too, for an operator that does not fit.
        """
        return read_file(path, _built)

    @staticmethod
    def parse(content: str | bytes) -> Net:
        """The net in text, or in bytes. Errors as for `load`."""
        return read_content(content, _built)

    def __str__(self) -> str:
        """The net as text, which `parse` reads back equal."""
        return text_of(message_of(self))

    def serialize(self) -> bytes:
        """The net as bytes, which `parse` reads back equal."""
        return bytes_of(message_of(self))


def _built(
    name: str, ops: Sequence[Callable[[Net], object]], inputs: Sequence[str], outputs: Sequence[str]
) -> Net:
    """A net that was read, "net" unless it has a name; each of `ops` appends an operator."""
    net = Net(name or "net")
    net._promised = tuple(inputs)
    for append in ops:
        append(net)
    net.AddExternalInput(*inputs)
    net.AddExternalOutput(*outputs)
    return net


def _listed(what: str, given: Sequence[Any]) -> tuple[str, ...]:
    """Names, or one list of names."""
    is_list = len(given) == 1 and isinstance(given[0], (list, tuple))
    return names(what, cast(Any, given[0] if is_list else given))


def _inner_names(ops: Sequence[Operator]) -> set[str]:
    """All names in nested nets."""
    found: set[str] = set()
    for op in ops:
        for net in op.nets().values():
            found |= {n for inner in net.ops for n in (*inner.operands, *inner.results)}
            found |= _inner_names(net.ops)
    return found
