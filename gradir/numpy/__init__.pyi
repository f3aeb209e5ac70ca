"""Written by `make docs`: the names of gradir.numpy, for editors and type checkers."""

from typing import Any
from . import fft as fft
from . import linalg as linalg

__all__: list[str]
__array_api_version__: Any
__array_namespace_info__: Any
False_: Any
ScalarType: Any
True_: Any
def abs(x: Any, **kwargs: Any) -> Any:
    """Absolute value, a real number; of complex ones without overflow."""
def absolute(x: Any, **kwargs: Any) -> Any:
    """Absolute value, a real number; of complex ones without overflow."""
def acos(x: Any, **kwargs: Any) -> Any:
    """Angle in [0, pi] of a cosine; nan outside of [-1, 1]."""
def acosh(x: Any, **kwargs: Any) -> Any:
    """The number not below 0 of a hyperbolic cosine; nan below 1."""
def add(lhs: Any, rhs: Any, **kwargs: Any) -> Any:
    """lhs + rhs; integers wrap.   vjp: ct, ct"""
def affine_gather(x: Any, map: Any, shape: Any, pad: Any = None, **kwargs: Any) -> Any:
    """The array of a shape with x[map(i, j, ...)] at each place (i, j, ...)."""
def affine_scatter_add(x: Any, map: Any, shape: Any, drop: Any = False, **kwargs: Any) -> Any:
    """The array of a shape to which x[i, j, ...] is added at map(i, j, ...), from zeros."""
def all(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, where: Any = None, **kwargs: Any) -> Any:
    """No element is 0 (bool); true of no elements."""
def allclose(a: Any, b: Any, rtol: Any = ..., atol: Any = ..., equal_nan: Any = False, **kwargs: Any) -> Any:
    """`isclose` everywhere."""
def amax(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None, where: Any = None, **kwargs: Any) -> Any:
    """Largest element, 0 above -0; nan where one is nan."""
def amin(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None, where: Any = None, **kwargs: Any) -> Any:
    """Smallest element, -0 below 0; nan where one is nan."""
def angle(z: Any, deg: Any = False, **kwargs: Any) -> Any:
    """The angle of complex numbers in (-pi, pi], or in degrees."""
def any(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, where: Any = None, **kwargs: Any) -> Any:
    """One element is not 0 (bool); false of no elements."""
def append(arr: Any, values: Any, axis: Any = None, **kwargs: Any) -> Any:
    """The values after the array along `axis`; both flattened where None."""
def apply_along_axis(func1d: Any, axis: Any, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """The function of each vector along an axis, which its result's axes replace."""
def apply_over_axes(func: Any, a: Any, axes: Any, **kwargs: Any) -> Any:
    """func(a, axis) for one axis after the other; a result without the axis gets it back."""
def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None, *, device: Any = None, **kwargs: Any) -> Any:
    """start, start + step, ... before stop; `arange(n)` counts from 0 to n - 1."""
def arccos(x: Any, **kwargs: Any) -> Any:
    """Angle in [0, pi] of a cosine; nan outside of [-1, 1]."""
def arccosh(x: Any, **kwargs: Any) -> Any:
    """The number not below 0 of a hyperbolic cosine; nan below 1."""
def arcsin(x: Any, **kwargs: Any) -> Any:
    """Angle in [-pi/2, pi/2] of a sine; nan outside of [-1, 1]."""
def arcsinh(x: Any, **kwargs: Any) -> Any:
    """The number of a hyperbolic sine.   vjp: ct / sqrt(1 + x * x), without overflow"""
def arctan(x: Any, **kwargs: Any) -> Any:
    """Angle in [-pi/2, pi/2] of a tangent.   vjp: ct / (1 + x * x)"""
def arctan2(lhs: Any, rhs: Any, **kwargs: Any) -> Any:
    """Angle in [-pi, pi] of the point with ordinate lhs and abscissa rhs."""
def arctanh(x: Any, **kwargs: Any) -> Any:
    """The number of a hyperbolic tangent; nan outside of [-1, 1]."""
def argmax(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False, **kwargs: Any) -> Any:
    """Index of the largest element, the first of equal ones; of the first nan if there is one."""
def argmin(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False, **kwargs: Any) -> Any:
    """Index of the smallest element, the first of equal ones; of the first nan if there is one."""
def argpartition(a: Any, kth: Any, axis: Any = -1, **kwargs: Any) -> Any:
    """The indices of `partition`."""
def argsort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None, descending: Any = None, **kwargs: Any) -> Any:
    """The indices (i64) that sort x along `axis` (-1), ascending or {descending}; inactive."""
def argwhere(*args: Any, **kwargs: Any) -> Any:
    """Not while tracing: the shape of the result must not depend on values; choose with where, or brin"""
def around(a: Any, decimals: Any = 0, out: Any = None, **kwargs: Any) -> Any:
    """x to a number of decimals, the even one of two equally near; tens for -1.   vjp: zero"""
def array(value: Any, dtype: Any = None, **kwargs: Any) -> Any:
    """A copy of what asarray gives."""
array2string: Any
def array_equal(a1: Any, a2: Any, equal_nan: Any = False, **kwargs: Any) -> Any:
    """Of one shape and equal everywhere."""
def array_equiv(a1: Any, a2: Any, **kwargs: Any) -> Any:
    """Equal everywhere after broadcasting; false where the shapes do not broadcast."""
array_repr: Any
def array_split(ary: Any, indices_or_sections: Any, axis: Any = 0, **kwargs: Any) -> Any:
    """As `split`; the first parts have one element more where the number does not divide."""
array_str: Any
def asanyarray(a: Any, dtype: Any = None, order: Any = None, *, copy: Any = None, device: Any = None, **kwargs: Any) -> Any:
    """An array, a number or nested lists of these as an array of the dtype."""
def asarray(a: Any, dtype: Any = None, order: Any = None, *, copy: Any = None, device: Any = None, **kwargs: Any) -> Any:
    """An array, a number or nested lists of these as an array of the dtype."""
def ascontiguousarray(a: Any, dtype: Any = None, order: Any = None, *, copy: Any = None, device: Any = None, **kwargs: Any) -> Any:
    """An array, a number or nested lists of these as an array of the dtype."""
def asfortranarray(a: Any, dtype: Any = None, order: Any = None, *, copy: Any = None, device: Any = None, **kwargs: Any) -> Any:
    """An array, a number or nested lists of these as an array of the dtype."""
def asin(x: Any, **kwargs: Any) -> Any:
    """Angle in [-pi/2, pi/2] of a sine; nan outside of [-1, 1]."""
def asinh(x: Any, **kwargs: Any) -> Any:
    """The number of a hyperbolic sine.   vjp: ct / sqrt(1 + x * x), without overflow"""
def astype(x: Any, dtype: Any, *, copy: Any = True, device: Any = None, **kwargs: Any) -> Any:
    """x with elements of another dtype; floats are cut to integers, bool is 0 or 1.   vjp: ct"""
def atan(x: Any, **kwargs: Any) -> Any:
    """Angle in [-pi/2, pi/2] of a tangent.   vjp: ct / (1 + x * x)"""
def atan2(lhs: Any, rhs: Any, **kwargs: Any) -> Any:
    """Angle in [-pi, pi] of the point with ordinate lhs and abscissa rhs."""
def atanh(x: Any, **kwargs: Any) -> Any:
    """The number of a hyperbolic tangent; nan outside of [-1, 1]."""
def atleast_1d(*arys: Any, **kwargs: Any) -> Any:
    """The arrays with axes of extent 1 up to rank 1; a tuple of several."""
def atleast_2d(*arys: Any, **kwargs: Any) -> Any:
    """The arrays with axes of extent 1 up to rank 2; a tuple of several."""
def atleast_3d(*arys: Any, **kwargs: Any) -> Any:
    """The arrays with axes of extent 1 up to rank 3; a tuple of several."""
def average(a: Any, axis: Any = None, weights: Any = None, returned: Any = False, *, keepdims: Any = False, **kwargs: Any) -> Any:
    """The mean with weights, of the shape of a or a vector along `axis`; and their sum."""
def bartlett(M: Any, *more: Any, **kwargs: Any) -> Any:
    """NumPy's bartlett window of M points, float64."""
