"""The error of programs of other systems."""

from gradir.errors import GradirError


class ImportedProgramError(GradirError, ValueError):
    """A program of another system has ops, dtypes or effects for which there is no rule."""
