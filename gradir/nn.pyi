"""Written by `make docs`: the names of gradir.nn, for editors and type checkers."""

from typing import Any

__all__: list[str]
def adaptive_avg_pool1d(x: Any = ..., size: Any = ..., **kwargs: Any) -> Any:
    """The means of `size` windows of x [N, C, L] or [C, L]."""
def adaptive_avg_pool2d(x: Any = ..., size: Any = ..., layout: Any = None, **kwargs: Any) -> Any:
    """The means of windows of x [N, C, H, W] or [C, H, W]; a None in `size` is x's extent."""
def adaptive_avg_pool3d(x: Any = ..., size: Any = ..., **kwargs: Any) -> Any:
    """The means of windows of x [N, C, D, H, W] or [C, D, H, W]; a None in `size` is x's extent."""
def adaptive_max_pool1d(x: Any = ..., size: Any = ..., return_indices: Any = False, **kwargs: Any) -> Any:
    """The largest element of each of `size` windows of x [N, C, L] or [C, L]."""
def adaptive_max_pool2d(x: Any = ..., size: Any = ..., return_indices: Any = False, **kwargs: Any) -> Any:
    """As adaptive_max_pool1d, of x [N, C, H, W] or [C, H, W]; a None in `size` is x's extent."""
def adaptive_max_pool3d(x: Any = ..., size: Any = ..., return_indices: Any = False, **kwargs: Any) -> Any:
    """As adaptive_max_pool2d, of x [N, C, D, H, W] or [C, D, H, W]."""
def affine_grid(theta: Any = ..., size: Any = ..., align_corners: Any = False, **kwargs: Any) -> Any:
    """The grid of grid_sample that affine maps make: [N, H, W, 2] of theta [N, 2, 3] and `size`"""
def alpha_dropout(x: Any = ..., key: Any = ..., counter: Any = ..., p: Any = ..., **kwargs: Any) -> Any:
    """Dropped elements are selu's limit below; all are then scaled and moved, so that a mean of 0"""
def attention(q: Any = ..., k: Any = ..., v: Any = ..., mask: Any = None, causal: Any = None, scale: Any = None, precision: Any = None, **kwargs: Any) -> Any:
    """softmax(scale * q k^T + mask) v along the last axis, in blocks of rows."""
def avg_pool1d(x: Any = ..., kernel: Any = None, stride: Any = None, padding: Any = None, ceil_mode: Any = None, layout: Any = None, count_include_pad: Any = None, divisor_override: Any = None, **kwargs: Any) -> Any:
    """The mean of each window of x [N, C, L]; attributes as of nn.max_pool1d, without dilation."""
def avg_pool2d(x: Any = ..., kernel: Any = None, stride: Any = None, padding: Any = None, ceil_mode: Any = None, layout: Any = None, count_include_pad: Any = None, divisor_override: Any = None, **kwargs: Any) -> Any:
    """The mean of each window of x [N, C, H, W], or [N, H, W, C] in `layout = "NHWC"`."""
def avg_pool3d(x: Any = ..., kernel: Any = None, stride: Any = None, padding: Any = None, ceil_mode: Any = None, layout: Any = None, count_include_pad: Any = None, divisor_override: Any = None, **kwargs: Any) -> Any:
    """The mean of each window of x [N, C, D, H, W], or of "NHWC" with the channels last."""
def batch_norm(x: Any = ..., scale: Any = ..., bias: Any = ..., state: Any = ..., *, training: Any = False, momentum: Any = None, eps: Any = None, layout: Any = None, **kwargs: Any) -> Any:
    """Batch normalization of each channel: y, and the next state."""
def bce_loss(x: Any = ..., target: Any = ..., weight: Any = None, reduction: Any = 'mean', **kwargs: Any) -> Any:
    """-target * log(x) - (1 - target) * log(1 - x), logarithms at least -100; x in [0, 1]."""
def bce_with_logits(x: Any = ..., target: Any = ..., weight: Any = None, reduction: Any = 'mean', pos_weight: Any = None, **kwargs: Any) -> Any:
    """bce_loss(sigmoid(x), target) without overflow; `pos_weight` is a factor of the target's term."""