def base_repr(number: Any, base: Any = 2, padding: Any = 0, **kwargs: Any) -> Any:
    """Return a string representation of a number in the given base system."""
bfloat16: Any
def binary_repr(num: Any, width: Any = None, **kwargs: Any) -> Any:
    """Return the binary representation of the input number as a string."""
def bincount(x: Any, weights: Any = None, minlength: Any = 0, *, length: Any = None, **kwargs: Any) -> Any:
    """How often each integer occurs, or the sums of its weights."""
def bitcast(x: Any, dtype: Any, **kwargs: Any) -> Any:
    """The bits of x as elements of another dtype of 32 or 64 bits, as wide. Inactive."""
def bitwise_and(lhs: Any, rhs: Any, **kwargs: Any) -> Any:
    """The bits set in both."""
def bitwise_count(x: Any, **kwargs: Any) -> Any:
    """The number of ones in the binary digits of |x|, as uint8; 1 for True. Inactive."""
def bitwise_invert(x: Any, **kwargs: Any) -> Any:
    """The bits of integers inverted; not x of bools."""
def bitwise_left_shift(lhs: Any, rhs: Any, **kwargs: Any) -> Any:
    """The bits of lhs moved rhs places up; 0 where rhs is negative, or the width or more."""
def bitwise_not(x: Any, **kwargs: Any) -> Any:
    """The bits of integers inverted; not x of bools."""
def bitwise_or(lhs: Any, rhs: Any, **kwargs: Any) -> Any:
    """The bits set in one or both."""
def bitwise_right_shift(lhs: Any, rhs: Any, **kwargs: Any) -> Any:
    """The bits of lhs moved rhs places down, the sign kept: lhs divided by 2 ** rhs, rounded down."""
def bitwise_xor(lhs: Any, rhs: Any, **kwargs: Any) -> Any:
    """The bits set in one, not in both."""
def blackman(M: Any, *more: Any, **kwargs: Any) -> Any:
    """NumPy's blackman window of M points, float64."""
def block(arrays: Any, **kwargs: Any) -> Any:
    """An array of nested lists of blocks: the innermost lists along the last axis."""
bool: Any
bool_: Any
def boolean_mask(xs: Any, **kwargs: Any) -> Any:
    """The elements of x where a mask is true."""
def broadcast_arrays(*arrays: Any, **kwargs: Any) -> Any:
    """The arrays, each repeated to their common broadcast shape, read-only."""
def broadcast_shapes(*args: Any, **kwargs: Any) -> Any:
    """The shape that shapes broadcast to."""
def broadcast_to(x: Any, shape: Any, **kwargs: Any) -> Any:
    """x repeated to a shape, read-only.   vjp: sum over the repeated axes"""
byte: Any
c_: Any
def can_cast(from_: Any, to: Any, casting: Any = 'safe', **kwargs: Any) -> Any:
    """NumPy's own answer for the dtypes."""
def cbrt(x: Any, **kwargs: Any) -> Any:
    """The real cube root.   vjp: ct / (3 * y * y), so inf at 0"""
cdouble: Any
def ceil(x: Any, **kwargs: Any) -> Any:
    """Smallest integer not below x.   vjp: zero"""
def cholesky(a: Any, **kwargs: Any) -> Any:
    """The lower triangular y with y y^H = s, where s is the Hermitian part (a + a^H) / 2 of a."""
def choose(a: Any, choices: Any, out: Any = None, mode: Any = 'raise', **kwargs: Any) -> Any:
    """The elements of the choices that a numbers; all broadcast."""
def clip(a: Any, a_min: Any = None, a_max: Any = None, out: Any = None, *, min: Any = None, max: Any = None, **kwargs: Any) -> Any:
    """minimum(maximum(a, a_min), a_max); a bound may be None, a number or an array."""
def column_stack(tup: Any, **kwargs: Any) -> Any:
    """Vectors as columns, and matrices, beside each other."""
common_type: Any
def complex(real: Any, imag: Any, **kwargs: Any) -> Any:
    """real + i * imag, of two tensors of f32 or f64.   vjp: real(ct), -imag(ct)"""
complex128: Any
complex64: Any
complexfloating: Any
def compress(condition: Any, a: Any, axis: Any = None, out: Any = None, **kwargs: Any) -> Any:
    """The elements along `axis` where a condition, known while tracing, holds."""
def concat(arrays: Any, axis: Any = 0, out: Any = None, *, dtype: Any = None, **kwargs: Any) -> Any:
    """The arrays one after the other along `axis`, flattened where None.   vjp: slices of ct"""
def concatenate(arrays: Any, axis: Any = 0, out: Any = None, *, dtype: Any = None, **kwargs: Any) -> Any:
    """The arrays one after the other along `axis`, flattened where None.   vjp: slices of ct"""
def conj(x: Any, **kwargs: Any) -> Any:
    """The complex conjugate; real numbers as they are.   vjp: conj(ct)"""
def conjugate(x: Any, **kwargs: Any) -> Any:
    """The complex conjugate; real numbers as they are.   vjp: conj(ct)"""
def constant(value: Any = None, **kwargs: Any) -> Any:
    """The tensor written in `value`, e.g. `dense<[1.0, 2.0]> : tensor<2xf32>`."""
def convolve(a: Any, v: Any, mode: Any = 'full', **kwargs: Any) -> Any:
    """y[k] = sum of a[i] * v[k - i]; "full", or "same" as the longer one, or "valid" overlaps."""
def copy(x: Any, **kwargs: Any) -> Any:
    """x as an array of its own: assigning to one does not change the other."""
def copysign(lhs: Any, rhs: Any, **kwargs: Any) -> Any:
    """|lhs| with the sign of rhs, also of -0.   vjp: ct * sign(lhs) * copysign(1, rhs), zero"""
copyto: Any
def corrcoef(x: Any, y: Any = None, rowvar: Any = True, *, dtype: Any = None, **kwargs: Any) -> Any:
    """The correlation matrix of variables, as `cov`."""
def correlate(a: Any, v: Any, mode: Any = 'valid', **kwargs: Any) -> Any:
    """y[k] = sum of a[k + i] * v[i], v conjugated; modes as of `convolve`."""
def cos(x: Any, **kwargs: Any) -> Any:
    """Cosine of radians.   vjp: -ct * sin(x)"""
def cosh(x: Any, **kwargs: Any) -> Any:
    """Hyperbolic cosine.   vjp: ct * sinh(x)"""
def count_nonzero(a: Any, axis: Any = None, *, keepdims: Any = False, **kwargs: Any) -> Any:
    """The number of elements along `axis` that are not 0; int64."""
def cov(m: Any, y: Any = None, rowvar: Any = True, bias: Any = False, ddof: Any = None, fweights: Any = None, aweights: Any = None, *, dtype: Any = None, **kwargs: Any) -> Any:
    """The covariance matrix of variables, the rows of m (and of y), or columns without rowvar."""
def cross(a: Any, b: Any, axisa: Any = -1, axisb: Any = -1, axisc: Any = -1, axis: Any = None, **kwargs: Any) -> Any:
    """The vector product along an axis of extent 3; of extent 2 a third element is 0."""
csingle: Any
def cumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, **kwargs: Any) -> Any:
    """`cumulative_prod` along `axis`, of the flattened array where None."""
def cumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, **kwargs: Any) -> Any:
    """`cumulative_sum` along `axis`, of the flattened array where None."""
def cumulative_prod(x: Any, axis: Any = None, dtype: Any = None, exclusive: Any = None, reverse: Any = None, include_initial: Any = False, **kwargs: Any) -> Any:
    """y[i] = x[0] * ... * x[i] along `axis`; exclusive without x[i], reverse from the end."""
def cumulative_sum(x: Any, axis: Any = None, dtype: Any = None, exclusive: Any = None, reverse: Any = None, include_initial: Any = False, **kwargs: Any) -> Any:
    """y[i] = x[0] + ... + x[i] along `axis`; exclusive without x[i], reverse from the end."""
def deg2rad(x: Any, **kwargs: Any) -> Any:
    """x * 0.0174532925199433."""
def degrees(x: Any, **kwargs: Any) -> Any:
    """x * 57.2957795130823."""
def delete(arr: Any, obj: Any, axis: Any = None, **kwargs: Any) -> Any:
    """arr without the places `obj`, known while tracing, along `axis`."""
