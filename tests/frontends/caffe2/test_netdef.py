"""NetDefs as text and as bytes: they are read back equal, other files are refused."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from caffe2_nets import net_with_everything

import gradir
from gradir.errors import ArgumentError, ArgumentTypeError
from gradir.frontends.caffe2 import Net, NetDefError, OperatorError


def test_read_back() -> None:
    net = net_with_everything()
    for other in (Net.parse(str(net)), Net.parse(net.serialize())):
        assert other == net
        assert other.ops[0].device == "cuda:1@node:0" and other.ops[2].device == "some text: 7"
        assert other.ops[2].args["values"] == (0.1, 1e300, float("inf"))
        assert [op.link for op in other.ops] == [op.link for op in net.ops]
        assert str(other) == str(net) and other.serialize() == net.serialize()


def test_files(tmp_path: Path) -> None:
    net = net_with_everything()
    (tmp_path / "net.pb").write_bytes(net.serialize())
    for name in ("net.pbtxt", "net.prototxt"):
        (tmp_path / name).write_text(str(net), encoding="utf-8")
        assert Net.load(tmp_path / name) == net
    assert Net.load(str(tmp_path / "net.pb")) == net
    with pytest.raises(ArgumentError, match=r"ends in \.pb, \.pbtxt or \.prototxt"):
        (tmp_path / "net.txt").write_text("")
        Net.load(tmp_path / "net.txt")
    with pytest.raises(ArgumentError, match="No such file"):
        Net.load(tmp_path / "none.pb")
    with pytest.raises(ArgumentTypeError, match="parse: expected text or bytes"):
        Net.parse(3)  # pyrefly: ignore[bad-argument-type]


def test_a_net_that_was_read_computes_gradients() -> None:
    net = Net("net")
    net.Mul(["x", "x"], "x")
    net.Gather(["x", "i"], "y")
    net.Gather(["x", "j"], "z")
    net.Add(["y", "z"], "s")
    net.SumElements("s", "loss")
    gradients = net.AddGradientOperators(["loss"])
    feeds = {"x": np.array([1.0, 2.0, 3.0]), "i": np.array([0, 2]), "j": np.array([2, 2])}
    fetch = list(gradients.values())
    expected = net.compile(fetch)(feeds)
    for other in (Net.parse(str(net)), Net.parse(net.serialize())):
        found = other.compile(fetch)(feeds)
        assert {k: v.tolist() for k, v in found.items()} == {
            k: v.tolist() for k, v in expected.items()
        }


@pytest.mark.parametrize("is_declared", [True, False])
def test_nested_nets_that_were_read(is_declared: bool) -> None:
    """They change the same blobs, whether these were declared before or mentioned later."""
    net, body, then = Net("net"), Net("body"), Net("then")
    then.Sqr("w", "x")
    body.If("few", [], then_net=then)
    body.Sqr("w", "w")
    if is_declared:
        net.AddExternalInput("x", "w")
    net.If("c", [], then_net=body)
    net.Copy("x", "y")
    assert net.ops[0].outputs == (("x", "w") if is_declared else ("w",))
    feeds: dict[str, Any] = {"x": 5.0, "w": 3.0, "c": True, "few": True}
    expected = net.compile(["y"])(feeds)
    assert expected == {"y": 9.0 if is_declared else 5.0}
    for other in (Net.parse(str(net)), Net.parse(net.serialize())):
        assert other == net
        assert other.compile(["y"])(feeds) == expected


def test_nets_without_a_name() -> None:
    """They are called "net", and do what others do, inside of another too."""
    scaled = 'op { type: "Scale" input: "x" output: "x" arg { name: "scale" i: 3 } }'
    net = Net.parse(f'op {{ type: "If" input: "c" arg {{ name: "then_net" n {{ {scaled} }} }} }}')
    assert net.name == "net"
    [gradient] = net.AddGradientOperators(["x"], wrt=["x"]).values()
    module = net.to_module({"c": np.array(True), "x": np.ones(2)}, ["x", gradient])
    found = gradir.interpret(module, "net", np.array(True), np.ones(2))
    assert [value.tolist() for value in found] == [[3.0, 3.0], [3.0, 3.0]]


def test_nets_as_deep_as_they_may_be() -> None:
    """What can be built can be written and read; protobuf's reader goes as deep."""
    net = Net("net")
    net.Sqr("x", "x")
    for _ in range(32):
        outer = Net("net")
        outer.If("c", [], then_net=net)
        net = outer
    assert Net.parse(str(net)) == net == Net.parse(net.serialize())


