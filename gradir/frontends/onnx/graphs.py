"""An ONNX graph as a foreign graph: constants, nodes, and the graphs in them.

A graph in a node reads values around it. Here it has them as further inputs, and the node has them
as further operands: `captures` has their places for each graph of the node.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, LocationAttr, StringAttr

from gradir.frontends.imported.errors import ImportedProgramError
from gradir.frontends.imported.graph import (
    UNKNOWN,
    ForeignConstant,
    ForeignGraph,
    ForeignNode,
    ForeignType,
    ForeignValue,
    Operand,
)
from gradir.frontends.imported.onnx_rules.table import STATE, STATIC
from gradir.frontends.imported.onnx_rules.types import NAMES
from gradir.frontends.onnx.expansion import name_of
from gradir.frontends.onnx.files import array_of, subgraphs
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.spec import COMPLEX_NAMES, ELEMENTS
from gradir.packages import package

onnx: Any = package("onnx", "onnx", "frontends")

Scope = dict[str, Operand]


@dataclass
class OnnxProgram:
    """The graph of a model: first its parameters are inputs, by name, then its own inputs."""

    graph: ForeignGraph
    parameters: dict[str, np.ndarray[Any, Any]]
    inputs: dict[str, OnnxInput]
    outputs: tuple[str, ...]


@dataclass(frozen=True)
class OnnxInput:
    """The dtype of an input, and its extents: numbers, or names (None without one)."""

    dtype: str
    shape: tuple[int | str | None, ...] | None


@dataclass
class OnnxReader:
    """Reads the graphs of a model. `bound` are inputs whose values are given."""

    file: str
    folder: Path | None
    opset: int
    bound: Mapping[str, np.ndarray[Any, Any]]
    place_number: Iterator[int]

    def program(self, model: Any, names: Collection[str] | None = None) -> OnnxProgram:
        """The whole model; its parameters are those of some names, or by their types."""
        graph = model.graph
        self._require_once("input", graph.input)
        self._require_once("initializer", graph.initializer)
        types = _Types.in_graph(graph)
        arrays = {t.name: array_of(t, self.folder, self.file) for t in graph.initializer}
        if graph.sparse_initializer:
            raise refusal(f"{self.file}: sparse tensors are not there", ImportedProgramError)
        static, state = _names_at(graph, STATIC), _names_at(graph, STATE)
        chosen = self._chosen(arrays, names, state)
        parameters = {n: a for n, a in arrays.items() if n in chosen and n not in static}
        scope: Scope = {n: _constant(a) for n, a in arrays.items() if n not in parameters}
        scope |= {n: _constant(a) for n, a in self.bound.items()}
        inputs = [v for v in graph.input if v.name not in arrays and v.name not in self.bound]
        made = [ForeignValue(_type_of(a)) for a in parameters.values()]
        made += [ForeignValue(types.of(v.name)) for v in inputs]
        scope |= dict(zip([*parameters, *(v.name for v in inputs)], made, strict=True))
        nodes = self._nodes(graph, scope, types)
        outputs = tuple(v.name for v in graph.output)
        results = tuple(self._found(scope, name) for name in outputs)
        name = graph.name if graph.name.isidentifier() and graph.name.isascii() else "model"
        whole = ForeignGraph(name, tuple(made), tuple(nodes), results, self._place(0))
        return OnnxProgram(
            whole, parameters, {v.name: _input_of(v, self.file) for v in inputs}, outputs
        )

    def _chosen(
        self, arrays: Mapping[str, Any], names: Collection[str] | None, state: set[str]
    ) -> set[str]:
        """The names of the initializers that are parameters."""
        floats = {name for name, array in arrays.items() if _is_float(array)}
        if names is None:
            return {name for name in floats - state if arrays[name].ndim}
        lost = sorted(set(names) - floats)
        if lost:
            raise refusal(
                f"{self.file}: parameters: {lost[0]!r} is no initializer of floats; these are "
                f"{', '.join(sorted(floats)) or 'not there'}",
                ImportedProgramError,
            )
        return set(names)

    def _nodes(self, graph: Any, scope: Scope, types: _Types) -> list[ForeignNode]:
        return [self._node(node, scope, types) for node in graph.node]

    def _node(self, node: Any, scope: Scope, types: _Types) -> ForeignNode:
        name, place = name_of(node), self._place(next(self.place_number))
        given = [n for n in node.input if n]
        operands = [self._found(scope, n) for n in given]
        places = {n: k for k, n in enumerate(given)}
        graphs, captures = list[ForeignGraph](), list[list[int]]()
        for inner in subgraphs(node):
            made, names = self._inner(inner, scope, types, place)
            for each in names:
                if each not in places:
                    places[each] = len(operands)
                    operands.append(scope[each])
            graphs.append(made)
            captures.append([places[each] for each in names])
        results = [ForeignValue(types.of(n)) for n in node.output if n]
        for each, value in zip([n for n in node.output if n], results, strict=True):
            if each in scope:
                raise refusal(f"{self.file}: {each!r} is made twice", ImportedProgramError)
            scope[each] = value
        params = {
            "inputs": [places[n] if n else None for n in node.input], "names": list(node.input),
            "outputs": [bool(n) for n in node.output], "opset": self.opset, "captures": captures,
            "attributes": self._attributes(node),
            "keeps_on": name == "Loop" and _keeps_on(next(subgraphs(node))),
        }  # fmt: skip
        return ForeignNode(
            name, tuple(operands), tuple(results), params, place, tuple(graphs),
            variable=next((n for n in node.output if n.isidentifier() and n.isascii()), None),
            refused=self._refusal(node, types), label=node.name,
        )  # fmt: skip

    def _refusal(self, node: Any, types: _Types) -> str:
        """Why a node cannot be there at all: types of its values that gradir has not."""
        for name in (*node.input, *node.output):
            dtype = types.dtype_of(name)
            if dtype and dtype not in ELEMENTS:
                return f"there are no elements of type {dtype}"
            if dtype in COMPLEX_NAMES:
                return f"programs with elements of type {dtype} are not read"
        return ""

    def _inner(
        self, graph: Any, scope: Scope, types: _Types, place: LocationAttr
    ) -> tuple[ForeignGraph, list[str]]:
        """A graph in a node, and the names of the values around it that it reads."""
        captured = [n for n in dict.fromkeys(_free_names(graph)) if n in scope]
        inner = _Types.in_graph(graph, types)
        values: dict[str, ForeignValue] = {}
        around: Scope = {}
        for name in captured:
            value = scope[name]
            around[name] = values[name] = ForeignValue(value.type)
        own = {v.name: ForeignValue(UNKNOWN) for v in graph.input}
        within: Scope = {**around, **own}
        for tensor in graph.initializer:
            within[tensor.name] = _constant(array_of(tensor, self.folder, self.file))
        nodes = self._nodes(graph, within, inner)
        outputs = tuple(self._found(within, v.name) for v in graph.output)
        inputs = (*own.values(), *values.values())
        return ForeignGraph("body", inputs, tuple(nodes), outputs, place), captured

    def _attributes(self, node: Any) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for attribute in node.attribute:
            if attribute.HasField("g") or attribute.graphs:
                continue
            value = onnx.helper.get_attribute_value(attribute)
            if attribute.type == onnx.AttributeProto.TENSOR:
                value = array_of(value, self.folder, self.file)
            elif isinstance(value, bytes):
                value = value.decode(errors="replace")
            elif isinstance(value, (list, tuple)) or hasattr(value, "append"):
                value = list(value)
            found[attribute.name] = value
        return found

    def _require_once(self, what: str, values: Any) -> None:
        seen: set[str] = set()
        for name in (value.name for value in values):
            if name in seen:
                raise refusal(f"{self.file}: {what} {name!r} is there twice", ImportedProgramError)
            seen.add(name)

    def _found(self, scope: Scope, name: str) -> Operand:
        if name not in scope:
            raise refusal(f"{self.file}: {name!r} is read before a node makes it",
                          ImportedProgramError)  # fmt: skip
        return scope[name]

    def _place(self, number: int) -> LocationAttr:
        return FileLineColLoc(StringAttr(self.file), IntAttr(number), IntAttr(1))


@dataclass
class _Types:
    """The types of a graph's values, as far as they are known; `around` of the graph around it."""

    protos: dict[str, Any]
    around: _Types | None = None

    @classmethod
    def in_graph(cls, graph: Any, around: _Types | None = None) -> _Types:
        """The types that a graph tells."""
        values = [*graph.value_info, *graph.output, *graph.input]
        return cls({v.name: v.type for v in values}, around)

    def of(self, name: str) -> ForeignType:
        """The type of a value; UNKNOWN where its dtype or an extent is."""
        proto, dtype = self._proto(name), self.dtype_of(name)
        if not dtype or proto.WhichOneof("value") != "tensor_type":
            return UNKNOWN
        if not proto.tensor_type.HasField("shape"):
            return UNKNOWN
        dims = proto.tensor_type.shape.dim
        if not all(d.HasField("dim_value") for d in dims):
            return UNKNOWN
        return ForeignType(tuple(d.dim_value for d in dims), dtype)

    def dtype_of(self, name: str) -> str:
        """The dtype of a value by its name, "" where it is not known."""
        proto = self._proto(name)
        if proto is None or proto.WhichOneof("value") is None:
            return ""
        kind = proto.WhichOneof("value")
        if kind != "tensor_type":
            return kind.removesuffix("_type")
        code = proto.tensor_type.elem_type
        return NAMES.get(code, "") if code else ""

    def _proto(self, name: str) -> Any:
        found = self.protos.get(name)
        return self.around._proto(name) if found is None and self.around else found


