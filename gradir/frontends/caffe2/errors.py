"""The errors of Caffe2-style nets."""

from gradir.errors import GradirError


class VersionError(GradirError, RuntimeError):
    """Under strict_versions: a gradient needs a version of a blob that was overwritten."""


class OrphanError(GradirError, ValueError):
    """Under strict_versions: nothing reads what StopGradient gives."""


class OperatorError(GradirError, ValueError):
    """An operator of a net is of no known type, or its operands or arguments do not fit it."""


class NetDefError(GradirError, ValueError):
    """Text or bytes are no NetDef; the message begins with the place, file:line:col or a byte."""
