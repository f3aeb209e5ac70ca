"""PyTorch's exported graphs as foreign graphs: ops with named arguments, in place as new values.

Parts that run with gradients off are read into the graph around them: what they compute has no
derivative, and what they write keeps the one it had.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from xdsl.dialects.builtin import LocationAttr

from gradir.frontends.imported.graph import (
    UNKNOWN,
    ForeignGraph,
    ForeignType,
    ForeignValue,
    Operand,
    live_nodes,
)
from gradir.frontends.imported.torch_rules.arguments import OperandPlace
from gradir.interop.torch_decompose import decomposed
from gradir.interop.torch_ops import (
    is_packed,
    is_random,
    is_view,
    may_be_view,
    name_of,
    named_arguments,
    written_arguments,
)
from gradir.interop.torch_types import (
    NOWHERE,
    Unreadable,
    foreign_constant,
    foreign_type,
    place_of,
)
from gradir.interop.torch_views import Held, Memory, NodeTape, TensorView, view_of_shape
from gradir.packages import package

torch: Any = package("torch", "torch")

Knows = Callable[[str], bool]
KEY = ForeignType((), "int64")
_OF_STATES = ("lstm",)
"""Ops whose further results have shapes that PyTorch 2.9 tells wrongly."""
STAND_IN = "gradir.autograd_function"
_NOTHING = frozenset(("_assert_tensor_metadata", "_assert_scalar", "sym_constrain_range_for_size"))
"""Checks of what export has found: symbolic numbers are refused where they come from."""
_OF_MEMORY = frozenset(("as_strided", "as_strided_copy", "as_strided_scatter"))
_OF_NUMBERS = frozenset(("_operator", "math", "builtins"))
"""The modules of functions of Python's numbers."""
_STATE = {"batch_norm": "training", "instance_norm": "use_input_stats"}
"""Ops that write to running statistics without saying so, and what makes them."""


