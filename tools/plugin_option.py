"""The option --plugin of the command lines: modules that register dialects, passes and rules."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from gradir.plugins import load_plugin


def plugin_option(parser: argparse.ArgumentParser) -> None:
    """Add the option to a parser."""
    parser.add_argument(
        "--plugin",
        metavar="MODULE",
        action="append",
        default=[],
        help="import a module, or a file that ends in .py, that registers ops, passes and rules",
    )


def load_plugins(argv: Sequence[str] | None) -> None:
    """Import the plugins of a command line, before the rest of it is read."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    plugin_option(parser)
    try:
        found, _ = parser.parse_known_args(sys.argv[1:] if argv is None else list(argv))
    except argparse.ArgumentError:
        return  # refused by the whole parser
    for module in found.plugin:
        load_plugin(module)
