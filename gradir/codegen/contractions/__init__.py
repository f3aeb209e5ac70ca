"""Native code of contractions: matrix products and convolutions, over packed panels."""
