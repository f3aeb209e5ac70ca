"""Steps of training, quiet and beside busy processes."""

from __future__ import annotations

from typing import Any

import harness
import numpy as np

from rows.names import GradirNames, JaxNames
from rows.row import Asked, Measured, Row, Run, Setting
from rows.timing import hot_parts, per_second, timed

PIXELS, HIDDEN, CLASSES, EXAMPLES = 64, (128, 64), 10, 64
LAYERS, WIDTH, TOKENS, SEQUENCES, LETTERS, HEADS = 2, 64, 64, 16, 64, 4
RATE = 1e-3

Params = dict[str, Any]


def random_arrays(shapes: dict[str, tuple[int, ...]]) -> Params:
    """Small normal numbers by name; vectors are zero, but for the scales of norms, which are 1."""
    random = np.random.default_rng(0)
    made: Params = {}
    for name, shape in shapes.items():
        scale = 0.0 if len(shape) == 1 else 1 / np.sqrt(shape[0])
        made[name] = (random.normal(size=shape) * scale).astype(np.float32)
        made[name] += np.float32(name.endswith("scale"))
    return made


def digits_loss(xp: Any, params: Params, x: Any, labels: Any) -> Any:
    """The mean cross entropy of the classifier in examples/digits_mlp.mlir."""
    for k in range(len(HIDDEN)):
        x = xp.relu(x @ params[f"w{k}"] + params[f"b{k}"])
    return xp.cross_entropy(x @ params["w"] + params["b"], labels)


def digits() -> tuple[Params, list[Any]]:
    sizes = (PIXELS, *HIDDEN)
    shapes: dict[str, tuple[int, ...]] = {}
    for k, width in enumerate(HIDDEN):
        shapes |= {f"w{k}": (sizes[k], width), f"b{k}": (width,)}
    shapes |= {"w": (sizes[-1], CLASSES), "b": (CLASSES,)}
    random = np.random.default_rng(1)
    images = random.uniform(size=(EXAMPLES, PIXELS)).astype(np.float32)
    return random_arrays(shapes), [images, random.integers(0, CLASSES, EXAMPLES)]


def transformer_loss(xp: Any, params: Params, tokens: Any, targets: Any) -> Any:
    """The mean cross entropy of the next letter."""
    x = xp.take(params["letters"], tokens) + params["places"]
    split = (SEQUENCES, TOKENS, HEADS, WIDTH // HEADS)
    for k in range(LAYERS):
        p = {name.removeprefix(f"{k}."): v for name, v in params.items()}
        y = xp.layer_norm(x, p["norm1_scale"], p["norm1_bias"])
        heads = [xp.swap((y @ p[name]).reshape(split), 1, 2) for name in "qkv"]
        mixed = xp.swap(xp.attention(*heads, True), 1, 2).reshape(SEQUENCES, TOKENS, WIDTH)
        x = x + mixed @ p["o"]
        y = xp.layer_norm(x, p["norm2_scale"], p["norm2_bias"])
        x = x + xp.gelu(y @ p["up"] + p["up_bias"]) @ p["down"]
    logits = x.reshape(SEQUENCES * TOKENS, WIDTH) @ params["out"]
    return xp.cross_entropy(logits, targets)


def transformer() -> tuple[Params, list[Any]]:
    shapes: dict[str, tuple[int, ...]] = {
        "letters": (LETTERS, WIDTH), "places": (TOKENS, WIDTH), "out": (WIDTH, LETTERS),
    }  # fmt: skip
    for k in range(LAYERS):
        shapes |= {f"{k}.{name}": (WIDTH, WIDTH) for name in "qkvo"}
        shapes |= {f"{k}.up": (WIDTH, 4 * WIDTH), f"{k}.down": (4 * WIDTH, WIDTH)}
        shapes |= {f"{k}.up_bias": (4 * WIDTH,)}
        shapes |= {f"{k}.norm{n}_{part}": (WIDTH,) for n in "12" for part in ("scale", "bias")}
    random = np.random.default_rng(1)
    tokens = random.integers(0, LETTERS, (SEQUENCES, TOKENS))
    return random_arrays(shapes), [tokens, random.integers(0, LETTERS, SEQUENCES * TOKENS)]


def step_of(loss: Any, example: Any, adam: bool, threads: int) -> Any:
    """gradir's step, and its arguments."""
    gradir, optim = harness.library("gradir"), harness.library("gradir.optim")
    names = GradirNames()
    params, batch = example
    optimizer = optim.adam(RATE) if adam else optim.sgd(RATE, momentum=0.9)

    def of_batch(params: Params, *batch: Any) -> Any:
        return loss(names, params, *batch)

    step = gradir.jit(optim.train_step(of_batch, optimizer), threads=threads)
    return step, (params, optimizer.init(params), *batch)


def gradir_step(loss: Any, example: Any, adam: bool, threads: int) -> harness.Call:
    step, arguments = step_of(loss, example, adam, threads)
    return lambda: step(*arguments)[2]


def jax_step(loss: Any, example: Any, adam: bool) -> harness.Call:
    """optax's step under `jax.jit`."""
    jax, optax, names = harness.library("jax"), harness.library("optax"), JaxNames()
    params, batch = jax.tree.map(jax.numpy.asarray, example)
    optimizer = optax.adam(RATE) if adam else optax.sgd(RATE, momentum=0.9)

    @jax.jit
    def step(params: Params, state: Any, *batch: Any) -> Any:
        def of_params(params: Params) -> Any:
            return loss(names, params, *batch)

        value, grads = jax.value_and_grad(of_params)(params)
        updates, state = optimizer.update(grads, state)
        return optax.apply_updates(params, updates), state, value

    state = optimizer.init(params)
    return lambda: jax.block_until_ready(step(params, state, *batch))[2]


def measure_digits(run: Run) -> Measured:
    threads, example = run.setting.threads, digits()
    contenders = [
        harness.Contender("gradir", lambda: gradir_step(digits_loss, example, False, threads)),
        harness.Contender("gradir, 1 thread", lambda: gradir_step(digits_loss, example, False, 1)),
        harness.Contender("JAX", lambda: jax_step(digits_loss, example, False), "optax"),
    ]
    step, arguments = step_of(digits_loss, example, False, threads)
    figures = per_second(timed(run, contenders, "us"), "examples", EXAMPLES)
    return Measured(figures, lambda: hot_parts(step.profile(*arguments)))


def measure_transformer(run: Run) -> Measured:
    threads, example = run.setting.threads, transformer()
    contenders = [
        harness.Contender("gradir", lambda: gradir_step(transformer_loss, example, True, threads)),
        harness.Contender("JAX", lambda: jax_step(transformer_loss, example, True), "optax"),
    ]
    step, arguments = step_of(transformer_loss, example, True, threads)
    figures = per_second(timed(run, contenders), "steps", 1)
    return Measured(figures, lambda: hot_parts(step.profile(*arguments)))


ROWS = (
    Row(
        "digits classifier, a step of training",
        measure_digits,
        [Asked("examples", other=("gradir, 1 thread", 0.9))],
        [Setting(), Setting(busy=2), Setting(busy=4), Setting(cores=1)],
    ),
    Row(
        "character transformer, 2 layers of 64, 16 x 64 tokens, a step of Adam",
        measure_transformer,
        [Asked("steps", 127.0, busy=0), Asked("steps", 60.0, busy=2)],
        [Setting(), Setting(busy=2), Setting(threads=1)],
        quick=[Setting(), Setting(busy=2)],
    ),
)
