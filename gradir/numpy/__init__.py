"""The public name of gradir.frontends.functions.numpy, so that `import gradir.numpy` finds it."""

import sys
from typing import TYPE_CHECKING, Any

from gradir.frontends.functions import numpy

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...


sys.modules[__name__] = numpy
sys.modules[f"{__name__}.linalg"] = numpy.linalg
sys.modules[f"{__name__}.fft"] = numpy.fft
