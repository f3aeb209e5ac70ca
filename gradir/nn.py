"""The public name of gradir.frontends.functions.nn, so that `import gradir.nn` finds it."""

import sys
from typing import TYPE_CHECKING, Any

from gradir.frontends.functions import nn
from gradir.frontends.transforms import ctc

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...


nn.register(ctc.FUNCTIONS)
sys.modules[__name__] = nn
