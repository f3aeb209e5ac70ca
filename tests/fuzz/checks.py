"""What gradir promises of a program, one function each: Broken where it does not hold."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.dialects.builtin import IntegerAttr

import gradir
from fuzz.layouts import odd_layout, odd_result
from fuzz.outcome import Broken
from fuzz.trial import (
    Array,
    Trial,
    close,
    dense,
    has_bits_of,
    interpreted,
    native,
    random_like,
    same_bits,
    same_sums,
)
from fuzz.validated import validated
from gradir import GradirError, Module, RowSlices
from gradir.compiler.tiers import TIERS_VARIABLE
from gradir.dialects.base.attribute_names import PEAK
from gradir.dialects.base.extent_values import holds
from gradir.errors import ExecutionError, TraceError, VerifyError
from gradir.passes.shapes.name_values import conditions_of
from gradir.symbols import function_named
from gradir.validation.differences import difference

Check = Callable[[Trial], None]
Wanted = dict[int | str, str]
PART = 0.381966
"""Of a step; no simple fraction, as of those a staircase may have as many steps in proportion."""


def native_forward(trial: Trial) -> None:
    """Native code gives what the interpreter gives."""
    found = native(trial.marked, trial.name, trial.arguments)
    close("native values", trial.values, found)


def native_gradient(trial: Trial) -> None:
    """Likewise for the derivative."""
    close("native gradients", trial.interpreted_vjp, trial.native_vjp)


def differences(trial: Trial) -> None:
    """Gradients are derivatives of the values, where differences of these are reliable."""
    if not (trial.smooth and trial.is_finite):
        return
    derivative_matches(
        "gradients and differences",
        trial.plain,
        trial.name,
        trial.arguments,
        trial.wrt,
        trial.floating,
        trial.cotangents,
        trial.gradients,
    )


def derivative_matches(
    promise: str,
    module: Module,
    name: str,
    arguments: list[Array],
    wrt: list[int],
    floating: list[int],
    cotangents: list[Array],
    gradients: Any,
) -> None:
    """Hold gradients against differences along a direction in each argument."""

    def projected(*moved: Array) -> float:
        values = interpreted(module, name, moved)
        return sum(float(np.sum(values[k] * c)) for k, c in zip(floating, cotangents, strict=True))

    generator = np.random.default_rng(0)
    for index, gradient in zip(wrt, gradients, strict=True):
        if not np.size(gradient):
            continue
        direction = generator.uniform(0.5, 1, np.shape(gradient))
        got = float(np.sum(gradient * direction))
        expected = difference(projected, arguments, index, direction)
        # of a part of the step: where both differ, there is a kink or a steep place near by
        again = difference(projected, arguments, index, direction * PART) / PART
        size = max(abs(expected), abs(got), 1.0)
        if abs(expected - again) > 1e-8 * size or not np.isfinite(expected):
            continue
        if not abs(got - expected) <= 1e-5 * size:
            text = f"argument {index}: differences give {expected:.12g}, the gradient {got:.12g}"
            raise Broken(promise, text)


def second_order(trial: Trial) -> None:
    """The derivative of the derivative, likewise."""
    if not (trial.smooth and trial.is_finite and trial.wrt):
        return
    name = f"{trial.name}_vjp"
    marked = trial.marked.gradient(trial.name, mode="vjp")
    twice = marked.gradient(name, mode="vjp")
    count = len(trial.interpreted_vjp)
    floating = [*trial.floating, *range(len(trial.values), count)]
    generator = np.random.default_rng(1)
    cotangents: list[Array] = [
        generator.uniform(-1, 1, trial.interpreted_vjp[k].shape) for k in floating
    ]
    given = [*trial.given, *cotangents]
    gradients = interpreted(twice, f"{name}_vjp", given)[count:]
    if not all(np.isfinite(g).all() and np.abs(g).max(initial=0) < 1e5 for g in gradients):
        return
    derivative_matches(
        "second derivatives and differences",
        trial.vjp,
        name,
        trial.given,
        [*trial.wrt, *range(len(trial.arguments), len(trial.given))],
        floating,
        cotangents,
        gradients,
    )


def transposed(trial: Trial) -> None:
    """Forward mode and reverse mode are each other's transpose."""
    if not (trial.is_finite and trial.wrt and trial.floating):
        return
    forward = trial.marked.gradient(trial.name, mode="jvp")
    found = interpreted(forward, f"{trial.name}_jvp", [*trial.arguments, *trial.tangents])
    pushed = found[len(trial.values) :]
    one = sum(_dot(c, t) for c, t in zip(trial.cotangents, pushed, strict=True))
    other = sum(_dot(g, t) for g, t in zip(trial.gradients, trial.tangents, strict=True))
    size = sum(float(np.sum(np.abs(g))) for g in trial.gradients) + abs(one) + 1
    width = max(a.dtype.itemsize for a in trial.tangents)
    if not abs(one - other) <= {8: 1e-9, 4: 1e-3, 2: 0.3}[width] * size:
        raise Broken(
            "forward and reverse mode", f"<ct, J v> = {one:.12g}, <J^T ct, v> = {other:.12g}"
        )