def det(a: Any, **kwargs: Any) -> Any:
    """The determinant of a, 1 of an empty matrix."""
def diag(v: Any, k: Any = 0, **kwargs: Any) -> Any:
    """A matrix with a vector on its diagonal number k; of a matrix that diagonal."""
def diag_indices(*args: Any, **kwargs: Any) -> Any:
    """NumPy's own diag_indices, of arguments that are known while tracing."""
def diag_indices_from(*args: Any, **kwargs: Any) -> Any:
    """NumPy's own diag_indices_from, of arguments that are known while tracing."""
def diagflat(v: Any, k: Any = 0, **kwargs: Any) -> Any:
    """A matrix with the elements of v on its diagonal number k."""
def diagonal(a: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1, **kwargs: Any) -> Any:
    """The diagonal number `offset` of the planes of two axes, as the last axis."""
def diff(a: Any, n: Any = 1, axis: Any = -1, prepend: Any = None, append: Any = None, **kwargs: Any) -> Any:
    """x[1:] - x[:-1] along an axis, n times; of bools `not_equal`."""
def digitize(x: Any, bins: Any, right: Any = False, **kwargs: Any) -> Any:
    """The number of the bin of each element: bins[i - 1] <= x < bins[i]; < and <= with `right`."""
def divide(lhs: Any, rhs: Any, **kwargs: Any) -> Any:
    """lhs / rhs, floating.   vjp: ct / rhs, -ct * y / rhs"""
def divmod(x1: Any, x2: Any, **kwargs: Any) -> Any:
    """floor_divide and remainder."""
def dot(a: Any, b: Any, out: Any = None, *, precision: Any = None, **kwargs: Any) -> Any:
    """Products summed over the last axis of a and the last but one of b."""
def dot_general(lhs: Any, rhs: Any, lhs_batch: Any = None, rhs_batch: Any = None, lhs_contract: Any = None, rhs_contract: Any = None, precision: Any = None, **kwargs: Any) -> Any:
    """The sum of products over pairs of axes, for each pair of batch axes."""
double: Any
def dsplit(ary: Any, indices_or_sections: Any, **kwargs: Any) -> Any:
    """`split` along the axis of dstack."""
def dstack(tup: Any, **kwargs: Any) -> Any:
    """Arrays one after the other along their third axis."""
dtype: Any
dtypes: Any
def dynamic_slice(x: Any, starts: Any, sizes: Any = None, **kwargs: Any) -> Any:
    """The part of x with extents `sizes` that begins at `starts`, one per axis, clamped."""
def dynamic_update_slice(x: Any, update: Any, starts: Any, **kwargs: Any) -> Any:
    """x with the part that begins at `starts`, one per axis, clamped, replaced by `update`."""
e: float
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None, **kwargs: Any) -> Any:
    """The differences of the elements in row-major order, with what stands around them."""
def eig(a: Any, **kwargs: Any) -> Any:
    """Eigenvalues w, in LAPACK's order, and eigenvectors, the columns of v: a v = v diag(w)."""
def eigh(a: Any, **kwargs: Any) -> Any:
    """Eigenvalues w, ascending, and orthonormal eigenvectors, the columns of v: s v = v diag(w)."""
def einsum(*operands: Any, out: Any = None, optimize: Any = False, precision: Any = None, **kwargs: Any) -> Any:
    """The sum of products by an equation such as "ij,jk->ik", or by lists of axes."""
def einsum_path(*operands: Any, optimize: Any = 'greedy', einsum_call: Any = False, **kwargs: Any) -> Any:
    """NumPy's own answer for arrays of these shapes; nothing is computed."""
def empty(shape: Any, dtype: Any = None, *, device: Any = None, **kwargs: Any) -> Any:
    """An array to assign to, of zeros; float64 without a dtype."""
def empty_like(a: Any, dtype: Any = None, *, shape: Any = None, device: Any = None, **kwargs: Any) -> Any:
    """Zeros with the shape of a, and its dtype unless another is given."""
def equal(lhs: Any, rhs: Any, **kwargs: Any) -> Any:
    """lhs == rhs; false of nan."""
def erf(x: Any, **kwargs: Any) -> Any:
    """Error function 2/sqrt(pi) * integral of exp(-t*t) from 0 to x."""
def erfc(x: Any, **kwargs: Any) -> Any:
    """1 - erf(x), exact where erf is close to 1.   vjp: ct * -2/sqrt(pi) * exp(-x * x)"""
errstate: Any
euler_gamma: float
exceptions: Any
def exp(x: Any, **kwargs: Any) -> Any:
    """e ** x.   vjp: ct * y"""
def exp2(x: Any, **kwargs: Any) -> Any:
    """2 ** x.   vjp: ct * ln 2 * y"""
def expand_dims(x: Any, axis: Any = 0, **kwargs: Any) -> Any:
    """New axes of extent 1 at the places `axis` of the result.   vjp: reshape"""
def expm1(x: Any, **kwargs: Any) -> Any:
    """e ** x - 1, exact near 0.   vjp: ct * exp(x)"""
def extract(condition: Any, arr: Any, **kwargs: Any) -> Any:
    """The elements, in row-major order, where a condition, known while tracing, holds."""
def eye(N: Any, M: Any = None, k: Any = 0, dtype: Any = None, *, device: Any = None, **kwargs: Any) -> Any:
    """A matrix with ones on the k-th diagonal above the main one; float64 without a dtype."""
def fabs(x: Any, **kwargs: Any) -> Any:
    """|x| as a float."""
def fill_diagonal(a: Any, val: Any, wrap: Any = False, *, inplace: Any = True, **kwargs: Any) -> Any:
    """The elements of the diagonal become val, which is repeated."""
def finfo(dtype: Any, **kwargs: Any) -> Any:
    """The limits of a floating dtype, or of an array's."""
def fix(x: Any, **kwargs: Any) -> Any:
    """The integer next to x on the side of 0.   vjp: zero"""
def flatnonzero(*args: Any, **kwargs: Any) -> Any:
    """Not while tracing: the shape of the result must not depend on values; choose with where, or brin"""
def flip(m: Any, axis: Any = None, **kwargs: Any) -> Any:
    """x reversed along `axis` (all axes where None).   vjp: flip"""
def fliplr(m: Any, **kwargs: Any) -> Any:
    """The second axis reversed."""
def flipud(m: Any, **kwargs: Any) -> Any:
    """The first axis reversed."""
float16: Any
float32: Any
float64: Any
def float_power(x1: Any, x2: Any, **kwargs: Any) -> Any:
    """x1 ** x2 in float64, or in complex128."""
floating: Any
def floor(x: Any, **kwargs: Any) -> Any:
    """Largest integer not above x.   vjp: zero"""
def floor_divide(lhs: Any, rhs: Any, **kwargs: Any) -> Any:
    """Largest integer not above lhs / rhs; by 0 lhs / rhs, 0 of integers.   vjp: zero"""
def fmax(x1: Any, x2: Any, **kwargs: Any) -> Any:
    """`maximum` of the numbers that are not nan."""
def fmin(x1: Any, x2: Any, **kwargs: Any) -> Any:
    """`minimum` of the numbers that are not nan."""
def fmod(x1: Any, x2: Any, **kwargs: Any) -> Any:
    """The remainder with the sign of x1.   vjp: ct, -ct * trunc(x1 / x2)"""
def format_float_positional(x: Any, precision: Any = None, unique: Any = True, fractional: Any = True, trim: Any = 'k', sign: Any = False, pad_left: Any = None, pad_right: Any = None, min_digits: Any = None, **kwargs: Any) -> Any:
    """Format a floating-point scalar as a decimal string in positional notation."""
def format_float_scientific(x: Any, precision: Any = None, unique: Any = True, trim: Any = 'k', sign: Any = False, pad_left: Any = None, exp_digits: Any = None, min_digits: Any = None, **kwargs: Any) -> Any:
    """Format a floating-point scalar as a decimal string in scientific notation."""
def from_dlpack(x: Any, *, copy: Any = None, device: Any = None, **kwargs: Any) -> Any:
    """An array of another library as one of NumPy or a traced one; see asarray."""
