"""Operators that ONNX defines by others, in place of which their definitions come.

Functions of the model come in place of their calls first. Then, where gradir has no rule for an
operator and the operator set defines it by a function, the nodes of the function do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import count
from typing import Any

from gradir.frontends.imported.errors import ImportedProgramError
from gradir.frontends.onnx.files import subgraphs
from gradir.frontends.tracing.source_locations import refusal
from gradir.packages import package

onnx: Any = package("onnx", "onnx", "frontends")
defs: Any = package("onnx.defs", "onnx", "frontends")
checker: Any = package("onnx.checker", "onnx", "frontends")
inliner: Any = package("onnx.inliner", "onnx", "frontends")
converter: Any = package("onnx.version_converter", "onnx", "frontends")
shape_inference: Any = package("onnx.shape_inference", "onnx", "frontends")

DEEPEST = 12
"""Definitions by operators that are defined by others, in so many levels."""


def expand(model: Any, has_rule: Callable[[str], bool], file: str) -> Any:
    """A model, changed, without functions, and with types where ONNX's inference finds them."""
    if model.functions:
        model = _checked(file, inliner.inline_local_functions, model)
    versions = {entry.domain: entry.version for entry in model.opset_import}
    for _ in range(DEEPEST):
        model = _checked(file, _typed, model)
        expansion = _Expansion(versions, has_rule, file)
        expansion.replace_in(model.graph, {})
        if not expansion.has_replaced:
            return model
    raise refusal(f"{file}: functions are defined by others in {DEEPEST} levels",
                  ImportedProgramError)  # fmt: skip


def _checked(file: str, function: Callable[..., Any], *args: Any) -> Any:
    """What a function of ONNX gives; its C++ code has errors of its own for wrong models."""
    try:
        return function(*args)
    except Exception as error:
        raise refusal(f"{file}: it is not a valid model: {error}", ImportedProgramError) from None


def converted(model: Any, version: int, file: str) -> Any:
    """A model of an older operator set as one of a newer version."""
    try:
        return converter.convert_version(model, version)
    except Exception as error:  # it has no error of its own
        raise refusal(
            f"{file}: its operators cannot be converted to version {version}: {error}",
            ImportedProgramError,
        ) from None


def require_valid(model: Any, is_absent: Callable[[str], bool], file: str) -> None:
    """ImportedProgramError for a wrong model with an absent operator.

    ONNX's inference of types ends the process where patterns of strings are wrong.
    """
    if any(is_absent(name_of(node)) for node in _all_nodes(model.graph)):
        _checked(file, checker.check_model, model)


def _all_nodes(graph: Any) -> Iterator[Any]:
    for node in graph.node:
        yield node
        for inner in subgraphs(node):
            yield from _all_nodes(inner)


def newest_version() -> int:
    """The newest version of ONNX's operator set that the package onnx has."""
    return int(defs.onnx_opset_version())


def name_of(node: Any) -> str:
    """The name of a node's operator, with its domain unless that is ONNX's own."""
    return node.op_type if node.domain in ("", "ai.onnx") else f"{node.domain}.{node.op_type}"


def _typed(model: Any) -> Any:
    return shape_inference.infer_shapes(model, check_type=True, strict_mode=False, data_prop=True)


def _types_of(graph: Any) -> dict[str, Any]:
    found = {value.name: value.type for value in (*graph.value_info, *graph.output, *graph.input)}
    for tensor in graph.initializer:
        found[tensor.name] = onnx.helper.make_tensor_type_proto(tensor.data_type, tensor.dims)
    return found


class _Expansion:
    """One level of definitions in the place of operators."""

    def __init__(self, versions: Mapping[str, int], has_rule: Callable[[str], bool], file: str):
        self.versions, self.has_rule, self.file = versions, has_rule, file
        self.has_replaced = False
        self._numbers = count()

    def replace_in(self, graph: Any, around: Mapping[str, Any]) -> None:
        """Replace nodes of a graph, and of the graphs in it, among values of these types."""
        nodes, types = list[Any](), {**around, **_types_of(graph)}
        for node in graph.node:
            function = None if self.has_rule(name_of(node)) else self._definition(node, types)
            if function is None:
                for inner in subgraphs(node):
                    self.replace_in(inner, types)
                nodes.append(node)
            else:
                self.has_replaced = True
                nodes += self._nodes(node, function)
        copies = [_copy(node) for node in nodes]
        del graph.node[:]
        graph.node.extend(copies)

    def _definition(self, node: Any, types: Mapping[str, Any]) -> Any:
        """The function that defines an operator; None where there is none."""
        version = self.versions.get(node.domain, self.versions.get("ai.onnx", 1))
        try:
            schema = defs.get_schema(node.op_type, version, node.domain)
        except defs.SchemaError:
            return None
        if schema.has_function:
            data = schema.get_function_with_opset_version(version)
        elif schema.has_context_dependent_function:
            given = [types.get(name, onnx.TypeProto()).SerializeToString() for name in node.input]
            data = _checked(
                self.file, schema.get_context_dependent_function_with_opset_version,
                version, node.SerializeToString(), given,
            )  # fmt: skip
        else:
            return None
        return onnx.FunctionProto.FromString(data) if data else None

    def _nodes(self, node: Any, function: Any) -> list[Any]:
        prefix = f"{node.name or node.op_type}/{next(self._numbers)}/"
        names = {"": ""}
        names |= dict(zip(function.input, [*node.input, *[""] * len(function.input)], strict=False))
        for inner, outer in zip(function.output, node.output, strict=False):
            if outer:
                names[inner] = outer
        given = {attribute.name: attribute for attribute in node.attribute}
        for attribute in function.attribute_proto:
            given.setdefault(attribute.name, attribute)
        schema_defaults = _defaults(node, self.versions)
        return [_renamed(each, names, prefix, schema_defaults | given) for each in function.node]


def _defaults(node: Any, versions: Mapping[str, int]) -> dict[str, Any]:
    schema = defs.get_schema(node.op_type, versions.get(node.domain, 1), node.domain)
    found = {name: each.default_value for name, each in schema.attributes.items()}
    return {name: value for name, value in found.items() if value.name}


def _copy(node: Any) -> Any:
    made = onnx.NodeProto()
    made.CopyFrom(node)
    return made


def _renamed(node: Any, names: dict[str, str], prefix: str, given: Mapping[str, Any]) -> Any:
    """A node of a function with the names and attributes of a call."""
    made = _copy(node)
    made.name = prefix + (node.name or node.op_type)
    for k, name in enumerate(node.input):
        made.input[k] = names.get(name, prefix + name)
    for k, name in enumerate(node.output):
        made.output[k] = names.setdefault(name, prefix + name if name else "")
    del made.attribute[:]
    for attribute in node.attribute:
        bound = given.get(attribute.ref_attr_name) if attribute.ref_attr_name else attribute
        if bound is None:
            continue
        copy = made.attribute.add()
        copy.CopyFrom(bound)
        copy.name = attribute.name
        if copy.HasField("g"):
            _rename_graph(copy.g, dict(names), prefix, given)
    return made


def _rename_graph(graph: Any, names: dict[str, str], prefix: str, given: Mapping[str, Any]) -> None:
    for value in (*graph.input, *graph.initializer):
        names[value.name] = prefix + value.name
        value.name = names[value.name]
    nodes = [_renamed(node, names, prefix, given) for node in graph.node]
    del graph.node[:]
    graph.node.extend(nodes)
    del graph.value_info[:]
    for value in graph.output:
        value.name = names.get(value.name, prefix + value.name)
