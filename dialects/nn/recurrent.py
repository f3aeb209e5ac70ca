"""nn: one step of recurrent networks, with PyTorch's formulas and order of gates."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.array.batch_axis import join_rows
from gradir.dialects.array.contraction import numpy_product
from gradir.dialects.array.elementwise import TanhOp
from gradir.dialects.array.reductions import narrowed, widened
from gradir.dialects.array.slicing import SliceOp
from gradir.dialects.base.attributes import Attributes, Types
from gradir.dialects.base.batch import Batch
from gradir.dialects.base.interfaces import TensorOp
from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.precision import PRECISION, precision_in, require_precision
from gradir.dialects.base.shapes import compatible, element_of, extent_product, shape_of, tensor
from gradir.dialects.base.value import Value
from gradir.dialects.building.kinds import require_elements
from gradir.dialects.nn.activations import SigmoidOp
from gradir.dialects.nn.layers import LinearOp


class CellOp(TensorOp):
    """x [..., in] and states [..., hidden]; weights [gates * hidden, in or hidden], and biases.

    `precision` is that of both products, as for array.matmul.
    """

    ATTRIBUTES: ClassVar[tuple[str, ...]] = (PRECISION,)
    GATES: ClassVar[int]
    STATES: ClassVar[tuple[str, ...]]
    IS_TAKEN_APART: ClassVar[bool] = True
    traits = traits_def(Pure())

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        x, hidden, *_ = operands
        require_elements(x, "float")
        require_precision(attributes, operands[:1])
        for one in operands:
            if element_of(one) != element_of(x):
                raise VerifyException(f"elements must agree, got {x} and {one}")
        if not shape_of(x) or not shape_of(hidden):
            raise VerifyException(f"x [..., in] and h [..., hidden] expected, got {x} and {hidden}")
        *batch, inputs = shape_of(x)
        size = shape_of(hidden)[-1]
        state, bias = [*batch, size], [extent_product(cls.GATES, size)]
        wanted = {name: state for name in cls.STATES}
        wanted |= {"w_ih": [*bias, inputs], "w_hh": [*bias, size], "b_ih": bias, "b_hh": bias}
        for (name, shape), found in zip(wanted.items(), operands[1:], strict=True):
            if not compatible(shape_of(found), shape):
                raise VerifyException(f"{name} must be {tensor(shape, element_of(x))}, got {found}")
        return [tensor(state, element_of(x))] * len(cls.STATES)

    @abstractmethod
    def step(self, from_x: Sequence[Value], from_h: Sequence[Value], *states: Value) -> list[Value]:
        """The next states, from the gates' parts of the products with x and with h."""

    def vmap(self, batch: Batch) -> Sequence[Value] | None:
        """Inputs and states have an axis of the batch; weights must be shared by all rows."""
        states = len(self.results) + 1
        if any(batch.has_rows[states:]) or batch.operand_rank(0) != 2:
            return None
        return join_rows(batch, range(states))

    def decompose(self, *operands: Value) -> Sequence[Value]:
        x, *rest = map(widened, operands)
        states, (w_ih, w_hh, b_ih, b_hh) = rest[:-4], rest[-4:]
        layers = (x, w_ih, b_ih), (states[0], w_hh, b_hh)
        precision = precision_in(self.attributes)
        products = [LinearOp.on(*layer, type=None, **precision) for layer in layers]
        from_x, from_h = (self._gates(p) for p in products)
        made = self.step(from_x, from_h, *states)
        return [narrowed(v, r.type) for v, r in zip(made, self.results, strict=True)]

    def _gates(self, product: Value) -> list[Value]:
        """The parts of a product along its last axis."""
        *batch, width = product.shape
        size, low = width // self.GATES, [0] * len(batch)
        return [
            SliceOp.on(product, start=[*low, k * size], stop=[*batch, (k + 1) * size])
            for k in range(self.GATES)
        ]

    def numpy_products(self, x: Any, h: Any, *weights: Any) -> list[Any]:
        """Each gate's part of the product with x, then of the product with h, in NumPy."""
        w_ih, w_hh, b_ih, b_hh = weights
        products = numpy_product(x, w_ih.T) + b_ih, numpy_product(h, w_hh.T) + b_hh
        return [part for p in products for part in np.split(p, self.GATES, -1)]