frombuffer: Any
fromfile: Any
def fromfunction(function: Any, shape: Any, *, dtype: Any = ..., **kwargs: Any) -> Any:
    """The function of the places along each axis of a shape."""
fromiter: Any
def fromregex(file: Any, regexp: Any, dtype: Any, encoding: Any = None, **kwargs: Any) -> Any:
    """Construct an array from a text file, using regular expression parsing."""
fromstring: Any
def full(shape: Any, fill_value: Any, dtype: Any = None, *, device: Any = None, **kwargs: Any) -> Any:
    """Every element is `fill_value`, a number, or an array that broadcasts to the shape."""
def full_like(a: Any, fill_value: Any, dtype: Any = None, *, shape: Any = None, device: Any = None, **kwargs: Any) -> Any:
    """Every element is `fill_value`; the shape and the dtype are a's unless given."""
def gather_nd(x: Any, indices: Any, batch_dims: Any = None, **kwargs: Any) -> Any:
    """y[b.., o.., r..] = x[b.., indices[b.., o.., 0], indices[b.., o.., 1], .., r..]."""
def gcd(x1: Any, x2: Any, **kwargs: Any) -> Any:
    """The greatest common divisor of integers, by Euclid's algorithm."""
def genfromtxt(fname: Any, dtype: Any = ..., comments: Any = '#', delimiter: Any = None, skip_header: Any = 0, skip_footer: Any = 0, converters: Any = None, missing_values: Any = None, filling_values: Any = None, usecols: Any = None, names: Any = None, excludelist: Any = None, deletechars: Any = " !#$%&'()*+,-./:;<=>?@[\\]^{|}~", replace_space: Any = '_', autostrip: Any = False, case_sensitive: Any = True, defaultfmt: Any = 'f%i', unpack: Any = None, usemask: Any = False, loose: Any = True, invalid_raise: Any = True, max_rows: Any = None, encoding: Any = None, *, ndmin: Any = 0, like: Any = None, **kwargs: Any) -> Any:
    """Load data from a text file, with missing values handled as specified."""
def geomspace(start: Any, stop: Any, num: Any = 50, endpoint: Any = True, dtype: Any = None, axis: Any = 0, **kwargs: Any) -> Any:
    """`num` numbers with equal ratios from start to stop, which have one sign."""
def get_include(**kwargs: Any) -> Any:
    """Return the directory that contains the NumPy /*.h header files."""
def get_printoptions(**kwargs: Any) -> Any:
    """Return the current print options."""
def getbufsize(**kwargs: Any) -> Any:
    """Return the size of the buffer used in ufuncs."""
def geterr(**kwargs: Any) -> Any:
    """Get the current way of handling floating-point errors."""
def geterrcall(**kwargs: Any) -> Any:
    """Return the current callback function used on floating-point errors."""
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: Any = 1, **kwargs: Any) -> Any:
    """Central differences inside, one-sided ones of `edge_order` 1 or 2 at the ends."""
def greater(lhs: Any, rhs: Any, **kwargs: Any) -> Any:
    """lhs > rhs; false of nan."""
def greater_equal(lhs: Any, rhs: Any, **kwargs: Any) -> Any:
    """lhs >= rhs; false of nan."""
half: Any
def hamming(M: Any, *more: Any, **kwargs: Any) -> Any:
    """NumPy's hamming window of M points, float64."""
def hanning(M: Any, *more: Any, **kwargs: Any) -> Any:
    """NumPy's hanning window of M points, float64."""
def heaviside(x1: Any, x2: Any, **kwargs: Any) -> Any:
    """0 below 0, 1 above it, x2 at 0.   vjp: ct for x2 where x1 is 0"""
def histogram(a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None, **kwargs: Any) -> Any:
    """The counts in bins, or the sums of weights, and the edges of the bins."""
def histogram2d(x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None, **kwargs: Any) -> Any:
    """The counts of points (x, y) in a grid of bins, and the edges along both axes."""
def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None, **kwargs: Any) -> Any:
    """The edges of bins: the given ones, or the edges of a number of equal bins."""
def histogramdd(sample: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None, **kwargs: Any) -> Any:
    """The counts of points, the rows of a sample, in a grid of bins, and its edges."""
def hsplit(ary: Any, indices_or_sections: Any, **kwargs: Any) -> Any:
    """`split` along the axis of hstack."""
def hstack(tup: Any, *, dtype: Any = None, **kwargs: Any) -> Any:
    """Arrays one after the other along their second axis; vectors along the first."""
def hypot(lhs: Any, rhs: Any, **kwargs: Any) -> Any:
    """sqrt(lhs**2 + rhs**2) without overflow; inf where one is infinite."""
def i0(x: Any, **kwargs: Any) -> Any:
    """The modified Bessel function of the first kind and order 0."""
def identity(n: Any, dtype: Any = None, **kwargs: Any) -> Any:
    """The unit matrix."""
def iinfo(int_type: Any, **kwargs: Any) -> Any:
    """The limits of an integer dtype, or of an array's."""
def imag(val: Any, **kwargs: Any) -> Any:
    """The imaginary parts; zeros of real numbers.   vjp: -i * ct"""
index_exp: Any
def index_update(x: Any, indices: Any, updates: Any, axis: Any = None, **kwargs: Any) -> Any:
    """x with the elements along `axis` (0 where absent) at `indices` replaced by `updates`."""
def indices(*args: Any, **kwargs: Any) -> Any:
    """NumPy's own indices, of arguments that are known while tracing."""
inf: float
def info(object: Any = None, maxwidth: Any = 76, output: Any = None, toplevel: Any = 'numpy', **kwargs: Any) -> Any:
    """Get help information for an array, function, class, or module."""
def inner(a: Any, b: Any, *, precision: Any = None, **kwargs: Any) -> Any:
    """Products summed over the last axes."""
def insert(arr: Any, obj: Any, values: Any, axis: Any = None, **kwargs: Any) -> Any:
    """arr with values before the places `obj`, known while tracing, along `axis`."""
int16: Any
int32: Any
int64: Any
int8: Any
int_: Any
intc: Any
integer: Any
def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None, **kwargs: Any) -> Any:
    """The line through the points (xp, fp), xp ascending, at x; `left` and `right` beyond them."""
def intersect1d(*args: Any, **kwargs: Any) -> Any:
    """Not while tracing: the shape of the result must not depend on values; choose with where, or brin"""
intp: Any
def inv(a: Any, **kwargs: Any) -> Any:
    """The inverse of a; of a singular matrix it holds inf or nan.   vjp: -y^T ct y^T"""
def invert(x: Any, **kwargs: Any) -> Any:
    """The bits of integers inverted; not x of bools."""
def iota(shape: Any, axis: Any = 0, dtype: Any = None, **kwargs: Any) -> Any:
    """0, 1, ... along an axis, repeated along all others. int64 without a dtype."""
def isclose(a: Any, b: Any, rtol: Any = ..., atol: Any = ..., equal_nan: Any = False, **kwargs: Any) -> Any:
    """|a - b| <= atol + rtol * |b|; infinities are close to themselves."""
def iscomplex(x: Any, **kwargs: Any) -> Any:
    """The imaginary part is not 0."""
def iscomplexobj(x: Any, **kwargs: Any) -> Any:
    """Whether the elements are complex numbers."""
def isdtype(dtype: Any, kind: Any, **kwargs: Any) -> Any:
    """NumPy's own answer for dtypes."""
def isfinite(x: Any, **kwargs: Any) -> Any:
    """Is neither infinite nor nan."""
def isin(element: Any, test_elements: Any, assume_unique: Any = False, invert: Any = False, *, kind: Any = None, **kwargs: Any) -> Any:
    """Whether each element is one of some elements."""
def isinf(x: Any, **kwargs: Any) -> Any:
    """Is inf or -inf."""
def isnan(x: Any, **kwargs: Any) -> Any:
    """Is not a number."""
def isneginf(x: Any, out: Any = None, **kwargs: Any) -> Any:
    """x is -inf."""
def isposinf(x: Any, out: Any = None, **kwargs: Any) -> Any:
    """x is inf."""
def isreal(x: Any, **kwargs: Any) -> Any:
    """The imaginary part is 0."""
def isrealobj(x: Any, **kwargs: Any) -> Any:
    """Whether the elements are real numbers."""
