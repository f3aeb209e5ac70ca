"""`gradir doctor`, and `gradir opt|run|explore|compile ...`, the other command lines by one name.

`python -m gradir` is the same, where gradir is not on the path.
"""

import runpy
import sys

COMMANDS = {
    "opt": "read IR, run passes over it, print it (gradir-opt)",
    "run": "run a function of a program once (gradir-run)",
    "explore": "write a page on a function (gradir-explore)",
    "compile": "write functions as a shared library (gradir-compile)",
    "doctor": "print what this installation is, lacks and has wrong",
}


def main() -> int:
    """Run the command that the first argument names; the exit code."""
    given = sys.argv[1:2]
    if given and given[0] in COMMANDS:
        sys.argv[:2] = [f"gradir-{given[0]}"]
        runpy.run_module(f"gradir.tools.gradir_{given[0]}", run_name="__main__")
        return 0
    if given in (["--version"], ["-V"]):
        from gradir import __version__

        print(f"gradir {__version__}")
        return 0
    wrong = bool(given) and given[0] not in ("-h", "--help")
    stream = sys.stderr if wrong else sys.stdout
    if wrong:
        from gradir.nearest import meant

        print(
            f"gradir: no command {given[0]}; {meant(given[0], COMMANDS)}".rstrip("; "), file=stream
        )
    print("usage: gradir COMMAND ..., each with --help", file=stream)
    for name, text in COMMANDS.items():
        print(f"  {name:8} {text}", file=stream)
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
