"""Functions that Numba compiles as native functions of custom ops, by numba.cfunc."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import gradir
import gradir.numpy as gnp
from gradir.testing import check_grads
from tests.support.custom_ops import own_registry

numba: Any = import_module("numba")

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True)
def registry() -> Iterator[None]:
    with own_registry():
        yield


I32, I64, ADDRESS = numba.types.int32, numba.types.int64, numba.types.uintp


def record(names: dict[str, Any]) -> Any:
    """A structure of C, by its fields; Numba has no pointers in structures."""
    return numba.types.Record.make_c_struct([(n, t) for k, t in names.items() for n in k.split()])


ARRAY = record({"data shape": ADDRESS, "size": I64, "rank dtype request reserved": I32})
CALL = record({
    "abi role n_inputs n_outputs": I32,
    "inputs outputs cotangents grads tangents out_tangents data message": ADDRESS,
    "message_size": I64,
})  # fmt: skip
SIGNATURE = I32(numba.types.CPointer(CALL))


def pointer_to(kind: Any) -> Any:
    """A function of an address for compiled code: the pointer to that."""
    target = numba.types.CPointer(kind)

    def typed(context: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.inttoptr(arguments[0], context.get_value_type(target))

        return target(ADDRESS), generate

    return numba.extending.intrinsic(typed)


to_array, to_numbers = pointer_to(ARRAY), pointer_to(numba.types.float64)


@numba.njit
def first(arrays: Any) -> Any:
    return numba.carray(to_array(arrays), 1)[0]


@numba.njit
def elements(array: Any) -> Any:
    return numba.carray(to_numbers(array.data), (array.size,))


@numba.cfunc(SIGNATURE)
def softplus(address: Any) -> Any:
    call = numba.carray(address, 1)[0]
    x, y = first(call.inputs), first(call.outputs)
    if x.dtype != 9:
        return 1
    if y.request == 1:
        elements(y)[:] = np.log1p(np.exp(elements(x)))
    return 0


@numba.cfunc(SIGNATURE)
def softplus_back(address: Any) -> Any:
    call = numba.carray(address, 1)[0]
    x, ct, grad = first(call.inputs), first(call.cotangents), first(call.grads)
    if x.dtype != 9:
        return 1
    elements(grad)[:] = elements(ct) / (1 + np.exp(-elements(x)))
    return 0


@pytest.mark.parametrize("debug", [False, True])
def test_functions_of_numba(debug: bool) -> None:
    op = gradir.custom_op(
        gradir.native(softplus),
        lambda x: x,
        gradir.native(softplus_back),
        needs=("cotangents", "inputs"),
        debug=debug,
    )
    assert op.name == "softplus"
    x = np.linspace(-2, 2, 24).reshape(2, 3, 4)
    np.testing.assert_allclose(gradir.jit(lambda x: op(x) + 1)(x), np.log1p(np.exp(x)) + 1)
    check_grads(lambda x: gnp.sum(op(gnp.sin(x)) ** 2), [x], order=1)
    with pytest.raises(gradir.GradirError, match="@softplus: the function returned 1"):
        gradir.jit(op)(np.zeros(3, np.float32))