def isscalar(element: Any, **kwargs: Any) -> Any:
    """Whether it is a number of Python or NumPy; traced arrays are none."""
def issubdtype(arg1: Any, arg2: Any, **kwargs: Any) -> Any:
    """NumPy's own answer for dtypes."""
def iterable(y: Any, **kwargs: Any) -> Any:
    """Whether it has a first axis to run over."""
def ix_(*args: Any, **kwargs: Any) -> Any:
    """Vectors as indices of a grid: each along its own axis."""
def kaiser(M: Any, *more: Any, **kwargs: Any) -> Any:
    """NumPy's kaiser window of M points, float64."""
def kron(a: Any, b: Any, **kwargs: Any) -> Any:
    """Each element of a times all of b, as blocks."""
def lcm(x1: Any, x2: Any, **kwargs: Any) -> Any:
    """The least common multiple of integers; 0 beside 0."""
def ldexp(x1: Any, x2: Any, **kwargs: Any) -> Any:
    """x1 * 2 ** x2 for integers x2.   vjp: ct * 2 ** x2"""
def left_shift(lhs: Any, rhs: Any, **kwargs: Any) -> Any:
    """The bits of lhs moved rhs places up; 0 where rhs is negative, or the width or more."""
def less(lhs: Any, rhs: Any, **kwargs: Any) -> Any:
    """lhs < rhs; false of nan."""
def less_equal(lhs: Any, rhs: Any, **kwargs: Any) -> Any:
    """lhs <= rhs; false of nan."""
def lexsort(keys: Any, axis: Any = -1, **kwargs: Any) -> Any:
    """The indices that sort by several keys, the last one first."""
def lgamma(x: Any, **kwargs: Any) -> Any:
    """log |gamma(x)|; inf at 0, -1, -2, ...   vjp: ct * grad.polygamma(x)"""
def linspace(start: Any, stop: Any, num: Any = 50, endpoint: Any = True, retstep: Any = False, dtype: Any = None, axis: Any = 0, *, device: Any = None, **kwargs: Any) -> Any:
    """`num` numbers at equal distances from start to stop, along a new axis; and the distance."""
little_endian: Any
def load(file: Any, mmap_mode: Any = None, allow_pickle: Any = False, fix_imports: Any = True, encoding: Any = 'ASCII', *, max_header_size: Any = 10000, **kwargs: Any) -> Any:
    """Load arrays or pickled objects from ``.npy``, ``.npz`` or pickled files."""
def loadtxt(fname: Any, dtype: Any = ..., comments: Any = '#', delimiter: Any = None, converters: Any = None, skiprows: Any = 0, usecols: Any = None, unpack: Any = False, ndmin: Any = 0, encoding: Any = None, max_rows: Any = None, *, quotechar: Any = None, like: Any = None, **kwargs: Any) -> Any:
    """Load data from a text file."""
def log(x: Any, **kwargs: Any) -> Any:
    """Natural logarithm; -inf at 0, nan below.   vjp: ct / x, nan below 0"""
def log10(x: Any, **kwargs: Any) -> Any:
    """Logarithm to base 10; -inf at 0, nan below.   vjp: ct / (x * ln 10), nan below 0"""
def log1p(x: Any, **kwargs: Any) -> Any:
    """log(1 + x), exact near 0.   vjp: ct / (1 + x), nan below -1"""
def log2(x: Any, **kwargs: Any) -> Any:
    """Logarithm to base 2; -inf at 0, nan below.   vjp: ct / (x * ln 2), nan below 0"""
def logaddexp(lhs: Any, rhs: Any, **kwargs: Any) -> Any:
    """log(exp(lhs) + exp(rhs)) without overflow."""
def logaddexp2(x1: Any, x2: Any, **kwargs: Any) -> Any:
    """log2(2 ** x1 + 2 ** x2) without overflow."""
def logical_and(lhs: Any, rhs: Any, **kwargs: Any) -> Any:
    """Both are true (i1)."""
def logical_not(x: Any, **kwargs: Any) -> Any:
    """Is false (i1)."""
def logical_or(lhs: Any, rhs: Any, **kwargs: Any) -> Any:
    """One is true, or both (i1)."""
def logical_xor(lhs: Any, rhs: Any, **kwargs: Any) -> Any:
    """One is true, not both (i1)."""
def logspace(start: Any, stop: Any, num: Any = 50, endpoint: Any = True, base: Any = ..., dtype: Any = None, axis: Any = 0, **kwargs: Any) -> Any:
    """base to the powers of `linspace`."""
def logsumexp(x: Any, axis: Any = None, keepdims: Any = False, **kwargs: Any) -> Any:
    """log(sum(exp(x))) without overflow; -inf of all -inf, and of no elements."""
long: Any
longlong: Any
def mask_indices(*args: Any, **kwargs: Any) -> Any:
    """NumPy's own mask_indices, of arguments that are known while tracing."""
def matmul(lhs: Any, rhs: Any, precision: Any = None, **kwargs: Any) -> Any:
    """Matrix product over the last axis of lhs and the last but one of rhs."""
def matrix_transpose(x: Any, **kwargs: Any) -> Any:
    """The last two axes exchanged.   vjp: exchanged back"""
def matvec(x1: Any, x2: Any, **kwargs: Any) -> Any:
    """Matrices times vectors; leading axes broadcast."""
def max(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None, where: Any = None, **kwargs: Any) -> Any:
    """Largest element, 0 above -0; nan where one is nan."""
def maximum(lhs: Any, rhs: Any, **kwargs: Any) -> Any:
    """The larger operand, of 0 and -0 the 0; nan where one is nan."""
def mean(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = None, **kwargs: Any) -> Any:
    """The arithmetic mean over `axis`, all where None; nan of no elements.   vjp: ct / n"""
def median(a: Any, axis: Any = None, out: Any = None, overwrite_input: Any = False, keepdims: Any = False, **kwargs: Any) -> Any:
    """The middle element in order, the mean of two; nan where one is nan."""
memmap: Any
def meshgrid(*xi: Any, copy: Any = True, sparse: Any = False, indexing: Any = 'xy', **kwargs: Any) -> Any:
    """Vectors as the coordinates of a grid, an array for each; "ij" has the axes in order."""
mgrid: Any
def min(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None, where: Any = None, **kwargs: Any) -> Any:
    """Smallest element, -0 below 0; nan where one is nan."""
min_scalar_type: Any
def minimum(lhs: Any, rhs: Any, **kwargs: Any) -> Any:
    """The smaller operand, of 0 and -0 the -0; nan where one is nan."""
def mintypecode(typechars: Any, typeset: Any = 'GDFgdf', default: Any = 'd', **kwargs: Any) -> Any:
    """Return the character for the minimum-size type to which given types can"""
def mod(lhs: Any, rhs: Any, **kwargs: Any) -> Any:
    """lhs - rhs * floor_divide(lhs, rhs), with the sign of rhs; nan by 0, 0 of integers."""
def modf(x: Any, **kwargs: Any) -> Any:
    """The fraction and the whole part, both with the sign of x.   vjp: ct of the fraction"""
def moveaxis(x: Any, source: Any, destination: Any, **kwargs: Any) -> Any:
    """The axes `source` at the places `destination`, the others in their order."""
def multiply(lhs: Any, rhs: Any, **kwargs: Any) -> Any:
    """lhs * rhs; integers wrap.   vjp: ct * rhs, ct * lhs"""
nan: float
def nan_to_num(x: Any, copy: Any = True, nan: Any = ..., posinf: Any = None, neginf: Any = None, **kwargs: Any) -> Any:
    """x with other numbers for nan and for the infinities: 0, and the largest there are."""
def nanargmax(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False, **kwargs: Any) -> Any:
    """`argmax` beside nan; -1 where all are nan."""
def nanargmin(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False, **kwargs: Any) -> Any:
    """`argmin` beside nan; -1 where all are nan."""
def nancumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, **kwargs: Any) -> Any:
    """`cumulative_prod` along `axis`, of the flattened array where None."""
def nancumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, **kwargs: Any) -> Any:
    """`cumulative_sum` along `axis`, of the flattened array where None."""
def nanmax(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None, where: Any = None, **kwargs: Any) -> Any:
    """`max` of the elements that are not nan; nan where all are."""
