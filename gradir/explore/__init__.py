"""A page on one function: its source, its IR after each stage, its memory, its time, its code."""
