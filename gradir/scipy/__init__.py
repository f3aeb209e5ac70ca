"""gradir.scipy: the modules `special` and `stats`, with SciPy's names and meanings."""

import sys

from gradir.frontends.scipy import special, stats

__all__ = ["special", "stats"]

sys.modules[f"{__name__}.special"] = special
sys.modules[f"{__name__}.stats"] = stats
