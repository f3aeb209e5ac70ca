"""Translation validation: what a compilation makes of a program is held against the interpreter."""