class TorchReader(NodeTape):
    """Reads one graph; `knows` tells which ops have a rule, or are refused by name.

    `stand_in` computes calls of gradir functions in place of a torch.autograd.Function.
    """

    def __init__(self, knows: Knows, stand_in: Any = None):
        super().__init__()
        self.knows, self.stand_in = knows, stand_in
        self.key = ForeignValue(KEY)
        self.draws = 0
        self.is_inner = False
        self._values: dict[Any, Any] = {}
        self._writes = False

    def run(self, module: Any, given: Sequence[Any]) -> Any:
        """Read all nodes of a module; the nested results, with Held for tensors."""
        outer, self._values = self._values, dict[Any, Any]()
        self._writes = self._writes or _has_writes(module)
        rest = iter(given)
        try:
            for node in module.graph.nodes:
                if node.op == "placeholder":
                    self._values[node] = next(rest)
                elif node.op == "get_attr":
                    self._values[node] = self._attribute(module, node)
                elif node.op == "output":
                    return self._given(node.args[0])
                else:
                    self._values[node] = self._call(node)
        finally:
            self._values = outer
        raise AssertionError("a graph without an output")

    def graph(self, name: str, inputs: Sequence[ForeignValue], outputs: Sequence[Operand]) -> Any:
        """What was read, as a graph."""
        every = (*inputs, self.key) if self.draws else tuple(inputs)
        nodes = tuple(live_nodes(self.nodes, outputs))
        place = next((n.place for n in nodes if n.place is not NOWHERE), NOWHERE)
        return ForeignGraph(name, tuple(every), nodes, tuple(outputs), place)

    def _attribute(self, module: Any, node: Any) -> Any:
        found = operator.attrgetter(node.target)(module)
        if isinstance(found, torch.Tensor):
            return self.hold(foreign_constant(found))
        return found

    def _given(self, value: Any) -> Any:
        """An argument of a node, with what its nodes have given."""
        if isinstance(value, torch.fx.Node):
            return self._values[value]
        if isinstance(value, (list, tuple)):
            return tuple(map(self._given, cast(Sequence[Any], value)))
        if isinstance(value, dict):
            return {k: self._given(v) for k, v in cast(Mapping[Any, Any], value).items()}
        return value

    def _call(self, node: Any) -> Any:
        target, place = node.target, place_of(node)
        args, kwargs = self._given(node.args), self._given(node.kwargs)
        if target is operator.getitem:
            return args[0][args[1]] if node.users else None
        if isinstance(target, torch._ops.HigherOrderOperator):
            inner = place if place is not NOWHERE else _place_inside(args)
            return self._call_program(node, target.name(), args, inner)
        if not isinstance(target, torch._ops.OpOverload):
            return self._number(node, place)
        name = name_of(target)
        if name in _NOTHING:
            return None
        written = written_arguments(target)
        if written not in ((), ("out",), (_first(target),)):
            self.refuse(name, "it writes to memory that it is given", place)
            return _Nothing(self)
        return self._call_op(node, name, args, kwargs, place)

    def _number(self, node: Any, place: LocationAttr) -> Any:
        """A number that is not a tensor: known, or refused where it came from."""
        value, name = node.meta.get("val"), getattr(node.target, "__name__", str(node.target))
        if node.target.__module__ not in _OF_NUMBERS and not name.startswith("sym_"):
            why = (
                "transformations (torch.vmap, torch.func.grad) in a module are not there; write "
                "the axis into the ops, or take gradir.vmap and gradir.grad of "
                "gradir.interop.torch.functional(module)"
            )
            self.refuse(name, why, place if place is not NOWHERE else _first_place(_from(node)))
            return self.hold(ForeignValue(ForeignType((), "float32")))
        return value if isinstance(value, int | float | bool) else None

    # Ops.

    def _call_op(
        self, node: Any, name: str, args: Sequence[Any], kwargs: Mapping[str, Any],
        place: LocationAttr,
    ) -> Any:  # fmt: skip
        op, value = node.target, node.meta.get("val")
        if isinstance(value, int | float | bool):
            return value  # an extent
        if name == "detach_":
            args[0].is_stopped, args[0].still = True, None
            return args[0]
        written = written_arguments(op)
        if written and not self.knows(name):
            name = name.rstrip("_")
        if name in _OF_MEMORY and not is_packed(node.args[0].meta["val"]):
            self.refuse(name, "it reads memory beside the elements of a tensor", place)
        made = None if self.knows(name) else decomposed(op, node)
        if made is not None:
            return self._decomposed(made, op, args, kwargs, place)
        given = named_arguments(op, args, kwargs)
        arguments = {key: value for key, value in given.items() if key != "out"}
        is_named = isinstance(value, (list, tuple))
        used = _used(node) if is_named else [0]
        types = [
            UNKNOWN if name in _OF_STATES and k else self._type(name, v, place)
            for k, v in enumerate(_results(value))
            if k in used
        ]
        params = {"function": self.stand_in} if name == STAND_IN else {}
        results = self._emit(name, arguments, types, used, place, **params)
        if written:
            return self._written(given[written[0]], results[0], place, name)
        if name in _STATE:
            self._write_state(name, arguments, place)
        held = self._held(node, name, results, used, args, kwargs, place)
        return dict(zip(used, held, strict=True)) if is_named else held[0]

    def _type(self, name: str, value: Any, place: LocationAttr) -> ForeignType:
        try:
            return foreign_type(value)
        except Unreadable as error:
            self.refuse(name, str(error), place)
            return ForeignType((), "float32")

    def _emit(
        self, name: str, arguments: Mapping[str, Any], types: Sequence[ForeignType],
        used: Sequence[int], place: LocationAttr, **params: Any,
    ) -> list[ForeignValue]:  # fmt: skip
        """A node of an op; random ones take the key behind their operands."""
        operands: list[Operand] = []

        def placed(value: Any) -> Any:
            if isinstance(value, Held):
                operands.append(self.operand(value))
                return OperandPlace(len(operands) - 1)
            if isinstance(value, (tuple, list)):
                return tuple(map(placed, cast(Sequence[Any], value)))
            return value

        given = [(key, placed(value)) for key, value in arguments.items()]
        if is_random(name, arguments):
            if self.is_inner:
                why = "random numbers in loops and branches have no key; draw them outside"
                self.refuse(name, why, place)
            operands.append(self.key)
            params["draw"] = self.draws
            self.draws += 1
        return self.emit(name, operands, types, given, place, used, **params)

    def _held(
        self, node: Any, name: str, made: Sequence[ForeignValue], used: Sequence[int],
        args: Sequence[Any], kwargs: Mapping[str, Any], place: LocationAttr,
    ) -> list[Any]:  # fmt: skip
        """The results as tensors, views where the op makes such and the program writes to any."""
        op, every = node.target, _results(node.meta.get("val"))
        if any(isinstance(every[k], (list, tuple)) for k in used):
            return [_Nothing(self) for _ in used]  # lists in lists, which are refused
        base = args[0] if args and isinstance(args[0], Held) else None
        is_seen = self._writes and base is not None and may_be_view(op)
        if not is_seen or not is_view(op, node.args[0].meta["val"], *_values_of(node)):
            return [self.hold(value) for value in made]
        arguments = {**named_arguments(op, args, kwargs), _first(op): OperandPlace(0)}

        def apply(tensor: Any) -> Any:
            return op(tensor, *args[1:], **kwargs)

        if any(isinstance(x, Held) for x in args[1:]):  # of the shape of another tensor
            return [self.hold(made[0], base, view_of_shape(base, made[0].type.shape, place))]
        views = [TensorView(name, tuple(arguments.items()), k, place, apply) for k in used]
        return [self.hold(value, base, view) for value, view in zip(made, views, strict=True)]

    def _written(self, target: Any, made: Operand, place: LocationAttr, name: str) -> Any:
        self.write(target, made, place, name)
        return target

    def _write_state(self, name: str, arguments: Mapping[str, Any], place: LocationAttr) -> None:
        """The running statistics of a norm, where it trains."""
        held = [arguments.get(key) for key in ("running_mean", "running_var")]
        if not arguments.get(_STATE[name]) or not all(isinstance(h, Held) for h in held):
            return
        types = [cast(Held, h).type for h in held]
        made = self._emit(f"{name}_statistics", arguments, types, (0, 1), place)
        before, self.has_gradients = self.has_gradients, False
        for each, value in zip(held, made, strict=True):
            self.write(cast(Held, each), value, place, name)
        self.has_gradients = before

    def _decomposed(
        self, module: Any, op: Any, args: Sequence[Any], kwargs: Mapping[str, Any],
        place: LocationAttr,
    ) -> Any:  # fmt: skip
        """The results of an op without a rule, of simpler ones."""
        tensors = [
            x for x in torch.utils._pytree.tree_leaves((args, kwargs)) if isinstance(x, Held)
        ]
        first = len(self.nodes)
        made = self.run(module, tensors)
        for k in range(first, len(self.nodes)):
            if self.nodes[k].place is NOWHERE:
                self.nodes[k] = replace(self.nodes[k], place=place)
        written = written_arguments(op)
        if written:
            target = named_arguments(op, args, kwargs)[written[0]]
            return self._written(target, self.operand(made), place, name_of(op))
        return made

    # Programs in programs.

    def _call_program(
        self, node: Any, name: str, args: Sequence[Any], place: LocationAttr
    ) -> Any:  # fmt: skip
        if name == "wrap_with_set_grad_enabled":
            before, self.has_gradients = self.has_gradients, bool(args[0])
            try:
                return self.run(args[1], args[2:])
            finally:
                self.has_gradients = before
        if name == "wrap_with_autocast" and not args[2]:
            return self.run(args[4], args[5:])
        if name == "cond" and isinstance(args[0], bool):
            return self.run(args[1 if args[0] else 2], args[3])
        results = node.meta.get("val")
        if not self.knows(name):
            self.refuse(name, "there is no rule for it", place)
            return _Nothing(self)
        types = [self._type(name, value, place) for value in _results(results)]
        graphs = [x for x in args if isinstance(x, torch.nn.Module)]
        parts = [self._inner(f"{name}_{k}", graph) for k, graph in enumerate(graphs)]
        named = [
            (f"argument{k}", x) for k, x in enumerate(args) if not isinstance(x, torch.nn.Module)
        ]
        made = self._emit(name, dict(named), types, range(len(types)), place, graphs=parts)
        held = [self.hold(value) for value in made]
        return held if isinstance(results, (list, tuple)) else held[0]

    def _inner(self, name: str, module: Any) -> ForeignGraph:
        """A part that is a program of its own."""
        reader = TorchReader(self.knows, self.stand_in)
        reader.has_gradients, reader.is_inner = self.has_gradients, True
        nodes = [node for node in module.graph.nodes if node.op == "placeholder"]
        given: list[Any] = []
        inputs: list[ForeignValue] = []
        for node in nodes:
            value = ForeignValue(self._type(name, node.meta.get("val"), place_of(node)))
            inputs.append(value)
            given.append(Held(value, Memory(owner="an argument of a loop or a branch")))
        made = reader.run(module, given)
        leaves = list(made) if isinstance(made, (list, tuple)) else [made]
        graph = reader.graph(name, inputs, [reader.operand(leaf) for leaf in leaves])
        return ForeignGraph(name, tuple(inputs), graph.nodes, graph.outputs, graph.place)


