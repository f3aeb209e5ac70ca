"""gradir.scipy: `special`, `stats`, `linalg`, `signal`, `ndimage`, `fft`, `integrate`, as SciPy."""

from . import fft as fft
from . import integrate as integrate
from . import linalg as linalg
from . import ndimage as ndimage
from . import signal as signal
from . import special as special
from . import stats as stats
