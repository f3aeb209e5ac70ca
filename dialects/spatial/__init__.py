"""Windows over images: convolution, pooling, resampling, and their derivatives."""
