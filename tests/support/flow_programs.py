"""Random programs with structured control flow, as text; what decides is given from outside.

All arithmetic is exact in any order that the program allows (sums, products, extrema of bounded
values), so that native code has to agree with the interpreter bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

POINT = "tensor<f64>"


@dataclass
class FlowWriter:
    """Grows one function, statement by statement; `choose` makes every decision.

    `values` are those that are visible; `budget` bounds the number of statements.
    """

    choose: Callable[[Sequence[object]], object]
    rows: int = 4
    columns: int = 3
    budget: int = 24
    lines: list[str] = field(default_factory=list[str])
    values: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    count: int = 0

    def __post_init__(self) -> None:
        self.matrix = f"tensor<{self.rows}x{self.columns}xf64>"
        self.row = f"tensor<{self.columns}xf64>"
        self.tensors = (self.matrix, self.row, POINT)
        self.carried = (*self.tensors, "f64", "index", "i1")

    def pick(self, options: Sequence[str]) -> str:
        return str(self.choose(options))

    def number(self, low: int, high: int) -> int:
        return int(self.pick([str(n) for n in range(low, high + 1)]))

    def fresh(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def emit(self, text: str, type_: str) -> str:
        name = self.fresh()
        self.lines.append(f"{name} = {text}")
        self.values.append((name, type_))
        return name

    def value(self, type_: str) -> str:
        """A visible value of a type: often a late one."""
        names = [name for name, t in self.values if t == type_]
        return self.pick(names[-4:] if self.number(0, 2) else names)

    def constant(self, text: str, type_: str) -> str:
        return self.emit(f"arith.constant {text}", type_)

    def index_below(self, bound: int) -> str:
        index, zero = self.value("index"), self.constant("0 : index", "index")
        low = self.emit(f"arith.maxsi {index}, {zero} : index", "index")
        last = self.constant(f"{bound - 1} : index", "index")
        return self.emit(f"arith.minsi {low}, {last} : index", "index")

    # Statements.

    def bounded(self, name: str, type_: str) -> str:
        """Half of a value, so that iterated sums stay small."""
        if type_ == "f64":
            half = self.constant("0.5 : f64", "f64")
            return self.emit(f"arith.mulf {name}, {half} : f64", "f64")
        half = self.emit(f"array.full {{value = 0.5}} : {type_}", type_)
        return self.emit(f"array.multiply {name}, {half} : {type_}", type_)

    def tensor_op(self) -> None:
        type_ = self.pick(self.tensors)
        left, right = self.value(type_), self.value(type_)
        op = self.pick(["add", "subtract", "maximum", "minimum"])
        made = self.emit(f"array.{op} {left}, {right} : {type_}", type_)
        if op in ("add", "subtract"):
            self.bounded(made, type_)

    def scalar_op(self) -> None:
        op = self.pick(["addf", "subf", "maximumf", "minimumf"])
        made = self.emit(f"arith.{op} {self.value('f64')}, {self.value('f64')} : f64", "f64")
        if op in ("addf", "subf"):
            self.bounded(made, "f64")

    def index_op(self) -> None:
        one = self.constant(f"{self.number(-1, 2)} : index", "index")
        made = self.emit(f"arith.addi {self.value('index')}, {one} : index", "index")
        self.emit(f"arith.cmpi slt, {made}, {self.value('index')} : index", "i1")

    def compare(self) -> None:
        self.emit(f"arith.cmpf olt, {self.value('f64')}, {self.value('f64')} : f64", "i1")

    def reduce_op(self) -> None:
        matrix = self.value(self.matrix)
        made = self.emit(
            f"array.max {matrix} {{axis = [0]}} : {self.matrix} -> {self.row}", self.row
        )
        self.emit(f"array.min {made} : {self.row} -> {POINT}", POINT)

    def spread(self) -> None:
        self.emit(
            f"array.broadcast_to {self.value(self.row)} : {self.row} -> {self.matrix}", self.matrix
        )

    def extract(self) -> None:
        row, column = self.index_below(self.rows), self.index_below(self.columns)
        self.emit(
            f"tensor.extract {self.value(self.matrix)}[{row}, {column}] : {self.matrix}", "f64"
        )
        self.emit(f"tensor.extract {self.value(POINT)}[] : {POINT}", "f64")

    def insert(self) -> None:
        row, column, scalar = (
            self.index_below(self.rows),
            self.index_below(self.columns),
            self.value("f64"),
        )
        target = self.value(self.matrix)
        self.emit(
            f"tensor.insert {scalar} into {target}[{row}, {column}] : {self.matrix}", self.matrix
        )

    def extract_row(self) -> None:
        row = self.index_below(self.rows)
        self.emit(
            f"tensor.extract_slice {self.value(self.matrix)}[{row}, 0] "
            f"[1, {self.columns}] [1, 1] : {self.matrix} to {self.row}", self.row,
        )  # fmt: skip

    def insert_row(self) -> None:
        row = self.index_below(self.rows)
        source = self.value(self.row)
        if self.number(0, 1):
            source = self.emit(f"array.negative {source} : {self.row}", self.row)
        self.emit(
            f"tensor.insert_slice {source} into {self.value(self.matrix)}[{row}, 0] "
            f"[1, {self.columns}] [1, 1] : {self.row} into {self.matrix}", self.matrix,
        )  # fmt: skip

    def column(self) -> None:
        """A part of a column, which does not lie together: read, and written somewhere else."""
        column, start = self.index_below(self.columns), self.index_below(2)
        part_type, sizes = f"tensor<{self.rows - 1}xf64>", f"[{self.rows - 1}, 1] [1, 1]"
        part = self.emit(
            f"tensor.extract_slice {self.value(self.matrix)}[{start}, {column}] {sizes} : "
            f"{self.matrix} to {part_type}", part_type,
        )  # fmt: skip
        self.emit(
            f"tensor.insert_slice {part} into {self.value(self.matrix)}[1, {column}] {sizes} : "
            f"{part_type} into {self.matrix}", self.matrix,
        )  # fmt: skip

    def make(self) -> None:
        scalar = self.value("f64")
        type_ = self.pick([self.matrix, self.row])
        self.emit(f"tensor.splat {scalar} : {type_}", type_)
        self.emit(f"tensor.from_elements {self.value('f64')} : {POINT}", POINT)
        xs = ", ".join(self.value("f64") for _ in range(3))
        self.emit(f"tensor.from_elements {xs} : tensor<3xf64>", "tensor<3xf64>")

    # Control flow.

    def block(self, arguments: Sequence[tuple[str, str]], depth: int) -> None:
        """Statements in a region; what they define stays visible until `leave`."""
        self.values += arguments
        for _ in range(self.number(0, 4)):
            self.statement(depth)

    def region(
        self, arguments: Sequence[tuple[str, str]], types: Sequence[str], depth: int, end: str
    ) -> None:
        visible = len(self.values)
        self.block(arguments, depth)
        results = [self.value(t) for t in types]
        self.lines.append(_terminator(end, results, types))
        del self.values[visible:]

    def types(self) -> list[str]:
        return [self.pick(self.carried) for _ in range(self.number(1, 4))]

    def results(self, types: Sequence[str], text: str) -> str:
        """Begin an op with results: `%v, %w = text`; gives the names."""
        names = [self.fresh() for _ in types]
        self.lines.append(f"{', '.join(names)} = {text}")
        return " ".join(names)

    def define(self, names: str, types: Sequence[str]) -> None:
        self.values += list(zip(names.split(), types, strict=True))

    def if_op(self, depth: int) -> None:
        types = self.types()
        names = self.results(types, f"scf.if {self.value('i1')} -> ({', '.join(types)}) {{")
        self.region([], types, depth, "scf.yield")
        self.lines.append("} else {")
        self.region([], types, depth, "scf.yield")
        self.lines.append("}")
        self.define(names, types)

    def switch_op(self, depth: int) -> None:
        types = self.types()
        names = self.results(types, f"scf.index_switch {self.value('index')} -> {', '.join(types)}")
        for head in ("case 0 {", "case 2 {", "default {"):
            self.lines.append(head)
            self.region([], types, depth, "scf.yield")
            self.lines.append("}")
        self.define(names, types)

    def execute_op(self, depth: int) -> None:
        types = self.types()
        names = self.results(types, f"scf.execute_region -> ({', '.join(types)}) {{")
        self.region([], types, depth, "scf.yield")
        self.lines.append("}")
        self.define(names, types)

    def for_op(self, depth: int) -> None:
        types = self.types()
        low = self.constant(f"{self.number(0, 1)} : index", "index")
        step = self.constant(f"{self.number(1, 2)} : index", "index")
        static = self.constant(f"{self.number(0, 4)} : index", "index")
        high = self.pick([static, self.index_below(4)])
        starts = [self.value(t) for t in types]
        index, arguments = self.fresh(), [self.fresh() for _ in types]
        pairs = ", ".join(f"{a} = {s}" for a, s in zip(arguments, starts, strict=True))
        head = f"scf.for {index} = {low} to {high} step {step}"
        names = self.results(types, f"{head} iter_args({pairs}) -> ({', '.join(types)}) {{")
        inner = [(index, "index"), *zip(arguments, types, strict=True)]
        self.region(inner, types, depth, "scf.yield")
        self.lines.append("}")
        self.define(names, types)

    def while_op(self, depth: int) -> None:
        """A counter bounds the trips; a flag, computed in the condition, may end it early."""
        types = self.types()
        limit, zero = self.index_below(4), self.constant("0 : index", "index")
        starts = [self.value(t) for t in types]
        passed = self.types()
        counter, arguments = self.fresh(), [self.fresh() for _ in types]
        pairs = [f"{counter} = {zero}"]
        pairs += [f"{a} = {s}" for a, s in zip(arguments, starts, strict=True)]
        signature = f"({', '.join(['index', *types])}) -> ({', '.join(['index', *passed])})"
        names = self.results(["index", *passed], f"scf.while ({', '.join(pairs)}) : {signature} {{")
        visible = len(self.values)
        self.block(list(zip(arguments, types, strict=True)), depth)
        more = self.emit(f"arith.cmpi slt, {counter}, {limit} : index", "i1")
        if self.number(0, 1):
            more = self.emit(f"arith.andi {more}, {self.value('i1')} : i1", "i1")
        handed = [counter, *(self.value(t) for t in passed)]
        self.lines.append(
            f"scf.condition({more}) {', '.join(handed)} : {', '.join(['index', *passed])}"
        )
        del self.values[visible:]
        inner = [self.fresh() for _ in ["index", *passed]]
        block = ", ".join(f"{n}: {t}" for n, t in zip(inner, ["index", *passed], strict=True))
        self.lines += ["} do {", f"^bb0({block}):"]
        self.block(list(zip(inner[1:], passed, strict=True)), depth)
        one = self.constant("1 : index", "index")
        following = self.emit(f"arith.addi {inner[0]}, {one} : index", "index")
        ends = [following, *(self.value(t) for t in types)]
        self.lines.append(_terminator("scf.yield", ends, ["index", *types]))
        del self.values[visible:]
        self.lines.append("}")
        self.define(names, ["index", *passed])

    def statement(self, depth: int) -> None:
        if self.budget <= 0:
            return
        self.budget -= 1
        flow = [self.if_op, self.for_op, self.while_op, self.switch_op, self.execute_op]
        if depth > 0 and self.number(0, 2) == 0:
            flow[self.number(0, len(flow) - 1)](depth - 1)
            return
        plain = [
            self.tensor_op, self.scalar_op, self.index_op, self.compare, self.reduce_op,
            self.extract, self.insert, self.extract_row, self.insert_row, self.column,
            self.make, self.spread,
        ]  # fmt: skip
        plain[self.number(0, len(plain) - 1)]()


def _terminator(name: str, values: Sequence[str], types: Sequence[str]) -> str:
    return f"{name} {', '.join(values)} : {', '.join(types)}"


def flow_program(
    choose: Callable[[Sequence[object]], object],
    statements: int = 8,
    rows: int = 4,
    columns: int = 3,
) -> str:
    """`@f(matrix, row, point, f64, index, i1)` with nested control flow."""
    writer = FlowWriter(choose, rows, columns)
    arguments = list(zip(("%m", "%r", "%p", "%x", "%n", "%c"), writer.carried, strict=True))
    writer.values += arguments
    for _ in range(statements):
        writer.statement(3)
    types = [*writer.carried, writer.matrix, writer.row]
    results = [writer.value(t) for t in types]
    header = ", ".join(f"{name}: {type_}" for name, type_ in arguments)
    body = "\n".join(writer.lines)
    return (
        f"func.func @f({header}) -> ({', '.join(types)}) {{\n{body}\n"
        f"{_terminator('func.return', results, types)}\n}}\n"
    )