class _Nothing(dict[int, Held]):
    """Results of an op that is refused."""

    def __init__(self, tape: NodeTape):
        super().__init__()
        self._tape = tape

    def __missing__(self, place: int) -> Held:
        return self._tape.hold(ForeignValue(ForeignType((), "float32")))


def _place_inside(args: Sequence[Any]) -> LocationAttr:
    """The first line of the programs in an op that has none."""
    parts = [x for x in args if isinstance(x, torch.fx.GraphModule)]
    return _first_place(node for part in parts for node in part.graph.nodes)


def _first_place(nodes: Iterable[Any]) -> LocationAttr:
    """The first line that nodes have."""
    places = map(place_of, nodes)
    return next((place for place in places if place is not NOWHERE), NOWHERE)


def _from(node: Any) -> Iterator[Any]:
    """The nodes of a program from one on."""
    while node.op != "root":
        yield node
        node = node.next


def _first(op: Any) -> str:
    return str(op._schema.arguments[0].name)


def _results(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _used(node: Any) -> list[int]:
    """The numbers of the results that the program reads."""
    read = [user for user in node.users if user.target is operator.getitem and user.users]
    return sorted({user.args[1] for user in read})


def _values_of(node: Any) -> tuple[Any, Any]:
    """The arguments of a node as fake tensors."""

    def value(x: Any) -> Any:
        return x.meta.get("val") if isinstance(x, torch.fx.Node) else x

    map_ = torch.utils._pytree.tree_map
    return map_(value, tuple(node.args)), map_(value, dict(node.kwargs))


def _has_writes(module: Any) -> bool:
    """Whether a program writes in place anywhere."""
    for part in module.modules():
        graph = getattr(part, "graph", None)
        for node in graph.nodes if graph is not None else ():
            if isinstance(node.target, torch._ops.OpOverload) and written_arguments(node.target):
                return True
    return False
