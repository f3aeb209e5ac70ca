"""Names of JAX that are not in gradir.compat.jax, and what to write in their place."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from gradir.nearest import missing_name

JAX: Mapping[str, str] = {
    "pmap": "jax.vmap on one machine, gradir.comm on several",
    "shard_map": "gradir.comm",
    "sharding": "gradir.comm has ranks",
    "experimental": "here are stable names; JAX programs as they are: gradir.interop.jax",
    "extend": "it is JAX's inside; JAX programs as they are: gradir.interop.jax.trace",
    "export": "gradir.export_library writes shared libraries",
    "profiler": "gradir.jit(f).profile(*args)",
    "disable_jit": "calls outside of jit are not compiled as a whole",
    "pure_callback": "gradir.custom_op",
    "custom_gradient": "jax.custom_vjp",
    "debug_nans": "GRADIR_NAN=raise, gradir.debug.explain",
    "enable_x64": "jax.config.update('jax_enable_x64', True)",
    "image": "gradir.nn.interpolate",
    "ensure_compile_time_eval": "NumPy's functions on NumPy's arrays",
    "clear_caches": "there is no need: programs that were not called for long are dropped",
    "typeof": "x.shape and x.dtype",
    "make_mesh": "gradir.comm has ranks",
    "set_mesh": "gradir.comm has ranks",
    "smap": "gradir.comm",
    "reshard": "arrays are on the CPU; gradir.comm has ranks",
    "custom_batching": "jax.custom_vjp functions have rows by jax.vmap",
    "named_call": "jax.named_scope",
    "ref": "arrays are values: x.at[i].set(v), or NumPy arrays in gradir.trace",
    "new_ref": "arrays are values: x.at[i].set(v), or NumPy arrays in gradir.trace",
    "dtypes": "jnp.result_type, jnp.issubdtype",
    "float0": "integers have no cotangent: None",
    "dlpack": "numpy.from_dlpack",
    "ffi": "gradir.custom_op",
    "io_callback": "gradir.custom_op",
    "version": "gradir.__version__",
    "typing": "jax.Array",
    "print_environment_info": "gradir doctor",
    "live_arrays": "fn.plan of a compiled function says its memory",
    "tree_map": "jax.tree.map",
    "tree_multimap": "jax.tree.map",
}
POLICIES: Mapping[str, str] = dict.fromkeys(
    (
        *("save_only_these_names", "save_any_names_but_these", "save_anything_except_these_names"),
        *("save_from_both_policies", "save_and_offload_only_these_names"),
        "offload_dot_with_no_batch_dims",
    ),
    "'keep_named' keeps all values with a name, by gradir.name",
)
SCIPY: Mapping[str, str] = {
    "sparse": "lax.while_loop has a derivative; solvers of others by lax.custom_linear_solve",
    "cluster": "SciPy has it",
}
TREES: Mapping[str, str] = {
    **dict.fromkeys(("broadcast", "tree_broadcast"), "jax.tree.map of the full tree's leaves"),
    **dict.fromkeys(("reduce_associative", "tree_reduce_associative"), "jax.tree.reduce"),
    "default_registry": "register_pytree_node, register_dataclass",
}
LAX: Mapping[str, str] = {
    "all_to_all": "jnp.swapaxes of the rows, outside of jax.vmap",
    "pshuffle": "lax.ppermute(x, axis_name, perm=[(perm[k], k) for k in range(len(perm))])",
    "pswapaxes": "jnp.swapaxes of the rows, outside of jax.vmap",
    "pcast": "gradir.comm is between processes; rows of jax.vmap have one type",
    "gather": "x[indices], jnp.take, jnp.take_along_axis",
    "scatter": "x.at[indices].set(values)",
    "scatter_add": "x.at[indices].add(values)",
    "fft": "jnp.fft",
    "complex": "gradir.numpy.complex",
    "linalg": "jnp.linalg",
    "shift_right_logical": "lax.shift_right_arithmetic of unsigned numbers",
    "reduce_xor": "jnp.bitwise_xor of the parts",
    "random_gamma_grad": "jax.random.gamma has the derivative",
    "cond_p": "primitives are JAX's inside; JAX programs as they are: gradir.interop.jax",
    "platform_dependent": "arrays are on the CPU: call its function",
}


def missing(
    module: str, absent: Mapping[str, str], known: Callable[[], Iterable[str]]
) -> Callable[[str], Any]:
    """The `__getattr__` of a module: each name that is not there says what to write."""

    def __getattr__(name: str) -> Any:
        raise missing_name(module, name, known(), absent.get(name))

    return __getattr__
