"""Torch's ops that are not compared, and samples that do not pass, with the reasons.

A name stands for all its variants, unless it has one in brackets.
"""

from __future__ import annotations


def _listed(groups: dict[str, str]) -> dict[str, str]:
    return {name: reason for reason, names in groups.items() for name in names.split()}


ABSENT = _listed(
    {
        "NumPy has no such transform": "fft.hfft2 fft.hfftn fft.ihfft2 fft.ihfftn stft istft",
        "there are no complex numbers of this width": "chalf",
        "random numbers come from a key here": (
            "cauchy exponential geometric log_normal normal uniform randn randn_like "
            "rand_like randint randint_like multinomial bernoulli svd_lowrank pca_lowrank "
            "nn.functional.fractional_max_pool2d nn.functional.fractional_max_pool3d "
            "native_dropout_backward"
        ),
        "arrays do not change": "resize_ resize_as_ zero_",
        "values are not defined": (
            "empty empty_like empty_strided empty_permuted new_empty new_empty_strided"
        ),
        "the shape of the result depends on values": (
            "unique unique_consecutive nonzero nonzero_static argwhere"
        ),
        "sparse matrices are not there": "sparse.sampled_addmm sparse.mm[reduce] to_sparse",
        "there is no factorization of this kind": (
            "geqrf ormqr lu lu_unpack lu_solve linalg.lu linalg.lu_factor linalg.lu_factor_ex "
            "linalg.lu_solve linalg.ldl_factor linalg.ldl_factor_ex linalg.ldl_solve "
            "linalg.householder_product"
        ),
        "the special function is not there": (
            "special.erfcx special.airy_ai special.bessel_j0 special.bessel_j1 "
            "special.bessel_y0 special.bessel_y1 special.chebyshev_polynomial_t "
            "special.chebyshev_polynomial_u special.chebyshev_polynomial_v "
            "special.chebyshev_polynomial_w special.hermite_polynomial_h "
            "special.hermite_polynomial_he special.laguerre_polynomial_l "
            "special.legendre_polynomial_p special.modified_bessel_i1 "
            "special.modified_bessel_k0 special.modified_bessel_k1 "
            "special.scaled_modified_bessel_k0 special.scaled_modified_bessel_k1 "
            "special.shifted_chebyshev_polynomial_t special.shifted_chebyshev_polynomial_u "
            "special.shifted_chebyshev_polynomial_v special.shifted_chebyshev_polynomial_w "
            "special.spherical_bessel_j0"
        ),
        "NumPy has no such window": (
            "signal.windows.cosine signal.windows.exponential signal.windows.gaussian "
            "signal.windows.general_cosine signal.windows.general_hamming "
            "signal.windows.nuttall"
        ),
        "the bits of floats are not at hand": "nextafter frexp hash_tensor",
        "it is a part of torch's own, behind functions that are compared": (
            "_softmax_backward_data _unsafe_masked_index _unsafe_masked_index_put_accumulate "
            "_chunk_cat native_batch_norm native_group_norm native_layer_norm "
            "_native_batch_norm_legit _batch_norm_with_update "
            "max_pool2d_with_indices_backward torch.ops.aten._safe_softmax.default "
            "jiterator_unary jiterator_binary jiterator_4inputs_with_extra_args "
            "jiterator_binary_return_by_ref jiterator_2inputs_2outputs _segment_reduce item "
            "to short"
        ),
        "it is about how elements lie in memory": ("as_strided_scatter as_strided[partial_views]"),
        "filters against aliasing are refused": "_upsample_bilinear2d_aa",
        "edges that depend on values, and a list of results": "histogram histogramdd",
        "means of places that are named several times: scatter_reduce[mean] is compared": (
            "index_reduce[mean]"
        ),
    }
)
"""Ops without a mapping."""

ABSENT_COMPLEX = _listed(
    {
        "exponents are integers, as NumPy's": "ldexp",
        "torch's mean of squares, not of their absolute values, is no norm": (
            "nn.functional.rms_norm"
        ),
    }
)
"""Ops without a meaning on complex numbers."""

REFUSED = {
    "an axis of a number": r"axis must be in \[0, 0\)",
    "a negative eps": r"eps must be finite and not negative",
    "a negative momentum": r"momentum must be in \[0, 1\]",
    "vectors beside the singular ones have no derivative": r"full_matrices=True needs square",
    "likewise of qr": r'qr: mode "complete"',
    "it is of real numbers here": (
        r"must be real|expected real numbers|elements must be floating|nn.l1_loss: operand types"
    ),
    "torch broadcasts axes that are contracted": r"must have one extent, got",
}
"""Reasons of refusals, by what their texts say."""
