"""Functions of traced arrays: gradir.numpy, gradir.nn, and the operators."""
