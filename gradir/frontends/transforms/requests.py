"""Requests, one for each leaf of the gradient of a Python function.

They are nested like the gradient, and have Module.gradient's words: "write", "null", "add" and
"slices".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import index
from typing import Any

import numpy as np
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from gradir.argument_checks import short
from gradir.dialects.base.attribute_names import IN_OUT
from gradir.dialects.base.shapes import shape_of
from gradir.frontends.tracing.callbacks import call_user
from gradir.frontends.tracing.nesting import choices, chosen_leaves
from gradir.frontends.tracing.source_locations import place_of_user, refusal
from gradir.frontends.tracing.spec import type_text
from gradir.frontends.tracing.trace import Traced
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import lifted
from gradir.frontends.tracing.trees import Tree, flatten, leaves_like
from gradir.passes.analysis.signature import argument_attributes, set_argument_attributes
from gradir.passes.gradient.requests import REQUESTS
from gradir.runtime.row_slices import RowSlices
from gradir.symbols import function_named

Numbers = int | Sequence[int]


@dataclass(frozen=True)
class Requests:
    """The arguments of gradir.grad that say which gradients are wanted, and in which form."""

    argnums: Numbers
    sparse_argnums: Numbers = ()
    sparse: Any = False
    req: Any = "write"

    def of(self, inner: Traced, args: Sequence[Any]) -> dict[int, str]:
        """The requests by leaf of the arguments, in the order of the gradients; TraceError."""
        wrt = leaves_of(inner.arguments, self.argnums, len(args))
        numbers = self.argnums
        chosen = args[numbers] if isinstance(numbers, int) else tuple(args[k] for k in numbers)
        tree = flatten(chosen)[1]
        asked = call_user("grad", self.req, chosen) if callable(self.req) else self.req
        known = ", ".join(map(repr, REQUESTS))
        names = choices(
            *("grad", "req", asked, "the gradient", tree),
            lambda value: value in REQUESTS,
            f"one of {known}",
        )
        found = dict(zip(wrt, names, strict=True))
        for k in (*self._sparse_numbers(inner, args), *self._sparse_leaves(wrt, chosen, tree)):
            if k not in found:
                raise refusal(f"grad: {inner.names[k]} is in sparse_argnums and not in argnums")
            if found[k] not in ("write", "slices"):
                raise refusal(f"grad: {inner.names[k]} is sparse, and its req is {found[k]!r}")
            found[k] = "slices"
        _require_rows(inner, found)
        return found

    def _sparse_numbers(self, inner: Traced, args: Sequence[Any]) -> list[int]:
        return leaves_of(inner.arguments, self.sparse_argnums, len(args))

    def _sparse_leaves(self, wrt: Sequence[int], chosen: Any, tree: Tree) -> list[int]:
        mask = call_user("grad", self.sparse, chosen) if callable(self.sparse) else self.sparse
        of_wrt = chosen_leaves("grad", "sparse", mask, "the gradient", tree)
        return [k for k, is_chosen in zip(wrt, of_wrt, strict=True) if is_chosen]


def may_add(req: Any) -> bool:
    """Whether requests may have one that adds to an array in `out`."""
    return callable(req) or any(isinstance(r, str) and r == "add" for r in flatten(req)[0])


def numbers_of(argnums: Any, what: str = "argnums") -> Numbers:
    """An int, or a tuple of ints, for one or several positions; TraceError for others."""
    several = argnums if isinstance(argnums, (list, tuple)) else [argnums]
    try:
        if any(isinstance(k, bool) or np.ndim(k) for k in several):
            raise TypeError
        found = tuple(index(k) for k in several)
    except TypeError:
        is_data = hasattr(argnums, "dtype") or isinstance(argnums, float)
        hint = "; arguments are for the gradient: gradir.grad(f)(x)" if is_data else ""
        raise refusal(
            f"{what}: expected an integer, or a tuple of integers, got {short(argnums)}{hint}",
            place=place_of_user(),
        ) from None
    return found if isinstance(argnums, (list, tuple)) else found[0]


def leaves_of(arguments: Tree, argnums: Numbers, count: int) -> list[int]:
    """The indices of the leaves of arguments by position; TraceError for a missing one."""
    found: list[int] = []
    for k in [argnums] if isinstance(argnums, int) else argnums:
        if not -count <= k < count:
            given = "1 argument" if count == 1 else f"{count or 'no'} arguments"
            raise refusal(f"argnums: no argument {k}: the call has {given} by position")
        found += arguments.children[0].places(k)
    return found


def gradient_tree(arguments: Tree, argnums: Numbers) -> Tree:
    """The nesting of the gradient."""
    trees = arguments.children[0].children
    if isinstance(argnums, int):
        return trees[argnums]
    return Tree(tuple, (), tuple(trees[k] for k in argnums))


def _require_rows(inner: Traced, requests: Mapping[int, str]) -> None:
    types = signature(inner).inputs.data
    for k, request in requests.items():
        if request == "slices" and not shape_of(types[k]):
            raise refusal(f"grad: {inner.names[k]} has no rows, got {type_text(types[k])}")


def added_to(inner: Traced, requests: Mapping[int, str], out: Any, tree: Tree) -> list[Tracer]:
    """The arrays of `out` to which gradients are added; TraceError where one is missing."""
    if "add" not in requests.values():
        return []
    entries = leaves_like(out, tree)
    if entries is None:
        raise refusal("grad: out must be nested as the result is, with the arrays to add to")
    types, found = signature(inner).inputs.data, list[Tracer]()
    for (k, request), entry in zip(requests.items(), entries, strict=True):
        if request == "add":
            found.append(_accumulator(entry, types[k], inner.names[k]))
    return found


def _accumulator(entry: Any, type_: Attribute, name: str) -> Tracer:
    if entry is None:
        raise refusal(f"grad: the gradient of {name} is added to an array: give it in out=")
    made = lifted(entry)
    if made.type != type_:
        raise refusal(
            f"grad: out must be {type_text(type_)} for {name}, got {type_text(made.type)}"
        )
    return made


def gradients(
    inner: Traced, results: Sequence[Any], requests: Mapping[int, str], tree: Tree
) -> Any:
    """The gradients, nested: None where none was asked for, RowSlices of two results."""
    rest, types = iter(results), signature(inner).inputs.data
    made: list[Any] = []
    for k, request in requests.items():
        if request == "null":
            made.append(None)
        elif request == "slices":
            made.append(RowSlices(next(rest), next(rest), shape_of(types[k])))
        else:
            made.append(next(rest))
    return tree.build(made)


def signature(inner: Traced) -> Any:
    """The type of a traced function."""
    return function_named(inner.module.op, inner.name).function_type


def pass_by_value(function: FuncOp) -> None:
    """Have a function's callers pass the arrays that gradients are added to."""
    given = argument_attributes(function)
    for attributes in given:
        attributes.pop(IN_OUT, None)
    set_argument_attributes(function, given)
