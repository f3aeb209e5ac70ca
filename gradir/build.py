"""Names for other packages that write ops and frontends (docs/extending.md).

Kinds of ops are base classes: `TensorOp`, `ElementwiseOp`, `UnaryOp`, `BinaryOp`, `CompareOp`,
`IdentityOp`. `Value` is a value with operators, `Emitter` appends ops, `body` has functions of one
element, and `array`, `nn` the ops' modules: `array.elementwise.AbsOp.on(x)`. `ModuleBuilder` writes
functions with loops, branches, calls and places in a source text.
"""

from gradir.dialects import array, nn
from gradir.dialects.base.attributes import Attributes, Types
from gradir.dialects.base.batch import Batch
from gradir.dialects.base.interfaces import Cotangents, TensorOp
from gradir.dialects.base.shapes import element_of, is_float, shape_of, tensor
from gradir.dialects.base.value import Emitter, Scalar, Value
from gradir.dialects.building import body
from gradir.dialects.building.kinds import (
    BinaryOp,
    CompareOp,
    ElementwiseOp,
    IdentityOp,
    UnaryOp,
    require_elements,
)
from gradir.frontends.building.builder import FunctionBuilder, ModuleBuilder, location, type_of

__all__ = [
    "Attributes",
    "Batch",
    "BinaryOp",
    "CompareOp",
    "Cotangents",
    "ElementwiseOp",
    "Emitter",
    "FunctionBuilder",
    "IdentityOp",
    "ModuleBuilder",
    "Scalar",
    "TensorOp",
    "Types",
    "UnaryOp",
    "Value",
    "array",
    "body",
    "element_of",
    "is_float",
    "location",
    "nn",
    "require_elements",
    "shape_of",
    "tensor",
    "type_of",
]