def _dot(a: Array, b: Array) -> float:
    return float(np.sum(a.astype(np.float64) * b.astype(np.float64)))


def marks(trial: Trial) -> None:
    """Stages and policies of loops change no bit."""
    derived = trial.marked.gradient(trial.name, mode="vjp")
    found = interpreted(derived, f"{trial.name}_vjp", trial.given)
    same_sums(trial, "bits with and without marks", trial.interpreted_vjp, found)


def marks_native(trial: Trial) -> None:
    """Nor in native code, with a policy, a mode and threads."""
    policy = trial.choose.choice(["keep_all", "keep_none", "keep_matmuls", "keep_named", "auto"])
    derived = trial.marked.gradient(trial.name, mode="vjp", policy=policy)
    found = native(derived, f"{trial.name}_vjp", trial.given, trial.choose.choice([1, 2]))
    same_sums(trial, f"native bits with and without marks, {policy}", trial.native_vjp, found)


def policies(trial: Trial) -> None:
    """A policy changes no bit."""
    policy = trial.choose.choice(["keep_none", "keep_matmuls", "keep_named", "auto"])
    derived = trial.plain.gradient(trial.name, mode="vjp", policy=policy)
    found = interpreted(derived, f"{trial.name}_vjp", trial.given)
    same_bits(f"bits under policy {policy}", trial.interpreted_vjp, found)


def halves(trial: Trial) -> None:
    """The two functions of mode split give what one does."""
    policy = trial.choose.choice(["keep_all", "keep_all", "keep_none", "auto", "keep_matmuls"])
    derived = trial.marked.gradient(trial.name, policy=policy)
    run = trial.choose.choice([interpreted, native])
    found = run(derived, f"{trial.name}_fwd", trial.arguments)
    count = len(trial.values)
    values, residuals = found[:count], found[count:]
    gradients = run(derived, f"{trial.name}_bwd", [*residuals, *trial.cotangents])
    expected = trial.interpreted_vjp if run is interpreted else trial.native_vjp
    same_sums(trial, f"bits of halves, {run.__name__}", expected, [*values, *gradients])


def seeded(trial: Trial) -> None:
    """Mode grad is mode vjp with ones."""
    of = trial.choose.choice(trial.floating) if trial.floating else None
    if of is None:
        return
    derived = trial.marked.gradient(trial.name, mode="grad", of=[of])
    one = np.ones_like(trial.values[of])
    plain = trial.plain.gradient(trial.name, mode="vjp", of=[of])
    expected = interpreted(plain, f"{trial.name}_vjp", [*trial.arguments, one])
    found = interpreted(derived, f"{trial.name}_grad", trial.arguments)
    same_sums(trial, "bits of mode grad", expected, found)


