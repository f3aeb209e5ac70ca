"""Libraries of functions compiled ahead of time: linking, files, calls from C, starts of processes.

All take turns, and the table has medians, with the least in brackets. `--write` puts it into
docs/benchmarks.md. The programs in C need gcc.
"""

import argparse
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import harness

import gradir
from gradir.aot import elf
from gradir.aot.elf_library import write_library
from gradir.aot.library import build_image
from gradir.aot.program import compiled_function, targets_of
from gradir.codegen.text.target import host_is_arm
from gradir.gc_pause import paused_gc

DIGITS = Path(__file__).parents[1] / "examples" / "digits_mlp.mlir"
ARRAYS = ((2, 1), (8, 1), (14, 1), (8, 7))
"""In and out; the last are those of the digits step."""
ROUNDS = 60
PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"
MARKS = "<!-- made by benchmarks/ahead_of_time.py -->\n", "<!-- made so far -->\n"

CALLS = """
#define _GNU_SOURCE
#include "LIBRARY.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}
static int compare(const void *a, const void *b) {
    return (*(double *)a > *(double *)b) - (*(double *)a < *(double *)b);
}
enum { TURNS = 501 };
int main(int count, char **arguments) {
    static float data[16][4], made[16][4];
    static int64_t shapes[32][1];
    gradir_array in[16], out[16];
    for (int k = 0; k < 32; k++)
        shapes[k][0] = 4;
    for (int k = 0; k < 16; k++)
        in[k] = (gradir_array){data[k], shapes[k], 4, 1, GRADIR_FLOAT32, 0, 0};
    for (int k = 0; k < 16; k++)
        out[k] = (gradir_array){made[k], shapes[16 + k], 4, 1, GRADIR_FLOAT32, GRADIR_WRITE, 0};
    static _Alignas(64) char workspace[SUM_WORKSPACE_BYTES];
    gradir_status status = GRADIR_STATUS_INIT;
    status.workspace_bytes = sizeof workspace;
    if (count < 2 || call_sum(in, out, workspace, &status))
        return 1;
    char *first = dlsym(RTLD_DEFAULT, "call_sum");
    void (*program)(void *) = (void (*)(void *))(first + atol(arguments[status.used_level]));
    static double whole[TURNS], kernel[TURNS];
    for (int turn = 0; turn < TURNS; turn++) {
        double start = now();
        for (int k = 0; k < 100; k++)
            if (call_sum(in, out, workspace, &status))
                return 1;
        whole[turn] = (now() - start) / 100;
        start = now();
        for (int k = 0; k < 100; k++)
            program(workspace);
        kernel[turn] = (now() - start) / 100;
    }
    qsort(whole, TURNS, sizeof *whole, compare);
    qsort(kernel, TURNS, sizeof *kernel, compare);
    printf("%.1f %.1f %.1f %.1f\\n", whole[TURNS / 2], kernel[TURNS / 2], whole[0], kernel[0]);
    return 0;
}
""".replace("SUM_", "CALL_SUM_")
START = '#include "LIBRARY.h"\nint main(void) { return digits_grad_info()->n_in != 8; }\n'
PLAIN = "int main(void) { return 0; }\n"


def linking() -> Callable[[], bytes]:
    """Links the digits step for its levels."""
    module = gradir.parse(DIGITS).gradient("main", mode="grad")
    targets = targets_of(None, host_is_arm())
    copies = [module.op.clone() for _ in targets]
    made = compiled_function("digits_grad", "main_grad", copies, {}, targets, 1)

    def link() -> bytes:
        with paused_gc():  # as export_library has it
            return write_library(build_image([made], targets[0], 1, "0"), "libdigits.so")

    return link


def sum_of(count: int, results: int) -> gradir.Module:
    """A function that adds `count` arrays of four numbers, and gives the last of the sums."""
    kind = "tensor<4xf32>"
    arguments = ", ".join(f"%x{k}: {kind}" for k in range(count))
    kinds = ", ".join([kind] * results)
    lines = [f"func.func @call_sum({arguments}) -> ({kinds}) {{"]
    sums = ["%x0"]
    for k in range(1, count):
        lines.append(f"  %s{k} = array.add {sums[-1]}, %x{k} : {kind}")
        sums.append(f"%s{k}")
    returned = ", ".join(sums[-results:])
    return gradir.parse("\n".join([*lines, f"  func.return {returned} : {kinds}", "}"]))


def program(folder: Path, name: str, text: str, library: str | None) -> Path:
    """A program in C, with a library or without."""
    source, made = folder / f"{name}.c", folder / name
    source.write_text(text.replace("LIBRARY", Path(library or "").stem))
    rest = [folder / library, f"-Wl,-rpath,{folder}"] if library else []
    subprocess.run(["gcc", "-O2", f"-I{folder}", source, *rest, "-ldl", "-o", made], check=True)
    return made


