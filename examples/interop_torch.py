"""Learn the friction of a pendulum in PyTorch, with gradir's loop of time steps as one operation.

    .venv/bin/pip install --editable '.[torch]'
    .venv/bin/python examples/interop_torch.py

The steps are a `gradir.scan`, compiled to native code with its gradient. PyTorch has the parameters
and the optimizer. Its own gradient, of 400 steps in Python, is compared and timed beside. Exit code
1 if the gradients differ or the friction is not found.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

import gradir
import gradir.numpy as gnp

STEPS, SECONDS = 400, 0.02
FRICTION, LENGTH = 0.35, 1.7


def pendulum(np_: Any, scan: Any, parameters: Any, start: Any) -> Any:
    """The angles of a pendulum after each step, of an angle and a speed at the start."""
    pull = 9.81 / parameters["length"]

    def step(state: Any, _: Any) -> Any:
        angle, speed = state
        speed = speed - SECONDS * (pull * np_.sin(angle) + parameters["friction"] * speed)
        angle = angle + SECONDS * speed
        return (angle, speed), angle

    return scan(step, (start[0], start[1]), None, STEPS)[1]


def by_gradir(parameters: Any, start: Any) -> Any:
    """The function that gradir compiles."""
    return pendulum(gnp, gradir.scan, parameters, start)


def by_torch(torch: Any) -> Callable[..., Any]:
    """The same of PyTorch's operations."""

    def scan(step: Any, state: Any, xs: None, count: int) -> Any:
        angles: list[Any] = []
        for _ in range(count):
            state, angle = step(state, xs)
            angles.append(angle)
        return state, torch.stack(angles)

    def simulate(parameters: Any, start: Any) -> Any:
        return pendulum(torch, scan, parameters, start)

    return simulate


def gradient(torch: Any, simulate: Any, wanted: Any) -> tuple[list[Any], float]:
    """Of the squared error at a guess; and the milliseconds of a second call."""
    seconds = 0.0
    grads: list[Any] = []
    for _ in range(2):
        before = time.perf_counter()
        parameters = guess(torch)
        error = ((simulate(parameters, torch.tensor([1.0, 0.0])) - wanted) ** 2).mean()
        grads = [*torch.autograd.grad(error, list(parameters.values()))]
        seconds = time.perf_counter() - before
    return grads, 1e3 * seconds


def guess(torch: Any) -> dict[str, Any]:
    """Where learning starts."""
    values = {"friction": 0.1, "length": 1.5}
    return {name: torch.tensor(value, requires_grad=True) for name, value in values.items()}


def main() -> None:
    """Compare the gradients, learn, compare with the truth."""
    try:
        from gradir.interop.torch import wrap
    except gradir.GradirError as error:
        sys.exit(f"error: {error}")
    torch: Any = import_module("torch")
    simulate = wrap(by_gradir)
    truth = {"friction": torch.tensor(FRICTION), "length": torch.tensor(LENGTH)}
    start = torch.tensor([1.0, 0.0])
    wanted = simulate(truth, start)
    ours, fast = gradient(torch, simulate, wanted)
    theirs, slow = gradient(torch, by_torch(torch), wanted)
    torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-5)
    print(f"the gradients agree: {fast:.2f} ms by gradir, {slow:.1f} ms by PyTorch's operations")

    parameters = guess(torch)
    optimizer = torch.optim.Adam(parameters.values(), lr=0.02)
    for k in range(300):
        optimizer.zero_grad()
        loss = ((simulate(parameters, start) - wanted) ** 2).mean()
        loss.backward()
        optimizer.step()
        if k % 100 == 0 or k == 299:
            print(f"step {k + 1:3}: loss {loss.item():.6f}")
    found = {name: value.item() for name, value in parameters.items()}
    print("found: " + ", ".join(f"{name} {value:.3f}" for name, value in found.items()))
    if max(abs(found["friction"] - FRICTION), abs(found["length"] - LENGTH)) > 0.01:
        sys.exit(f"error: expected friction {FRICTION} and length {LENGTH}")


if __name__ == "__main__":
    main()
