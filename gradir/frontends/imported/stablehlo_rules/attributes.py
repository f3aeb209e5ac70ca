"""Attributes of StableHLO as Python values, and as the parameters of JAX's rules."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, DenseIntOrFPElementsAttr, IntegerAttr

from gradir.frontends.imported.jax_rules.table import JAX
from gradir.frontends.imported.table import Rule
from gradir.frontends.tracing.source_locations import refusal

Params = Callable[[Any], Mapping[str, Any]]

_FIELD = re.compile(r"(\w+)\s*=\s*(\[[^\]]*\]|-?\d+)")


def shared(name: str, params: Params = lambda call: {}, lists: bool = False) -> Rule:
    """The rule of a primitive of JAX, whose parameters are made of an op's attributes."""
    rule = JAX.rules[name]

    def rule_of_jax(call: Any, *operands: Any) -> Any:
        call.params = dict(params(call))
        call.op = name
        return rule(call, *operands)

    return rule_of_jax


def integers(call: Any, name: str, default: list[int] | None = None) -> list[int]:
    """An attribute that lists numbers: `array<i64: 1, 2>` or `dense<[1, 2]>`."""
    value = call.params.get(name)
    if value is None and default is not None:
        return default
    if isinstance(value, DenseArrayBase):
        return [int(n) for n in value.get_values()]
    if isinstance(value, DenseIntOrFPElementsAttr):
        return [int(n) for n in value.get_values()]
    raise refusal(f"{call.op}: {name} must be a list of numbers, got {value}")


def pairs(call: Any, name: str, count: int) -> list[tuple[int, int]]:
    """Paddings: two numbers for each of `count` axes, zeros where they are absent."""
    flat = integers(call, name, [0] * (2 * count))
    if len(flat) != 2 * count:
        raise refusal(f"{call.op}: {name} must have {count} pairs, got {flat}")
    return list(zip(flat[::2], flat[1::2], strict=True))


def integer(call: Any, name: str, default: int | None = None) -> int:
    value = call.params.get(name)
    if value is None and default is not None:
        return default
    if not isinstance(value, IntegerAttr):
        raise refusal(f"{call.op}: {name} must be a number, got {value}")
    return value.value.data


def flag(call: Any, name: str) -> bool:
    return bool(integer(call, name, 0))


def word(call: Any, name: str, default: str = "") -> str:
    """The text of an attribute such as `#stablehlo<comparison_direction LT>`."""
    value = call.params.get(name)
    if value is None:
        return default
    text = getattr(value, "text", None)
    if text is None:
        raise refusal(f"{call.op}: {name} is not understood: {value}")
    return text.data


def fields(call: Any, name: str, known: tuple[str, ...]) -> SimpleNamespace:
    """The fields of an attribute such as `#stablehlo.gather<...>`: lists of numbers, or a number;
    absent ones are empty."""
    found: dict[str, Any] = dict.fromkeys(known, ())
    for key, value in _FIELD.findall(word(call, name)):
        if key not in found:
            raise refusal(f"{call.op}: {name} has the field {key}, which is not known")
        listed = value.startswith("[")
        found[key] = tuple(map(int, re.findall(r"-?\d+", value))) if listed else int(value)
    return SimpleNamespace(**found)


def strings(call: Any, name: str) -> list[Any]:
    value = call.params.get(name)
    return list(value) if isinstance(value, ArrayAttr) else []
