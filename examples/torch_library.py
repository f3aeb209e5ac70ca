"""The gradient of a PyTorch module as a C library, called without PyTorch and without gradir.

    .venv/bin/pip install --editable '.[torch]'
    .venv/bin/python examples/torch_library.py

`gradir.interop.torch.functional` gives the module as a function of its parameters and inputs, and
`gradir.export_library` writes its loss and gradient as a shared library with a C header: no
compiler is needed. The library is then loaded, and trains the network. Exit code 1 if its gradient
is not PyTorch's, or the loss does not fall.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import gradir


def network(torch: Any) -> Any:
    """A small network of convolutions, and its loss."""
    nn = torch.nn

    class Classifier(nn.Module):
        """Logits of images, and their cross entropy."""

        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.Sequential(
                nn.Conv2d(1, 4, 3, stride=2), nn.GELU(), nn.Flatten(), nn.Linear(36, 10)
            )

        def forward(self, images: Any, classes: Any) -> Any:
            return nn.functional.cross_entropy(self.layers(images), classes)

    torch.manual_seed(0)
    return Classifier()


def main() -> int:
    """Export, compare, train; the exit code."""
    from gradir.interop.torch import functional

    torch: Any = import_module("torch")
    module = network(torch)
    images, classes = torch.rand(16, 1, 8, 8), torch.arange(16) % 10
    loss = functional(module, images, classes)
    gradient = gradir.value_and_grad(loss)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "classifier.so"
        arguments = loss.parameters, images.numpy(), classes.numpy()
        gradir.export_library(gradient, path, *arguments, functions="classifier_gradient")
        size, header = path.stat().st_size, path.with_suffix(".h").read_text()
        print(f"classifier.so: {size // 1024} KB", *header.splitlines()[:1])
        run = gradir.load_library(path).classifier_gradient
        names = sorted(loss.parameters)
        values = [np.array(loss.parameters[name]) for name in names]
        first, *grads = run(*values, images.numpy(), classes.numpy())
        module(images, classes).backward()
        expected = dict(module.named_parameters())
        apart = max(
            float(np.abs(grad - expected[name].grad.numpy()).max())
            for name, grad in zip(names, grads, strict=True)
        )
        print(f"loss {float(first):.4f}; gradients differ from PyTorch's by {apart:.1e}")
        last = first
        for _ in range(200):
            last, *grads = run(*values, images.numpy(), classes.numpy())
            values = [value - 0.2 * grad for value, grad in zip(values, grads, strict=True)]
        print(f"after 200 steps by the library: loss {float(last):.4f}")
    return int(apart > 1e-5 or float(last) > 0.5 * float(first))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ImportError as error:
        sys.exit(f"error: {error}")