def test_seed_beside_the_device() -> None:
    """Caffe2 has the seed of random numbers there; operators without chance have none."""
    device = "device_option { device_type: CUDA random_seed: 7 }"
    net = Net.parse(
        f'op {{ type: "XavierFill" output: "w" {device} arg {{ name: "shape" ints: [2, 3] }} }} '
        f'op {{ type: "Relu" input: "w" output: "w" {device} }} '
        f'op {{ type: "Dropout" input: "w" output: "y" {device} arg {{ name: "seed" i: 2 }} }}'
    )
    assert [op.args.get("seed") for op in net.ops] == [7, None, 2]
    assert {op.device for op in net.ops} == {"cuda"}
    assert Net.parse(str(net)) == net == Net.parse(net.serialize())


def test_text_of_protobuf() -> None:
    """What protobuf's own printer writes, and what hands write."""
    text = """
    # a comment
    name: "ne" 't'; op {
      type: "Scale" input: "x", output: "y"
      arg { name: 'scale' f: -1.5e0f } device_option { device_type: CUDA cuda_gpu_id: 3 }
      debug_info: "ignored"  control_input: ["a", "b"]
    }
    op < type: "Reshape" input: ["y"] output: ["z", "s\\117\\x4b\\n"] arg { name: "shape"
      ints: [0x2, -1] ints: 01 } >
    [some.extension] { a { b: 1 } } external_output: "z" num_workers: 4
    """
    net = Net.parse(text)
    assert net.name == "net" and net.external_outputs == ("z",)
    assert net.ops[0].args == {"scale": -1.5} and net.ops[0].device == "cuda:3"
    assert net.ops[1].args == {"shape": (2, -1, 1)} and net.ops[1].outputs == ("z", "sOK\n")


def test_bytes_of_protobuf() -> None:
    """Fields that are unknown are skipped; lists are packed or not."""
    arg = b"\x0a\x05shape" + b"\x32\x02\x02\x03" + b"\x30\x01" + b"\x9d\x3e\x00\x00\x80\x3f"
    op = b"\x0a\x01x\x12\x01y\x22\x07Reshape" + b"\x2a" + bytes([len(arg)]) + arg
    group = b"\x53\x08\x01\x54"
    net = Net.parse(b"\x0a\x01n" + b"\x12" + bytes([len(op)]) + op + group + b"\x61" + b"12345678")
    assert net.ops[0].args == {"shape": (2, 3, 1)}
    assert net.ops[0].outputs == ("y",)