def nanmean(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = None, **kwargs: Any) -> Any:
    """The mean of the elements that are not nan; nan where there are none."""
def nanmedian(a: Any, axis: Any = None, out: Any = None, overwrite_input: Any = False, keepdims: Any = False, **kwargs: Any) -> Any:
    """The median of the elements that are not nan; nan where all are."""
def nanmin(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None, where: Any = None, **kwargs: Any) -> Any:
    """`min` of the elements that are not nan; nan where all are."""
def nanpercentile(a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: Any = False, method: Any = 'linear', keepdims: Any = False, *, weights: Any = None, **kwargs: Any) -> Any:
    """The numbers below which a share q in [0, 100] of the elements lies of the elements that are not """
def nanprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None, where: Any = None, **kwargs: Any) -> Any:
    """`prod` with 1 in place of nan."""
def nanquantile(a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: Any = False, method: Any = 'linear', keepdims: Any = False, *, weights: Any = None, **kwargs: Any) -> Any:
    """The numbers below which a share q in [0, 1] of the elements lies of the elements that are not na"""
def nanstd(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = False, *, where: Any = None, mean: Any = None, correction: Any = None, **kwargs: Any) -> Any:
    """The square root of `nanvar`.   vjp: as `std` has it, 0 where y is 0"""
def nansum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None, where: Any = None, **kwargs: Any) -> Any:
    """`sum` with 0 in place of nan."""
def nanvar(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = False, *, where: Any = None, mean: Any = None, correction: Any = None, **kwargs: Any) -> Any:
    """The variance of the elements that are not nan; nan where there are at most ddof."""
ndarray: Any
def ndim(a: Any, **kwargs: Any) -> Any:
    """The number of axes."""
ndindex: Any
def negative(x: Any, **kwargs: Any) -> Any:
    """-x.   vjp: -ct"""
newaxis: Any
def nextafter(x1: Any, x2: Any, **kwargs: Any) -> Any:
    """The next float behind x1 towards x2.   vjp: ct of x1; of x2 where both are equal"""
def nonzero(*args: Any, **kwargs: Any) -> Any:
    """Not while tracing: the shape of the result must not depend on values; choose with where, or brin"""
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: Any = False, **kwargs: Any) -> Any:
    """A vector's norm along one axis, a matrix's along two; without axes the norm of all elements."""
def normal(key: Any, counter: Any, shape: Any = ..., dtype: Any = None, **kwargs: Any) -> Any:
    """Normally distributed numbers, a function of key and counter (int64) alone."""
def not_equal(lhs: Any, rhs: Any, **kwargs: Any) -> Any:
    """lhs != rhs; true of nan."""
number: Any
ogrid: Any
def one_hot(indices: Any, depth: Any, axis: Any = -1, dtype: Any = None, **kwargs: Any) -> Any:
    """1 where the new axis, of extent `depth`, has the index, else 0; float64 without a dtype."""
def ones(shape: Any, dtype: Any = None, *, device: Any = None, **kwargs: Any) -> Any:
    """Ones; float64 without a dtype."""
def ones_like(a: Any, dtype: Any = None, *, shape: Any = None, device: Any = None, **kwargs: Any) -> Any:
    """Ones with the shape of a, and its dtype unless another is given."""
def outer(a: Any, b: Any, out: Any = None, **kwargs: Any) -> Any:
    """y[i, j] = a[i] * b[j], both flattened.   vjp: ct b, a ct"""
def pad(array: Any, pad_width: Any, mode: Any = 'constant', **kwargs: Any) -> Any:
    """x with pad_width[d] = (before, after) elements around it along each axis d."""
def partition(a: Any, kth: Any, axis: Any = -1, **kwargs: Any) -> Any:
    """Sorted, which is one of the orders that NumPy allows."""
def percentile(a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: Any = False, method: Any = 'linear', keepdims: Any = False, *, weights: Any = None, **kwargs: Any) -> Any:
    """The numbers below which a share q in [0, 100] of the elements lies."""
def permute_dims(x: Any, axes: Any, **kwargs: Any) -> Any:
    """The axes in another order: axis k of the result is axis axes[k] of x.   vjp: permuted back"""
pi: float
def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    """By the last condition that holds, its function of x, or number; else one more, or 0."""
def pinv(a: Any, rcond: Any = None, **kwargs: Any) -> Any:
    """The pseudoinverse y of a, whose singular values up to rcond times the largest count as 0."""
def place(arr: Any, mask: Any, vals: Any, *, inplace: Any = True, **kwargs: Any) -> Any:
    """The elements where a mask of as many elements holds become vals, one after the other."""
def poly(seq_of_zeros: Any, **kwargs: Any) -> Any:
    """The coefficients of the polynomial with these zeros."""
def polyadd(a1: Any, a2: Any, **kwargs: Any) -> Any:
    """The sum."""
def polyder(p: Any, m: Any = 1, **kwargs: Any) -> Any:
    """The m-th derivative."""
def polydiv(u: Any, v: Any, **kwargs: Any) -> Any:
    """Quotient and remainder of u / v, by the leading coefficient of v, which must not be 0."""
def polyfit(x: Any, y: Any, deg: Any, rcond: Any = None, full: Any = False, w: Any = None, cov: Any = False, **kwargs: Any) -> Any:
    """The coefficients of the polynomial of a degree that is next to y at x, by least squares."""
def polyint(p: Any, m: Any = 1, k: Any = None, **kwargs: Any) -> Any:
    """The m-th antiderivative, with constants k."""
def polymul(a1: Any, a2: Any, **kwargs: Any) -> Any:
    """The product; leading zeros stay."""
def polysub(a1: Any, a2: Any, **kwargs: Any) -> Any:
    """The difference."""
def polyval(p: Any, x: Any, **kwargs: Any) -> Any:
    """The value at x, by Horner's rule."""
def positive(x: Any, **kwargs: Any) -> Any:
    """A copy of x."""
def pow(lhs: Any, rhs: Any, **kwargs: Any) -> Any:
    """lhs ** rhs; nan for lhs < 0 and fractional rhs. The Python number 2 as rhs is a square."""
def power(lhs: Any, rhs: Any, **kwargs: Any) -> Any:
    """lhs ** rhs; nan for lhs < 0 and fractional rhs. The Python number 2 as rhs is a square."""
def printoptions(*args: Any, **kwargs: Any) -> Any:
    """Context manager for setting print options."""
def prod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None, where: Any = None, **kwargs: Any) -> Any:
    """The product over `axis`, all where None; of integers and bools in 64 bits."""
def promote_types(type1: Any, type2: Any, **kwargs: Any) -> Any:
    """The dtype that two promote to."""
def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, **kwargs: Any) -> Any:
    """The largest element minus the smallest."""
def put(a: Any, ind: Any, v: Any, mode: Any = 'raise', *, inplace: Any = True, **kwargs: Any) -> Any:
    """The elements with the numbers `ind`, in row-major order, become v, which is repeated."""
def put_along_axis(arr: Any, indices: Any, values: Any, axis: Any, *, inplace: Any = True, **kwargs: Any) -> Any:
    """The elements at indices of arr's rank along `axis` become the values."""
def putmask(a: Any, mask: Any, values: Any, *, inplace: Any = True, **kwargs: Any) -> Any:
    """The elements where a mask holds, from `values` at the same place; `values` is repeated."""
def qr(a: Any, **kwargs: Any) -> Any:
    """a = q r: q with min(rows, columns) orthonormal columns, r upper triangular."""
def quantile(a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: Any = False, method: Any = 'linear', keepdims: Any = False, *, weights: Any = None, **kwargs: Any) -> Any:
    """The numbers below which a share q in [0, 1] of the elements lies."""
r_: Any
def rad2deg(x: Any, **kwargs: Any) -> Any:
    """x * 57.2957795130823."""
def radians(x: Any, **kwargs: Any) -> Any:
    """x * 0.0174532925199433."""
random: Any
def random_bits(key: Any, counter: Any, shape: Any = ..., dtype: Any = 'int64', **kwargs: Any) -> Any:
    """Random bits as int64 or int32, a function of key and counter (int64) alone."""
def ravel(a: Any, order: Any = 'C', **kwargs: Any) -> Any:
    """All elements as a vector."""
