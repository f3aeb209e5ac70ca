"""JAX's primitives that are not there, and why."""

from __future__ import annotations

from gradir.frontends.imported.table import RuleTable

RULES = RuleTable("JAX")

RULES.refuse(
    "programs with complex numbers are not read",
    "complex",
    "imag",
    "fft",
    "eig",
    "schur",
    "hessenberg",
)
RULES.refuse(
    "programs run on one device; gradir.comm has collectives",
    *("psum", "pmax", "pmin", "ppermute", "all_gather", "all_to_all", "reduce_scatter"),
    *("axis_index", "ragged_all_to_all", "psum_invariant", "shard_map", "psum_scatter"),
)
RULES.refuse(
    "programs call nothing outside of them; gradir.custom_op has functions of Python",
    *("pure_callback", "io_callback", "debug_callback", "debug_print", "ffi_call", "custom_call"),
)
RULES.refuse(
    "memory that a program writes to is not read; return the new value",
    *("get", "swap", "addupdate", "run_state", "new_ref", "ref", "run_scoped", "core_map"),
)
RULES.refuse("kernels for other machines are not read", "pallas_call", "tpu_custom_call", "triton")
RULES.refuse("its bits are XLA's own", "rng_bit_generator", "rng_uniform")
RULES.refuse("it is approximate on one kind of machine; call jax.lax.top_k", "approx_top_k")
RULES.refuse("factors with pivots are not there", "geqp3", "householder_product", "geqrf", "ormqr")
RULES.refuse("tridiagonal factors are not there", "tridiagonal")
RULES.refuse("elements of mixed types are not there", "scaled_dot_general", "scaled_matmul")
RULES.refuse("ragged arrays are not there", "ragged_dot", "ragged_dot_general")
RULES.refuse(
    "sparse arrays are not there; compute with dense arrays, or with jax.ops.segment_sum",
    *("bcoo_todense", "bcoo_fromdense", "bcoo_extract", "bcoo_transpose", "bcoo_dot_general"),
    *("bcoo_dot_general_sampled", "bcoo_spdot_general", "bcoo_sort_indices", "bcoo_sum_duplicates"),
    *("coo_todense", "coo_fromdense", "coo_matvec", "coo_matmat"),
    *("csr_todense", "csr_fromdense", "csr_matvec", "csr_matmat"),
)
RULES.refuse("programs are without effects", "after_all", "create_token", "infeed", "outfeed")
