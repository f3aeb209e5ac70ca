"""SciPy's special functions and densities, made of the functions of gradir.numpy."""