def subsets(trial: Trial) -> None:
    """Results that are left out are those whose cotangents are zero, and arguments may be."""
    if not (trial.is_finite and trial.wrt and trial.floating):
        return
    of = sorted(trial.choose.sample(trial.floating, trial.choose.randint(1, len(trial.floating))))
    wrt = trial.choose.sample(trial.wrt, trial.choose.randint(1, len(trial.wrt)))
    cts = [
        c if k in of else np.zeros_like(c)
        for k, c in zip(trial.floating, trial.cotangents, strict=True)
    ]
    full = interpreted(trial.vjp, f"{trial.name}_vjp", [*trial.arguments, *cts])[
        len(trial.values) :
    ]
    expected = [full[trial.wrt.index(k)] for k in wrt]
    for module in (trial.plain, trial.marked):
        derived = module.gradient(trial.name, wrt=wrt, of=of, mode="vjp")
        chosen = [c for k, c in zip(trial.floating, trial.cotangents, strict=True) if k in of]
        found = interpreted(derived, f"{trial.name}_vjp", [*trial.arguments, *chosen])
        close("gradients of subsets", expected, found[len(trial.values) :])


CLEANUPS = (
    "gradir-simplify,cse,gradir-dce",
    "gradir-hoist,gradir-simplify,gradir-dce",
    "gradir-inline",
    "gradir-inline-checkpoints,cse",
    "gradir-outline-checkpoints",
    "gradir-decompose,gradir-simplify",
)


def cleaned(trial: Trial) -> None:
    """Passes change no bit, before the derivative or after it."""
    derived = trial.marked.gradient(trial.name, mode="vjp")
    passes = ",".join(trial.choose.sample(CLEANUPS[:-1], 2))
    after = interpreted(derived.run_passes(passes), f"{trial.name}_vjp", trial.given)
    same_sums(trial, "bits after passes", trial.interpreted_vjp, after)


def prepared(trial: Trial) -> None:
    """Values stay the same under passes that run before the derivative."""
    passes = trial.choose.choice(CLEANUPS)
    found = interpreted(trial.marked.run_passes(passes), trial.name, trial.arguments)
    same_sums(trial, "bits of values after passes", trial.values, found)


def threads(trial: Trial) -> None:
    """The number of threads changes no bit."""
    found = native(trial.vjp, f"{trial.name}_vjp", trial.given, 2)
    same_bits("bits of two threads", trial.native_vjp, found)


def tiers(trial: Trial) -> None:
    """Quick code has the bits of the code that takes its place, also while it does."""
    os.environ[TIERS_VARIABLE], before = "1", os.environ.get(TIERS_VARIABLE, "")
    try:
        compiled = gradir.compile(trial.vjp, f"{trial.name}_vjp", trial.choose.choice([1, 2]))
        found = [compiled(*trial.given) for _ in range(3)]
        compiled.wait_for_code()
    finally:
        os.environ[TIERS_VARIABLE] = before
    for quick in found:
        same_bits("bits of quick code", trial.native_vjp, quick)
    same_bits("bits of code after quick code", trial.native_vjp, compiled(*trial.given))


def rows(trial: Trial) -> None:
    """Gradients as row slices add up to the dense ones; native code gives the same slices."""
    tables = [k for k in trial.wrt if np.ndim(trial.arguments[k])]
    wanted: Wanted = {k: "slices" for k in tables if trial.choose.random() < 0.8}
    module = trial.choose.choice([trial.plain, trial.marked])
    derived = module.gradient(trial.name, mode="vjp", req=wanted)
    found = interpreted(derived, f"{trial.name}_vjp", trial.given)
    whole = [v.densify() if isinstance(v, RowSlices) else v for v in found]
    close("sums of row slices", trial.interpreted_vjp, whole, slack=10)
    close("native row slices", found, native(derived, f"{trial.name}_vjp", trial.given))
    if trial.smooth and trial.is_finite and wanted:
        _rows_of_second_order(trial, derived, wanted)


def vectorized(trial: Trial) -> None:
    """Rows of arguments give what each row gives alone, of the function and of its derivative."""
    module, name, given = trial.marked, trial.name, trial.arguments
    if trial.choose.random() < 0.5:
        module, name, given = module.gradient(name, mode="vjp"), f"{name}_vjp", trial.given
    size = trial.choose.choice([1, 2, 3])
    chosen = [k for k in range(len(given)) if trial.choose.random() < 0.6] or [0]
    stacks = {k: _rows_like(given[k], size) for k in chosen}
    batched = module.vmap(name, size, chosen)
    run = trial.choose.choice([interpreted, native])
    found = run(batched, f"{name}_vmap", [stacks.get(k, a) for k, a in enumerate(given)])
    for number in range(size):
        one = [stacks[k][number] if k in stacks else a for k, a in enumerate(given)]
        wanted = interpreted(module, name, one)
        close("rows alone and together", wanted, [f[number] for f in found], slack=100)


