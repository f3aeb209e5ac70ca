"""Functions of gradir.numpy and gradir.nn on NumPy arrays: the values of the traced functions."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from op_calls import TRACED, call
from op_cases import Case
from trace_harness import run
from xdsl.dialects.builtin import f64

import gradir
import gradir.frontends.tracing.eager as eager_module
import gradir.frontends.tracing.replays as replays_module
import gradir.nn as nn
import gradir.numpy as gnp
from gradir.dialects.array.reductions import ReductionOp
from gradir.frontends.tracing import tracing
from gradir.frontends.tracing.replays import Records
from gradir.scipy import special

X, K, B = np.linspace(-1, 1, 6).reshape(2, 3), np.array([2, 0, 1]), np.array([True, False, True])


@pytest.mark.parametrize("case", TRACED, ids=str)
def test_eager_is_as_traced(case: Case) -> None:
    arrays = case.arrays(f64)
    before = [a.copy() for a in arrays]
    wanted = run(lambda *xs: call(case, xs), *arrays)
    for _ in range(3):  # the second call is recorded, the third one is a replay
        same(call(case, arrays), wanted)
    same(tuple(arrays), tuple(before))


def same(found: Any, wanted: Any) -> None:
    """Equal NumPy arrays, also of nested results."""
    if isinstance(wanted, (tuple, list)):
        found = [y for x in found for y in (x if isinstance(x, tuple) else [x])]
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            same(one, other)
        return
    assert isinstance(found, np.ndarray)
    assert found.dtype == wanted.dtype
    wide = np.complex128 if found.dtype.kind == "c" else np.float64
    np.testing.assert_allclose(
        found.astype(wide), np.asarray(wanted).astype(wide), rtol=1e-14, atol=1e-300
    )


def test_embedding_bag():
    table, ids, offsets = np.arange(12.0).reshape(4, 3), np.array([1, 2, 3]), np.array([0, 2])
    wanted = run(lambda *xs: nn.embedding_bag(*xs), table, ids, offsets)
    same(nn.embedding_bag(table, ids, offsets), wanted)


def test_results_are_new_arrays():
    x = np.arange(6.0).reshape(2, 3)
    for made in (gnp.reshape(x, -1), gnp.transpose(x), gnp.asarray(x), gnp.broadcast_to(x, (2, 3))):
        made[...] = -1
    np.testing.assert_array_equal(x, np.arange(6.0).reshape(2, 3))
    assert gnp.sum(x).shape == ()


def test_values_of_a_repeated_call_are_read_anew():
    axis, x = np.array([0]), np.arange(6.0).reshape(2, 3)
    for at, k in [(0, 2), (1, 3), (0, 4), (0, 2), (1, 3), (0, 4)] * 2:
        axis[0], x[0, 0] = at, k
        np.testing.assert_array_equal(gnp.sum(x, axis=axis), x.sum(at))
        np.testing.assert_array_equal(gnp.add(x, k), x + k)
        np.testing.assert_array_equal(gnp.full(2, k), [k, k])
        np.testing.assert_array_equal(gnp.concat([x, x]), np.concatenate([x, x]))
    assert gnp.add(x, 1).dtype == gnp.add(x, 1.0).dtype == np.float64
    assert [gnp.multiply(K, n).dtype for n in (1, 1.0, True)] == [np.int64, np.float64, np.int64]
    np.testing.assert_array_equal(np.signbit(gnp.multiply(0.0, -1.0)), True)
    assert np.signbit(gnp.add(-0.0, -0.0)) and not np.signbit(gnp.add(0.0, 0.0))
    for _ in range(3):
        with gradir.default_dtype("float32"):
            assert gnp.sin(K).dtype == np.float32
        assert gnp.sin(K).dtype == np.float64


def replays(f: Any, *args: Any, **kwargs: Any) -> list[Any]:
    """Three calls; the last one must not enter the function."""
    results = [f(*args, **kwargs) for _ in range(2)]
    entered = list[object]()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tracing, "emit", lambda *_: entered.append(0))
        patch.setattr(eager_module, "_Eager", lambda: entered.append(0))
        results.append(f(*args, **kwargs))
    assert not entered
    return results


def test_a_replay_runs_the_ops_alone():
    for f, args in [
        (gnp.sum, (X, 1)), (gnp.add, (X, 2.0)), (gnp.concat, ([X, X], 1)), (gnp.zeros, (3,)),
        (gnp.take, (X, K)), (gnp.split, (X, 3, 1)), (nn.softmax, (X, -1)), (gnp.add, (X, X[0, 0])),
    ]:  # fmt: skip
        _, two, three = replays(f, *args)
        same(three, two)


@pytest.mark.parametrize(
    "f", [gnp.sum, gnp.prod, gnp.mean, gnp.max, gnp.min, gnp.any, gnp.all, gnp.std, gnp.var,
          gnp.argmax, gnp.norm]
)  # fmt: skip
def test_replays_of_reductions_read_their_axes_once(f: Any):
    """What attributes say is looked up where a call is recorded: it took longer than the sum."""
    for given in (dict[str, Any](), {"axis": 1, "keepdims": True}):
        *_, two, _ = replays(f, X, **given)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(ReductionOp, "axes", property(lambda _: pytest.fail("axes are read")))
            same(f(X, **given), two)


def test_keyword_arguments_of_a_replay():
    for x, weights in [(X[0], X[1]), (X[1], X[0])]:
        for given in (dict(b=weights), dict(b=weights, axis=0)):
            *_, two, three = replays(special.logsumexp, x, **given)
            same(three, two)


def test_replays_of_what_is_not_contiguous_and_of_halves():
    for x in (X.T, X[:, ::-1], X.astype(np.float16), X.astype(ml_dtypes.bfloat16)):
        one, _, three = replays(gnp.sum, gnp.asarray(x) if x.dtype != X.dtype else x, axis=0)
        assert one.dtype == three.dtype
        assert one.tobytes() == three.tobytes()


def test_constants_of_a_replay_are_not_handed_out():
    for _ in range(4):
        made = gnp.asarray([1, 2, 3])
        assert made.tolist() == [1, 2, 3]
        made[0] = 7
    for _ in range(4):
        zeros = gnp.zeros(3)
        assert not zeros.any()
        zeros[:] = 1


def test_arrays_that_a_function_reads_are_read_each_time():
    for counts in ([1, 2, 0], [1, 1, 1], [3, 0, 0], [0, 0, 3]) * 2:
        found = gnp.repeat(X, np.array(counts), axis=1)
        np.testing.assert_array_equal(found, np.repeat(X, counts, axis=1))
    for shape in ((3, 2), (6, 1), (2, 3)) * 2:
        assert gnp.reshape(X, np.array(shape)).shape == shape


def test_numbers_that_change_do_not_fill_the_memory():
    for k in range(2 * replays_module.LIMIT + 3):
        assert gnp.multiply(2.0, float(k)) == 2 * k
    kept = gnp.multiply.__closure__
    assert kept is not None
    [records] = [c.cell_contents for c in kept if isinstance(c.cell_contents, Records)]
    assert len(records.found) <= replays_module.LIMIT


def test_a_replay_that_fails_is_said_at_the_users_line():
    for _ in range(3):
        np.testing.assert_array_equal(gnp.take(X, np.array([0]), axis=1), X[:, :1])
    with pytest.raises(gradir.GradirError, match=r"test_eager.py:\d+:\d+: array.take: index 7"):
        gnp.take(X, np.array([7]), axis=1)


def test_errors_are_at_the_users_line():
    for wrong, message in [
        (lambda: gnp.add(X, np.ones(4)), "array.add: shapes must broadcast, got"),
        (lambda: gnp.take(K, np.array([7])), "array.take: index 7 is out of range"),
        (lambda: gnp.sin("x"), "expected an array or a number, got str"),
    ]:
        for _ in range(2):
            with pytest.raises(gradir.GradirError) as caught:
                wrong()
            assert f"{__file__}:" in str(caught.value)
            assert message in str(caught.value)


def test_inside_of_a_trace_they_are_ops():
    assert "array.sin" in str(gradir.trace(lambda x: gnp.sin(gnp.ones(3)) * x, X[0]))


def test_markers_outside_of_traces():
    x = np.arange(3.0)
    assert gradir.no_grad(x) is x and gradir.name(x, "x") is x
    assert {"no_grad", "grad", "numpy", "random"} <= set(dir(gradir))


def test_names_of_jax_say_what_is_here():
    for name, known in [("lax", "scan, while_loop"), ("remat", "gradir.checkpoint")]:
        with pytest.raises(AttributeError, match=f"has no {name}: {known}"):
            getattr(gradir, name)
