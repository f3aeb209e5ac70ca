"""The rows of `make bench`: what is timed, beside whom, and what is asked for."""
