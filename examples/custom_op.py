"""Find the echo of a room from recordings, through NumPy's FFT as an op of the program.

    .venv/bin/python examples/custom_op.py

A recording is a sound, folded with the room's impulse response. The fold is a `gradir.custom_op`
with a forward and a backward function on NumPy arrays; the rest of a step of training, loss and
optimizer, is native code. The response is learnt from noisy recordings and compared with the true
one. Exit code 1 if it is not found.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

import gradir
import gradir.numpy as gnp
from gradir import optim
from gradir.testing import check_grads

SAMPLES, TAPS, BATCH = 2048, 256, 16
STEPS, RATE, NOISE = 300, 0.03, 0.01
WANTED_ERROR = 0.02

Array = np.ndarray[Any, Any]
Arrays = tuple[Any, ...]


def folded_spec(x: gradir.Spec, h: gradir.Spec) -> gradir.Spec:
    """The type of the result."""
    return x


def fold(inputs: Arrays, outputs: Arrays, req: tuple[str, ...]) -> None:
    """The rows of x, each circularly folded with h."""
    x, h = inputs
    n = x.shape[-1]
    outputs[0][...] = np.fft.irfft(np.fft.rfft(x) * np.fft.rfft(h, n), n)


def fold_back(
    cotangents: Arrays, inputs: Arrays, outputs: None, grads: Arrays, req: tuple[str, ...]
) -> None:
    """Correlations of the cotangent; those that nobody reads are not computed."""
    x, h = inputs
    n = x.shape[-1]
    spectrum = np.fft.rfft(cotangents[0])
    if req[0] == "write":
        grads[0][...] = np.fft.irfft(spectrum * np.fft.rfft(h, n).conj(), n)
    if req[1] == "write":
        summed = (spectrum * np.fft.rfft(x).conj()).sum(axis=0)
        grads[1][...] = np.fft.irfft(summed, n)[: len(h)]


folded = gradir.custom_op(fold, folded_spec, fold_back, needs=("cotangents", "inputs"), pure=True)


def loss(response: Any, sounds: Any, recordings: Any) -> Any:
    """How far the recordings are from those of a response."""
    return gnp.mean((folded(sounds, response) - recordings) ** 2)


def true_response(random: np.random.Generator) -> Array:
    """The direct sound, and echoes that die away."""
    echoes = random.normal(size=TAPS) * np.exp(-np.arange(TAPS) / 40)
    echoes[0] = 2
    return echoes


def main() -> None:
    """Check the gradient, train, compare."""
    random = np.random.default_rng(0)
    small = random.normal(size=(2, 8))
    check_grads(loss, [random.normal(size=3), small, small[::-1].copy()], order=1)
    print("the gradient agrees with central differences")

    truth = true_response(random)
    optimizer = optim.adam(optim.cosine_decay_schedule(RATE, STEPS))
    step = gradir.jit(optim.train_step(loss, optimizer))
    response = np.zeros(TAPS)
    state = optimizer.init(response)
    start = time.perf_counter()
    for k in range(STEPS):
        sounds = random.normal(size=(BATCH, SAMPLES))
        recordings = folded(sounds, truth) + NOISE * random.normal(size=sounds.shape)
        response, state, value = step(response, state, sounds, recordings)
        if k % 100 == 0 or k == STEPS - 1:
            print(f"step {k + 1:3}: loss {value:.5f}")
    seconds = time.perf_counter() - start
    error = float(np.linalg.norm(response - truth) / np.linalg.norm(truth))
    print(f"the response is found but for {100 * error:.2f}%, in {seconds:.1f} s")
    if not error <= WANTED_ERROR:
        sys.exit(f"error: expected at most {100 * WANTED_ERROR}%")


if __name__ == "__main__":
    main()
