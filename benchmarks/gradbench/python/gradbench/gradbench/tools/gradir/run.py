"""The tool's side of GradBench's protocol: a message a line on standard input, an answer a line.

A module of this folder implements an eval; its functions are wrapped by `gradbench.wrap`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import traceback
from importlib import import_module
from typing import Any


def answer(message: dict[str, Any]) -> dict[str, Any]:
    """What is answered to a message, but for its id."""
    kind = message["kind"]
    if kind == "start":
        return {"tool": "gradir"}
    if kind == "define":
        return _attempt(lambda: import_module(message["module"]) and {"success": True})
    if kind == "evaluate":
        function = getattr(import_module(message["module"]), message["function"])
        return _attempt(lambda: function.wrapped(message["input"]))
    return {}


def _attempt(work: Any) -> dict[str, Any]:
    try:
        return work()
    except Exception as error:
        return {"success": False, "error": "".join(traceback.format_exception(error))}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--multithreaded", action="store_true")
    if not parser.parse_args().multithreaded:
        os.environ["GRADIR_NUM_THREADS"] = "1"
    for line in sys.stdin:
        message = json.loads(line)
        print(json.dumps({"id": message["id"]} | answer(message)), flush=True)


if __name__ == "__main__":
    main()