def bilinear(x1: Any = ..., x2: Any = ..., weight: Any = ..., bias: Any = None, **kwargs: Any) -> Any:
    """y[..., o] = x1[..., i] * weight[o, i, j] * x2[..., j], summed over i and j, + bias[o]."""
def binary_cross_entropy(x: Any = ..., target: Any = ..., weight: Any = None, reduction: Any = 'mean', **kwargs: Any) -> Any:
    """-target * log(x) - (1 - target) * log(1 - x), logarithms at least -100; x in [0, 1]."""
def binary_cross_entropy_with_logits(x: Any = ..., target: Any = ..., weight: Any = None, reduction: Any = 'mean', pos_weight: Any = None, **kwargs: Any) -> Any:
    """bce_loss(sigmoid(x), target) without overflow; `pos_weight` is a factor of the target's term."""
def celu(x: Any = ..., alpha: Any = None, **kwargs: Any) -> Any:
    """x where x > 0, else alpha * (exp(x / alpha) - 1); `alpha = 1.0`, not 0."""
def channel_shuffle(x: Any = ..., groups: Any = ..., **kwargs: Any) -> Any:
    """x [N, C, d...] with channel k * (C / groups) + i moved to i * groups + k."""
def conv1d(x: Any = ..., weight: Any = ..., bias: Any = None, stride: Any = None, padding: Any = None, dilation: Any = None, groups: Any = None, layout: Any = None, precision: Any = None, **kwargs: Any) -> Any:
    """Convolution (cross-correlation) along one axis, as `nn.conv2d` along two."""
def conv2d(x: Any = ..., weight: Any = ..., bias: Any = None, stride: Any = None, padding: Any = None, dilation: Any = None, groups: Any = None, layout: Any = None, precision: Any = None, **kwargs: Any) -> Any:
    """Convolution (cross-correlation) of images, with PyTorch's meaning."""
def conv3d(x: Any = ..., weight: Any = ..., bias: Any = None, stride: Any = None, padding: Any = None, dilation: Any = None, groups: Any = None, layout: Any = None, precision: Any = None, **kwargs: Any) -> Any:
    """Convolution (cross-correlation) of volumes, as `nn.conv2d` of images."""
def conv_transpose1d(x: Any = ..., weight: Any = ..., bias: Any = None, stride: Any = None, padding: Any = None, dilation: Any = None, groups: Any = None, layout: Any = None, output_padding: Any = None, precision: Any = None, **kwargs: Any) -> Any:
    """The transpose of a convolution along one axis, as `nn.conv_transpose2d` along two."""
def conv_transpose2d(x: Any = ..., weight: Any = ..., bias: Any = None, stride: Any = None, padding: Any = None, dilation: Any = None, groups: Any = None, layout: Any = None, output_padding: Any = None, precision: Any = None, **kwargs: Any) -> Any:
    """The transpose of a convolution as a layer of its own, with PyTorch's meaning."""
def conv_transpose3d(x: Any = ..., weight: Any = ..., bias: Any = None, stride: Any = None, padding: Any = None, dilation: Any = None, groups: Any = None, layout: Any = None, output_padding: Any = None, precision: Any = None, **kwargs: Any) -> Any:
    """The transpose of a convolution of volumes, as `nn.conv_transpose2d` of images."""
def cosine_embedding_loss(x1: Any = ..., x2: Any = ..., target: Any = ..., margin: Any = ..., reduction: Any = 'mean', **kwargs: Any) -> Any:
    """1 - c where the target is 1, max(0, c - margin) where it is -1; 0 of other targets."""
def cosine_similarity(x1: Any = ..., x2: Any = ..., axis: Any = 1, eps: Any = ..., **kwargs: Any) -> Any:
    """The cosine of the angle between vectors along `axis`; norms are at least eps."""
