"""SciPy's functions by subject: special functions, densities, matrices, signals, images, odeint."""