def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = 'raise', order: Any = 'C', **kwargs: Any) -> Any:
    """The numbers in row-major order of elements at places along each axis."""
def real(val: Any, **kwargs: Any) -> Any:
    """The real parts; real numbers as they are.   vjp: ct"""
def real_if_close(a: Any, tol: Any = 100, **kwargs: Any) -> Any:
    """x: whether the imaginary parts are close to 0 is not known while tracing."""
def reciprocal(x: Any, **kwargs: Any) -> Any:
    """1 / x.   vjp: -ct * y * y"""
def remainder(lhs: Any, rhs: Any, **kwargs: Any) -> Any:
    """lhs - rhs * floor_divide(lhs, rhs), with the sign of rhs; nan by 0, 0 of integers."""
def repeat(a: Any, repeats: Any, axis: Any = None, *, total_repeat_length: Any = None, **kwargs: Any) -> Any:
    """Each element `repeats` times in a row along `axis`; of the flattened array where None."""
def reshape(a: Any, shape: Any, order: Any = 'C', *, copy: Any = None, **kwargs: Any) -> Any:
    """The elements under another shape; one extent may be -1.   vjp: reshape back"""
def resize(a: Any, new_shape: Any, **kwargs: Any) -> Any:
    """The elements, repeated as often as needed, in row-major order under another shape."""
def result_type(*arrays_and_dtypes: Any, **kwargs: Any) -> Any:
    """The dtype that operands promote to, as JAX has it: integers beside a float take its type."""
def right_shift(lhs: Any, rhs: Any, **kwargs: Any) -> Any:
    """The bits of lhs moved rhs places down, the sign kept: lhs divided by 2 ** rhs, rounded down."""
def rint(x: Any, **kwargs: Any) -> Any:
    """Nearest integer as a float, the even one of two equally near.   vjp: zero"""
def roll(a: Any, shift: Any, axis: Any = None, **kwargs: Any) -> Any:
    """x moved by `shift` places along `axis`, flattened where None.   vjp: ct rolled back"""
def rollaxis(a: Any, axis: Any, start: Any = 0, **kwargs: Any) -> Any:
    """The axis before the axis `start`."""
def rot90(m: Any, k: Any = 1, axes: Any = ..., **kwargs: Any) -> Any:
    """The plane of two axes turned by k right angles, the first axis towards the second."""
def round(a: Any, decimals: Any = 0, out: Any = None, **kwargs: Any) -> Any:
    """x to a number of decimals, the even one of two equally near; tens for -1.   vjp: zero"""
def row_stack(tup: Any, *, dtype: Any = None, **kwargs: Any) -> Any:
    """Rows, or matrices, below each other."""
def rsqrt(x: Any, **kwargs: Any) -> Any:
    """1 / sqrt(x).   vjp: ct * -y / (2 * x)"""
s_: Any
save: Any
savetxt: Any
savez: Any
savez_compressed: Any
def scatter_add(x: Any, indices: Any, updates: Any, axis: Any = None, **kwargs: Any) -> Any:
    """x with `updates` added along `axis` at `indices`: the transpose of take."""
def scatter_nd_add(x: Any, indices: Any, updates: Any, batch_dims: Any = None, **kwargs: Any) -> Any:
    """x with `updates` added at the places of gather_nd(x, indices): its transpose."""
sctypeDict: Any
def searchsorted(a: Any, v: Any, side: Any = 'left', sorter: Any = None, **kwargs: Any) -> Any:
    """The places (int64) at which v keep the order of the sorted vector a; nan is the largest."""
def segment_max(data: Any, segment_ids: Any, num_segments: Any = None, **kwargs: Any) -> Any:
    """The max of the rows of each segment, which `num_segments` counts."""
def segment_min(data: Any, segment_ids: Any, num_segments: Any = None, **kwargs: Any) -> Any:
    """The min of the rows of each segment, which `num_segments` counts."""
def segment_prod(data: Any, segment_ids: Any, num_segments: Any = None, **kwargs: Any) -> Any:
    """The prod of the rows of each segment, which `num_segments` counts."""
def segment_sum(data: Any, segment_ids: Any, num_segments: Any = None, **kwargs: Any) -> Any:
    """The sum of the rows of each segment; 0 of none.   vjp: ct of each row's segment"""
def select(condlist: Any, choicelist: Any, default: Any = 0, **kwargs: Any) -> Any:
    """The choice of the first condition that holds, else the default."""
def set_printoptions(precision: Any = None, threshold: Any = None, edgeitems: Any = None, linewidth: Any = None, suppress: Any = None, nanstr: Any = None, infstr: Any = None, formatter: Any = None, sign: Any = None, floatmode: Any = None, *, legacy: Any = None, override_repr: Any = None, **kwargs: Any) -> Any:
    """Set printing options."""
def setbufsize(size: Any, **kwargs: Any) -> Any:
    """Set the size of the buffer used in ufuncs."""
def setdiff1d(*args: Any, **kwargs: Any) -> Any:
    """Not while tracing: the shape of the result must not depend on values; choose with where, or brin"""
def seterr(all: Any = None, divide: Any = None, over: Any = None, under: Any = None, invalid: Any = None, **kwargs: Any) -> Any:
    """Set how floating-point errors are handled."""
def seterrcall(func: Any, **kwargs: Any) -> Any:
    """Set the floating-point error callback function or log object."""
def setxor1d(*args: Any, **kwargs: Any) -> Any:
    """Not while tracing: the shape of the result must not depend on values; choose with where, or brin"""
def shape(a: Any, **kwargs: Any) -> Any:
    """The extents of the axes."""
short: Any
def show_config(mode: Any = 'stdout', **kwargs: Any) -> Any:
    """Show libraries and system information on which NumPy was built"""
def show_runtime(**kwargs: Any) -> Any:
    """Print information about various resources in the system"""
def sign(x: Any, **kwargs: Any) -> Any:
    """-1, 0 or 1; of complex numbers x / |x|, 0 at 0. nan of nan.   vjp: zero of real numbers"""
def signbit(x: Any, **kwargs: Any) -> Any:
    """x has a minus sign, also -0 and -nan."""
signedinteger: Any
def sin(x: Any, **kwargs: Any) -> Any:
    """Sine of radians.   vjp: ct * cos(x)"""
def sinc(x: Any, **kwargs: Any) -> Any:
    """sin(pi x) / (pi x), 1 at 0, with all its derivatives."""
single: Any
def sinh(x: Any, **kwargs: Any) -> Any:
    """Hyperbolic sine.   vjp: ct * cosh(x)"""
def size(a: Any, axis: Any = None, **kwargs: Any) -> Any:
    """The number of elements, or the extent of an axis."""
def slice(x: Any, start: Any = None, stop: Any = None, step: Any = None, **kwargs: Any) -> Any:
    """x[start : stop : step], one entry per axis; negative bounds count from the end."""
def slogdet(a: Any, **kwargs: Any) -> Any:
    """The sign of the determinant (0 where it is 0), and the logarithm of its size (then -inf)."""
def solve(a: Any, b: Any, transpose: Any = None, **kwargs: Any) -> Any:
    """x with a x = b; {transpose}: a^T x = b. b holds vectors [.., n] or matrices [.., n, m]."""
def sort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None, descending: Any = None, **kwargs: Any) -> Any:
    """The elements along `axis` (-1) in ascending order, or {descending}; NaN is the largest."""
def split(ary: Any, indices_or_sections: Any, axis: Any = 0, **kwargs: Any) -> Any:
    """Parts along `axis`: a number of equal ones, or those between the given places."""
def sqrt(x: Any, **kwargs: Any) -> Any:
    """Square root; nan below 0.   vjp: ct / (2 * y), so inf at 0"""
def square(x: Any, **kwargs: Any) -> Any:
    """x * x.   vjp: ct * 2 * x"""
def squeeze(a: Any, axis: Any = None, **kwargs: Any) -> Any:
    """x without the axes `axis`, all of extent 1 where None.   vjp: reshape"""
def stack(arrays: Any, axis: Any = 0, out: Any = None, *, dtype: Any = None, **kwargs: Any) -> Any:
    """The arrays along a new axis at the place `axis` of the result."""
def std(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = False, *, where: Any = None, mean: Any = None, correction: Any = None, **kwargs: Any) -> Any:
    """The square root of `var`.   vjp: ct / ((n - ddof) * y) * (x - mean), 0 where y is 0"""
