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
    "Device": "all arrays are on the CPU",
    "custom_gradient": "jax.custom_vjp",
    "debug_nans": "GRADIR_NAN=raise, gradir.debug.explain",
    "enable_x64": "jax.config.update('jax_enable_x64', True)",
    "ops": "jnp has segment_sum and the like",
    "tree_map": "jax.tree.map",
    "tree_multimap": "jax.tree.map",
}
SCIPY: Mapping[str, str] = {
    "optimize": "gradir.interop.scipy.minimize",
    "sparse": "lax.while_loop has a derivative; solvers of others by lax.custom_linear_solve",
    "cluster": "SciPy has it",
}
_PATHS = (
    *("flatten_with_path", "leaves_with_path", "map_with_path", "transpose", "broadcast"),
    *("tree_flatten_with_path", "tree_leaves_with_path", "tree_map_with_path", "keystr"),
    *("tree_transpose", "tree_broadcast"),
)
TREES: Mapping[str, str] = dict.fromkeys(
    _PATHS, "trees have map, flatten, unflatten, leaves, structure, reduce and all here"
)
LAX: Mapping[str, str] = {
    "all_to_all": "jnp.swapaxes of the rows, outside of jax.vmap",
    "pshuffle": "lax.ppermute(x, axis_name, perm=[(perm[k], k) for k in range(len(perm))])",
    "pswapaxes": "jnp.swapaxes of the rows, outside of jax.vmap",
    "pcast": "gradir.comm is between processes; rows of jax.vmap have one type",
    "conv_general_dilated": "gradir.nn.conv1d, conv2d, conv3d, with stride and padding",
    "reduce_window": "gradir.nn.max_pool2d and avg_pool2d",
    "gather": "x[indices], jnp.take, jnp.take_along_axis",
    "scatter": "x.at[indices].set(values)",
    "scatter_add": "x.at[indices].add(values)",
    "fft": "jnp.fft",
    "complex": "gradir.numpy.complex",
    "linalg": "jnp.linalg",
    "conv": "gradir.nn.conv2d, with stride and padding",
    "conv_transpose": "gradir.nn.conv_transpose2d",
    "pad": "jnp.pad",
    "reduce": "jnp.sum, prod, max, min, all and any",
    "split": "jnp.split",
    "select_n": "jnp.where, jnp.select",
    "population_count": "jnp.bitwise_count",
}


def missing(
    module: str, absent: Mapping[str, str], known: Callable[[], Iterable[str]]
) -> Callable[[str], Any]:
    """The `__getattr__` of a module: each name that is not there says what to write."""

    def __getattr__(name: str) -> Any:
        raise missing_name(module, name, known(), absent.get(name))

    return __getattr__
