"""Written by `make docs`: the names of gradir.numpy.linalg, for editors and type checkers."""

from typing import Any

__all__: list[str]
def cholesky(a: Any, *, upper: Any = False, **kwargs: Any) -> Any:
    """The lower factor of a symmetric positive matrix; the upper one on demand."""
def cond(x: Any, p: Any = None, **kwargs: Any) -> Any:
    """The condition number norm(x) * norm(inv(x)) by the norm p, by default 2."""
def cross(x1: Any, x2: Any, *, axis: Any = -1, **kwargs: Any) -> Any:
    """The vector product along an axis of extent 3."""
def det(a: Any, **kwargs: Any) -> Any:
    """The determinant."""
def diagonal(x: Any, *, offset: Any = 0, **kwargs: Any) -> Any:
    """The diagonal of the last two axes."""
def eig(a: Any, **kwargs: Any) -> Any:
    """Eigenvalues, in LAPACK's order, and eigenvectors, columns, of square matrices."""
def eigh(a: Any, UPLO: Any = None, **kwargs: Any) -> Any:
    """Eigenvalues, ascending, and eigenvectors of symmetric or Hermitian matrices."""
def eigvals(a: Any, **kwargs: Any) -> Any:
    """The eigenvalues of square matrices, complex numbers in LAPACK's order; see eig."""
def eigvalsh(a: Any, UPLO: Any = None, **kwargs: Any) -> Any:
    """The eigenvalues of symmetric matrices, ascending; UPLO as in eigh."""
def inv(a: Any, **kwargs: Any) -> Any:
    """The inverse.   vjp: -y^T ct y^T"""
def lstsq(a: Any, b: Any, rcond: Any = None, **kwargs: Any) -> Any:
    """(x, residuals, rank, s): x of the least norm among those that minimize |a x - b|."""
def matmul(x1: Any, x2: Any, **kwargs: Any) -> Any:
    """The matrix product."""
def matrix_norm(x: Any, *, keepdims: Any = False, ord: Any = 'fro', **kwargs: Any) -> Any:
    """The norm of the last two axes."""
def matrix_power(a: Any, n: Any, **kwargs: Any) -> Any:
    """A matrix to an integer power; of the inverse for n < 0."""
def matrix_rank(A: Any, tol: Any = None, hermitian: Any = False, *, rtol: Any = None, **kwargs: Any) -> Any:
    """The number of singular values above tol, by default the largest times rtol."""
def matrix_transpose(x: Any, **kwargs: Any) -> Any:
    """The last two axes exchanged.   vjp: exchanged back"""
def multi_dot(arrays: Any, **kwargs: Any) -> Any:
    """The product of several matrices; the first and the last may be vectors."""
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: Any = False, **kwargs: Any) -> Any:
    """A vector's norm along one axis, a matrix's along two; without axes the norm of all elements."""
def outer(a: Any, b: Any, out: Any = None, **kwargs: Any) -> Any:
    """y[i, j] = a[i] * b[j], both flattened.   vjp: ct b, a ct"""
def pinv(a: Any, rcond: Any = None, hermitian: Any = False, *, rtol: Any = None, **kwargs: Any) -> Any:
    """The pseudoinverse; singular values up to rcond times the largest count as 0."""
def qr(a: Any, mode: Any = 'reduced', **kwargs: Any) -> Any:
    """Orthonormal columns Q and an upper triangular R with Q R = a; R alone with mode "r"."""
def slogdet(a: Any, **kwargs: Any) -> Any:
    """The sign of the determinant, and the logarithm of its size."""
def solve(a: Any, b: Any, **kwargs: Any) -> Any:
    """x with a x = b: of a vector b, else of matrices."""
def svd(a: Any, full_matrices: Any = True, compute_uv: Any = True, hermitian: Any = False, **kwargs: Any) -> Any:
    """The singular value factors (U, S, Vh) of matrices; S alone without `compute_uv`."""
def svdvals(x: Any, **kwargs: Any) -> Any:
    """The singular values, descending."""
def tensordot(lhs: Any, rhs: Any, axes: Any = 2, precision: Any = None, **kwargs: Any) -> Any:
    """Products summed over axes of both: the last and first `axes`, or one or several for each."""
def tensorinv(a: Any, ind: Any = 2, **kwargs: Any) -> Any:
    """The inverse by `tensordot` over `ind` axes."""
def tensorsolve(a: Any, b: Any, axes: Any = None, **kwargs: Any) -> Any:
    """x with tensordot(a, x, x.ndim) = b."""
def trace(x: Any, *, offset: Any = 0, dtype: Any = None, **kwargs: Any) -> Any:
    """The sum of the diagonal of the last two axes."""
def vecdot(x1: Any, x2: Any, *, axis: Any = -1, **kwargs: Any) -> Any:
    """The sum of products along an axis; x1 is conjugated."""
def vector_norm(x: Any, *, axis: Any = None, keepdims: Any = False, ord: Any = 2, **kwargs: Any) -> Any:
    """The norm of all elements as a vector, or of the vectors along axes."""