def cross_entropy(logits: Any = ..., targets: Any = ..., weights: Any = None, reduction: Any = 'mean', ignore_index: Any = None, label_smoothing: Any = None, **kwargs: Any) -> Any:
    """-weights[t] * log_softmax(logits)[t] for each target t, the classes along axis 1 of logits"""
def ctc_loss(log_probs: Any = ..., targets: Any = ..., input_lengths: Any = ..., target_lengths: Any = ..., blank: Any = 0, reduction: Any = 'mean', zero_infinity: Any = False, **kwargs: Any) -> Any:
    """Connectionist temporal classification: -log of the sum of the probabilities of all alignments"""
def dropout(x: Any = ..., key: Any = ..., counter: Any = ..., p: Any = ..., **kwargs: Any) -> Any:
    """x / (1 - p), or 0 for dropped elements; each is dropped with probability p, in [0, 1]."""
def dropout1d(x: Any = ..., key: Any = ..., counter: Any = ..., p: Any = ..., **kwargs: Any) -> Any:
    """x [N, C, L] or [C, L] / (1 - p), or 0 in dropped channels, each of probability p."""
def dropout2d(x: Any = ..., key: Any = ..., counter: Any = ..., p: Any = ..., **kwargs: Any) -> Any:
    """x [N, C, H, W] or [C, H, W] / (1 - p), or 0 in dropped channels, each of probability p."""
def dropout3d(x: Any = ..., key: Any = ..., counter: Any = ..., p: Any = ..., **kwargs: Any) -> Any:
    """x [N, C, D, H, W] or [C, D, H, W] / (1 - p), or 0 in dropped channels."""
def elu(x: Any = ..., alpha: Any = None, **kwargs: Any) -> Any:
    """x where x > 0, else alpha * (exp(x) - 1); `alpha = 1.0`."""
def embedding(table: Any = ..., ids: Any = ..., padding_idx: Any = None, **kwargs: Any) -> Any:
    """Row id of the table [rows, width] for each of ids, integers of any shape."""
def embedding_bag(table: Any = ..., ids: Any = ..., offsets: Any = None, *, mode: Any = 'mean', weights: Any = None, padding_idx: Any = None, **kwargs: Any) -> Any:
    """The sum, mean or maximum of the rows of each bag, of shape [bags, width], as PyTorch has it."""
def feature_alpha_dropout(x: Any = ..., key: Any = ..., counter: Any = ..., p: Any = ..., **kwargs: Any) -> Any:
    """alpha_dropout of whole channels of x [N, C, d...]."""
def fold(x: Any = ..., output_size: Any = ..., kernel: Any = ..., stride: Any = 1, padding: Any = 0, dilation: Any = 1, **kwargs: Any) -> Any:
    """The sums of windows, the columns of x [N, C * KH * KW, windows], at their places in an image"""
def gaussian_nll_loss(x: Any = ..., target: Any = ..., var: Any = ..., full: Any = False, eps: Any = ..., reduction: Any = 'mean', **kwargs: Any) -> Any:
    """(log(v) + (x - target) ** 2 / v) / 2, v = max(var, eps); no derivative through the max."""
def gelu(x: Any = ..., approximate: Any = None, **kwargs: Any) -> Any:
    """x * (1 + erf(x / sqrt(2))) / 2, or by `approximate = "tanh"`"""
def glu(x: Any = ..., axis: Any = None, **kwargs: Any) -> Any:
    """a * sigmoid(b), a and b the halves of x along `axis` (the last where absent)."""
def grid_sample(x: Any = ..., grid: Any = ..., mode: Any = 'bilinear', padding_mode: Any = 'zeros', align_corners: Any = False, **kwargs: Any) -> Any:
    """x [N, C, H, W] at the places of grid [N, H', W', 2], (x, y) in [-1, 1]: [N, C, H', W']."""
def group_norm(x: Any = ..., scale: Any = None, bias: Any = None, groups: Any = None, layout: Any = None, eps: Any = None, **kwargs: Any) -> Any:
    """layer_norm of each example over its spatial axes and over channels in `groups` groups."""