def field(number: int, content: bytes) -> bytes:
    return bytes([number << 3 | 2]) + struct.pack("B", len(content)) + content


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\x0a\x05ab", "byte 1: error: name: 5 bytes announced, 2 left"),
        (b"\x12\xff\xff\xff\xff\xff\xff\xff\xff\x7f", r"byte 1: error: op: \d+ bytes announced"),
        (b"\x12\x80\x80", "byte 1: error: a number is cut off"),
        (b"\x80" * 11, "byte 0: error: a number has more than 64 bits"),
        (
            b"\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
            "byte 1: error: a number has more than 64",
        ),
        (b"\x02\x00", "byte 0: error: 0 is no number of a field"),
        (b"\x08\x01", "byte 0: error: name: wire type 2 expected, got 0"),
        (b"\x56", "byte 0: error: field 10 has the wire type 6"),
        (b"\x54", "byte 0: error: field 10 has the wire type 4"),
        (b"\x53\x5c", "byte 1: error: field 11 has the wire type 4"),
        (b"\x53" * 200, "byte 99: error: groups nest more than 100 deep"),
        (b"\x51\x01", "byte 1: error: a number of 8 bytes is cut off"),
        (field(2, field(4, b"Relu") + field(5, b"\x15\x01")), "byte 11: error: a number of 4 by"),
        (field(2, field(5, field(4, b"s"))), "byte 4: error: an argument must have a name"),
    ],
)
def test_hostile_bytes(content: bytes, message: str) -> None:
    with pytest.raises(NetDefError, match=f"^<bytes>: {message}"):
        Net.parse(content)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: \"a", "1:7: error: unexpected '\"'"),
        ("name:\n  op", "2:3: error: name: a string expected, got 'op'"),
        ("name: 3", "1:7: error: name: a string expected, got '3'"),
        ("name \"a\"", "1:6: error: name: : or { expected"),
        ("op { type: \"Relu\"", "1:18: error: } expected, the text ends"),
        ("op { type { } }", "1:11: error: type: a string expected, got a message"),
        ("op: 3", "1:5: error: op: { expected, got '3'"),
        ("}", "1:1: error: the name of a field expected, got '}'"),
        ("op { arg { name: \"a\" i: 1.5 } }", "1:25: error: i: a int expected, got '1.5'"),
        ("op { arg { name: \"a\" i: 9223372036854775808 } }", "1:25: error: i: a int expected"),
        (f"op {{ arg {{ i: {'9' * 5000} }} }}", "1:15: error: i: a int expected, got '9{40}'"),
        ("op { arg { name: \"a\" f: x } }", "1:25: error: f: a float expected, got 'x'"),
        ("name: [\"a\"]", "1:12: error: name: one value expected, got a list"),
        ("name: \"a\" \x00", "1:11: error: unexpected"),
        ("a {" * 3000, "1:303: error: messages nest more than 100 deep"),
        ("op { arg { name: \"n\" n { " * 200, "1:.*: error: messages nest more than 100 deep"),
        ("external_input: [\"a\" \"b\" 3]", "1:26: error: ] expected"),
        ("name: \"a\ud800\"", r"1:9: error: unexpected '\\ud800'"),
    ],
)  # fmt: skip
def test_hostile_text(text: str, message: str) -> None:
    with pytest.raises(NetDefError, match=f"^<string>:{message}"):
        Net.parse(text)


@pytest.mark.parametrize(
    ("op", "message"),
    [
        ('type: "Reul" input: "x" output: "y"', "Reul: no such operator type"),
        ('type: "Relu" output: "y"', "Relu: expected 1 input, got 0"),
        ('type: "Relu" input: "" output: "y"', "Relu: inputs: a blob's name must not be empty"),
        ('type: "If" input: "c"', "If: then_net: expected a Net"),
        ('type: "X" arg { name: "gradir.gradient_of" ints: 3 }', "gradir.gradient_of: expected"),
    ],
)
def test_operators_that_do_not_fit(op: str, message: str) -> None:
    """They are refused as they are by add_op, with their place, in nested nets too."""
    with pytest.raises(OperatorError, match=f"^<string>:1:4: error: {message}"):
        Net.parse(f"op {{ {op} }}")
    arg = 'input: "c" type: "If" arg { name: "then_net" n {'
    with pytest.raises(OperatorError, match=f"^<string>:2:4: error: {message}"):
        Net.parse(f"op {{ {arg}\nop {{ {op} }} }} }} }}")


@pytest.mark.parametrize("numbers", ["9 0 1 0 0", "0 0 1 7 0", "0 0 1 0 7", "0 0 2 0 0 0"])
def test_links_that_do_not_fit(numbers: str) -> None:
    """What a file says of gradient operators is checked before it is used."""
    ints = " ".join(f"ints: {n}" for n in numbers.split())
    link = f'arg {{ name: "gradir.gradient_of" {ints} }}'
    net = Net.parse(
        'op { type: "Sqr" input: "x" output: "y" } '
        f'op {{ type: "SqrGradient" input: "d" output: "g" is_gradient_op: true {link} }}'
    )
    with pytest.raises(OperatorError, match="does not fit the operator that it belongs to"):
        net.to_module({name: np.ones(2) for name in net.external_inputs})
