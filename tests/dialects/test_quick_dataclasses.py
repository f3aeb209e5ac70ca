"""Methods of dataclasses that are compiled at their first call do as Python's own."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from dataclasses import dataclass, field
from typing import Any

import pytest

from gradir.dialects.base.quick_dataclasses import _COMPILE, quick_dataclasses

with quick_dataclasses():

    @dataclass(frozen=True, order=True)
    class Point:
        x: int
        y: float = 1.5
        seen: list[int] = field(default_factory=list[int], compare=False)

    @dataclass(frozen=True)
    class Named(Point):
        name: str = ""


@dataclass(frozen=True, order=True)
class Plain:
    x: int
    y: float = 1.5
    seen: list[int] = field(default_factory=list[int], compare=False)


def said(value: Any) -> str:
    return repr(value).partition("(")[2]


def test_methods() -> None:
    one, same, other = Point(1), Point(1, 1.5, [2]), Point(2)
    assert one == same != other and hash(one) == hash(same) == hash(Plain(1))
    assert one < other and one <= same and other > one and other >= one
    assert said(one) == said(Plain(1)) and repr(one) == repr(one)
    assert inspect.signature(Point) == inspect.signature(Plain)
    assert dataclasses.replace(one, x=3) == Point(3)
    assert copy.deepcopy(one) == one == pickle.loads(pickle.dumps(one))
    assert Point.__eq__.__qualname__ == "Point.__eq__"


def test_init_is_compiled_when_it_is_looked_up() -> None:
    with quick_dataclasses():

        @dataclass
        class Base:
            x: int

        @dataclass
        class Derived(Base):
            y: int

            def __post_init__(self) -> None:
                Base.__init__(self, self.x + 1)

    is_late = _COMPILE is not None
    assert inspect.isfunction(vars(Base)["__init__"]) != is_late
    assert (Derived(1, y=2).x, Derived(x=3, y=4).y) == (2, 4)
    assert inspect.isfunction(vars(Base)["__init__"])
    assert Base.__doc__ == "Base" or not is_late
    assert Derived.__init__.__qualname__.endswith("Derived.__init__")
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'y'"):
        Derived(1)  # type: ignore[missing-argument]


def test_a_class_that_derives_from_another() -> None:
    assert Named(1, name="a") == Named(1, name="a") != Named(1, name="b")
    assert Named(1) != Point(1)
    assert repr(Named(1, name="a")) == "Named(x=1, y=1.5, seen=[], name='a')"


@pytest.mark.parametrize("value", [Point(1), Named(1)])
def test_frozen(value: Any) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'x'"):
        value.x = 2
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'x'"):
        del value.x


def test_pythons_own_function_is_back() -> None:
    with pytest.raises(ValueError, match="inside"), quick_dataclasses(), quick_dataclasses():
        raise ValueError("inside")

    @dataclass
    class Later:
        x: int

    assert Later.__eq__.__code__.co_filename == "<string>"