def _sigmoid(x: Any) -> Any:
    small = np.exp(-np.abs(x))
    return np.where(x < 0, small, 1) / (1 + small)


@irdl_op_definition
class LstmCellOp(CellOp):
    """One step of an LSTM: (h', c') of x [..., in], h and c [..., hidden].

    With i, f, g, o the four parts of x w_ih^T + b_ih + h w_hh^T + b_hh along the last axis:
    c' = sigmoid(f) * c + sigmoid(i) * tanh(g), h' = sigmoid(o) * tanh(c'). The weights are
    w_ih [4 * hidden, in] and w_hh [4 * hidden, hidden], the biases [4 * hidden].
    vjp: reverse mode over these formulas
    """

    name = "nn.lstm_cell"
    GATES: ClassVar[int] = 4
    STATES: ClassVar[tuple[str, ...]] = ("h", "c")

    x = operand_def()
    h = operand_def()
    c = operand_def()
    w_ih = operand_def()
    w_hh = operand_def()
    b_ih = operand_def()
    b_hh = operand_def()
    next_h = result_def()
    next_c = result_def()

    def step(self, from_x: Sequence[Value], from_h: Sequence[Value], *states: Value) -> list[Value]:
        i, f, g, o = (a + b for a, b in zip(from_x, from_h, strict=True))
        _, c = states
        next_c = SigmoidOp.on(f) * c + SigmoidOp.on(i) * TanhOp.on(g)
        return [SigmoidOp.on(o) * TanhOp.on(next_c), next_c]

    def numpy(self, x: Any, h: Any, c: Any, *weights: Any) -> Any:
        parts = self.numpy_products(x, h, *weights)
        i, f, g, o = (a + b for a, b in zip(parts[:4], parts[4:], strict=True))
        next_c = _sigmoid(f) * c + _sigmoid(i) * np.tanh(g)
        return _sigmoid(o) * np.tanh(next_c), next_c


@irdl_op_definition
class GruCellOp(CellOp):
    """One step of a GRU: h' of x [..., in] and h [..., hidden].

    With r, z, n the three parts of x w_ih^T + b_ih along the last axis, and r', z', n' the parts
    of h w_hh^T + b_hh: a = sigmoid(z + z'), m = tanh(n + sigmoid(r + r') * n'),
    h' = (1 - a) * m + a * h. The weights are w_ih [3 * hidden, in] and w_hh [3 * hidden, hidden],
    the biases [3 * hidden]. vjp: reverse mode over these formulas
    """

    name = "nn.gru_cell"
    GATES: ClassVar[int] = 3
    STATES: ClassVar[tuple[str, ...]] = ("h",)

    x = operand_def()
    h = operand_def()
    w_ih = operand_def()
    w_hh = operand_def()
    b_ih = operand_def()
    b_hh = operand_def()
    next_h = result_def()

    def step(self, from_x: Sequence[Value], from_h: Sequence[Value], *states: Value) -> list[Value]:
        (r, z, n), (r_h, z_h, n_h), [h] = from_x, from_h, states
        gate = z + z_h
        new = TanhOp.on(n + SigmoidOp.on(r + r_h) * n_h)
        # sigmoid(-gate) is 1 - sigmoid(gate), without cancellation
        return [SigmoidOp.on(-gate) * new + SigmoidOp.on(gate) * h]

    def numpy(self, x: Any, h: Any, *weights: Any) -> Any:
        r, z, n, r_h, z_h, n_h = self.numpy_products(x, h, *weights)
        new = np.tanh(n + _sigmoid(r + r_h) * n_h)
        return _sigmoid(-(z + z_h)) * new + _sigmoid(z + z_h) * h


OPS: tuple[type[TensorOp], ...] = (LstmCellOp, GruCellOp)
