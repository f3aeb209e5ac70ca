"""grad.custom_vjp: a function whose derivative is written by hand."""

from __future__ import annotations

from xdsl.dialects.builtin import FlatSymbolRefAttrConstr, ModuleOp, SymbolRefAttr
from xdsl.ir import Operation
from xdsl.irdl import IRDLOperation, irdl_op_definition, prop_def, traits_def
from xdsl.traits import HasParent


@irdl_op_definition
class CustomVjpOp(IRDLOperation):
    """Declares the derivative of calls of a function, in place of that of its body.

        grad.custom_vjp @f, @f_forward, @f_backward

    It stands beside the functions. With @f(args) -> results, `@f_forward(args) -> (results,
    residuals...)` replaces @f, and `@f_backward(residuals..., cotangents of the floating results)
    -> cotangents of the floating arguments` is the derivative; the types of both are verified. All
    floating arguments and results take part. The body of @f may have ops without a derivative, or
    effects. The second derivative is that of @f_forward and @f_backward. Forward mode through @f
    is refused, since @f_backward need not be linear.

    vjp: @f_backward(residuals, ct)
    """

    name = "grad.custom_vjp"

    function = prop_def(FlatSymbolRefAttrConstr)
    forward = prop_def(FlatSymbolRefAttrConstr)
    backward = prop_def(FlatSymbolRefAttrConstr)

    traits = traits_def(HasParent(ModuleOp))

    assembly_format = "$function `,` $forward `,` $backward attr-dict"

    @property
    def names(self) -> tuple[str, str, str]:
        """The names of the function, of its forward and of its backward function."""
        function, forward, backward = map(_name, (self.function, self.forward, self.backward))
        return function, forward, backward


def _name(symbol: SymbolRefAttr) -> str:
    return symbol.root_reference.data


OPS: tuple[type[Operation], ...] = (CustomVjpOp,)
