"""Names and types of JAX's values and functions, for readers of jaxprs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gradir.packages import package

jax: Any = package("jax", "jax")


def spec_of_aval(aval: Any) -> Any:
    """An aval without a weak type."""
    return jax.ShapeDtypeStruct(aval.shape, aval.dtype)


def is_floating(aval: Any) -> bool:
    """Whether a value has floating elements."""
    dtype = getattr(aval, "dtype", None)
    return dtype is not None and bool(jax.numpy.issubdtype(dtype, jax.numpy.floating))


def scan_counts(params: Mapping[str, Any]) -> tuple[int, int]:
    """The number of constants and of carried values among the operands of a scan."""
    if "num_consts" in params:
        return params["num_consts"], params["num_carry"]
    # from JAX 0.11 on the operands are a tree of the three groups
    consts, carried, _ = params["ft_in"].unpack()
    return len(list(consts.vals)), len(list(carried.vals))


def label_of(name: str, params: Mapping[str, Any]) -> str:
    """A name for the function that an equation calls."""
    called = getattr(params.get("call_jaxpr"), "jaxpr", None)
    known = getattr(getattr(called, "debug_info", None), "func_name", None)
    return str(params.get("name") or known or name)


def symbol_of(name: str) -> str:
    """A name for a function of a module."""
    made = "".join(c if c.isalnum() and c.isascii() else "_" for c in name).strip("_")
    return made if made and not made[0].isdigit() else "main"
