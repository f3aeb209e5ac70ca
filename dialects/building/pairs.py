"""The types of rules on values that are two values each: row slices, and complex tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from gradir.dialects.base.value import Emitter, Value

Pair: TypeAlias = tuple[Value, Value]
Operands: TypeAlias = Sequence[Any]
"""The operands of an op: values, and pairs for those with parts."""
Made: TypeAlias = Value | Pair | list[Value | Pair]
"""The one result of an op, or a list of all."""
PairRule: TypeAlias = Callable[[Any, Emitter, Operands], Made]
"""What an op is on the parts: `rule(op, emitter, operands)`."""
