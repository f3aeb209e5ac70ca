"""The driver of a program: it runs kernels in order and shares work out to threads."""
