"""ONNX models as functions of gradir, with gradients: `load` reads one.

It needs the package onnx, which the extra `gradir[onnx]` installs.
"""

from gradir.frontends.imported.errors import ImportedProgramError
from gradir.frontends.onnx.model import OnnxModel, load

__all__ = ["ImportedProgramError", "OnnxModel", "load"]
