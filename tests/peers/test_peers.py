"""Values and gradients of every op against PyTorch and JAX. `make test-peers` installs and runs it.

The rows come from tests/support/op_cases.py, in float64 and float32; native code computes ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from jax_ops import JAX, SHAPED, jax, jnp
from op_cases import CASES, ELEMENTS, OP_CLASSES, Case
from op_programs import function, is_active
from peer_gaps import (
    CANCELLING,
    IN_F32,
    NO_NUMBERS_IN_TORCH,
    NOT_IN_PEERS,
    OTHER_IN_JAX,
    OTHER_IN_TORCH,
)
from torch_ops import TORCH, TYPED, torch
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Block, Region

import gradir
from gradir import Module
from gradir.dialects.array.creation import numpy_dtype
from gradir.dialects.base.shapes import element_of, is_complex_tensor, is_float, shape_of
from gradir.passes.gradient.gradient import gradient
from gradir.passes.gradient.requests import DerivativeRequest

# what the peers warn of is theirs
pytestmark = pytest.mark.filterwarnings("ignore")

Array = np.ndarray[Any, np.dtype[Any]]
Results = tuple[Sequence[Array | None], Sequence[Array | None]]
# Which results of an op are vectors whose signs LAPACK chooses.
SIGNED = {"array.eigh": 1, "array.svd": 0, "array.qr": 0}
TOLERANCE = {"float64": 1e-9, "float32": 3e-5}


def cases_of(op: str, refused: frozenset[str], without: frozenset[str] = frozenset()) -> list[Case]:
    """The rows of an op on real numbers that are not refused and have no operand of some dtypes."""
    rows = [case for case in CASES if case.op == op and str(case) not in refused]
    rows = [case for case in rows if not is_complex_case(case)]
    return [
        case
        for case in rows
        if not any(isinstance(o, np.ndarray) and o.dtype.name in without for o in case.operands)
    ]


def is_complex_case(case: Case) -> bool:
    """Whether a row has complex numbers, which test_complex_jax.py compares."""
    types = function(case, case.arrays(ELEMENTS["float64"]), ELEMENTS["float64"]).function_type
    return any(is_complex_tensor(t) for t in (*types.inputs, *types.outputs))


def test_every_op_is_compared_or_has_a_reason() -> None:
    compared = TORCH.keys() | JAX.keys()
    public = {op for op in OP_CLASSES if not op.startswith("grad.")}
    missing = public - compared - NOT_IN_PEERS.keys()
    assert not missing, f"name a peer's function or a reason: {sorted(missing)}"
    assert not NOT_IN_PEERS.keys() & compared
    unknown = (compared | NOT_IN_PEERS.keys()) - OP_CLASSES.keys()
    assert not unknown, f"no such op: {sorted(unknown)}"


def test_every_row_that_is_left_out_exists() -> None:
    rows = {str(case) for case in CASES}
    assert not (OTHER_IN_TORCH | OTHER_IN_JAX) - rows


@pytest.mark.parametrize("name", TOLERANCE)
@pytest.mark.parametrize("op", [op for op in OP_CLASSES if op in TORCH])
def test_torch(op: str, name: str) -> None:
    compare(cases_of(op, OTHER_IN_TORCH, NO_NUMBERS_IN_TORCH), name, by_torch)


@pytest.mark.parametrize("name", TOLERANCE)
@pytest.mark.parametrize("op", [op for op in OP_CLASSES if op in JAX])
def test_jax(op: str, name: str) -> None:
    compare(cases_of(op, OTHER_IN_JAX), name, by_jax)


# Ours: all cases of an op in one compilation.


def compare(cases: Sequence[Case], name: str, peer: Callable[..., Results]) -> None:
    assert cases, "no case is left"
    module = ModuleOp([])
    calls: list[tuple[FuncOp, list[Array]]] = []
    for k, case in enumerate(cases):
        arrays = case.arrays(ELEMENTS[name])
        source = function(case, arrays, ELEMENTS[name], f"f{k}")
        module.body.block.add_op(source)
        cts = cotangents(source)
        calls.append((derived(module, source, case), [*arrays, *cts]))
    found = run(module, calls)
    wrong: list[str] = []
    for case, (_, given), ours in zip(cases, calls, found, strict=True):
        arrays = given[: len(case.operands)]
        try:
            values, grads = peer(case, arrays, given[len(arrays) :])
        except Exception as error:
            wrong.append(f"{case}: refused: {error}")
            continue
        tolerance = TOLERANCE["float32" if case.op in IN_F32 else name]
        wrong += differences(case, ours, [*values, *grads], tolerance)
    assert not wrong, "\n".join(wrong)


def differences(
    case: Case, ours: Sequence[Array], theirs: Sequence[Array | None], tolerance: float
) -> Iterator[str]:
    """What differs; results that the peer does not have are the last ones."""
    for k, (one, other) in enumerate(zip(ours, theirs, strict=False)):
        least = 1 if str(case) in CANCELLING else 1e-3
        if other is not None and not close(one, other, tolerance, least):
            yield f"{case}: result {k} is {one}, theirs {other}"


def cotangents(source: FuncOp) -> list[Array]:
    generator = np.random.default_rng(7)
    made: list[Array] = []
    for type_ in source.function_type.outputs:
        if is_float(element := element_of(type_)):
            numbers = generator.uniform(-1, 1, shape_of(type_))
            made.append(numbers.astype(numpy_dtype(element)))
    return made


def derived(module: ModuleOp, source: FuncOp, case: Case) -> FuncOp:
    if not is_active(case):
        return source
    return gradient(module, DerivativeRequest(source.sym_name.data, case.wrt, mode="vjp"))[0]


def run(module: ModuleOp, calls: Sequence[tuple[FuncOp, list[Array]]]) -> list[list[Array]]:
    """One function calls them all."""
    block = Block(arg_types=[t for f, _ in calls for t in f.function_type.inputs])
    left = iter(block.args)
    made: list[CallOp] = []
    for callee, _ in calls:
        given = [next(left) for _ in callee.function_type.inputs]
        made.append(CallOp(callee.sym_name.data, given, callee.function_type.outputs.data))
    results = [r for call in made for r in call.results]
    block.add_ops([*made, ReturnOp(*results)])
    types = [a.type for a in block.args], [r.type for r in results]
    module.body.block.add_op(FuncOp("all", types, Region(block)))
    values = iter(gradir.compile(Module(module), "all")(*(a for f, g in calls for a in used(f, g))))
    return [[next(values) for _ in call.results] for call in made]


def used(function: FuncOp, given: list[Array]) -> list[Array]:
    return given[: len(function.function_type.inputs)]


def close(found: Array, expected: Array, tolerance: float, least: float) -> bool:
    """Equal up to the tolerance, on the scale of the largest number, which is at least `least`."""
    if found.shape != expected.shape:
        return False
    if found.dtype.kind != "f":
        return np.array_equal(found, expected)
    finite = np.abs(expected[np.isfinite(expected)])
    scale = max(float(np.max(finite, initial=0)), least)
    return np.allclose(found, expected, tolerance, tolerance * scale, equal_nan=True)


# Theirs.


def by_torch(case: Case, arrays: Sequence[Array], cts: Sequence[Array]) -> Results:
    wrt = case.wrt if is_active(case) else []
    operands = [torch.tensor(a) for a in arrays]
    for k in wrt:
        operands[k].requires_grad_()
    more = {**type_of(case, arrays), **vectors_of(case, arrays)}
    results = as_tuple(TORCH[case.op](*operands, **case.attributes, **more))
    values: list[Array | None] = [r.detach().numpy() for r in results]
    values += [None] * (result_count(case, arrays) - len(values))
    pairs = [(r, torch.tensor(ct)) for r, ct in zip(floating(results), cts, strict=False)
             if r.requires_grad]  # fmt: skip
    if not wrt or not pairs:
        return values, []
    grads = torch.autograd.grad(
        [r for r, _ in pairs], [operands[k] for k in wrt], [ct for _, ct in pairs],
        allow_unused=True,
    )  # fmt: skip
    return values, [None if g is None else g.numpy() for g in grads]


def type_of(case: Case, arrays: Sequence[Array]) -> dict[str, Any]:
    """What an op is told beside its attributes, where its result type is written."""
    if case.op.partition(".")[2] not in TYPED:
        return {}
    assert case.results is not None
    [(shape, name)] = case.results
    default = arrays[0].dtype.name if arrays else "float64"
    return {"shape": shape, "dtype": getattr(torch, name or default)}


def vectors_of(case: Case, arrays: Sequence[Array]) -> dict[str, Any]:
    """Our vectors, of an op whose signs are LAPACK's: the peer's vectors get the same signs."""
    if case.op not in SIGNED:
        return {}
    assert callable(case.reference)
    return {"like": case.reference(*arrays)[SIGNED[case.op]]}


def result_count(case: Case, arrays: Sequence[Array]) -> int:
    return len(function(case, arrays, ELEMENTS["float64"]).function_type.outputs)


def floating(results: Sequence[Any]) -> list[Any]:
    return [r for r in results if r.is_floating_point()]


def by_jax(case: Case, arrays: Sequence[Array], cts: Sequence[Array]) -> Results:
    wrt = case.wrt if is_active(case) else []
    more = vectors_of(case, arrays)
    if case.op in SHAPED:
        assert case.results is not None
        more["shape"] = case.results[0][0]

    def wrapper(*active: Any) -> tuple[Any, ...]:
        operands: list[Any] = [jnp.asarray(a) for a in arrays]
        for k, value in zip(wrt, active, strict=True):
            operands[k] = value
        return as_tuple(JAX[case.op](*operands, **case.attributes, **more))

    results, pull = jax.vjp(wrapper, *(jnp.asarray(arrays[k]) for k in wrt))
    values = [np.asarray(r) for r in results]
    assert len(values) == result_count(case, arrays)
    if not wrt:
        return values, []
    left = iter(cts)
    seeds = tuple(
        next(left) if v.dtype.kind == "f" else np.zeros(v.shape, jax.dtypes.float0) for v in values
    )
    return values, [np.asarray(g) for g in pull(seeds)]


def as_tuple(results: Any) -> tuple[Any, ...]:
    if isinstance(results, (tuple, list)):
        return tuple(results)
    return (results,)
