"""gradir: reverse-mode automatic differentiation as a compiler pass, and native code for the CPU.

import gradir
module = gradir.parse("program.mlir")  # or gradir.trace(python_function, *arrays)
fn = gradir.compile(module.gradient("f", mode="vjp"), "f_vjp")
*results, gradient = fn(*arrays)
"""

import sys
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

__all__ = [
    "GradirError",
    "Module",
    "RowSlices",
    "Spec",
    "TraceError",
    "Trainer",
    "__version__",
    "associative_scan",
    "cache_info",
    "checkpoint",
    "clear_cache",
    "closure_convert",
    "compile",
    "cond",
    "custom_jvp",
    "custom_linear_solve",
    "custom_op",
    "custom_root",
    "custom_vjp",
    "default_dtype",
    "default_matmul_precision",
    "export_library",
    "fori_loop",
    "grad",
    "hessian",
    "hvp",
    "include_dir",
    "interpret",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jit",
    "jvp",
    "kernel",
    "linear_transpose",
    "linearize",
    "load_library",
    "map",
    "name",
    "native",
    "no_grad",
    "op_function",
    "parse",
    "register_dialect",
    "register_host_function",
    "register_op",
    "register_pass",
    "register_rule",
    "scan",
    "sparse_hessian",
    "sparse_jacobian",
    "switch",
    "trace",
    "train_step",
    "value_and_grad",
    "vjp",
    "vmap",
    "while_loop",
]

# Imported at first use: `import gradir` costs next to nothing.
_LAZY = {
    "api": "gradir.api",
    "errors": "gradir.errors",
    "Module": "gradir.api",
    "compile": "gradir.api",
    "interpret": "gradir.api",
    "parse": "gradir.api",
    "register_host_function": "gradir.api",
    "compat": "gradir.compat",
    "build": "gradir.build",
    "plugins": "gradir.plugins",
    "register_dialect": "gradir.plugins",
    "register_op": "gradir.plugins",
    "register_pass": "gradir.plugins",
    "register_rule": "gradir.plugins",
    "op_function": "gradir.frontends.functions.plugin_ops",
    "GradirError": "gradir.errors",
    "TraceError": "gradir.errors",
    "RowSlices": "gradir.runtime.row_slices",
    "export_library": "gradir.aot.export",
    "load_library": "gradir.aot.loader",
    "testing": "gradir.testing",
    "numpy": "gradir.numpy",
    "nn": "gradir.nn",
    "scipy": "gradir.scipy",
    "optim": "gradir.optim",
    "random": "gradir.random",
    "interop": "gradir.interop",
    "debug": "gradir.debug",
    "comm": "gradir.comm",
    "tree": "gradir.tree",
    "cache_info": "gradir.cache.store",
    "clear_cache": "gradir.cache.store",
    "Spec": "gradir.frontends.tracing.spec",
    "default_dtype": "gradir.frontends.tracing.default_dtype",
    "default_matmul_precision": "gradir.frontends.tracing.default_precision",
    "trace": "gradir.frontends.tracing.trace",
    "checkpoint": "gradir.frontends.transforms.markers",
    "name": "gradir.frontends.transforms.markers",
    "no_grad": "gradir.frontends.transforms.markers",
    "custom_jvp": "gradir.frontends.transforms.custom_derivatives",
    "custom_vjp": "gradir.frontends.transforms.custom_derivatives",
    "closure_convert": "gradir.frontends.transforms.implicit",
    "custom_linear_solve": "gradir.frontends.transforms.implicit",
    "custom_root": "gradir.frontends.transforms.implicit",
    "custom_op": "gradir.frontends.transforms.custom_op",
    "kernel": "gradir.frontends.transforms.kernel",
    "include_dir": "gradir.runtime.native_functions",
    "native": "gradir.runtime.native_functions",
    "Trainer": "gradir.frontends.training.trainer",
    "train_step": "gradir.frontends.optim.train_step",
    "jit": "gradir.frontends.transforms.jit",
    "grad": "gradir.frontends.transforms.derivatives",
    "value_and_grad": "gradir.frontends.transforms.derivatives",
    "vjp": "gradir.frontends.transforms.derivatives",
    "jvp": "gradir.frontends.transforms.derivatives",
    "hvp": "gradir.frontends.transforms.derivatives",
    "vmap": "gradir.frontends.transforms.vmap",
    "jacfwd": "gradir.frontends.transforms.jacobians",
    "jacrev": "gradir.frontends.transforms.jacobians",
    "jacobian": "gradir.frontends.transforms.jacobians",
    "hessian": "gradir.frontends.transforms.jacobians",
    "linearize": "gradir.frontends.transforms.jacobians",
    "linear_transpose": "gradir.frontends.transforms.jacobians",
    "sparse_hessian": "gradir.frontends.transforms.sparse_jacobians",
    "sparse_jacobian": "gradir.frontends.transforms.sparse_jacobians",
    "associative_scan": "gradir.frontends.transforms.scans",
    "cond": "gradir.frontends.transforms.branches",
    "map": "gradir.frontends.transforms.scans",
    "switch": "gradir.frontends.transforms.branches",
    "fori_loop": "gradir.frontends.transforms.flow",
    "function_of": "gradir.frontends.transforms.function_of",
    "scan": "gradir.frontends.transforms.flow",
    "while_loop": "gradir.frontends.transforms.flow",
}

