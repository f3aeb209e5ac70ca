"""Optimizers as functions of traced arrays. Their public name is gradir.optim."""
