"""Products of square matrices of 64 to 4096, in f32 and f64, of factors that are stored plain or
transposed, beside NumPy's BLAS and PyTorch's."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import harness
import numpy as np

SIZES = (64, 128, 256, 512, 1024, 2048, 4096)
LAYOUTS = ("nn", "nt", "tn", "tt")
# Products that take this long get fewer turns.
LONG, FEW_ROUNDS = 2048, 5


def make_inputs(size: int, dtype: str) -> list[np.ndarray[Any, Any]]:
    """Two square matrices."""
    random = np.random.default_rng(0)
    return [random.standard_normal((size, size)).astype(dtype) for _ in range(2)]


def factors(layout: str, arrays: list[Any]) -> list[Any]:
    """The factors of a product: arrays, or their transposes in place."""
    return [x.T if kind == "t" else x for kind, x in zip(layout, arrays, strict=True)]


def prepare_numpy(size: int, dtype: str, layout: str) -> harness.Call:
    """NumPy's BLAS, into one buffer."""
    a, b = factors(layout, make_inputs(size, dtype))
    out = np.empty((size, size), dtype)
    return lambda: np.matmul(a, b, out=out)


def prepare_torch(size: int, dtype: str, layout: str) -> harness.Call:
    """PyTorch, into one buffer."""
    torch = harness.library("torch")
    a, b = factors(layout, [torch.from_numpy(x) for x in make_inputs(size, dtype)])
    out = torch.empty((size, size), dtype=a.dtype)
    return lambda: torch.mm(a, b, out=out)


def prepare_gradir(size: int, dtype: str, layout: str, threads: int) -> harness.Call:
    """gradir, into one buffer."""
    gradir = harness.library("gradir")
    element = {"float32": "f32", "float64": "f64"}[dtype]
    axes = f"lhs_contract = [{int(layout[0] == 'n')}], rhs_contract = [{int(layout[1] == 't')}]"
    type_ = f"tensor<{size}x{size}x{element}>"
    text = f"""func.func @main(%a: {type_}, %b: {type_}) -> {type_} {{
      %c = array.dot_general %a, %b {{{axes}, lhs_batch = [], rhs_batch = []}}
        : {type_}, {type_} -> {type_}
      func.return %c : {type_}
    }}"""
    function = gradir.compile(gradir.parse(text), "main", threads=threads)
    return harness.compiled_call(function, make_inputs(size, dtype), True)


def workloads(threads: int) -> Iterator[harness.Workload]:
    """Each size, type and layout."""
    for dtype, layout, size in product(("float32", "float64"), LAYOUTS, SIZES):
        what = size, dtype, layout
        contenders = [
            harness.Contender("NumPy, out=", lambda what=what: prepare_numpy(*what)),
            harness.Contender("PyTorch, out=", lambda what=what: prepare_torch(*what), "torch"),
            harness.Contender(
                "gradir, out=", lambda what=what: prepare_gradir(*what, threads), "gradir"
            ),
        ]
        title = f"Product {size}, {dtype}, {layout}"
        rounds = FEW_ROUNDS if size >= LONG else None
        yield harness.Workload(title, contenders, "NumPy, out=", tolerance=1e-3, rounds=rounds)


if __name__ == "__main__":
    harness.main(workloads, threads=(1, 2))
