"""Ops with derivatives that have no row in the tables of points, and why."""

from __future__ import annotations

_BY_REASON = {
    "moves or chooses elements, or marks them: nothing is rounded": (
        "array.where array.reshape array.permute_dims array.broadcast_to array.expand_dims "
        "array.squeeze array.flip array.slice array.pad array.concat array.affine_gather "
        "array.stack array.split array.roll array.tile array.repeat array.dynamic_slice "
        "array.dynamic_update_slice array.tril array.triu array.diagonal array.take "
        "array.take_along_axis array.gather_nd array.index_update array.top_k nn.pixel_shuffle "
        "nn.embedding grad.name grad.negate_gradient grad.gate grad.start_checkpoint "
        "grad.end_checkpoint grad.barrier grad.diagonal_backward grad.max_pool1d_at "
        "grad.max_pool2d_at grad.max_pool3d_at grad.max_pool1d_backward grad.max_pool2d_backward "
        "grad.max_pool3d_backward grad.shift"
    ),
    "parts of complex numbers: nothing is rounded": (
        "array.complex array.real array.imag array.conj"
    ),
    "complex sums of products: tests/frontends/test_fft.py": "array.fft",
    "rounds once, to another type": "array.astype",
    "sums elements: a sum has the row of array.sum": (
        "array.affine_scatter_add array.trace array.scatter_add array.scatter_nd_add "
        "grad.take_along_axis_backward grad.accumulate grad.accumulate_slice "
        "grad.avg_pool1d_backward grad.avg_pool2d_backward grad.avg_pool3d_backward"
    ),
    "sums products: array.matmul and array.vecdot have rows": (
        "array.dot_general array.outer array.einsum nn.linear nn.conv1d nn.conv2d nn.conv3d "
        "nn.conv_transpose1d nn.conv_transpose2d nn.conv_transpose3d nn.resize2d "
        "nn.adaptive_avg_pool2d nn.nll_loss grad.nll_loss_backward grad.resize2d_backward "
        "grad.adaptive_avg_pool2d_backward grad.conv1d_input_backward grad.conv2d_input_backward "
        "grad.conv3d_input_backward grad.conv1d_weight_backward grad.conv2d_weight_backward "
        "grad.conv3d_weight_backward grad.linear_recurrence"
    ),
    "the same code as that of an op with a row: nn.layer_norm, nn.max_pool1d, nn.avg_pool1d": (
        "nn.group_norm nn.instance_norm nn.batch_norm nn.max_pool2d nn.max_pool3d nn.avg_pool2d "
        "nn.avg_pool3d"
    ),
    "a product of elementwise ops that have rows": (
        "nn.prelu nn.glu nn.lstm_cell nn.gru_cell nn.dropout grad.drop grad.add_slope"
    ),
    "a derivative of an op whose row has it in its first or second derivative": (
        "grad.softplus_slope grad.sigmoid_slope grad.gaussian grad.normal_density grad.normal_cdf "
        "grad.atan_slope grad.square_complement grad.tanh_softplus grad.polygamma "
        "grad.attention_backward grad.centered grad.balanced grad.logsumexp_backward "
        "grad.tanh_point grad.tanh_at grad.tanh_slope_at grad.sigmoid_point grad.sigmoid_at "
        "grad.sigmoid_slope_at grad.half_tanh_at"
    ),
    "a matrix has a condition, not points: tests/dialects/test_linear_algebra.py": (
        "array.cholesky array.triangular_solve array.eig array.eigh array.svd array.qr array.pinv "
        "array.solve array.inv array.det array.slogdet grad.lu_factor grad.cofactor "
        "grad.cofactor_slope grad.eigen_solve grad.singular_solve grad.lyapunov grad.polar "
        "grad.spectral grad.spectral_trace grad.sylvester"
    ),
    "its coefficients say what it is: the functions of gradir.scipy have rows": "grad.polynomial",
}

REASONS: dict[str, str] = {op: reason for reason, ops in _BY_REASON.items() for op in ops.split()}
