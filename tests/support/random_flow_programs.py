"""Random programs of nested branches, loops and calls over smooth ops, as text."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

FLOATS = ("f64", "tensor<f64>", "tensor<3xf64>")
Scope = list[tuple[str, str]]

UNARY = {
    "f64": ("math.sin", "math.tanh", "math.cos", "arith.negf"),
    "tensor": ("array.sin", "array.tanh", "nn.sigmoid", "array.negative", "array.square"),
}
BINARY = {
    "f64": ("arith.addf", "arith.mulf", "arith.subf"),
    "tensor": ("array.add", "array.multiply", "array.subtract"),
}


@dataclass
class FlowWriter:
    """Writes one function after another; every choice is `random`'s.

    `marks`, if given, chooses policies for loops and which regions are checkpoint stages; the
    program is the same with and without.
    """

    random: random.Random
    marks: random.Random | None = None
    lines: list[str] = field(default_factory=list[str])
    callees: list[tuple[str, list[str], str]] = field(
        default_factory=list[tuple[str, list[str], str]]
    )
    count: int = 0

    def name(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def emit(self, text: str) -> None:
        self.lines.append(text)

    def pick(self, scope: Scope, type_: str) -> str:
        """A value of a type, rather one of the last."""
        fitting = [name for name, each in scope if each == type_]
        return self.random.choice(fitting[-5:] if self.random.random() < 0.6 else fitting)

    def float_type(self) -> str:
        return self.random.choice(FLOATS)

    # Statements: each adds to the scope.

    def statements(self, scope: Scope, depth: int) -> None:
        for _ in range(self.random.randint(2, 4)):
            makers: list[Callable[[Scope, int], None]] = [
                self.arithmetic, self.arithmetic, self.arithmetic,
            ]  # fmt: skip
            if depth > 0:
                makers += [
                    self.for_loop, self.while_loop, self.branch, self.switch, self.region,
                    self.call,
                ]  # fmt: skip
            self.random.choice(makers)(scope, depth)

    def arithmetic(self, scope: Scope, depth: int) -> None:
        type_, name = self.float_type(), self.name()
        kind = "f64" if type_ == "f64" else "tensor"
        one, other = self.pick(scope, type_), self.pick(scope, type_)
        match self.random.randint(0, 4):
            case 0 | 1:
                self.emit(f"{name} = {self.random.choice(UNARY[kind])} {one} : {type_}")
            case 2 | 3:
                self.emit(f"{name} = {self.random.choice(BINARY[kind])} {one}, {other} : {type_}")
            case _:
                self.convert(scope, name)
                return
        scope.append((name, type_))

    def convert(self, scope: Scope, name: str) -> None:
        """From one of the types to another."""
        vector, whole = "tensor<3xf64>", "tensor<f64>"
        match self.random.randint(0, 4):
            case 0:
                self.emit(f"{name} = tensor.extract {self.pick(scope, whole)}[] : {whole}")
                scope.append((name, "f64"))
            case 1:
                at = self.pick(scope, "index")
                self.emit(f"{name} = tensor.extract {self.pick(scope, vector)}[{at}] : {vector}")
                scope.append((name, "f64"))
            case 2:
                at, number = self.pick(scope, "index"), self.pick(scope, "f64")
                dest = self.pick(scope, vector)
                self.emit(f"{name} = tensor.insert {number} into {dest}[{at}] : {vector}")
                scope.append((name, vector))
            case 3:
                x = self.pick(scope, whole)
                self.emit(f"{name} = array.broadcast_to {x} : {whole} -> {vector}")
                scope.append((name, vector))
            case _:
                x = self.pick(scope, vector)
                self.emit(f"{name} = array.mean {x} : {vector} -> {whole}")
                scope.append((name, whole))

    def block(self, scope: Scope, depth: int, types: list[str], end: str) -> None:
        """A nested block that ends by handing back values of the types."""
        inner = list(scope)
        self.statements(inner, depth)
        values = ", ".join(self.pick(inner, t) for t in types)
        self.emit(f"{end}{values} : {', '.join(types)}")

    def carried(self, scope: Scope) -> tuple[list[str], list[str], list[str]]:
        """Types, initial values and argument names of what a loop carries."""
        types = [self.float_type() for _ in range(self.random.randint(1, 3))]
        return types, [self.pick(scope, t) for t in types], [self.name() for _ in types]

    def results(self, scope: Scope, types: list[str]) -> str:
        """The left side of an op with results of the types, which come into scope."""
        name = self.name()
        scope += [(f"{name}#{k}" if len(types) > 1 else name, t) for k, t in enumerate(types)]
        return f"{name}:{len(types)}" if len(types) > 1 else name

    def policy(self, is_while: bool) -> str:
        """A policy attribute for a loop, in braces."""
        if self.marks is None:
            return ""
        kind = self.marks.choice(["every", "online" if is_while else "binomial"])
        return f" {{grad.loop = #grad.loop<{kind} = {self.marks.randint(1, 3)}>}}"

    def for_loop(self, scope: Scope, depth: int) -> None:
        types, initial, arguments = self.carried(scope)
        low, high = self.random.choice(["%c0", "%c1", "%n"]), self.random.choice(["%c2", "%n"])
        index = self.name()
        inner = [*scope, (index, "index"), *zip(arguments, types, strict=True)]
        pairs = ", ".join(f"{a} = {i}" for a, i in zip(arguments, initial, strict=True))
        left = self.results(scope, types)
        listed = ", ".join(types)
        self.emit(f"{left} = scf.for {index} = {low} to {high} step %c1 iter_args({pairs})"
                  f" -> ({listed}) {{")  # fmt: skip
        self.block(inner, depth - 1, types, "scf.yield ")
        self.emit("}" + self.policy(is_while=False))

    def while_loop(self, scope: Scope, depth: int) -> None:
        types, initial, arguments = self.carried(scope)
        counter, after = self.name(), self.name()
        listed = ", ".join([*types, "index"])
        pairs = [f"{a} = {i}" for a, i in zip(arguments, initial, strict=True)]
        outside = list(scope)
        left = self.results(scope, [*types, "index"])
        # the count may be 2, no place in a tensor of three behind it
        scope.pop()
        self.emit(f"{left} = scf.while ({', '.join([*pairs, f'{counter} = %c0'])})"
                  f" : ({listed}) -> ({listed}) {{")  # fmt: skip
        inner = [*outside, *zip(arguments, types, strict=True)]
        if self.random.random() < 0.5:
            self.statements(inner, 0)
        more, limit = self.name(), self.random.choice(["%c2", "%n", "%c1"])
        self.emit(f"{more} = arith.cmpi slt, {counter}, {limit} : index")
        passed = ", ".join(self.pick(inner, t) for t in types)
        self.emit(f"scf.condition({more}) {passed}, {counter} : {listed}")
        self.emit("} do {")
        names = [self.name() for _ in types]
        taken = ", ".join(f"{a}: {t}" for a, t in zip(names, types, strict=True))
        self.emit(f"^bb0({taken}, {after}: index):")
        inner = [*outside, *zip(names, types, strict=True)]
        self.statements(inner, depth - 1)
        following = self.name()
        self.emit(f"{following} = arith.addi {after}, %c1 : index")
        values = ", ".join(self.pick(inner, t) for t in types)
        self.emit(f"scf.yield {values}, {following} : {listed}")
        policy = self.policy(is_while=True)
        self.emit(f"}} attributes{policy}" if policy else "}")

    def condition(self, scope: Scope) -> str:
        if self.random.random() < 0.5:
            return self.random.choice(["%yes", "%no"])
        name = self.name()
        at = self.pick(scope, "index")
        self.emit(f"{name} = arith.cmpi eq, {at}, %c1 : index")
        return name

    def branch(self, scope: Scope, depth: int) -> None:
        types = [self.float_type() for _ in range(self.random.randint(1, 2))]
        condition, outside = self.condition(scope), list(scope)
        self.emit(f"{self.results(scope, types)} = scf.if {condition} -> ({', '.join(types)}) {{")
        self.block(outside, depth - 1, types, "scf.yield ")
        self.emit("} else {")
        self.block(outside, self.random.randint(0, depth - 1), types, "scf.yield ")
        self.emit("}")

    def switch(self, scope: Scope, depth: int) -> None:
        types = [self.float_type()]
        at, outside = self.pick(scope, "index"), list(scope)
        self.emit(f"{self.results(scope, types)} = scf.index_switch {at} -> {types[0]}")
        for label in ("case 0", "case 1", "default"):
            self.emit(f"{label} {{")
            self.block(outside, depth - 1, types, "scf.yield ")
            self.emit("}")

    def region(self, scope: Scope, depth: int) -> None:
        types = [self.float_type() for _ in range(self.random.randint(1, 2))]
        outside = list(scope)
        is_stage = self.marks is not None and self.marks.random() < 0.7
        name, end = ("grad.checkpoint", "grad") if is_stage else ("scf.execute_region", "scf")
        self.emit(f"{self.results(scope, types)} = {name} -> ({', '.join(types)}) {{")
        self.block(outside, depth - 1, types, f"{end}.yield ")
        self.emit("}")

    def call(self, scope: Scope, depth: int) -> None:
        if not self.callees:
            return
        callee, inputs, output = self.random.choice(self.callees)
        given = ", ".join(self.pick(scope, t) for t in inputs)
        left = self.results(scope, [output])
        self.emit(f"{left} = func.call {callee}({given}) : ({', '.join(inputs)}) -> {output}")

    def function(self, name: str, depth: int) -> None:
        inputs, output = [*FLOATS, "index", "i1", "i1"], self.float_type()
        names = ["%x", "%y", "%z", "%n", "%yes", "%no"]
        taken = ", ".join(f"{a}: {t}" for a, t in zip(names, inputs, strict=True))
        self.emit(f"func.func {name}({taken}) -> {output} {{")
        scope: Scope = list(zip(names, inputs, strict=True))
        for k in range(3):
            self.emit(f"%c{k} = arith.constant {k} : index")
            scope.append((f"%c{k}", "index"))
        scope[:] = [each for each in scope if each[0] != "%n"] + [("%n", "index")]
        self.statements(scope, depth)
        self.statements(scope, depth)
        self.emit(f"func.return {self.pick(scope, output)} : {output}")
        self.emit("}")
        self.callees.append((name, inputs, output))


def random_flow_program(seed: int, depth: int = 3, marked: bool = False) -> str:
    """A module with a function @f of a scalar, two tensors, an index below 3 and two i1; `marked`,
    the same with loop policies and checkpoint stages."""
    writer = FlowWriter(random.Random(seed), random.Random(seed) if marked else None)
    for k in range(2):
        writer.function(f"@g{k}", depth - 2)
    writer.function("@f", depth)
    return "\n".join(writer.lines)