def gru_cell(x: Any = ..., h: Any = ..., w_ih: Any = ..., w_hh: Any = ..., b_ih: Any = ..., b_hh: Any = ..., precision: Any = None, **kwargs: Any) -> Any:
    """One step of a GRU: h' of x [..., in] and h [..., hidden]."""
def gumbel_softmax(logits: Any = ..., key: Any = ..., counter: Any = ..., tau: Any = ..., hard: Any = False, axis: Any = -1, **kwargs: Any) -> Any:
    """softmax((logits + g) / tau) along `axis`, g from Gumbel's distribution by `key`, `counter`."""
def hardshrink(x: Any = ..., lambd: Any = ..., **kwargs: Any) -> Any:
    """x where |x| > lambd, else 0; nan of nan.   vjp: ct where |x| > lambd"""
def hardsigmoid(x: Any = ..., **kwargs: Any) -> Any:
    """x + 3 limited to [0, 6], divided by 6; nan of nan."""
def hardswish(x: Any = ..., **kwargs: Any) -> Any:
    """x * hardsigmoid(x)."""
def hardtanh(x: Any = ..., **kwargs: Any) -> Any:
    """x limited to [-1, 1]; nan of nan.   vjp: ct where -1 < x < 1, else 0; nan of nan"""
def hinge_embedding_loss(x: Any = ..., target: Any = ..., margin: Any = ..., reduction: Any = 'mean', **kwargs: Any) -> Any:
    """x where the target is 1, max(0, margin - x) where it is -1; both of other targets."""
def huber_loss(x: Any = ..., target: Any = ..., reduction: Any = None, delta: Any = None, **kwargs: Any) -> Any:
    """d * d / 2 where |d| < delta, else delta * (|d| - delta / 2), d = x - target; `delta = 1.0`."""
def instance_norm(x: Any = ..., scale: Any = None, bias: Any = None, layout: Any = None, eps: Any = None, **kwargs: Any) -> Any:
    """layer_norm of each channel of each example over its spatial axes."""
def interpolate(x: Any = ..., size: Any = None, scale_factor: Any = None, mode: Any = 'nearest', align_corners: Any = False, recompute_scale_factor: Any = False, **kwargs: Any) -> Any:
    """x [N, C, d...] with the spatial extents `size`, or floor(extent * scale_factor)."""
def kl_div(x: Any = ..., target: Any = ..., reduction: Any = 'mean', log_target: Any = False, **kwargs: Any) -> Any:
    """target * (log(target) - x): x log probabilities, target probabilities, 0 where it is 0."""
def l1_loss(x: Any = ..., target: Any = ..., reduction: Any = 'mean', **kwargs: Any) -> Any:
    """|x - target|; of complex numbers, of both or one, too.   vjp: that of abs"""
def layer_norm(x: Any = ..., scale: Any = None, bias: Any = None, axes: Any = None, eps: Any = None, **kwargs: Any) -> Any:
    """scale * (x - mean) / sqrt(variance + eps) + bias over `axes = [-1]`; `eps = 1e-5`."""
def leaky_relu(x: Any = ..., slope: Any = None, **kwargs: Any) -> Any:
    """x where x > 0, else slope * x; `slope = 0.01`."""
def linear(x: Any = ..., weight: Any = ..., bias: Any = None, precision: Any = None, **kwargs: Any) -> Any:
    """x weight^T + bias: x [..., in], weight [out, in], bias [out], result [..., out]."""
def local_response_norm(x: Any = ..., size: Any = ..., alpha: Any = ..., beta: Any = ..., k: Any = ..., **kwargs: Any) -> Any:
    """x [N, C, d...] / (k + alpha * the mean of x ** 2 of `size` channels around each) ** beta."""
def log_softmax(x: Any = ..., axis: Any = None, **kwargs: Any) -> Any:
    """log(softmax(x)) along `axis`, without overflow; nan of all -inf."""
def logsigmoid(x: Any = ..., **kwargs: Any) -> Any:
    """log(sigmoid(x)), without overflow.   vjp: ct * sigmoid(-x)"""
