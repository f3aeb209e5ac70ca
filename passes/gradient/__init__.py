"""gradir-gradient: derivatives of functions. Open gradient.py, and before it the walk back in
passes/differentiate/reverse_mode.py; rule_table.py has the rules of ops with regions and calls."""