def _rows_like(array: Any, size: int) -> Array:
    """Rows: the first is the array, and others are near it."""
    one = np.asarray(array)
    if one.dtype.kind != "f":
        return np.stack([one] * size)
    return np.stack([(one * (1 - 0.03 * k)).astype(one.dtype) for k in range(size)])


def requests(trial: Trial) -> None:
    """Gradients that nobody wants are left out, others are written or added; no bit is another."""
    wanted: Wanted = {k: trial.choose.choice(["write", "null", "add"]) for k in trial.wrt}
    derived = trial.plain.gradient(trial.name, mode="vjp", req=wanted)
    generator, count = np.random.default_rng(1), len(trial.values)
    out = [odd_result(a, trial.choose) for a in trial.native_vjp[:count]]
    expected = [*trial.native_vjp[:count]]
    for k, gradient in zip(trial.wrt, trial.native_vjp[count:], strict=True):
        if wanted[k] == "null":
            continue
        is_added = wanted[k] == "add"
        old = random_like(gradient, generator)
        out.append(old if is_added else odd_result(gradient, trial.choose))
        with np.errstate(all="ignore"):
            expected.append(np.asarray(old + gradient) if is_added else gradient)
    found = gradir.compile(derived, f"{trial.name}_vjp", threads=1)(*trial.given, out=tuple(out))
    same_sums(trial, "bits of requests", expected, found)


def _rows_of_second_order(trial: Trial, derived: Module, wanted: Wanted) -> None:
    """The derivative of a derivative with row slices, as row slices, equals the dense one's."""
    name = f"{trial.name}_vjp"
    of = [*trial.floating, *range(len(trial.values), len(trial.interpreted_vjp))]
    generator = np.random.default_rng(1)
    cotangents: list[Array] = [generator.uniform(-1, 1, trial.interpreted_vjp[k].shape) for k in of]
    given, first = [*trial.given, *cotangents], len(trial.interpreted_vjp)
    dense = interpreted(trial.vjp.gradient(name, mode="vjp"), f"{name}_vjp", given)[first:]
    twice = derived.gradient(name, mode="vjp", req=wanted)
    found = interpreted(twice, f"{name}_vjp", given)[first:]
    whole = [v.densify() if isinstance(v, RowSlices) else v for v in found]
    close("sums of row slices of second order", dense, whole, slack=100)


def reloaded(trial: Trial) -> None:
    """A program that is printed and parsed is the same program."""
    derived = trial.marked.gradient(trial.name, mode="vjp")
    text = str(derived)
    again = gradir.parse(text)
    if str(again) != text:
        raise Broken("printing is stable", "another text")
    found = interpreted(again, f"{trial.name}_vjp", trial.given)
    same_bits("bits after saving", interpreted(derived, f"{trial.name}_vjp", trial.given), found)


def limits(trial: Trial) -> None:
    """A limit is kept, to the byte; and the one that is called the minimum works."""
    name = f"{trial.name}_vjp"
    try:
        trial.marked.gradient(trial.name, mode="vjp", memory_limit=0)
        least = 0
    except GradirError as error:
        text = str(error)
        if "minimum is " not in text:
            raise
        least = int(text.split("minimum is ")[1].split()[0])
        if "what grows on tapes" in text:
            return
    limit = trial.choose.choice([least, least, 2 * least, 10 * least])
    derived = trial.marked.gradient(trial.name, mode="vjp", memory_limit=limit)
    fn = gradir.compile(derived, name)
    peak = function_named(derived.op, name).attributes[PEAK]
    assert isinstance(peak, IntegerAttr)
    promised, measured = peak.value.data, fn.plan.peak_bytes
    if promised != measured or measured > limit:
        raise Broken("peak of a limit", f"limit {limit}: promised {promised}, measured {measured}")
    try:
        found = fn(*trial.given)
    except ExecutionError as error:
        # a loop of unknown length that says itself what it keeps has what the limit leaves
        if "the tape's limit is" not in str(error):
            raise
        return
    same_sums(trial, "bits under a limit", trial.native_vjp, found)


