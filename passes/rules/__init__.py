"""How calls, branches, stages and functions with a vjp of their own are differentiated."""
