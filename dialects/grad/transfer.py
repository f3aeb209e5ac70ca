"""grad.copy_to: a value in another memory space."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.irdl import irdl_op_definition

from gradir.dialects.base.attributes import text
from gradir.dialects.base.interfaces import Cotangents
from gradir.dialects.base.value import Value
from gradir.dialects.building.kinds import IdentityOp

# Both are this machine's memory, so that a copy from one to the other costs nothing.
SPACES: Sequence[str] = ("cpu:0", "cpu:1")


@irdl_op_definition
class CopyToOp(IdentityOp):
    """x in the memory space `space`, out of the space `source = "cpu:0"`; spaces: cpu:0, cpu:1.

    vjp: ct copied back from `space` to `source`
    """

    name = "grad.copy_to"
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("space", "source")

    def verify_types(self) -> None:
        _ = self.space, self.source

    @property
    def space(self) -> str:
        """The memory space of the result."""
        return text(self.attributes, "space", among=SPACES)

    @property
    def source(self) -> str:
        """The memory space of x."""
        return text(self.attributes, "source", "cpu:0", SPACES)

    def vjp(self, ct: Value, *args: Value) -> Cotangents:
        return [CopyToOp.on(ct, space=self.source, source=self.space)]
