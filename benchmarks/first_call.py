"""New processes: the import, and the first two functions that they compile.

A call of a contender is a whole process; the first row is that of Python and NumPy alone.
"""

import subprocess
import sys
from collections.abc import Iterator

import harness

IMPORT = "import {0}, {0}.numpy as xnp; "
FIRST = "{0}.jit(lambda x: xnp.sum(xnp.sin(x)))(np.ones(16, np.float32)); "
SECOND = "{0}.jit(lambda x: xnp.sum(xnp.exp(x) * x))(np.ones(16, np.float32)); "
STEPS = {"import": IMPORT, "one jit": IMPORT + FIRST, "two jits": IMPORT + FIRST + SECOND}


def process(code: str) -> harness.Call:
    """A call that runs code in a new process."""
    command = [sys.executable, "-c", f"import numpy as np; {code}"]
    return lambda: subprocess.run(command, check=True).returncode


def workloads(threads: int) -> Iterator[harness.Workload]:
    """The one workload."""
    del threads
    contenders = [harness.Contender("NumPy", lambda: process(""))]
    for library in ("jax", "gradir"):
        for step, code in STEPS.items():
            text = code.format(library)
            contenders.append(
                harness.Contender(f"{library}, {step}", lambda text=text: process(text), library)
            )
    yield harness.Workload("New process", contenders, reference="NumPy", tolerance=None)


if __name__ == "__main__":
    harness.main(workloads)
