"""nn: normalization by statistics of a batch, with PyTorch's semantics and its running state."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any, ClassVar

from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.array.elementwise import RsqrtOp
from gradir.dialects.array.movement import BroadcastToOp, reshaped, sum_to_shape
from gradir.dialects.array.reductions import narrowed, widened
from gradir.dialects.base.attributes import Attributes, Types, flag, number
from gradir.dialects.base.interfaces import Cotangents, TensorOp
from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.shapes import DYNAMIC, compatible, element_of, shape_of, tensor
from gradir.dialects.base.value import Value
from gradir.dialects.building.kinds import require_elements
from gradir.dialects.nn.norms import Geometry, Normalizer, channel_axis, channel_line


def _geometry(x: Attribute, attributes: Attributes) -> Geometry:
    shape = shape_of(x)
    if len(shape) < 2:
        raise VerifyException(f"x must have a batch and a channel axis, got {x}")
    axis = channel_axis(attributes, len(shape))
    axes = tuple(d for d in range(len(shape)) if d != axis)
    return Geometry(shape, axes, (shape[axis],), channel_line(shape, axis))


@irdl_op_definition
class BatchNormOp(TensorOp):
    """scale * (x - m) / sqrt(v + eps) + bias for each channel, and the next running state.

    x [N, C, d...] in `layout = "NCHW"`, [N, d..., C] in "NHWC"; scale, bias, mean, var [C];
    `eps = 1e-5`. With `training = false`, m and v are mean and var, which are unchanged. With
    true, they are the mean and the biased variance of the channel, and
    mean' = (1 - momentum) * mean + momentum * m; var' alike, by the unbiased variance;
    `momentum = 0.1`. Results: y, mean', var', and the hidden m and 1 / sqrt(v + eps).
    vjp: of y as in nn.layer_norm (with m and v given: ct * scale / sqrt(v + eps));
    none flows through the state, neither into mean and var nor from mean', var', m, or v
    """

    name = "nn.batch_norm"
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("eps", "momentum", "training", "layout")
    HIDDEN: ClassVar[tuple[int, ...]] = (3, 4)

    x = operand_def()
    scale = operand_def()
    bias = operand_def()
    mean = operand_def()
    var = operand_def()
    y = result_def()
    next_mean = result_def()
    next_var = result_def()
    batch_mean = result_def()
    batch_inverse = result_def()
    traits = traits_def(Pure())

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        x, *parameters = operands
        require_elements(x, "float")
        geometry = _geometry(x, attributes)
        line = tensor(geometry.parameter, element_of(x))
        for name, type_ in zip(("scale", "bias", "mean", "var"), parameters, strict=True):
            fits = compatible(shape_of(type_), geometry.parameter)
            if not fits or element_of(type_) != element_of(x):
                raise VerifyException(f"{name} must be {line}, got {type_}")
        eps, momentum = number(attributes, "eps", 1e-5), number(attributes, "momentum", 0.1)
        if not 0 <= eps < inf:
            raise VerifyException(f"eps must be finite and not negative, got {eps}")
        if not 0 <= momentum <= 1:
            raise VerifyException(f"momentum must be in [0, 1], got {momentum}")
        if flag(attributes, "training", False):
            _require_statistics(x, geometry)
        return [x, *[line] * 4]

    @property
    def is_training(self) -> bool:
        return flag(self.attributes, "training", False)

    @property
    def geometry(self) -> Geometry:
        return _geometry(self.x.type, self.attributes)

    @property
    def eps(self) -> float:
        return number(self.attributes, "eps", 1e-5)

    @property
    def momentum(self) -> float:
        return number(self.attributes, "momentum", 0.1)

    @property
    def normalizer(self) -> Normalizer:
        return Normalizer(self.geometry, self.eps)

    def _spread(self, line: Value, x: Value) -> Value:
        """One number per channel repeated over x's shape."""
        return BroadcastToOp.on(reshaped(widened(line), self.geometry.line), type=x.type)

    def _given(self, x: Value, mean: Value, var: Value) -> tuple[Value, Value]:
        """x normalized by the state, and its factor 1 / sqrt(var + eps)."""
        inverse = self._spread(RsqrtOp.on(widened(var) + self.eps), x)
        return (x - self._spread(mean, x)) * inverse, inverse

    def vjp_all(
        self, cts: Cotangents, results: Sequence[Value], operands: Sequence[Value]
    ) -> Cotangents:
        if cts[0] is None:
            return [None] * 5
        # from x: the hidden results have no derivative, which the second order needs
        x, scale, bias, mean, var = operands
        wide_x, ct = widened(x), widened(cts[0])
        inner = ct * self._spread(scale, ct)
        if self.is_training:
            normal, inverse = self.normalizer.normalized(wide_x)
            to_x = self.normalizer.vjp(inner, normal, inverse)
        else:
            normal, inverse = self._given(wide_x, mean, var)
            to_x = inner * inverse
        to_scale, to_bias = self._total(ct * normal, scale), self._total(ct, bias)
        return [narrowed(to_x, x.type), to_scale, to_bias, None, None]

    def _total(self, x: Value, parameter: Value) -> Value:
        """x summed over all but the channels."""
        total = reshaped(sum_to_shape(x, self.geometry.line), parameter.shape)
        return narrowed(total, parameter.type)

    def decompose(
        self, x: Value, scale: Value, bias: Value, mean: Value, var: Value
    ) -> Sequence[Value]:
        wide = widened(x)
        if not self.is_training:
            normal, _ = self._given(wide, mean, var)
            state = [mean, var, mean, RsqrtOp.on(widened(var) + self.eps)]
        else:
            low = wide - self.normalizer.spread(self.normalizer.mean(wide), wide)
            batch_mean = reshaped(self.normalizer.mean(wide), mean.shape)
            batch_var = reshaped(self.normalizer.mean(low * low), var.shape)
            normal, _ = self.normalizer.normalized(wide)
            inverse = RsqrtOp.on(batch_var + self.eps)
            unbiased = batch_var * self._correction
            state = [self._mixed(mean, batch_mean), self._mixed(var, unbiased), batch_mean, inverse]
        y = normal * self._spread(scale, wide) + self._spread(bias, wide)
        return [narrowed(v, r.type) for v, r in zip((y, *state), self.results, strict=True)]

    @property
    def _correction(self) -> float:
        """The factor from the biased to the unbiased variance."""
        count = self.geometry.count
        return count / (count - 1)

    def _mixed(self, old: Value, new: Value) -> Value:
        return widened(old) * (1 - self.momentum) + new * self.momentum

    def numpy(self, x: Any, scale: Any, bias: Any, mean: Any, var: Any) -> Any:
        geometry, m, v, after = self.geometry, mean, var, (mean, var)
        if self.is_training:
            m, v = np.mean(x, geometry.axes), np.var(x, geometry.axes)
            keep = 1 - self.momentum
            unbiased = v * self._correction
            after = keep * mean + self.momentum * m, keep * var + self.momentum * unbiased
        inverse = 1 / np.sqrt(v + self.eps)
        m_line, r_line, s_line, b_line = (
            p.reshape(geometry.line) for p in (m, inverse, scale, bias)
        )
        return (x - m_line) * r_line * s_line + b_line, *after, m, inverse


def _require_statistics(x: Attribute, geometry: Geometry) -> None:
    """VerifyException for a batch too small for a mean and an unbiased variance per channel."""
    known = DYNAMIC not in (geometry.view[a] for a in geometry.axes)
    if known and geometry.count < 2:
        raise VerifyException(f"training needs more than one element per channel, got {x}")


OPS: tuple[type[TensorOp], ...] = (BatchNormOp,)