def lp_pool1d(x: Any = ..., p: Any = ..., kernel: Any = ..., stride: Any = None, ceil_mode: Any = False, **kwargs: Any) -> Any:
    """(sum of x ** p) ** (1 / p) of each window of x [N, C, L]; 0, with derivative 0, of sums <= 0."""
def lp_pool2d(x: Any = ..., p: Any = ..., kernel: Any = ..., stride: Any = None, ceil_mode: Any = False, **kwargs: Any) -> Any:
    """As lp_pool1d, of x [N, C, H, W]."""
def lp_pool3d(x: Any = ..., p: Any = ..., kernel: Any = ..., stride: Any = None, ceil_mode: Any = False, **kwargs: Any) -> Any:
    """As lp_pool1d, of x [N, C, D, H, W]."""
def lstm_cell(x: Any = ..., h: Any = ..., c: Any = ..., w_ih: Any = ..., w_hh: Any = ..., b_ih: Any = ..., b_hh: Any = ..., precision: Any = None, **kwargs: Any) -> Any:
    """One step of an LSTM: (h', c') of x [..., in], h and c [..., hidden]."""
def margin_ranking_loss(x1: Any = ..., x2: Any = ..., target: Any = ..., margin: Any = ..., reduction: Any = 'mean', **kwargs: Any) -> Any:
    """max(0, margin - target * (x1 - x2))."""
def max_pool1d(x: Any = ..., kernel: Any = ..., stride: Any = None, padding: Any = None, ceil_mode: Any = None, layout: Any = None, dilation: Any = None, return_indices: Any = False, **kwargs: Any) -> Any:
    """The largest element of each window of x [N, C, L]; nan where one is nan."""
def max_pool2d(x: Any = ..., kernel: Any = ..., stride: Any = None, padding: Any = None, ceil_mode: Any = None, layout: Any = None, dilation: Any = None, return_indices: Any = False, **kwargs: Any) -> Any:
    """The largest element of each window of x [N, C, H, W], or [N, H, W, C] in `layout = "NHWC"`."""
def max_pool3d(x: Any = ..., kernel: Any = ..., stride: Any = None, padding: Any = None, ceil_mode: Any = None, layout: Any = None, dilation: Any = None, return_indices: Any = False, **kwargs: Any) -> Any:
    """The largest element of each window of x [N, C, D, H, W], as nn.max_pool2d."""
def max_unpool1d(x: Any = ..., indices: Any = ..., kernel: Any = ..., stride: Any = None, padding: Any = 0, output_size: Any = None, **kwargs: Any) -> Any:
    """Zeros with x [N, C, L] or [C, L] at the `indices` that max_pool1d returned."""
def max_unpool2d(x: Any = ..., indices: Any = ..., kernel: Any = ..., stride: Any = None, padding: Any = 0, output_size: Any = None, **kwargs: Any) -> Any:
    """As max_unpool1d, of x [N, C, H, W] or [C, H, W] and max_pool2d."""
def max_unpool3d(x: Any = ..., indices: Any = ..., kernel: Any = ..., stride: Any = None, padding: Any = 0, output_size: Any = None, **kwargs: Any) -> Any:
    """As max_unpool1d, of x [N, C, D, H, W] or [C, D, H, W] and max_pool3d."""
def mish(x: Any = ..., **kwargs: Any) -> Any:
    """x * tanh(softplus(x)), without overflow.   vjp: ct * (t + x * t'), t = tanh(softplus(x))"""
def mse_loss(x: Any = ..., target: Any = ..., reduction: Any = None, **kwargs: Any) -> Any:
    """(x - target) ** 2.   vjp: ct * 2 * (x - target), and its negative"""
def multi_head_attention(query: Any = ..., key: Any = ..., value: Any = ..., heads: Any = ..., in_weight: Any = ..., in_bias: Any = ..., out_weight: Any = ..., out_bias: Any = ..., *, mask: Any = None, key_padding_mask: Any = None, is_causal: Any = False, need_weights: Any = True, average_weights: Any = True, bias_k: Any = None, bias_v: Any = None, add_zero_attn: Any = False, dropout: Any = None, **kwargs: Any) -> Any:
    """(y, weights): attention of `heads` heads, PyTorch's multi_head_attention_forward."""
