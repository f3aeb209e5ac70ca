"""Shape inference, and specialization of functions to the shapes of a call."""
