"""Nets from the cases of tests/frontends/caffe2, and their gradients as dense arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import gradir
import gradir.nn as nn
import gradir.numpy as gnp
from gradir import custom_vjp
from gradir.frontends.caffe2 import GradientSlice, Net, register

# Operators of Caffe2's own tests, and of the cases.


@register("lstm_unit2", outputs=2)
def lstm_unit2(h: Any, c: Any) -> Any:
    """Two outputs."""
    return gnp.tanh(h) * c, h + c


@register("dropout_mask")
def dropout_mask(x: Any, mask: Any, p: float = 0.5) -> Any:
    """What a mask keeps."""
    return x * mask / (1 - p)


@register("softmax_xent")
def softmax_xent(x: Any, labels: Any) -> Any:
    """The mean cross entropy."""
    return nn.cross_entropy(x, labels)


@custom_vjp
def _rounded(x: Any) -> Any:
    return gnp.round(x)


def _forward(x: Any) -> tuple[Any, None]:
    return _rounded(x), None


def _backward(residuals: None, ct: Any) -> tuple[Any]:
    return (ct,)


_rounded.defvjp(_forward, _backward)


@register("round_ste")
def round_ste(x: Any) -> Any:
    """Rounded, with the gradient of the identity."""
    return _rounded(x)


def net_of(
    name: str, ops: Sequence[Any], strict: bool = False, inputs_of: Sequence[str] = ()
) -> Net:
    """The net of operators as rows: type, inputs, outputs, arguments; nested nets are such rows.

    `inputs_of` are declared as external inputs.
    """
    net = Net(name, strict_versions=strict)
    net.AddExternalInput(*inputs_of)
    for kind, inputs, outputs, args in ops:
        nested: dict[str, Any] = {
            k: net_of(k, v) if k.endswith("net") else v for k, v in args.items()
        }  # fmt: skip
        net.add_op(kind, inputs, outputs, **nested)
    return net


def arrays(inputs: Mapping[str, Any]) -> dict[str, np.ndarray[Any, Any]]:
    """Integers as int64, all else in float64."""
    return {name: np.array(value) for name, value in inputs.items()}


def gradients(
    net: Net, ys: Mapping[str, Any], wrt: Sequence[str], feeds: Mapping[str, Any],
    fetch: Sequence[str] = (),
    is_exact: bool = False,
    skip: int = 0,
    is_native: bool = True,
) -> tuple[dict[str, Any], dict[str, Any]]:  # fmt: skip
    """Gradients of blobs as dense arrays, and the blobs of `fetch`.

    ys maps to seeds, arrays that are fed, or None for ones. `is_exact`: nothing else is computed.
    """
    named = {y: None if seed is None else f"{y}_seed" for y, seed in ys.items()}
    found = net.AddGradientOperators(named, skip, list(wrt) if is_exact else None)
    fed = {**feeds, **{n: np.array(ys[y]) for y, n in named.items() if n is not None}}
    fed = {n: v for n, v in fed.items() if n in net.external_inputs}
    asked = [found[name] for name in wrt if name in found]
    out = run_net(net, fed, [*asked, *fetch], is_native)
    dense = {name: _dense(found.get(name), out, np.asarray(feeds[name])) for name in wrt}
    return dense, {name: out[name] for name in fetch}


def run_net(
    net: Net, feeds: Mapping[str, Any], fetch: Sequence[Any], is_native: bool = False
) -> dict[str, Any]:
    """What is fetched, by native code or by the interpreter."""
    if is_native:
        return net.compile(fetch)(feeds)
    module = net.to_module(feeds, fetch)
    inputs = [feeds[name] for name in net.external_inputs]
    names = dict.fromkeys(n for f in fetch for n in ([f] if isinstance(f, str) else f))
    return dict(zip(names, gradir.interpret(module, net.name, *inputs), strict=True))


def _dense(found: Any, out: Mapping[str, Any], like: np.ndarray[Any, Any]) -> Any:
    if found is None:
        return np.zeros(like.shape)
    if isinstance(found, GradientSlice):
        made = np.zeros(like.shape)
        np.add.at(made, out[found.indices], out[found.values])
        return made
    return out[found]


def net_with_everything() -> Net:
    """A net with everything that a NetDef has."""
    net = Net("né\n\"t'\\")
    net.FC(["x", "w/1", "b"], "y", device="cuda:1@node:0", name="first", engine="CUDNN")
    net.Reshape("y", ["y", "old"], shape=[0, -1], device="cpu")
    net.GivenTensorFill([], "c", values=[0.1, 1e300, float("inf")], device="some text: 7")
    net.GivenTensorIntFill([], "d", values=[])
    net.Scale("c", "c", scale=0.1, device="cuda")
    net.Cast("c", "c", to="float", device="cpu:0")
    body, inner = Net("body"), Net("inner")
    inner.Sqr("c", "c")
    body.If("go", [], then_net=inner)
    net.While("go", [], loop_net=body)
    net.AveragedLoss("y", "loss")
    net.AddExternalInput("unused")
    net.AddExternalOutput("loss", "c")
    net.AddGradientOperators(["loss"])
    return net