def multi_margin_loss(x: Any = ..., target: Any = ..., p: Any = 1, margin: Any = ..., weights: Any = None, reduction: Any = 'mean', **kwargs: Any) -> Any:
    """The mean over the classes i of max(0, margin - x[t] + x[i]) ** p, the target t left out."""
def multilabel_margin_loss(x: Any = ..., target: Any = ..., reduction: Any = 'mean', **kwargs: Any) -> Any:
    """The sum over the targets t and the other classes i of max(0, 1 - x[t] + x[i]), / classes."""
def multilabel_soft_margin_loss(x: Any = ..., target: Any = ..., weights: Any = None, reduction: Any = 'mean', **kwargs: Any) -> Any:
    """The mean of bce_with_logits over the classes, the last axis; `weights` are their factors."""
def nll_loss(log_probs: Any = ..., targets: Any = ..., weights: Any = None, reduction: Any = None, ignore_index: Any = None, label_smoothing: Any = None, **kwargs: Any) -> Any:
    """Negative log likelihood: -weights[t] * log_probs[n, t] for each target t."""
def normalize(x: Any = ..., p: Any = ..., axis: Any = 1, eps: Any = ..., **kwargs: Any) -> Any:
    """x / max(norm of x along `axis`, eps)."""
def one_hot(ids: Any = ..., num_classes: Any = ..., **kwargs: Any) -> Any:
    """Vectors [..., num_classes] of int64 with 1 at the places of ids; ids outside are an error."""
def pad(x: Any = ..., pad: Any = ..., mode: Any = 'constant', value: Any = ..., **kwargs: Any) -> Any:
    """x with pad = (before, after) elements around its last axis, then the one before it, ..."""
def pairwise_distance(x1: Any = ..., x2: Any = ..., p: Any = ..., eps: Any = ..., keepdims: Any = False, **kwargs: Any) -> Any:
    """The p-norms of x1 - x2 + eps along the last axis."""
def pdist(x: Any = ..., p: Any = ..., **kwargs: Any) -> Any:
    """The p-norms of x[i] - x[j] of the rows i < j of x [N, D], in row-major order of (i, j)."""
def pixel_shuffle(x: Any = ..., factor: Any = None, **kwargs: Any) -> Any:
    """x [..., C * r * r, H, W] as [..., C, H * r, W * r], r = `factor`."""
def pixel_unshuffle(x: Any = ..., factor: Any = ..., **kwargs: Any) -> Any:
    """x [..., C, H * r, W * r] as [..., C * r * r, H, W], r = `factor`: pixel_shuffle's inverse."""
def poisson_nll_loss(x: Any = ..., target: Any = ..., log_input: Any = True, full: Any = False, eps: Any = ..., reduction: Any = 'mean', **kwargs: Any) -> Any:
    """exp(x) - target * x, or x - target * log(x + eps) without `log_input`."""
def prelu(x: Any = ..., weight: Any = ..., **kwargs: Any) -> Any:
    """x where x > 0, else weight * x: weight [] or [1], or [C] along axis 1 of x."""
def relu(x: Any = ..., **kwargs: Any) -> Any:
    """max(x, 0); nan of nan.   vjp: ct where y > 0, so 0 at 0; nan of nan"""
def relu6(x: Any = ..., **kwargs: Any) -> Any:
    """minimum(relu(x), 6).   vjp: ct where 0 < x < 6"""
def resize2d(x: Any = ..., mode: Any = None, size: Any = None, layout: Any = None, **kwargs: Any) -> Any:
    """x [N, C, H, W], or [N, H, W, C] in `layout = "NHWC"`, with the spatial extents `size`."""
def rms_norm(x: Any = ..., scale: Any = None, bias: Any = None, axes: Any = None, eps: Any = None, **kwargs: Any) -> Any:
    """scale * x / sqrt(mean(x * x) + eps) + bias over `axes = [-1]`."""