def _is_float(array: np.ndarray[Any, Any]) -> bool:
    return array.dtype.kind == "f" or array.dtype.name == "bfloat16"


def _names_at(graph: Any, inputs: Mapping[str, tuple[int, ...]]) -> set[str]:
    """The values that are at some inputs of operators."""
    found: set[str] = set()
    for node in graph.node:
        places = inputs.get(name_of(node), ())
        found.update(n for k, n in enumerate(node.input) if k in places)
        for inner in subgraphs(node):
            found |= _names_at(inner, inputs)
    return found


def _free_names(graph: Any) -> list[str]:
    """The names that a graph reads and does not make."""
    made = {v.name for v in (*graph.input, *graph.initializer)}
    found: list[str] = []
    for node in graph.node:
        read = [n for n in node.input if n]
        for inner in subgraphs(node):
            read += _free_names(inner)
        found += [n for n in read if n not in made]
        made.update(node.output)
    return found + [v.name for v in graph.output if v.name not in made]


def _keeps_on(body: Any) -> bool:
    """Whether a loop's body hands its condition on unchanged, or gives one that is true."""
    makers = {n: node for node in body.node for n in node.output}
    known = {t.name: t for t in body.initializer}
    name = body.output[0].name
    while name in makers and makers[name].op_type == "Identity":
        name = makers[name].input[0]
    if name in makers and makers[name].op_type == "Constant":
        [attribute] = makers[name].attribute
        return attribute.name == "value" and bool(onnx.numpy_helper.to_array(attribute.t).all())
    if name in known:
        return bool(onnx.numpy_helper.to_array(known[name]).all())
    return len(body.input) > 1 and name == body.input[1].name


def _constant(array: np.ndarray[Any, Any]) -> ForeignConstant:
    return ForeignConstant(_type_of(array), array)


def _type_of(array: np.ndarray[Any, Any]) -> ForeignType:
    return ForeignType(array.shape, array.dtype.name)


def _input_of(value: Any, file: str) -> OnnxInput:
    proto = value.type
    if proto.WhichOneof("value") != "tensor_type":
        raise refusal(f"{file}: input {value.name!r} is no tensor", ImportedProgramError)
    dtype = NAMES.get(proto.tensor_type.elem_type, "")
    if not proto.tensor_type.HasField("shape"):
        return OnnxInput(dtype, None)
    dims = proto.tensor_type.shape.dim
    return OnnxInput(dtype, tuple(
        d.dim_value if d.HasField("dim_value") else d.dim_param or None for d in dims
    ))  # fmt: skip
