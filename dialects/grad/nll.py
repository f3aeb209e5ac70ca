"""The negative log likelihood as a bilinear form, for the loss and its transpose.

loss_n = -(1 - s) * w[t_n] * lp[n, t_n] - s / C * sum_c w[c] * lp[n, c], and 0 where t_n is
ignore_index; C classes, s the label smoothing, w ones where absent. `sum` adds all n; `mean`
divides that by the sum of w[t_n] over the counted n. The loss is linear in lp, so that its
transpose (`grad.nll_loss_backward`) and the transpose of that are closed under differentiation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from xdsl.dialects.builtin import f32, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.array.comparison import AstypeOp, WhereOp
from gradir.dialects.array.creation import IotaOp
from gradir.dialects.array.indexing import IndexingOp, TakeOp, check_not_empty, wrapped
from gradir.dialects.array.movement import BroadcastToOp, reshaped
from gradir.dialects.array.reductions import SumOp, narrowed, widened
from gradir.dialects.base.access import Access
from gradir.dialects.base.attributes import Attributes, Types, integer, number, text
from gradir.dialects.base.interfaces import Cotangents, TensorOp
from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.shapes import (
    byte_size,
    compatible,
    element_of,
    extents_text,
    is_float,
    is_integer,
    is_tensor,
    shape_of,
    tensor,
)
from gradir.dialects.base.support import Mask, Supports
from gradir.dialects.base.value import Emitter, Scalar, Value
from gradir.dialects.building.kinds import require_elements
from gradir.dialects.building.nests import Read, nest
from gradir.dialects.loopnest.loopnest import Output

NLL_ATTRIBUTES = ("reduction", "ignore_index", "label_smoothing")
REDUCTIONS = ("mean", "sum", "none")


class NllForm(TensorOp):
    """Attributes and checks of the loss and of its transpose."""

    ATTRIBUTES: ClassVar[tuple[str, ...]] = NLL_ATTRIBUTES
    CHECKS_INDICES: ClassVar[bool] = True
    # Operands without a derivative (class weights).
    NOT_DIFFERENTIABLE: ClassVar[tuple[int, ...]] = (2,)

    @property
    def reduction(self) -> str:
        return text(self.attributes, "reduction", "mean", REDUCTIONS)

    @property
    def ignore_index(self) -> int:
        return integer(self.attributes, "ignore_index", -100)

    @property
    def smoothing(self) -> float:
        return number(self.attributes, "label_smoothing", 0.0)

    @property
    def settings(self) -> dict[str, Any]:
        return {name: v for name, v in self.attributes.items() if name in NLL_ATTRIBUTES}

    def shares(
        self, ct: Value, targets: Value, weights: Value | None, classes: int
    ) -> tuple[TargetRows, Value, Value]:
        """The targets; the values of the transpose at the class of each, and at all classes."""
        rows = TargetRows(self, targets, weights, wide_element(ct.element), classes)
        scale = widened(ct)
        if self.reduction == "mean":
            scale = scale / rows.total_weight()
        scale = -BroadcastToOp.on(scale, type=tensor(targets.shape, scale.element))
        zero = scale.full(0)
        hit = WhereOp.on(rows.valid, scale * rows.weights * (1 - self.smoothing), zero)
        return rows, hit, WhereOp.on(rows.valid, scale * (self.smoothing / classes), zero)

    def class_sums(
        self, ct: Value, shape: Sequence[int], targets: Value, weights: Value | None = None
    ) -> Value:
        """The sums of the transpose along the classes, one for each target."""
        classes = shape[class_axis(shape)]
        _, hit, rest = self.shares(ct, targets, weights, classes)
        if self.smoothing:
            count = rest.full(classes)
            if weights is not None:
                total = SumOp.on(narrowed(weights, tensor(weights.shape, rest.element)))
                count = BroadcastToOp.on(total, type=rest.type)
            hit = hit + rest * count
        return narrowed(hit, tensor(targets.shape, ct.element))


def class_axis(shape: Sequence[int]) -> int:
    """Log probabilities are [C], [N, C] or [N, C, d...]."""
    return 0 if len(shape) == 1 else 1


def loss_type(log_probs: Attribute, reduction: str) -> Attribute:
    shape = list(shape_of(log_probs))
    del shape[class_axis(shape)]
    return tensor(shape if reduction == "none" else [], element_of(log_probs))


def verify_nll(
    log_probs: Attribute, targets: Attribute, weights: Attribute | None, what: str
) -> None:
    """Check the shapes of the operands; `what` names the first in messages."""
    require_elements(log_probs, "float")
    if is_tensor(targets) and not is_integer(element_of(targets)):
        raise VerifyException(
            f"targets must be integers, a class each, got {targets}; convert them by astype"
        )
    require_elements(targets, "integer")
    shape = list(shape_of(log_probs))
    if not shape:
        raise VerifyException(f"{what} must have rank >= 1, got {log_probs}")
    classes = shape.pop(class_axis(shape))
    if not compatible(shape, given := shape_of(targets)):
        way_out = "; drop their last axis: targets[..., 0]" if given == (*shape, 1) else ""
        if compatible(given, shape_of(log_probs)):
            has_shares = what == "logits"  # nn.cross_entropy
            way_out = (
                "; shares of the classes are floats" if has_shares else "; take argmax(axis=1)"
            )
        raise VerifyException(
            f"targets must have shape {extents_text(shape)} for {what} {log_probs}, got "
            f"{targets}{way_out}"
        )
    if classes == 0 and 0 not in shape:
        raise VerifyException(f"there must be at least one class, got {log_probs}")
    if weights is not None and (
        not compatible(shape_of(weights), [classes]) or element_of(weights) != element_of(log_probs)
    ):
        raise VerifyException(
            f"weights must be {tensor([classes], element_of(log_probs))}, got {weights}"
        )


def verify_settings(attributes: Attributes) -> None:
    """Check the attributes of the loss."""
    integer(attributes, "ignore_index", -100)
    text(attributes, "reduction", "mean", REDUCTIONS)
    smoothing = number(attributes, "label_smoothing", 0.0)
    if not 0 <= smoothing <= 1:
        raise VerifyException(f"label_smoothing must be in [0, 1], got {smoothing}")


@irdl_op_definition
class ClassIndexOp(IndexingOp):
    """The targets, checked: one outside of [0, classes) is an error at run time.

    Integers of any type and shape become i64. Negative ones do not count from the end.
    """

    name = "grad.class_index"
    INACTIVE: ClassVar[bool] = True
    INDICES: ClassVar[int] = 0
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("classes",)

    targets = operand_def()
    y = result_def()

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        require_elements(operands[0], "integer")
        classes = integer(attributes, "classes")
        if classes < 0:
            raise VerifyException(f"classes must not be negative, got {classes}")
        check_not_empty(classes, operands[0])
        return [tensor(shape_of(operands[0]), i64)]

    @property
    def classes(self) -> int:
        return integer(self.attributes, "classes")

    def lower(self, emitter: Emitter, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        shape = shape_of(self.y.type)
        here = Access.identity(len(shape))

        def check(at: Scalar) -> Scalar:
            return self.checked(at, self.classes, from_start=True)

        reads = [Read(operands[0], here)]
        return nest(emitter, shape, reads, [Output(self.y.type, here)], check)

    def numpy(self, *arrays: Any) -> Any:
        return wrapped(arrays[0], self.classes, from_start=True)


class TargetRows:
    """Validity, class index and weight of each target."""

    def __init__(
        self, op: NllForm, targets: Value, weights: Value | None, wide: Attribute, classes: int
    ):
        # compared in i64: ignore_index need not be a value of the targets' type
        targets = narrowed(targets, tensor(targets.shape, i64))
        valid = targets.apply("not_equal", op.ignore_index)
        self.valid = valid
        safe = WhereOp.on(valid, targets, targets.full(0))
        self.targets = ClassIndexOp.on(safe, classes=classes)
        row_type = tensor(targets.shape, wide)
        if weights is None:
            self.weights = AstypeOp.on(valid, type=row_type)
        else:
            taken = TakeOp.on(narrowed(weights, tensor(weights.shape, wide)), self.targets, axis=0)
            self.weights = WhereOp.on(valid, taken, taken.full(0))

    def total_weight(self) -> Value:
        return SumOp.on(self.weights)


def wide_element(element: Attribute) -> Attribute:
    return f32 if is_float(element) and byte_size(element) == 2 else element


def along_classes(x: Value, shape: Sequence[int]) -> Value:
    """One entry per target repeated over the classes of `shape`."""
    line = [1 if d == class_axis(shape) else n for d, n in enumerate(shape)]
    return BroadcastToOp.on(reshaped(x, line), type=tensor(shape, x.element))


def class_weights(weights: Value, shape: Sequence[int], wide: Attribute) -> Value:
    """Class weights repeated over everything but the classes."""
    line = [n if d == class_axis(shape) else 1 for d, n in enumerate(shape)]
    column = reshaped(narrowed(weights, tensor(weights.shape, wide)), line)
    return BroadcastToOp.on(column, type=tensor(shape, wide))


@irdl_op_definition
class NllLossBackwardOp(NllForm):
    """The transpose of nn.nll_loss in its log probabilities; of the result's type.

    vjp: nll_loss(ct', targets, weights)
    """

    name = "grad.nll_loss_backward"

    ct = operand_def()
    targets = operand_def()
    weights = opt_operand_def()
    y = result_def()
    traits = traits_def(Pure())

    def verify_types(self) -> None:
        weights = self.weights.type if self.weights else None
        verify_nll(self.y.type, self.targets.type, weights, "the result")
        wanted = loss_type(self.y.type, self.reduction)
        fits = compatible(shape_of(self.ct.type), shape_of(wanted))
        if not fits or element_of(self.ct.type) != element_of(wanted):
            raise VerifyException(f"the cotangent must be {wanted}, got {self.ct.type}")
        verify_settings(self.attributes)

    def vjp(self, ct: Value, y: Value, *operands: Value) -> Cotangents:
        from gradir.dialects.nn.losses import NllLossOp

        return [NllLossOp.on(ct, *operands[1:], **self.settings), None, None][: len(operands)]

    def support(self, of: Supports) -> Mask | None:
        """The classes that the targets name, or all of them where labels are smoothed."""
        if of.strict:
            return None
        targets, shape = self.targets, shape_of(self.y.type)
        axis = class_axis(shape)

        def where(e: Emitter) -> Value:
            rows = TargetRows(self, e.value(targets), None, f32, shape[axis])
            valid = along_classes(rows.valid, shape)
            if self.smoothing:
                return valid
            hit = along_classes(rows.targets, shape).equal(_counts(valid, shape, axis))
            return valid.apply("logical_and", hit)

        return Mask(where)

    def decompose(self, ct: Value, targets: Value, weights: Value | None = None) -> Value:
        shape, wide = shape_of(self.y.type), wide_element(ct.element)
        axis = class_axis(shape)
        rows, share, rest = self.shares(ct, targets, weights, shape[axis])
        hit = along_classes(rows.targets, shape).equal(_counts(ct, shape, axis))
        spread = along_classes(share, shape)
        result = WhereOp.on(hit, spread, spread.full(0))
        if self.smoothing:
            smooth = along_classes(rest, shape)
            result += smooth if weights is None else smooth * class_weights(weights, shape, wide)
        return narrowed(result, self.y.type)

    def numpy(self, ct: Any, targets: Any, weights: Any = None) -> Any:
        shape = shape_of(self.y.type)
        axis, valid = class_axis(shape), targets != self.ignore_index
        safe, picked = checked_targets(targets, valid, weights, shape[axis], ct.dtype)
        with np.errstate(invalid="ignore", divide="ignore"):
            scale = -ct / np.sum(picked) if self.reduction == "mean" else -ct
        scale = np.where(valid, scale, 0)
        one_hot = np.expand_dims(safe, axis) == np.arange(shape[axis]).reshape(
            [-1 if d == axis else 1 for d in range(len(shape))]
        )
        share = np.expand_dims(np.where(valid, scale * picked, 0), axis)
        result = (1 - self.smoothing) * np.where(one_hot, share, 0)
        line = [-1 if d == axis else 1 for d in range(len(shape))]
        each = np.ones(shape[axis]) if weights is None else weights
        smooth = np.expand_dims(scale, axis) * each.reshape(line)
        return result + self.smoothing / shape[axis] * smooth if self.smoothing else result


def _counts(near: Value, shape: Sequence[int], axis: int) -> Value:
    """0, 1, ... along an axis, emitted where `near` is."""
    iota = near.emitter.insert(IotaOp.of([], [tensor(shape, i64)], axis=axis))
    return near.emitter.value(iota.y)


def checked_targets(targets: Any, valid: Any, weights: Any, classes: int, dtype: Any) -> Any:
    """Targets in [0, classes) (0 where ignored), and their weights (0 where ignored), in NumPy."""
    safe = wrapped(np.where(valid, targets, 0), classes, from_start=True)
    picked = np.ones(safe.shape, dtype) if weights is None else weights[safe]
    return safe, np.where(valid, picked, 0)
