"""Linear algebra beyond the op table: blocks and groups of rows, singular matrices, threads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import gradir
from gradir import Module
from gradir.testing import check_grads

Array = np.ndarray[Any, np.dtype[Any]]


def tensor_of(x: Array) -> str:
    element = {"float32": "f32", "float64": "f64"}[x.dtype.name]
    return f"tensor<{''.join(f'{n}x' for n in x.shape)}{element}>"


def program(op: str, arrays: Sequence[Array], like: Array, attributes: str = "") -> Module:
    """@f: the op on arguments, with one result."""
    types = [tensor_of(a) for a in arrays]
    names = [f"%x{k}" for k in range(len(arrays))]
    arguments = ", ".join(f"{n}: {t}" for n, t in zip(names, types, strict=True))
    result = tensor_of(like)
    return gradir.parse(
        f"func.func @f({arguments}) -> {result} {{\n"
        f'  %y = "{op}"({", ".join(names)}) {{{attributes}}} : ({", ".join(types)}) -> {result}\n'
        f"  func.return %y : {result}\n}}"
    )


def run(module: Module, *arrays: Array, threads: int = 2) -> Array:
    return gradir.compile(module, "f", threads=threads)(*arrays)[0]


def matrices(*shape: int, dtype: Any = np.float64) -> Array:
    return np.random.default_rng(0).normal(size=shape).astype(dtype)


SIZES = [7, 8, 33, 72]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("transpose", ["false", "true"])
def test_solve(size: int, transpose: str):
    a, right = matrices(2, size, size), matrices(2, size, 67)
    x = run(program("array.solve", [a, right], right, f"transpose = {transpose}"), a, right)
    left = np.swapaxes(a, 1, 2) if transpose == "true" else a
    np.testing.assert_allclose(left @ x, right, 1e-8, 1e-8)


@pytest.mark.parametrize("size", SIZES)
def test_cholesky(size: int):
    half = matrices(3, size, size)
    a = half @ np.swapaxes(half, 1, 2) + np.eye(size)
    np.testing.assert_allclose(run(program("array.cholesky", [a], a), a), np.linalg.cholesky(a))


@pytest.mark.parametrize("size", SIZES)
def test_det(size: int):
    a = matrices(2, size, size) / np.sqrt(size)
    np.testing.assert_allclose(run(program("array.det", [a], a[:, 0, 0]), a), np.linalg.det(a))


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("transpose", [True, False])
@pytest.mark.parametrize("size", [33, 72])
def test_triangular_solve(lower: bool, transpose: bool, size: int):
    """What is not in the triangle is not read."""
    a = matrices(size, size) / size + np.eye(size)
    right = matrices(size, 130)
    distance = np.subtract.outer(np.array(range(size)), np.array(range(size)))
    poisoned = np.where(distance < 0 if lower else distance > 0, np.nan, a)
    attributes = f"lower = {str(lower).lower()}, transpose = {str(transpose).lower()}"
    x = run(program("array.triangular_solve", [a, right], right, attributes), poisoned, right)
    triangle = np.tril(a) if lower else np.triu(a)
    np.testing.assert_allclose((triangle.T if transpose else triangle) @ x, right, 1e-10, 1e-10)


def test_threads_agree():
    a, right = matrices(5, 40, 40, dtype=np.float32), matrices(5, 40, 200, dtype=np.float32)
    module = program("array.solve", [a, right], right)
    one, two = (run(module, a, right, threads=threads) for threads in (1, 2))
    np.testing.assert_array_equal(one, two)


SINGULAR = {
    "rank 1 of 2": [[4, 2], [2, 1]],
    "a zero column first": [[0, 1, 2], [0, 4, -4], [0, 2, 2]],
    "a zero row": [[1, 2, 0], [0, 0, 0], [0, 4, 1]],
    "rank 1 of 3": [[0, 1, 2], [0, 2, 4], [0, 4, 8]],
    "zero": [[0, 0, 0], [0, 0, 0], [0, 0, 0]],
    "one zero": [[0]],
}


@pytest.mark.parametrize("name", SINGULAR)
@pytest.mark.parametrize("native", [True, False])
def test_gradient_of_det_at_singular_matrices(name: str, native: bool):
    a = np.array(SINGULAR[name], np.float64)
    module = program("array.det", [a], np.array(0.0)).gradient("f", mode="grad")
    call = gradir.compile(module, "f_grad") if native else None
    value, found = call(a) if call else gradir.interpret(module, "f_grad", a)
    assert value == 0
    cofactors = np.zeros(a.shape)
    for i, j in np.ndindex(*a.shape):
        minor = np.delete(np.delete(a, i, 0), j, 1)
        cofactors[i, j] = (-1) ** (i + j) * np.linalg.det(minor)
    np.testing.assert_allclose(found, cofactors, 1e-12, 1e-12)


FLAT = np.outer([1.0, 2, 2, 4], [3.0, 1, 1, 2])
LOW: dict[str, Array] = {
    "rank 2 of 3": np.array([[1.0, 2, 3], [4, 5, 6], [7, 8, 9]]),
    "rank 1 of 3": np.outer([1.0, 2, 2], [3.0, 1, 2]),
    "rank 2 of 4": FLAT + np.outer([1.0, -1, 0, 2], [0.0, 1, 1, 0]),
    "rank 1 of 4": FLAT,
    "zero": np.zeros((2, 2)),
    "a number": np.zeros((1, 1)),
}


@pytest.mark.parametrize("name", LOW)
def test_second_derivatives_of_det_at_singular_matrices(name: str):
    """det(a + t d) is a polynomial: its coefficients by interpolation."""
    a, size = LOW[name], len(LOW[name])
    d = matrices(size, size)
    places = np.arange(size + 1) - size / 2
    values = [np.linalg.det(a + t * d) for t in places]
    wanted = 2 * np.linalg.solve(np.vander(places, increasing=True), values)[2:3]
    module = program("array.det", [a], np.array(0.0)).gradient("f", mode="grad")
    for mode in ("vjp", "jvp"):
        of = [1] if mode == "vjp" else None
        twice = module.gradient("f_grad", mode=mode, of=of)
        found = gradir.compile(twice, f"f_grad_{mode}")(a, d)[-1]
        np.testing.assert_allclose(np.sum(found * d), np.sum(wanted), 1e-9, 1e-10)


def test_gradient_of_det_near_a_singular_matrix():
    """A rank that is one too low up to rounding."""
    a = np.array([[1.0, 2, 3], [4, 5, 6], [7, 8, 9]])
    module = program("array.det", [a], np.array(0.0)).gradient("f", mode="grad")
    _, found = gradir.compile(module, "f_grad")(a)
    np.testing.assert_allclose(found, [[-3, 6, -3], [6, -12, 6], [-3, 6, -3]], 1e-12)


@pytest.mark.parametrize("op", ["array.solve", "array.inv"])
def test_singular_matrices_have_no_solution(op: str):
    a = np.array([[1.0, 2], [2, 4]])
    arrays = [a, np.ones((2, 1))] if op == "array.solve" else [a]
    module = program(op, arrays, arrays[-1])
    for x in (run(module, *arrays), gradir.interpret(module, "f", *arrays)[0]):
        assert not np.isfinite(x).all()


def test_slogdet_does_not_overflow():
    a = 1e30 * np.eye(20)[::-1]
    text = (
        "func.func @f(%a: tensor<20x20xf64>) -> (tensor<f64>, tensor<f64>) {\n"
        "  %s, %y = array.slogdet %a : tensor<20x20xf64> -> (tensor<f64>, tensor<f64>)\n"
        "  func.return %s, %y : tensor<f64>, tensor<f64>\n}"
    )
    sign, logarithm = gradir.compile(gradir.parse(text), "f")(a)
    assert sign == 1
    np.testing.assert_allclose(logarithm, 600 * np.log(10))


IN_A_LOOP = """
func.func @f(%x: tensor<4x4xf64>) -> tensor<4x4xf64> {
  %first = arith.constant 0 : index
  %one = arith.constant 1 : index
  %end = arith.constant 3 : index
  %eye = array.eye : tensor<4x4xf64>
  %y = scf.for %i = %first to %end step %one iter_args(%a = %x) -> (tensor<4x4xf64>) {
    %s = array.sort %a {axis = 1} : tensor<4x4xf64>
    %p = array.cumulative_prod %s {axis = 0} : tensor<4x4xf64>
    %t = array.permute_dims %p {axes = [1, 0]} : tensor<4x4xf64> -> tensor<4x4xf64>
    %m = array.matmul %p, %t : tensor<4x4xf64>, tensor<4x4xf64> -> tensor<4x4xf64>
    %q = array.add %m, %eye : tensor<4x4xf64>
    %l = array.cholesky %q : tensor<4x4xf64>
    %z = array.solve %q, %l : tensor<4x4xf64>, tensor<4x4xf64> -> tensor<4x4xf64>
    scf.yield %z : tensor<4x4xf64>
  }
  func.return %y : tensor<4x4xf64>
}"""


def test_inside_a_loop():
    """Programs run from a native loop, and differentiate through it twice."""
    check_grads((gradir.parse(IN_A_LOOP), "f"), [matrices(4, 4)], order=2)