def calling(folder: Path, count: int, results: int) -> list[str]:
    """The command that times whole calls of a function that adds arrays of four numbers, and its
    program alone.

    The program is called at its place in the library, with the table that a call has filled.
    """
    name = f"libsum{count}_{results}.so"
    gradir.export_library(sum_of(count, results), folder / name)
    places = symbols(folder / name)
    levels = [level.level for level in targets_of(None, host_is_arm())]
    distances = [places[f"call_sum.{level}.gradir_entry"] - places["call_sum"] for level in levels]
    made = program(folder, f"sum{count}_{results}", CALLS, name)
    return [str(made), *map(str, distances)]


def symbols(path: Path) -> dict[str, int]:
    """The places of all symbols of a library."""
    data = path.read_bytes()
    header = elf.HEADER.unpack_from(data)
    rows = [elf.SECTION.unpack_from(data, header[6] + 64 * k) for k in range(header[12])]
    found: dict[str, int] = {}
    for row in (row for row in rows if row[1] == elf.SYMTAB):
        strings = rows[row[6]][4]
        for entry in elf.SYMBOL.iter_unpack(data[row[4] : row[4] + row[5]]):
            start = strings + entry[0]
            found[data[start : data.index(b"\0", start)].decode()] = entry[4]
    return found


def milliseconds(clock: Callable[[], float], run: Callable[[], object]) -> float:
    start = clock()
    run()
    return 1e3 * (clock() - start)


class Figures:
    """The times of all rounds, by what was timed."""

    def __init__(self, folder: Path):
        self.link = linking()
        self.size = len(self.link())
        self.calls = {arrays: calling(folder, *arrays) for arrays in ARRAYS}
        module = gradir.parse(DIGITS).gradient("main", mode="grad")
        names = {"main_grad": "digits_grad"}
        gradir.export_library(module, folder / "libdigits.so", functions=names)
        bare = program(folder, "without", PLAIN, None)
        self.programs = bare, program(folder, "with", START, "libdigits.so")
        self.links = list[float]()
        self.nanoseconds: dict[tuple[int, int], list[list[float]]] = {a: [] for a in ARRAYS}
        self.starts = list[float]()

    def run_round(self) -> None:
        self.links.append(milliseconds(time.process_time, self.link))
        for arrays, command in self.calls.items():
            found = subprocess.check_output(command, text=True).split()
            self.nanoseconds[arrays].append([float(each) for each in found])
        without, with_library = (
            milliseconds(time.perf_counter, lambda p=p: subprocess.run([p], check=True))
            for p in self.programs
        )
        self.starts.append(with_library - without)

    def rows(self) -> list[str]:
        """The table."""
        made = ["| | figure | asked | |", "|---|---|---|---|"]

        def add(what: str, median: float, shown: str, most: float, unit: str, of: str = "") -> None:
            verdict = "met" if median <= most else "not met"
            made.append(f"| {what} | {shown} | <= {most:g} {unit}{of} | {verdict} |")

        median, least = statistics.median(self.links), min(self.links)
        what = "link the digits step, with the code that all libraries share read before"
        add(what, median, f"{median:.1f} ms ({least:.1f})", 5, "ms")
        size = self.size / 1e3
        add("its library, with three levels", size, f"{size:.1f} kB", 200, "kB")
        for (count, results), found in self.nanoseconds.items():
            whole, kernel = (statistics.median(row[k] for row in found) for k in (0, 1))
            least = min(row[2] - row[3] for row in found)
            over = whole - kernel
            shown = f"{whole:.0f} ns, {over:.0f} ({least:.0f}) over its program"
            what = f"a call from C, {count} arrays in, {results} out"
            add(what, over, shown, 100, "ns", " over the kernel")
        median, least = statistics.median(self.starts), min(self.starts)
        what = "a start of a C program with that library, above one without"
        add(what, median, f"{median:.2f} ms", 2, "ms")
        return made


def write(text: str) -> None:
    """Put the table into the page."""
    page = PAGE.read_text()
    before, rest = page.split(MARKS[0])
    _, after = rest.split(MARKS[1])
    PAGE.write_text(f"{before}{MARKS[0]}\n{text}\n\n{MARKS[1]}{after}")


def main() -> None:
    """Print the figures."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=ROUNDS)
    options.add_argument("--write", action="store_true", help=f"write the table to {PAGE.name}")
    given = options.parse_args()
    load = os.getloadavg()[0]
    head = (
        f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {harness.processor_name()}, {os.cpu_count()} "
        f"cores, load {load:.1f} at the start, {given.rounds} rounds:"
    )
    with tempfile.TemporaryDirectory() as name:
        figures = Figures(Path(name))
        for _ in range(given.rounds):
            figures.run_round()
    text = "\n".join([head, "", *figures.rows()])
    print(text)
    if given.write:
        write(text)


if __name__ == "__main__":
    main()
