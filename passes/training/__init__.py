"""Steps of training: losses joined with networks, gradients with optimizers."""
