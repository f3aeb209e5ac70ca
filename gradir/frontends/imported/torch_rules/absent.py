"""PyTorch's ops that are not there, and why."""

from __future__ import annotations

from gradir.frontends.imported.torch_rules.arguments import AtenRules

RULES = AtenRules()

RULES.refuse(
    "programs with complex numbers are not read",
    *("view_as_complex", "complex", "polar", "view_as_real", "imag", "fft_fft", "fft_ifft"),
    *("_fft_c2c", "_fft_c2r", "_fft_r2c", "fft_rfft", "fft_irfft", "fft_fft2", "fft_ifft2"),
    *("fft_fftn", "fft_ifftn", "fft_rfft2", "fft_rfftn", "fft_irfft2", "fft_irfftn", "fft_hfft"),
    *("fft_ihfft", "stft", "istft", "linalg_eig", "_linalg_eigvals", "linalg_eigvals"),
)
RULES.refuse(
    "the shape of the result depends on values",
    *("nonzero", "nonzero_static", "argwhere", "masked_select", "unique_consecutive", "_unique2"),
    *("unique_dim", "_unique", "nonzero_numpy"),
)
RULES.refuse(
    "a number of Python depends on values; keep it as a tensor",
    *("item", "_local_scalar_dense", "is_nonzero", "equal", "allclose"),
)
RULES.refuse(
    "tensors keep their memory and their shape",
    *("set_", "resize_", "resize", "resize_as_", "resize_as", "squeeze_", "unsqueeze_", "t_"),
    *("transpose_", "swapaxes_", "swapdims_", "as_strided_", "rename_"),
)
RULES.refuse(
    "it changes a parameter (max_norm=); scale the table after each step", "embedding_renorm"
)
RULES.refuse("programs have no effects", "_print", "_assert_async", "record_stream", "_assert")
RULES.refuse("elements of mixed types are not there", "_scaled_mm", "_scaled_grouped_mm")
RULES.refuse(
    "its numbers are of few bits",
    *(
        "quantize_per_tensor",
        "quantize_per_channel",
        "dequantize",
        "fake_quantize_per_tensor_affine",
    ),
    *("fake_quantize_per_channel_affine", "_weight_int8pack_mm", "_weight_int4pack_mm"),
)
RULES.refuse(
    "sparse and nested tensors are not there",
    *("to_sparse", "_to_sparse", "sparse_coo_tensor", "_sparse_mm", "sparse_sampled_addmm"),
    *("_nested_tensor_from_mask", "to_dense"),
)
RULES.refuse(
    "it is a fast path without a derivative; export the module with gradients on",
    *("_transformer_encoder_layer_fwd", "_native_multi_head_attention"),
)
RULES.refuse(
    "it has a derivative of its own that export has lost; give it by custom_vjp=",
    "autograd_function_apply",
)
RULES.refuse("types change with the op there; convert the tensors with .to", "wrap_with_autocast")
RULES.refuse(
    "it is computed with kernels for one kind of machine; call scaled_dot_product_attention",
    *("flex_attention", "flex_attention_backward"),
)
RULES.refuse("there is no factorization of this kind", "geqrf", "ormqr", "linalg_ldl_factor_ex")
RULES.refuse("it is a scan of rows by another transformation; call scan", "associative_scan")
RULES.refuse("bins depend on values", "histogramdd", "_histogramdd_bin_edges", "histogram")
RULES.refuse("the bits of floats are not at hand", "frexp")
RULES.refuse("the most frequent element is not there", "mode")
RULES.refuse("it draws windows of its own", "fractional_max_pool2d", "fractional_max_pool3d")
RULES.refuse("filters against aliasing are not there", "_upsample_bilinear2d_aa",
             "_upsample_bicubic2d_aa")  # fmt: skip
RULES.refuse(
    "it is a part of PyTorch's own derivatives and decompositions",
    *("_unsafe_masked_index", "_unsafe_masked_index_put_accumulate", "convolution_backward"),
    *("native_layer_norm_backward", "native_group_norm_backward", "avg_pool2d_backward"),
    *("max_pool2d_with_indices_backward", "_adaptive_avg_pool2d_backward"),
    *("embedding_dense_backward", "native_batch_norm_backward", "native_dropout_backward"),
)
RULES.refuse(
    "it is computed in pieces that have a derivative of their own; call cross_entropy",
    "torch_nn._linear_cross_entropy_batch_chunked",
    "torch_nn._linear_cross_entropy_batch_chunked_no_reduction",
)
RULES.refuse("there is no such function", "hash_tensor", "segment_reduce", "special_airy_ai",
             "prims.spherical_bessel_j0", "special_spherical_bessel_j0")  # fmt: skip
RULES.refuse(
    "the polynomial is not there",
    *(f"special_chebyshev_polynomial_{kind}" for kind in "tuvw"),
    *(f"special_shifted_chebyshev_polynomial_{kind}" for kind in "tuvw"),
    *("special_hermite_polynomial_h", "special_hermite_polynomial_he"),
    *("special_laguerre_polynomial_l", "special_legendre_polynomial_p"),
)
