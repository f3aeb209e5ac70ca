"""What a forward of PyTorch reads beside its inputs, its parameters and its buffers, as a key.

An exported program has the attributes of the module's parts as they were: numbers, lists, hooks,
tensors that are no buffers. A module with other ones needs another program.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Mapping
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

from gradir.interop.foreign import key_of_static
from gradir.packages import package

torch: Any = package("torch", "torch")

_KNOWN = frozenset({"_parameters", "_buffers", "_modules", "_non_persistent_buffers_set"})
"""Attributes of each module that its parts and its state_dict have."""
_NUMBERS = {bool, int, float, complex}
_PLAIN = frozenset({*_NUMBERS, str, bytes, type(None), torch.dtype, torch.device, torch.Size})
_EMPTY = frozenset({dict, OrderedDict})
_CODE = (type, ModuleType, FunctionType, MethodType, BuiltinFunctionType)


def settings_of(module: Any, state: Mapping[str, Any]) -> Hashable:
    """The key of a module, whose parameters and buffers are `state`: equal keys, equal programs.

    Objects of other classes are followed by their attributes; variables around forward are not.
    """
    reader = _Reader(list(state.values()))
    parts = tuple(
        (name, type(part), reader.attributes(part))
        for name, part in module.named_modules(remove_duplicate=False)
    )
    mode = torch.get_default_dtype(), torch.is_autocast_enabled("cpu")
    return mode, tuple(state), reader.shared, parts


class _Same:
    """An object as a key: equal to itself alone, and alive as long as the key."""

    def __init__(self, value: Any):
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.value is other.value


class _Reader:
    """Reads attributes of one module; each object once."""

    def __init__(self, state: list[Any]):
        self.places: dict[int, int] = {}
        # one tensor under several names
        self.shared = tuple(self.places.setdefault(id(x), k) for k, x in enumerate(state))
        self.seen: set[int] = set()

    def attributes(self, owner: Any) -> Hashable:
        return tuple(
            (name, self.key(value))
            for name, value in vars(owner).items()
            # most attributes of a module are its hooks, of which it has none
            if name not in _KNOWN and not (type(value) in _EMPTY and not value)
        )

    def key(self, value: Any) -> Hashable:
        kind = type(value)
        if kind in _PLAIN:
            return key_of_static(value)
        if isinstance(value, torch.Tensor):
            place = self.places.get(id(value))
            return (_Same(value), value._version) if place is None else place
        if isinstance(value, _CODE) or id(value) in self.seen:
            return _Same(value)
        self.seen.add(id(value))
        return kind, self._inside(value)

    def _inside(self, value: Any) -> Hashable:
        if isinstance(value, Mapping):
            return tuple((self.key(k), self.key(v)) for k, v in value.items())
        if isinstance(value, (list, tuple)):
            return tuple(map(self.key, value))
        if isinstance(value, (set, frozenset)):
            return frozenset(map(self.key, value))
        if hasattr(value, "tobytes"):  # an array of NumPy
            return value.shape, str(value.dtype), value.tobytes()
        if isinstance(value, torch.nn.Module) or not hasattr(value, "__dict__"):
            return _Same(value)
        return _Same(value), self.attributes(value)
