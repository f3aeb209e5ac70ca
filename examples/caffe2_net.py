"""LeNet as Caffe2 wrote it: operators on named blobs, their gradient operators, and the updates.

    .venv/bin/python examples/caffe2_net.py

The net is a list of operators; AddGradientOperators appends the backward pass, and a few more
operators take the step of momentum, as brew and optimizer.py of Caffe2 did. It runs as one native
call. Writes caffe2_net.svg. Exit code 1 if the net does not learn to read digits.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

from gradir.frontends.caffe2 import Net
from gradir.frontends.training.chart import Curve, Panel, chart

HERE = Path(__file__).parent
BATCH, EPOCHS = 64, 12
SHAPES = {
    "conv1_w": (12, 1, 3, 3), "conv1_b": (12,), "conv2_w": (24, 12, 3, 3), "conv2_b": (24,),
    "fc3_w": (64, 96), "fc3_b": (64,), "pred_w": (10, 64), "pred_b": (10,),
}  # fmt: skip


def add_network(net: Net) -> None:
    """Two convolutions with pools, two full layers, the classes' shares."""
    net.Conv(["data", "conv1_w", "conv1_b"], "conv1", kernel=3, pad=1)
    net.Relu("conv1", "conv1")  # in place, as in Caffe2's own
    net.MaxPool("conv1", "pool1", kernel=2, stride=2)
    net.Conv(["pool1", "conv2_w", "conv2_b"], "conv2", kernel=3, pad=1)
    net.Relu("conv2", "conv2")
    net.MaxPool("conv2", "pool2", kernel=2, stride=2)
    net.FC(["pool2", "fc3_w", "fc3_b"], "fc3")
    net.Relu("fc3", "fc3")
    net.FC(["fc3", "pred_w", "pred_b"], "pred")


def training_net() -> Net:
    """The network, its loss, gradients, and an update of each parameter by momentum."""
    net = Net("train")
    add_network(net)
    net.SoftmaxWithLoss(["pred", "label"], ["softmax", "loss"])
    gradients = net.AddGradientOperators(["loss"], wrt=list(SHAPES))
    net.Iter("iter", "iter")
    net.LearningRate("iter", "lr", base_lr=0.1, policy="step", stepsize=100, gamma=0.7)
    for name in SHAPES:
        grad, moment = gradients[name], f"{name}_moment"
        net.MomentumSGDUpdate(
            [grad, moment, "lr", name], [grad, moment, name], momentum=0.9, nesterov=1
        )
    return net


def testing_net() -> Net:
    net = Net("test")
    add_network(net)
    net.Accuracy(["pred", "label"], "accuracy")
    return net


def read_data() -> tuple[Any, Any]:
    """The training and the held-out part: images [n, 1, 8, 8] of numbers from 0 to 1, labels."""
    with np.load(HERE / "data" / "digits.npz") as data:
        images = data["images"].astype(np.float32).reshape(-1, 1, 8, 8) / 16
        labels, train, held_out = data["labels"], data["train"], data["held_out"]
    return (images[train], labels[train]), (images[held_out], labels[held_out])


def start(random: Any) -> dict[str, Any]:
    """The blobs that live from step to step: parameters, moments, the count."""
    blobs: dict[str, Any] = {"iter": np.array([0])}
    for name, shape in SHAPES.items():
        fan_in = int(np.prod(shape[1:]))
        spread = (2 / fan_in) ** 0.5 if name.endswith("_w") else 0.0
        blobs[name] = random.normal(0, spread, shape).astype(np.float32)
        blobs[f"{name}_moment"] = np.zeros(shape, np.float32)
    return blobs


def main() -> None:
    """Train, report, draw."""
    random = np.random.default_rng(0)
    (images, labels), (test_images, test_labels) = read_data()
    blobs = start(random)
    net = training_net()
    print(f"{len(net.ops)} operators, the last of them: {net.ops[-1].type}")
    step = net.compile(fetch=["loss", *blobs])
    test = testing_net().compile(fetch=["accuracy"])
    losses: list[tuple[float, float]] = []
    accuracies: list[tuple[float, float]] = []
    for epoch in range(1, EPOCHS + 1):
        order = random.permutation(len(images))
        for rows in np.split(order, range(BATCH, len(order), BATCH))[:-1]:
            results = step(blobs | {"data": images[rows], "label": labels[rows]})
            losses.append((len(losses) + 1, float(results.pop("loss"))))
            blobs = results
        weights = {name: blobs[name] for name in SHAPES}
        found = test(weights | {"data": test_images, "label": test_labels})["accuracy"]
        accuracies.append((len(losses), 100 * float(found)))
        if epoch % 4 == 1 or epoch == EPOCHS:
            print(f"epoch {epoch}: held-out accuracy {found:.0%}")
    panels = [
        Panel("loss", [Curve("", losses)]),
        Panel("held-out accuracy in %", [Curve("", accuracies)]),
    ]
    Path("caffe2_net.svg").write_text(chart(panels, "step"))
    if accuracies[-1][1] < 97:
        sys.exit("error: expected the digits to be read")


if __name__ == "__main__":
    main()