def subtract(lhs: Any, rhs: Any, **kwargs: Any) -> Any:
    """lhs - rhs; integers wrap.   vjp: ct, -ct"""
def sum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None, where: Any = None, **kwargs: Any) -> Any:
    """The sum over `axis`, all where None; of integers and bools in 64 bits.   vjp: ct, repeated"""
def svd(a: Any, **kwargs: Any) -> Any:
    """Singular values s, descending, of a = u diag(s) vh; u and vh have min(rows, columns) vectors."""
def swapaxes(a: Any, axis1: Any, axis2: Any, **kwargs: Any) -> Any:
    """Two axes exchanged."""
def take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: Any = 'raise', **kwargs: Any) -> Any:
    """Elements along `axis`, of the flattened array where None, at integer indices."""
def take_along_axis(arr: Any, indices: Any, axis: Any = -1, **kwargs: Any) -> Any:
    """Elements along `axis` at indices of the array's rank, flattened where the axis is None."""
def tan(x: Any, **kwargs: Any) -> Any:
    """Tangent of radians.   vjp: ct * (1 + y * y)"""
def tanh(x: Any, **kwargs: Any) -> Any:
    """Hyperbolic tangent.   vjp: ct * (1 - y * y)"""
def tensordot(lhs: Any, rhs: Any, axes: Any = 2, precision: Any = None, **kwargs: Any) -> Any:
    """Products summed over axes of both: the last and first `axes`, or one or several for each."""
testing: Any
def tile(A: Any, reps: Any, **kwargs: Any) -> Any:
    """reps[d] copies of A one after the other along each axis d.   vjp: the copies of ct added"""
def top_k(x: Any, k: Any = None, axis: Any = None, largest: Any = None, **kwargs: Any) -> Any:
    """The `k` largest elements along `axis` (-1), in descending order, and their indices (i64)."""
def trace(a: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1, dtype: Any = None, out: Any = None, **kwargs: Any) -> Any:
    """The sum of the diagonal number `offset` of the planes of two axes; of integers in int64."""
def transpose(x: Any, axes: Any = None, **kwargs: Any) -> Any:
    """The axes in another order, reversed where None.   vjp: permuted back"""
def trapezoid(y: Any, x: Any = None, dx: Any = ..., axis: Any = -1, **kwargs: Any) -> Any:
    """The integral by the trapezoidal rule along an axis, at distances dx or coordinates x."""
def tri(N: Any, M: Any = None, k: Any = 0, dtype: Any = None, **kwargs: Any) -> Any:
    """Ones on and below the diagonal number k, zeros above."""
def triangular_solve(a: Any, b: Any, lower: Any = None, transpose: Any = None, unit_diagonal: Any = None, **kwargs: Any) -> Any:
    """x with t x = b, t the lower triangle of a, or the upper one with {lower = false}."""
def tril(m: Any, k: Any = 0, **kwargs: Any) -> Any:
    """The elements on and below the k-th diagonal (default 0), zeros above.   vjp: tril of ct"""
def tril_indices(*args: Any, **kwargs: Any) -> Any:
    """NumPy's own tril_indices, of arguments that are known while tracing."""
def tril_indices_from(*args: Any, **kwargs: Any) -> Any:
    """NumPy's own tril_indices_from, of arguments that are known while tracing."""
def trim_zeros(*args: Any, **kwargs: Any) -> Any:
    """Not while tracing: the shape of the result must not depend on values; choose with where, or brin"""
def triu(m: Any, k: Any = 0, **kwargs: Any) -> Any:
    """The elements on and above the k-th diagonal (default 0), zeros below.   vjp: triu of ct"""
def triu_indices(*args: Any, **kwargs: Any) -> Any:
    """NumPy's own triu_indices, of arguments that are known while tracing."""
def triu_indices_from(*args: Any, **kwargs: Any) -> Any:
    """NumPy's own triu_indices_from, of arguments that are known while tracing."""
def true_divide(lhs: Any, rhs: Any, **kwargs: Any) -> Any:
    """lhs / rhs, floating.   vjp: ct / rhs, -ct * y / rhs"""
def trunc(x: Any, **kwargs: Any) -> Any:
    """The integer next to x on the side of 0.   vjp: zero"""
typecodes: Any
def typename(char: Any, **kwargs: Any) -> Any:
    """Return a description for the given data type code."""
typing: Any
ubyte: Any
ufunc: Any
uint: Any
uint16: Any
uint32: Any
uint64: Any
uint8: Any
uintc: Any
uintp: Any
ulong: Any
ulonglong: Any
def uniform(key: Any, counter: Any, shape: Any = ..., dtype: Any = None, low: Any = 0, high: Any = 1, **kwargs: Any) -> Any:
    """Numbers uniformly distributed in [low, high), a function of key and counter (int64) alone."""
def union1d(*args: Any, **kwargs: Any) -> Any:
    """Not while tracing: the shape of the result must not depend on values; choose with where, or brin"""
def unique(*args: Any, **kwargs: Any) -> Any:
    """Not while tracing: the shape of the result must not depend on values; choose with where, or brin"""
def unique_all(*args: Any, **kwargs: Any) -> Any:
    """Not while tracing: the shape of the result must not depend on values; choose with where, or brin"""
def unique_counts(*args: Any, **kwargs: Any) -> Any:
    """Not while tracing: the shape of the result must not depend on values; choose with where, or brin"""
def unique_inverse(*args: Any, **kwargs: Any) -> Any:
    """Not while tracing: the shape of the result must not depend on values; choose with where, or brin"""
def unique_values(*args: Any, **kwargs: Any) -> Any:
    """Not while tracing: the shape of the result must not depend on values; choose with where, or brin"""
def unravel_index(indices: Any, shape: Any, order: Any = 'C', **kwargs: Any) -> Any:
    """The places along each axis of elements that are numbered in row-major order."""
unsignedinteger: Any
def unstack(x: Any, axis: Any = 0, **kwargs: Any) -> Any:
    """The slices of x along an axis, without that axis."""
def unwrap(p: Any, discont: Any = None, axis: Any = -1, *, period: Any = ..., **kwargs: Any) -> Any:
    """x plus multiples of the period, so that steps are at most half of it."""
ushort: Any
def vander(x: Any, N: Any = None, increasing: Any = False, **kwargs: Any) -> Any:
    """The powers of a vector as columns, the highest first."""
def var(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = False, *, where: Any = None, mean: Any = None, correction: Any = None, **kwargs: Any) -> Any:
    """Sum of squared distances to the mean, divided by n - ddof (`correction` is another name)."""
def vdot(a: Any, b: Any, *, precision: Any = None, **kwargs: Any) -> Any:
    """The sum of products of all elements in row-major order; a is conjugated."""
def vecdot(x1: Any, x2: Any, axis: Any = -1, **kwargs: Any) -> Any:
    """The sum of products along an axis, `axis = -1`; x1 is conjugated, other axes broadcast."""
def vecmat(x1: Any, x2: Any, **kwargs: Any) -> Any:
    """Vectors times matrices; leading axes broadcast, and the vectors are conjugated."""
def vectorize(pyfunc: Any, otypes: Any = None, doc: Any = None, excluded: Any = None, cache: Any = False, signature: Any = None, **kwargs: Any) -> Any:
    """The function on all elements of arrays that broadcast, at once by gradir.vmap."""
def vsplit(ary: Any, indices_or_sections: Any, **kwargs: Any) -> Any:
    """`split` along the axis of vstack."""
def vstack(tup: Any, *, dtype: Any = None, **kwargs: Any) -> Any:
    """Rows, or matrices, below each other."""
def where(condition: Any, x: Any = None, y: Any = None, **kwargs: Any) -> Any:
    """x where the condition (bool) holds, else y; all three broadcast.   vjp: ct, 0 elsewhere"""
def zeros(shape: Any, dtype: Any = None, *, device: Any = None, **kwargs: Any) -> Any:
    """Zeros; float64 without a dtype."""
def zeros_like(a: Any, dtype: Any = None, *, shape: Any = None, device: Any = None, **kwargs: Any) -> Any:
    """Zeros with the shape of a, and its dtype unless another is given."""
