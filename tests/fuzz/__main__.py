"""The command line of the fuzzer: `make fuzz`, or `python -m fuzz` with tests/ on the path."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from fuzz.campaign import Campaign, Cases, Fault, alternating, seeds
from fuzz.found import FOUND, command, write
from fuzz.levels import LEVELS

MUTANTS_PER_PROGRAM = 10
"""Mutants that are run in the time between two programs."""


@dataclass
class Options(argparse.Namespace):
    """What the command line says."""

    minutes: float | None = None
    seed: int = 0
    programs: int | None = None
    mutants: int | None = None
    level: str | None = None
    case: int | None = None
    jobs: int = 1
    shrink: bool = True
    folder: Path = FOUND


def options_of(given: Sequence[str] | None) -> Options:
    """The options; ten minutes if they set no end."""
    parser = argparse.ArgumentParser("fuzz", description="Look for faults in gradir.")
    parser.add_argument("--minutes", type=float, help="how long (10, if nothing else ends it)")
    parser.add_argument("--seed", type=int, help="another seed makes other programs")
    parser.add_argument("--programs", type=int, help="how many, traced and as text each")
    parser.add_argument("--mutants", type=int, help="how many mutated golden files")
    parser.add_argument("--level", choices=LEVELS, help="only this level")
    parser.add_argument("--case", type=int, help="only this case of the level")
    parser.add_argument("--jobs", type=int, help="processes (1)")
    parser.add_argument("--no-shrink", dest="shrink", action="store_false", help="as it is found")
    parser.add_argument("--folder", type=Path, help="where programs that fail are written")
    parser.set_defaults(**{name: getattr(Options(), name) for name in vars(Options())})
    options = parser.parse_args(given, Options())
    if options.case is not None and options.level is None:
        parser.error("--case needs --level")
    if options.case is None and options.programs is None and options.mutants is None:
        options.minutes = options.minutes or 10
    return options


def main(given: Sequence[str] | None = None) -> int:
    """Run a campaign; 1 if it found something."""
    options = options_of(given)

    def report(fault: Fault) -> None:
        path = write(fault, options.folder)
        print(f"\n{command(fault)}\n{path}\n{path.read_text()}\n{fault.outcome.detail}", flush=True)

    campaign = Campaign(report, options.shrink, _say)
    seconds = None if options.minutes is None else 60 * options.minutes
    campaign.run(cases_of(options), options.jobs, seconds)
    for name, tally in campaign.tallies.items():
        print(f"{name}: {tally}")
    for key, count in campaign.known.most_common():
        print(f"  {count} x {key}")
    return 1 if campaign.known else 0


def _say(text: str) -> None:
    print(f"[{time.strftime('%H:%M:%S')}] {text}", flush=True)


def cases_of(options: Options) -> Cases:
    """The cases that the options ask for, levels in turn."""
    if options.case is not None and options.level is not None:
        return iter([(options.level, options.case)])
    each: list[Iterator[tuple[str, int]]] = []
    for name in [options.level] if options.level else LEVELS:
        count = options.mutants if name == "mutants" else options.programs
        if count is None and options.minutes is None:
            continue
        cases = seeds(name, options.seed, count)
        each += [cases] * (MUTANTS_PER_PROGRAM if name == "mutants" else 1)
    return alternating(*each)


if __name__ == "__main__":
    sys.exit(main())