def rrelu(x: Any = ..., key: Any = None, counter: Any = 0, lower: Any = ..., upper: Any = ..., **kwargs: Any) -> Any:
    """x where x >= 0, else x * a: a uniform in [lower, upper) for each element, drawn from `key`"""
def scaled_dot_product_attention(q: Any = ..., k: Any = ..., v: Any = ..., mask: Any = None, is_causal: Any = False, scale: Any = None, enable_gqa: Any = False, precision: Any = None, **kwargs: Any) -> Any:
    """softmax(scale * q k^T + mask) v of q [..., H, L, E], k [..., H, S, E], v [..., H, S, Ev]."""
def selu(x: Any = ..., **kwargs: Any) -> Any:
    """scale * elu(x) with alpha 1.6732632423543772 and scale 1.0507009873554805."""
def sigmoid(x: Any = ..., **kwargs: Any) -> Any:
    """1 / (1 + exp(-x)), without overflow.   vjp: ct * y * (1 - y)"""
def silu(x: Any = ..., **kwargs: Any) -> Any:
    """x * sigmoid(x), without overflow.   vjp: ct * (s + x * s'), s = sigmoid(x)"""
def smooth_l1_loss(x: Any = ..., target: Any = ..., reduction: Any = None, beta: Any = None, **kwargs: Any) -> Any:
    """d * d / (2 * beta) where |d| < beta, else |d| - beta / 2, d = x - target; `beta = 1.0`."""
def soft_margin_loss(x: Any = ..., target: Any = ..., reduction: Any = 'mean', **kwargs: Any) -> Any:
    """log(1 + exp(-target * x)), targets 1 and -1."""
def softmax(x: Any = ..., axis: Any = None, **kwargs: Any) -> Any:
    """exp(x) / sum(exp(x)) along `axis`, without overflow; nan of all -inf."""
def softmin(x: Any = ..., axis: Any = -1, **kwargs: Any) -> Any:
    """softmax(-x) along `axis`."""
def softplus(x: Any = ..., beta: Any = None, threshold: Any = None, **kwargs: Any) -> Any:
    """log(1 + exp(beta * x)) / beta, without overflow; x where beta * x > threshold."""
def softshrink(x: Any = ..., lambd: Any = ..., **kwargs: Any) -> Any:
    """x - lambd where x > lambd, x + lambd where x < -lambd, else 0; lambd >= 0; nan of nan."""
def softsign(x: Any = ..., **kwargs: Any) -> Any:
    """x / (1 + |x|).   vjp: ct / (1 + |x|) ** 2; of complex numbers that of the quotient"""
def tanhshrink(x: Any = ..., **kwargs: Any) -> Any:
    """x - tanh(x).   vjp: ct * tanh(x) ** 2"""
def threshold(x: Any = ..., threshold: Any = ..., value: Any = ..., **kwargs: Any) -> Any:
    """x where x > threshold, else `value`; nan of nan.   vjp: ct where x > threshold"""
def triplet_margin_loss(anchor: Any = ..., positive: Any = ..., negative: Any = ..., margin: Any = ..., p: Any = ..., eps: Any = ..., swap: Any = False, reduction: Any = 'mean', **kwargs: Any) -> Any:
    """max(0, d(anchor, positive) - d(anchor, negative) + margin), d = pairwise_distance."""
def triplet_margin_with_distance_loss(anchor: Any = ..., positive: Any = ..., negative: Any = ..., distance_function: Any = None, margin: Any = ..., swap: Any = False, reduction: Any = 'mean', **kwargs: Any) -> Any:
    """triplet_margin_loss with a distance of one's own; pairwise_distance where None."""
def unfold(x: Any = ..., kernel: Any = ..., stride: Any = 1, padding: Any = 0, dilation: Any = 1, **kwargs: Any) -> Any:
    """The windows of x [N, C, H, W], or [C, H, W], as columns: [N, C * KH * KW, windows]."""