if TYPE_CHECKING:
    from gradir import api as api
    from gradir import comm as comm
    from gradir import debug as debug
    from gradir import errors as errors
    from gradir import interop as interop
    from gradir import nn as nn
    from gradir import numpy as numpy
    from gradir import optim as optim
    from gradir import random as random
    from gradir import scipy as scipy
    from gradir import testing as testing
    from gradir import tree as tree
    from gradir.aot.export import export_library as export_library
    from gradir.aot.loader import load_library as load_library
    from gradir.api import Module as Module
    from gradir.api import compile as compile
    from gradir.api import interpret as interpret
    from gradir.api import parse as parse
    from gradir.api import register_host_function as register_host_function
    from gradir.cache.store import cache_info as cache_info
    from gradir.cache.store import clear_cache as clear_cache
    from gradir.errors import GradirError as GradirError
    from gradir.errors import TraceError as TraceError
    from gradir.frontends.functions.plugin_ops import op_function as op_function
    from gradir.frontends.optim.train_step import train_step as train_step
    from gradir.frontends.tracing.default_dtype import default_dtype as default_dtype
    from gradir.frontends.tracing.default_precision import (
        default_matmul_precision as default_matmul_precision,
    )
    from gradir.frontends.tracing.spec import Spec as Spec
    from gradir.frontends.tracing.trace import trace as trace
    from gradir.frontends.training.trainer import Trainer as Trainer
    from gradir.frontends.transforms.branches import cond as cond
    from gradir.frontends.transforms.branches import switch as switch
    from gradir.frontends.transforms.custom_derivatives import custom_jvp as custom_jvp
    from gradir.frontends.transforms.custom_derivatives import custom_vjp as custom_vjp
    from gradir.frontends.transforms.custom_op import custom_op as custom_op
    from gradir.frontends.transforms.derivatives import grad as grad
    from gradir.frontends.transforms.derivatives import hvp as hvp
    from gradir.frontends.transforms.derivatives import jvp as jvp
    from gradir.frontends.transforms.derivatives import value_and_grad as value_and_grad
    from gradir.frontends.transforms.derivatives import vjp as vjp
    from gradir.frontends.transforms.flow import fori_loop as fori_loop
    from gradir.frontends.transforms.flow import scan as scan
    from gradir.frontends.transforms.flow import while_loop as while_loop
    from gradir.frontends.transforms.function_of import function_of as function_of
    from gradir.frontends.transforms.implicit import closure_convert as closure_convert
    from gradir.frontends.transforms.implicit import custom_linear_solve as custom_linear_solve
    from gradir.frontends.transforms.implicit import custom_root as custom_root
    from gradir.frontends.transforms.jacobians import hessian as hessian
    from gradir.frontends.transforms.jacobians import jacfwd as jacfwd
    from gradir.frontends.transforms.jacobians import jacobian as jacobian
    from gradir.frontends.transforms.jacobians import jacrev as jacrev
    from gradir.frontends.transforms.jacobians import linear_transpose as linear_transpose
    from gradir.frontends.transforms.jacobians import linearize as linearize
    from gradir.frontends.transforms.jit import jit as jit
    from gradir.frontends.transforms.kernel import kernel as kernel
    from gradir.frontends.transforms.markers import checkpoint as checkpoint
    from gradir.frontends.transforms.markers import name as name
    from gradir.frontends.transforms.markers import no_grad as no_grad
    from gradir.frontends.transforms.scans import associative_scan as associative_scan
    from gradir.frontends.transforms.scans import map as map
    from gradir.frontends.transforms.sparse_jacobians import sparse_hessian as sparse_hessian
    from gradir.frontends.transforms.sparse_jacobians import sparse_jacobian as sparse_jacobian
    from gradir.frontends.transforms.vmap import vmap as vmap
    from gradir.plugins import register_dialect as register_dialect
    from gradir.plugins import register_op as register_op
    from gradir.plugins import register_pass as register_pass
    from gradir.plugins import register_rule as register_rule
    from gradir.runtime.native_functions import include_dir as include_dir
    from gradir.runtime.native_functions import native as native
    from gradir.runtime.row_slices import RowSlices as RowSlices


