"""SciPy's functions by subject: special functions, densities, linear algebra, signals, odeint."""
