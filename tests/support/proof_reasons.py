"""Why the rules of some ops are proven by no solver: they are tested against differences."""

from __future__ import annotations

_NONLINEAR_LINES = "a function of lines of any length that is not linear: no term of one element"
_PRODUCTS = "a sum of products over an extent: the derivative is two such sums, not a moved element"
_FACTORIZATIONS = "an algorithm on matrices of any size"
_MADE_OF_OTHERS = "made of other ops, whose rules are in these lists"
_WEIGHTS = "a sum with weights, which are quotients of extents"
_CHOSEN = "the numbers say which element is chosen"
_SLOPES = "a slope that a rule above is made of; tested at points"
_BY_DESIGN = "the cotangent is not the derivative of the value: the op is there for that"
_ROUNDED = "rounds to another type; sympy has no rounding"
_LOOPS = "runs step by step along an axis"
_RANKS = "acts on several ranks at once"
_COMPLEX = "on complex numbers; the terms are real"
_SCALED = "moves nothing; a factor where a mask is true"

_BY_REASON: dict[str, str] = {
    _NONLINEAR_LINES: "array.logsumexp array.prod array.var array.std array.norm nn.softmax "
    "nn.log_softmax grad.softmax_complement grad.logsumexp_backward grad.centered "
    "grad.balanced grad.polynomial",
    _PRODUCTS: "array.matmul array.dot_general array.outer array.vecdot array.einsum nn.linear "
    "nn.conv1d nn.conv2d nn.conv3d nn.conv_transpose1d nn.conv_transpose2d nn.conv_transpose3d "
    "grad.conv1d_input_backward grad.conv2d_input_backward grad.conv3d_input_backward "
    "grad.conv1d_weight_backward grad.conv2d_weight_backward grad.conv3d_weight_backward",
    _FACTORIZATIONS: "array.cholesky array.triangular_solve array.eig array.eigh array.svd "
    "array.qr array.pinv array.solve array.inv array.det array.slogdet grad.lu_factor "
    "grad.cofactor grad.cofactor_slope grad.eigen_solve grad.singular_solve grad.lyapunov "
    "grad.polar grad.spectral grad.spectral_trace grad.sylvester",
    _MADE_OF_OTHERS: "nn.prelu nn.glu nn.layer_norm nn.rms_norm nn.group_norm nn.instance_norm "
    "nn.batch_norm nn.attention grad.attention_backward nn.lstm_cell nn.gru_cell nn.nll_loss "
    "grad.nll_loss_backward nn.cross_entropy nn.mse_loss nn.l1_loss nn.huber_loss "
    "nn.smooth_l1_loss nn.bce_loss nn.bce_with_logits nn.kl_div nn.dropout",
    _WEIGHTS: "array.mean nn.avg_pool1d nn.avg_pool2d nn.avg_pool3d nn.adaptive_avg_pool2d "
    "nn.resize2d grad.avg_pool1d_backward grad.avg_pool2d_backward grad.avg_pool3d_backward "
    "grad.resize2d_backward grad.adaptive_avg_pool2d_backward",
    _CHOSEN: "array.max array.min array.sort array.top_k nn.max_pool1d nn.max_pool2d "
    "nn.max_pool3d grad.max_pool1d_at grad.max_pool2d_at grad.max_pool3d_at "
    "grad.max_pool1d_backward grad.max_pool2d_backward grad.max_pool3d_backward",
    _SLOPES: "grad.softplus_slope grad.sigmoid_slope grad.gaussian grad.normal_density "
    "grad.normal_cdf grad.atan_slope grad.square_complement grad.polygamma grad.tanh_softplus "
    "grad.tanh_point grad.tanh_at grad.tanh_slope_at grad.sigmoid_point grad.sigmoid_at "
    "grad.sigmoid_slope_at grad.half_tanh_at",
    _BY_DESIGN: "grad.gate grad.add_slope grad.negate_gradient",
    _ROUNDED: "array.astype",
    _LOOPS: "array.cumulative_sum array.cumulative_prod grad.linear_recurrence",
    _RANKS: "comm.all_reduce comm.reduce comm.broadcast comm.all_gather comm.part "
    "comm.reduce_scatter comm.permute comm.send comm.recv",
    _COMPLEX: "array.complex array.real array.imag array.conj array.fft",
    _SCALED: "grad.drop",
}
REASONS: dict[str, str] = {
    name: reason for reason, names in _BY_REASON.items() for name in names.split()
}
"""The reason for each op that is proven nowhere and has no row of points."""
