"""The programs that nets become: gradient operators share what the forward ones kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from caffe2_nets import net_of

from gradir import Spec
from gradir.frontends.caffe2 import Net

PROGRAMS = Path(__file__).parent / "programs"


def golden(name: str) -> str:
    return (PROGRAMS / f"{name}.mlir").read_text(encoding="utf-8").strip()


def program(net: Net, y: str, wrt: list[str], specs: list[Spec], fetch: list[str]) -> str:
    """The text of a net with its gradients."""
    gradients = net.AddGradientOperators([y], wrt=wrt)
    return str(net.to_module(specs, [*fetch, *gradients.values()]))


def test_dense() -> None:
    """tanh keeps a point of its input, which is overwritten; names are the blobs'."""
    rows: list[Any] = [("FC", ["x", "w", "b"], "y", {}), ("Tanh", "y", "y", {}),
            ("SumElements", "y", "loss", {})]  # fmt: skip
    specs = [Spec((4, 3), "float32"), Spec((2, 3), "float32"), Spec(2, "float32")]
    found = program(net_of("dense", rows), "loss", ["w", "b"], specs, ["loss"])
    assert found == golden("dense")


def test_rows() -> None:
    rows: list[Any] = [("Gather", ["E", "i"], "a", {}), ("Gather", ["E", "j"], "b", {}),
            ("Mul", ["a", "b"], "y", {})]  # fmt: skip
    specs = [Spec((9, 2)), Spec(3, "int64"), Spec(3, "int64")]
    assert program(net_of("rows", rows), "y", ["E"], specs, []) == golden("rows")


def test_branch() -> None:
    """The branch runs once: its gradient reads what it gave."""
    rows: list[Any] = [("If", "c", [], {"then_net": [("Exp", "x", "x", {})]})]
    net = net_of("branch", rows)
    assert program(net, "x", ["x"], [Spec((), "bool"), Spec(())], ["x"]) == golden("branch")


def test_loop() -> None:
    """The loop runs once, and keeps what its gradient reads."""
    nets: dict[str, Any] = {
        "loop_net": [("Mul", ["x", "w"], "x", {})],
        "cond_net": [("LT", ["x", "end"], "go", {})],
    }
    net = net_of("loop", [["While", "go", [], nets]])
    assert program(net, "x", ["w"], [Spec(())] * 3, ["x"]) == golden("loop")


def test_a_long_chain() -> None:
    """One function, whose size is linear in the operators."""
    count = 30
    rows: list[Any] = [("Tanh", "x", "x", {})] * count
    net = net_of("chain", rows)
    text = program(net, "x", ["x"], [Spec(3)], [])
    assert text.count("grad.tanh_point") == text.count("grad.tanh_slope_at") == count
    assert text.count("array.multiply") == count
