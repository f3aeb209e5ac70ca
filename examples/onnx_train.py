"""Trains an ONNX model: the file is read as a function of its weights, and fitted to new data.

The model here is written by the onnx package; a file of any other program is read alike. The new
weights go back into the file's form, which other programs run. It needs the package onnx:
`pip install 'gradir[onnx]'`.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import gradir
import gradir.numpy as gnp

try:
    from gradir.frontends.onnx import load
except ImportError as error:
    sys.exit(f"error: {error}")
from onnx import ModelProto, TensorProto, helper, numpy_helper


def make_model(generator: np.random.Generator) -> ModelProto:
    """Two dense layers for a batch of points, without weights worth the name."""
    weights = {
        "w1": generator.normal(size=(2, 32)).astype(np.float32),
        "b1": np.zeros(32, np.float32),
        "w2": (generator.normal(size=(32, 1)) / 6).astype(np.float32),
        "b2": np.zeros(1, np.float32),
    }
    nodes = [
        helper.make_node("Gemm", ["x", "w1", "b1"], ["h"]),
        helper.make_node("Tanh", ["h"], ["a"]),
        helper.make_node("Gemm", ["a", "w2", "b2"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "points",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 1])],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])


def with_weights(model: ModelProto, weights: dict[str, np.ndarray]) -> ModelProto:
    """A model with other weights."""
    made = ModelProto()
    made.CopyFrom(model)
    for tensor in made.graph.initializer:
        tensor.CopyFrom(numpy_helper.from_array(np.asarray(weights[tensor.name]), tensor.name))
    return made


def main() -> None:
    """Fit sin(3 x y), and show that the file has learned it."""
    generator = np.random.default_rng(0)
    proto = make_model(generator)
    model = load(proto)
    x = generator.uniform(-1, 1, (256, 2)).astype(np.float32)
    y = np.sin(3 * x[:, :1] * x[:, 1:])

    def loss(parameters: Any, x: Any, y: Any) -> Any:
        return gnp.mean((model(parameters, x) - y) ** 2)

    optimizer = gradir.optim.adam(learning_rate=0.01)
    step = gradir.train_step(loss, optimizer)
    parameters, state = model.parameters, optimizer.init(model.parameters)
    for number in range(501):
        parameters, state, value = step(parameters, state, x, y)
        if number % 100 == 0:
            print(f"step {number:3}: loss {float(value):.5f}")

    trained = load(with_weights(proto, parameters))
    error = np.abs(np.asarray(trained(trained.parameters, x)) - y).mean()
    print(f"the file now: {trained}, mean error {error:.3f}")


if __name__ == "__main__":
    main()
