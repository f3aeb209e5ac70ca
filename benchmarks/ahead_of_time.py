"""Libraries of functions compiled ahead of time: linking, files, calls from C, starts of processes.

The programs in C need gcc.
"""

import argparse
import statistics
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

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
REPEATS, STARTS = 40, 60

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
    double best = 1e9, kernel = 1e9;
    for (int turn = 0; turn < 20000; turn++) {
        double start = now();
        for (int k = 0; k < 100; k++)
            if (call_sum(in, out, workspace, &status))
                return 1;
        double taken = (now() - start) / 100;
        best = taken < best ? taken : best;
        start = now();
        for (int k = 0; k < 100; k++)
            program(workspace);
        taken = (now() - start) / 100;
        kernel = taken < kernel ? taken : kernel;
    }
    printf("%.1f %.1f\\n", best, kernel);
    return 0;
}
""".replace("SUM_", "CALL_SUM_")
START = '#include "LIBRARY.h"\nint main(void) { return digits_grad_info()->n_in != 8; }\n'
PLAIN = "int main(void) { return 0; }\n"


def link_milliseconds() -> tuple[float, int]:
    """The processor's time to link the digits step for its levels, and the bytes of the file."""
    module = gradir.parse(DIGITS).gradient("main", mode="grad")
    targets = targets_of(None, host_is_arm())
    copies = [module.op.clone() for _ in targets]
    made = compiled_function("digits_grad", "main_grad", copies, {}, targets, 1)
    times: list[float] = []
    data = b""
    for _ in range(REPEATS):
        start = time.process_time()
        with paused_gc():  # as export_library has it
            data = write_library(build_image([made], targets[0], 1, "0"), "libdigits.so")
        times.append(1e3 * (time.process_time() - start))
    return statistics.median(times), len(data)


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


def call_nanoseconds(folder: Path, count: int, results: int) -> tuple[float, float]:
    """A whole call of a function that adds arrays of four numbers, and its program alone.

    The program is called at its place in the library, with the table that a call has filled.
    """
    name = f"libsum{count}_{results}.so"
    gradir.export_library(sum_of(count, results), folder / name)
    places = symbols(folder / name)
    levels = [level.level for level in targets_of(None, host_is_arm())]
    distances = [places[f"call_sum.{level}.gradir_entry"] - places["call_sum"] for level in levels]
    made = program(folder, f"sum{count}_{results}", CALLS, name)
    whole, kernel = subprocess.check_output([made, *map(str, distances)]).split()
    return float(whole), float(kernel)


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


def start_milliseconds(programs: Sequence[Path]) -> list[float]:
    """The median time of a run of each program, in turns."""
    times: list[list[float]] = [[] for _ in programs]
    for _ in range(STARTS):
        for taken, each in zip(times, programs, strict=True):
            start = time.perf_counter()
            subprocess.run([each], check=True)
            taken.append(1e3 * (time.perf_counter() - start))
    return [statistics.median(taken) for taken in times]


def main() -> None:
    """Print the figures."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    taken, size = link_milliseconds()
    print(f"link the digits step, three levels      {taken:8.2f} ms")
    print(f"its library                             {size / 1e3:8.1f} kB")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for count, results in ARRAYS:
            whole, kernel = call_nanoseconds(folder, count, results)
            print(
                f"a call from C, {count:2d} arrays in, {results} out      {whole:8.1f} ns, "
                f"{whole - kernel:.1f} over its program"
            )
        module = gradir.parse(DIGITS).gradient("main", mode="grad")
        gradir.export_library(
            module, folder / "libdigits.so", functions={"main_grad": "digits_grad"}
        )
        with_library = program(folder, "with", START, "libdigits.so")
        starts = start_milliseconds([program(folder, "without", PLAIN, None), with_library])
        print(f"start of a C program without a library  {starts[0]:8.2f} ms")
        print(f"with the digits library                 {starts[1]:8.2f} ms")


if __name__ == "__main__":
    main()
