"""gradir.random: keys, and NumPy's and JAX's distributions."""
