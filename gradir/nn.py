"""The public name of gradir.frontends.functions.nn, so that `import gradir.nn` finds it."""

import sys
from typing import TYPE_CHECKING, Any

from gradir.frontends.functions import nn

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...


sys.modules[__name__] = nn