# JAX's and autograd's names of what has another one here.
_ELSEWHERE = {
    "lax": "scan, while_loop, fori_loop, cond, switch, map and associative_scan are gradir's own, "
    "gradir.compat.lax has JAX's names, "
    "slices are gradir.numpy.dynamic_slice, stop_gradient is gradir.no_grad",
    **{f"tree_{name}": f"gradir.tree.{name}" for name in ("map", "flatten", "unflatten", "leaves")},
    "stop_gradient": "gradir.no_grad",
    "tensor": "gradir.numpy.array; functions of gradir take NumPy's arrays",
    "backward": "gradients are results, of gradir.grad(f)(x)",
    "remat": "gradir.checkpoint",
    "pmap": "gradir.vmap on one machine, gradir.comm on several",
    "make_jaxpr": "gradir.trace, whose module prints itself",
    "eval_shape": "gradir.trace with gradir.Spec; the types are in the module's text",
    "tree_util": "gradir.tree",
    "config": "gradir.default_dtype sets the floating type, float64 at first, and "
    "gradir.default_matmul_precision that of products",
    "device_get": "arrays are NumPy's",
    "device_put": "arrays are NumPy's",
    "elementwise_grad": "gradir.vmap of gradir.grad",
    "hessian_vector_product": "gradir.hvp",
}


def __dir__() -> list[str]:
    """The public names, also of modules that were not imported yet, and the module's own."""
    own = [name for name in globals() if name.startswith("__") and name != "__all__"]
    return sorted({*__all__, *_LAZY, *own})


def _imported(name: str) -> Any:
    """A module; with the IR, which some do without, its classes are made sooner."""
    if name in sys.modules or "gradir.dialects" not in sys.modules:
        return import_module(name)
    from gradir.quick_imports import quick_imports

    with quick_imports():
        return import_module(name)


def _in_a_module(name: str) -> str | None:
    """Where a module of gradir has a name: `gradir.numpy.zeros`."""
    # `from gradir import registry` asks for a module so, before it is imported
    if name.startswith("_") or find_spec(f"gradir.{name}") is not None:
        return None
    for module in ("numpy", "nn", "optim", "tree"):
        if name in import_module(f"gradir.{module}").__all__:
            return f"gradir.{module}.{name}"
    return None


def __getattr__(name: str) -> Any:
    """The names of modules that are imported at first use."""
    if name not in _LAZY:
        from gradir.nearest import missing_name

        reason = _ELSEWHERE.get(name) or _in_a_module(name)
        raise missing_name("gradir", name, [*__all__, *_LAZY], reason)
    module = _imported(_LAZY[name])
    found = module if _LAZY[name] == f"gradir.{name}" else getattr(module, name)
    # so that the next look finds it without this function
    return globals().setdefault(name, found)
