"""Convolution layers of small networks in f32: the result, and the gradients of both operands."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import harness
import numpy as np


@dataclass(frozen=True)
class Layer:
    """x [n, c, size, size], weight [o, c / groups, kernel, kernel]."""

    n: int
    c: int
    size: int
    o: int
    kernel: int
    stride: int = 1
    padding: int = 0
    groups: int = 1

    @property
    def shapes(self) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """Of x, of the weight and of the result."""
        size = (self.size + 2 * self.padding - self.kernel) // self.stride + 1
        return (
            (self.n, self.c, self.size, self.size),
            (self.o, self.c // self.groups, self.kernel, self.kernel),
            (self.n, self.o, size, size),
        )


LAYERS = {
    "LeNet, 32x1x28x28, 5x5 to 32 channels": Layer(32, 1, 28, 32, 5),
    "32x16x14x14, 3x3 to 32 channels": Layer(32, 16, 14, 32, 3, padding=1),
    "ResNet, 16x64x28x28, 3x3 to 64 channels": Layer(16, 64, 28, 64, 3, padding=1),
    "16x64x28x28, 1x1 to 128 channels": Layer(16, 64, 28, 128, 1),
    "16x64x28x28, 3x3 to 128 channels, stride 2": Layer(16, 64, 28, 128, 3, 2, 1),
    "16x64x28x28, depthwise 3x3": Layer(16, 64, 28, 64, 3, padding=1, groups=64),
}
# The operands of each op, as places among x, the weight and the result, and what it makes.
OPS = {
    "result": ("nn.conv2d", (0, 1), 2),
    "gradient of x": ("grad.conv2d_input_backward", (2, 1), 0),
    "gradient of the weight": ("grad.conv2d_weight_backward", (2, 0), 1),
}


def make_inputs(layer: Layer) -> list[np.ndarray[Any, Any]]:
    """x, the weight and a cotangent of the result."""
    random = np.random.default_rng(0)
    return [random.standard_normal(shape, dtype=np.float32) for shape in layer.shapes]


def prepare_torch(layer: Layer, what: str) -> harness.Call:
    """PyTorch's operator, or that of its backward pass for one operand."""
    torch = harness.library("torch")
    x, weight, ct = (torch.from_numpy(array) for array in make_inputs(layer))
    stride, padding = [layer.stride] * 2, [layer.padding] * 2
    if what == "result":
        return lambda: torch.nn.functional.conv2d(
            x, weight, None, stride, padding, groups=layer.groups
        )
    wanted = OPS[what][2]
    mask = [place == wanted for place in range(2)] + [False]
    backward = torch.ops.aten.convolution_backward
    return lambda: backward(
        ct, x, weight, None, stride, padding, [1, 1], False, [0, 0], layer.groups, mask
    )[wanted]


def prepare_gradir(layer: Layer, what: str, threads: int, reuse: bool) -> harness.Call:
    """A function of that one op."""
    gradir = harness.library("gradir")
    name, operands, result = OPS[what]
    types = [f"tensor<{'x'.join(map(str, shape))}xf32>" for shape in layer.shapes]
    a, b, y = types[operands[0]], types[operands[1]], types[result]
    attributes = f"stride = {layer.stride}, padding = {layer.padding}, groups = {layer.groups}"
    text = f"""func.func @main(%a: {a}, %b: {b}) -> {y} {{
  %y = {name} %a, %b {{{attributes}}} : {a}, {b} -> {y}
  func.return %y : {y}
}}"""
    function = gradir.compile(gradir.parse(text), "main", threads=threads)
    arrays = make_inputs(layer)
    return harness.compiled_call(function, [arrays[place] for place in operands], reuse)


def workloads(threads: int) -> Iterator[harness.Workload]:
    """The three ops of each layer."""

    def later(prepare: Callable[..., harness.Call], *args: Any) -> Callable[[], harness.Call]:
        return lambda: prepare(*args)

    for title, layer in LAYERS.items():
        for what in OPS:
            contenders = [
                harness.Contender("PyTorch", later(prepare_torch, layer, what), "torch"),
                harness.Contender(
                    "gradir", later(prepare_gradir, layer, what, threads, False), "gradir"
                ),
                harness.Contender(
                    "gradir, out=", later(prepare_gradir, layer, what, threads, True), "gradir"
                ),
            ]
            yield harness.Workload(f"{title}: {what}", contenders, reference="PyTorch")


if __name__ == "__main__":
    harness.main(workloads, threads=(1, 2))
