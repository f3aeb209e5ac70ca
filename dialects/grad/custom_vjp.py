"""grad.custom_vjp: a function whose derivative is written by hand."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import FlatSymbolRefAttrConstr, ModuleOp, SymbolRefAttr
from xdsl.ir import Attribute, Operation
from xdsl.irdl import IRDLOperation, irdl_op_definition, opt_prop_def, prop_def, traits_def
from xdsl.traits import HasParent


@irdl_op_definition
class CustomVjpOp(IRDLOperation):
    """Declares the derivative of calls of a function, in place of its body's derivative.

        grad.custom_vjp @f, @f_forward, @f_backward

    It stands beside the functions. With @f(args) -> results, `@f_forward(args) -> (results,
    residuals...)` replaces @f, and `@f_backward(residuals..., cotangents of the floating results)
    -> cotangents of the floating arguments` is the derivative; the types of both are verified. All
    floating arguments and results take part. The body of @f may have ops without a derivative, or
    effects. The second derivative differentiates @f_forward and @f_backward.

        grad.custom_vjp @f, @f_forward, @f_backward jvp @f_jvp

    `@f_jvp(args, tangents of the floating arguments) -> (results, tangents of the floating
    results)` replaces @f in forward mode, which is refused without it: @f_backward need not be
    linear.

        grad.custom_vjp @f

    @f has a derivative that is not in the program: to differentiate a call of it is refused.
    Traced programs have this for rules of Python functions that no derivative has asked for.

    vjp: @f_backward(residuals, ct)
    """

    name = "grad.custom_vjp"

    function = prop_def(FlatSymbolRefAttrConstr)
    forward = opt_prop_def(FlatSymbolRefAttrConstr)
    backward = opt_prop_def(FlatSymbolRefAttrConstr)
    jvp = opt_prop_def(FlatSymbolRefAttrConstr)

    traits = traits_def(HasParent(ModuleOp))

    assembly_format = "$function (`,` $forward^ `,` $backward)? (`jvp` $jvp^)? attr-dict"

    @classmethod
    def of(cls, names: Sequence[str], near: Operation | None = None) -> CustomVjpOp:
        """The declaration with these `names`, at the place of another."""
        keys = ("function", "forward", "backward", "jvp")
        fields: dict[str, Attribute] = dict(zip(keys, map(SymbolRefAttr, names), strict=False))
        made = cls.create(properties=fields)
        if near is not None:
            made.location = near.location
        return made

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the function, of its forward, its backward and, if any, its jvp function.

        Without rules that of the function alone.
        """
        symbols = (self.function, self.forward, self.backward, self.jvp)
        return tuple(s.root_reference.data for s in symbols if s is not None)

    @property
    def has_rules(self) -> bool:
        """Whether the program has the derivative."""
        return self.forward is not None


OPS: tuple[type[Operation], ...] = (CustomVjpOp,)
