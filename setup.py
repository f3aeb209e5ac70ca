"""Says so where a clone has no symbolic links: all else is in pyproject.toml."""

import sys
from pathlib import Path

from setuptools import setup

HERE = Path(__file__).resolve().parent
LINKS = ("dialects", "passes", "tools")
BROKEN = [f"gradir/{name}" for name in LINKS if not (HERE / "gradir" / name).is_dir()]

if BROKEN:
    sys.exit(
        f"gradir: {', '.join(BROKEN)} must be symbolic links to the folders of these names, and "
        "this copy has files in their place: it was cloned or unpacked without links. Clone again "
        "with `git clone -c core.symlinks=true` (on Windows with Developer Mode), or repair this "
        "clone with `git config core.symlinks true` and `git checkout -- gradir`."
    )

setup()
