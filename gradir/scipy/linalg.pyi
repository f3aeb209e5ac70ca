"""Written by `make docs`: the names of gradir.scipy.linalg, for editors and type checkers."""

from typing import Any

__all__: list[str]
def block_diag(*arrs: Any, **kwargs: Any) -> Any:
    """The matrices along a diagonal, zeros around them; vectors are rows."""
def cho_factor(a: Any, lower: Any = False, **kwargs: Any) -> Any:
    """`cholesky` and whether it is the lower factor, for `cho_solve`."""
def cho_solve(c_and_lower: Any, b: Any, **kwargs: Any) -> Any:
    """x with a x = b, from `cho_factor(a)`."""
def cho_solve_banded(cb_and_lower: Any, b: Any, **kwargs: Any) -> Any:
    """x with a x = b, from (cholesky_banded(ab, lower), lower)."""
def cholesky(a: Any, lower: Any = False, **kwargs: Any) -> Any:
    """The factor u of a = u^H u, upper triangular; or with `lower` l of a = l l^H."""
def cholesky_banded(ab: Any, lower: Any = False, **kwargs: Any) -> Any:
    """The bands of the Cholesky factor of the matrix that `solveh_banded` solves with."""
def circulant(c: Any, **kwargs: Any) -> Any:
    """The matrix whose columns are c, each one place below the one before, around the end."""
def det(a: Any, **kwargs: Any) -> Any:
    """The determinant of matrices [.., n, n], of their type; SciPy makes 64 bits of 32."""
def eig(a: Any, **kwargs: Any) -> Any:
    """Eigenvalues and eigenvectors, columns of length 1, complex, of square matrices; see"""
def eig_banded(a_band: Any, lower: Any = False, eigvals_only: Any = False, **kwargs: Any) -> Any:
    """Eigenvalues, ascending, and eigenvectors, of a matrix given as in `solveh_banded`."""
def eigh(a: Any, lower: Any = True, **kwargs: Any) -> Any:
    """Eigenvalues, ascending, and eigenvectors, columns, of symmetric or Hermitian matrices."""
def eigvals(a: Any, **kwargs: Any) -> Any:
    """The eigenvalues of square matrices, complex numbers in LAPACK's order."""
def eigvals_banded(a_band: Any, lower: Any = False, **kwargs: Any) -> Any:
    """The eigenvalues, ascending, of a matrix that is given as in `solveh_banded`."""
def eigvalsh(a: Any, lower: Any = True, **kwargs: Any) -> Any:
    """The eigenvalues of symmetric or Hermitian matrices, ascending."""
def expm(A: Any, **kwargs: Any) -> Any:
    """The exponential of square matrices [.., n, n]."""
def hankel(c: Any, r: Any = None, **kwargs: Any) -> Any:
    """The matrix with c as its first column and r as its last row, equal along antidiagonals."""
def inv(a: Any, **kwargs: Any) -> Any:
    """The inverse of matrices [.., n, n]."""
def lu(a: Any, permute_l: Any = False, p_indices: Any = False, **kwargs: Any) -> Any:
    """(p, l, u) with a = p l u, for matrices [.., m, n]: a permutation, l with ones on its diagonal"""
def lu_factor(a: Any, **kwargs: Any) -> Any:
    """l, without its diagonal, and u in one matrix, and LAPACK's pivots; of a [.., n, n]."""
def lu_solve(lu_and_piv: Any, b: Any, trans: Any = 0, **kwargs: Any) -> Any:
    """x with a x = b, from `lu_factor(a)`, b [.., n] or [.., n, m]."""
def norm(a: Any, ord: Any = None, axis: Any = None, keepdims: Any = False, **kwargs: Any) -> Any:
    """numpy.linalg.norm."""
def pinv(a: Any, *, rtol: Any = None, **kwargs: Any) -> Any:
    """The pseudo-inverse of matrices [.., m, n]; singular values up to rtol * largest are 0."""
def polar(a: Any, side: Any = 'right', **kwargs: Any) -> Any:
    """u with orthonormal columns or rows, and p Hermitian, a = u p; or with side "left" a = p u."""
def qr(a: Any, *, mode: Any = 'full', **kwargs: Any) -> Any:
    """q, orthogonal or unitary, and r, upper triangular, of matrices [.., m, n]."""
def solve(a: Any, b: Any, **kwargs: Any) -> Any:
    """x with a x = b, for a [n, n] and b [n] or [n, m]."""
def solve_banded(l_and_u: Any, ab: Any, b: Any, **kwargs: Any) -> Any:
    """x with a x = b, of the bands of a: ab[u + i - j, j] = a[i, j], for b [n] or [n, m]."""
def solve_sylvester(a: Any, b: Any, q: Any, **kwargs: Any) -> Any:
    """x with a x + x b = q, for a [m, m], b [n, n], q [m, n]."""
def solve_triangular(a: Any, b: Any, trans: Any = 0, lower: Any = False, unit_diagonal: Any = False, **kwargs: Any) -> Any:
    """x with a x = b, for triangular a [n, n], b [n] or [n, m]."""
def solveh_banded(ab: Any, b: Any, lower: Any = False, **kwargs: Any) -> Any:
    """x with a x = b, of the bands of one triangle of a symmetric or Hermitian a, which is positive"""
def sqrtm(A: Any, **kwargs: Any) -> Any:
    """The principal square root of matrices [.., n, n] without eigenvalues on the negative axis."""
def svd(a: Any, full_matrices: Any = True, compute_uv: Any = True, **kwargs: Any) -> Any:
    """u, singular values, vh of matrices [.., m, n]; without `compute_uv` the values alone."""
def svdvals(a: Any, **kwargs: Any) -> Any:
    """The singular values, from the largest to the least."""
def toeplitz(c: Any, r: Any = None, **kwargs: Any) -> Any:
    """The matrix with c as its first column and r as its first row, equal along diagonals."""
