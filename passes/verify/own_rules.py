"""gradir-verify: the rules of one op, which read nothing around it."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cache

from xdsl.ir import Operation
from xdsl.traits import ConstantLike
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.base.diagnostics import VerifyError
from gradir.dialects.base.interfaces import TensorOp
from gradir.dialects.base.kept_facts import number_of
from gradir.dialects.base.shapes import has_open_types
from gradir.dialects.foreign.elements import verify_elements
from gradir.passes.verify.attributes import verify_attributes, verify_float_types
from gradir.passes.verify.control_flow import verify_flow
from gradir.passes.verify.tensor_ops import verify_tensor

# Tensor ops that were right, by all that their rules read: types and attributes.
_RIGHT: set[Hashable] = set()
_MOST_RIGHT = 4096


def check_once(op: Operation) -> None:
    """VerifyError for an op against its rules; of equal tensor ops without regions, the first
    is checked."""
    # a check of extents with names notes what it takes for true, in each trace
    if op.regions or not _reads_types_alone(type(op)) or has_open_types(op):
        _check(op)
        return
    facts = (
        type(op),
        tuple([number_of(o.type) for o in op.operands]),
        tuple([number_of(r.type) for r in op.results]),
        tuple([(name, number_of(value)) for name, value in op.properties.items()]),
        tuple([(name, number_of(value)) for name, value in op.attributes.items()]),
    )
    if facts not in _RIGHT:
        _check(op)
        if len(_RIGHT) >= _MOST_RIGHT:
            _RIGHT.clear()
        _RIGHT.add(facts)


@cache
def _reads_types_alone(op: type[Operation]) -> bool:
    # constants hold data
    return issubclass(op, TensorOp) and not op.has_trait(ConstantLike)


def _check(op: Operation) -> None:
    """Check the attributes, constraints, traits and `verify_` of `op`; VerifyError if wrong."""
    verify_attributes(op)
    try:
        verify_flow(op)
        verify_tensor(op)
        op.verify_()
        verify_elements(op)
    except VerifyError:
        raise
    except VerifyException as error:
        raise VerifyError(_with_name(op, str(error).strip()), op) from error
    except Exception as error:
        # an accessor fails on an operation of the wrong form
        text = f"malformed operation, {type(error).__name__}: {error}"
        raise VerifyError(_with_name(op, text), op) from error
    verify_float_types(op)


def _with_name(op: Operation, message: str) -> str:
    return message if message.startswith(op.name) else f"{op.name}: {message}"
