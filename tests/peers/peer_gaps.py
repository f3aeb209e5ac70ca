"""Ops that no peer has, and rows that a peer refuses or means otherwise, with reasons."""

from __future__ import annotations

# Ops of the grad dialect are compared as parts of the gradients that they are in.
NOT_IN_PEERS: dict[str, str] = {
    "array.constant": "a literal",
    "array.uniform": "peers draw other numbers; ours are held against published vectors",
    "array.normal": "as array.uniform",
    "array.random_bits": "as array.uniform",
    "nn.dropout": "as array.uniform",
    "array.bitcast": "its type is no argument; JAX's is compared in test_jax_primitives.py",
    "array.gather_nd": "TensorFlow's",
    "array.scatter_nd_add": "TensorFlow's",
    **dict.fromkeys(
        "array.complex array.real array.imag array.conj array.fft array.eig".split(),
        "complex numbers are compared in test_complex_jax.py",
    ),
    **dict.fromkeys(
        """
        comm.all_gather comm.all_reduce comm.broadcast comm.part comm.permute comm.rank comm.reduce
        comm.reduce_scatter comm.size
        """.split(),
        "rows are of one rank, where it is trivial; several ranks are held against NumPy, and "
        "against differences over all ranks, in tests/comm/",
    ),
}

# PyTorch rounds constants of these to f32, also in float64.
IN_F32 = frozenset({"nn.celu", "nn.hardsigmoid"})

# Gradients that remain when numbers of size 1 cancel: two numbers, normalized.
CANCELLING = frozenset({"nn.group_norm-2x4-groups=2"})

# Types that PyTorch stores and hardly computes with.
NO_NUMBERS_IN_TORCH = frozenset({"uint16", "uint32", "uint64"})

OTHER_IN_TORCH = frozenset(
    {
        # integers by zero: an error there, NumPy's values here
        "array.remainder-100-100",
        "array.floor_divide-100-100",
        "array.remainder-5-5",
        "array.floor_divide-5-5",
        # integers are summed in 64 bits there, in their own type by the op
        "array.sum-2x5-axis=1",
        # no uint16 is counted
        "array.iota-axis=0",
        # the inf norm of nothing: an error there, 0 here
        "array.norm-0-ord=inf",
        "array.norm-3x0-axis=[-1]-ord=inf",
        "array.norm-3x0-keepdims=True-ord=inf",
        # PyTorch's own gradient has a wrong shape
        "nn.pixel_shuffle-0x4x1x1-factor=2",
        # factors of matrices that are not positive definite: an error there, nan here
        "array.cholesky-2x2x2",
        # smoothing is cross entropy's alone there
        "nn.nll_loss-3x4-3-4-reduction=sum-label_smoothing=0.3",
        "nn.nll_loss-3x4-3-4-ignore_index=255-label_smoothing=0.1",
        "nn.nll_loss-3x4-3-label_smoothing=0.2",
        "nn.nll_loss-3x4-3-reduction=none-label_smoothing=1.0",
        "nn.nll_loss-2x4x3-2x3-label_smoothing=0.1",
    }
)

OTHER_IN_JAX = frozenset(
    {
        # integers by zero, and to negative powers
        "array.floor_divide-100-100",
        "array.remainder-100-100",
        "array.floor_divide-5-5",
        "array.pow-7-7",
        # exponents of 2**63, bounds above it
        "array.pow-4-4",
        "array.clip-10-min=3-max=18446744073709551614",
        # as in PyTorch
        "array.sum-2x5-axis=1",
        # negative starts count from the end there, and are clamped here
        "array.dynamic_slice-5-0d-sizes=[2]",
        "array.dynamic_slice-300-0d-sizes=[20]",
        "array.dynamic_update_slice-5-2-0d",
        "array.dynamic_update_slice-300-20-0d",
        # an array of no elements has no subscripts, inside or outside
        "array.affine_gather-0-pad=-1.5",
        "array.affine_scatter_add-2-drop=True",
        # of equal elements, the first stays the first here
        "array.sort-2x7-descending=True",
        "array.sort-2x300-descending=True",
        # of no rows and columns
        "array.det-0x0",
        "array.det-2x0x0",
        # the deviation of one number: its gradient is nan there, 0 here
        "array.std-0d",
        "array.std-3x4-axis=[]",
    }
)