def layouts(trial: Trial) -> None:
    """How arrays lie in memory changes no bit, and arrays given in `out` are filled."""
    fn = gradir.compile(trial.vjp, f"{trial.name}_vjp", threads=1)
    given = [odd_layout(a, trial.choose) for a in trial.given]
    before = [np.array(a) for a in given]
    out = [odd_result(a, trial.choose) for a in trial.native_vjp]
    found = fn(*given, out=tuple(out))
    same_bits("bits of odd layouts", trial.native_vjp, found)
    for k, (one, other) in enumerate(zip(out, found, strict=True)):
        if one is not None and not has_bits_of(np.asarray(one), dense(other)[0]):
            raise Broken("out is filled", f"result {k}")
    for k, (one, other) in enumerate(zip(given, before, strict=True)):
        if not has_bits_of(np.asarray(one), other):
            raise Broken("arguments stay as they are", f"argument {k}")


def jitted(trial: Trial) -> None:
    """gradir.jit of the Python function gives what the program gives."""
    if trial.function is not None:
        found = _leaves(gradir.jit(trial.function)(*trial.arguments))
        expected = native(trial.marked, trial.name, trial.arguments)
        same_bits("bits of gradir.jit", expected, found)


def python_vjp(trial: Trial) -> None:
    """gradir.vjp of the Python function gives what the derivative of the program gives."""
    if trial.function is None or not trial.floating:
        return
    values, pull = gradir.vjp(trial.function, *trial.arguments)
    cotangents = trial.cotangents
    found = pull(cotangents[0] if len(trial.values) == 1 else tuple(cotangents))
    derived = trial.marked.gradient(trial.name, mode="vjp")
    expected = native(derived, f"{trial.name}_vjp", trial.given)
    gradients = (g for g in found if g is not None)
    same_sums(trial, "bits of gradir.vjp", expected, [*_leaves(values), *gradients])


def named(trial: Trial) -> None:
    """The function traced once for all sizes gives what it gives traced for this one.

    Functions that need the size while they are traced are refused, and made for others.
    """
    module = named_program(trial)
    if module is None:
        return
    found = interpreted(module, trial.name, trial.arguments)
    same_bits(
        "bits with named extents", interpreted(trial.marked, trial.name, trial.arguments), found
    )
    if trial.floating:
        both = [m.gradient(trial.name, mode="vjp") for m in (trial.marked, module)]
        one, other = (interpreted(m, f"{trial.name}_vjp", trial.given) for m in both)
        same_sums(trial, "bits of derivatives with named extents", one, other)


def named_program(trial: Trial) -> Module | None:
    """The Python function for all sizes; None if it is not made for all."""
    if trial.function is None:
        return None
    specs = [gradir.Spec(("n",) * np.ndim(a), a.dtype) for a in trial.arguments]
    try:
        module = gradir.trace(trial.function, *specs)
    except (TraceError, VerifyError):
        return None
    size = next(len(a) for a in trial.arguments if np.ndim(a))
    function = function_named(module.op, trial.name)
    return module if all(holds(c, {"n": size}) for c in conditions_of(function)) else None


def _leaves(results: Any) -> list[Any]:
    return [*results] if isinstance(results, tuple) else [results]


# How often each is made, in parts of all. Those that compile take longer.
CHECKS: dict[Check, int] = {
    native_forward: 3,
    native_gradient: 4,
    differences: 6,
    second_order: 3,
    transposed: 3,
    marks: 6,
    marks_native: 3,
    policies: 2,
    halves: 4,
    seeded: 2,
    subsets: 6,
    cleaned: 3,
    prepared: 2,
    threads: 2,
    tiers: 4,
    rows: 4,
    requests: 2,
    vectorized: 3,
    reloaded: 2,
    limits: 1,
    validated: 1,
    layouts: 2,
    jitted: 1,
    python_vjp: 2,
    named: 6,
}
BY_NAME = {check.__name__: check for check in CHECKS}
# What is made of Python functions alone.
TRACED = ("jitted", "python_vjp", "named")
# What says something in any precision; the others are made in f64.
ROUGH_TYPES = tuple(
    c.__name__ for c in CHECKS if c not in (differences, second_order, transposed, subsets)
)
