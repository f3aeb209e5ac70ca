"""The ops of level 2: templates of text, with the types of their operands and result.

Types have letters: S, P, V, A are floats, a scalar and tensors of rank 0, of N and of N x N; X an
index, B an i1, I a tensor of N indices below N, T a table of rows of N floats. W and H, in a form,
are tensors of N integers of 64 and 16 bits, unsigned and signed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

TYPES = {
    "S": "$F",
    "P": "tensor<$F>",
    "V": "tensor<$Nx$F>",
    "A": "tensor<$Nx$Nx$F>",
    "X": "index",
    "B": "i1",
    "I": "tensor<$Nxi64>",
    "T": "tensor<40x$Nx$F>",
}
_INSIDE = {"W": "tensor<$Nxui64>", "H": "tensor<$Nxi16>"}
S, P, V, A, INDEX, BOOL, PLACES, TABLE = TYPES.values()
FLOATS = (S, P, V, A)


@dataclass(frozen=True)
class Form:
    """In `text`, %r is the result, %0 the first operand; other names begin with %r."""

    text: str
    operands: tuple[str, ...]
    result: str


UNARY = (
    "array.sin", "array.cos", "array.tanh", "array.negative", "array.square", "array.abs",
    "array.floor", "array.sign", "nn.sigmoid", "nn.silu", "nn.softplus", "nn.relu", "grad.barrier",
)  # fmt: skip
BINARY = (
    "add", "add", "subtract", "multiply", "multiply", "maximum", "minimum", "divide",
    "floor_divide", "remainder",
)  # fmt: skip
SCALAR_UNARY = ("math.sin", "math.cos", "math.tanh", "arith.negf", "math.absf", "math.floor")
SCALAR_BINARY = ("addf", "subf", "mulf", "mulf", "maximumf", "minimumf", "divf")
REDUCTIONS = ("sum", "mean", "max", "logsumexp", "min", "prod")
# One line is one form: text, letters of the operands, letter of the result; `/` ends a line of it.
OTHERS = """
%r = array.broadcast_to %0 : !P -> !V | P | V
%r = array.broadcast_to %0 : !P -> !A | P | A
%r = array.broadcast_to %0 : !V -> !A | V | A
%r = array.matmul %0, %1 : !A, !V -> !V | AV | V
%r = array.matmul %0, %1 : !V, !A -> !V | VA | V
%r = array.matmul %0, %1 : !A, !A -> !A | AA | A
%r = array.matmul %0, %1 : !V, !V -> !P | VV | P
%r = array.permute_dims %0 {axes = [1, 0]} : !A -> !A | A | A
%r = array.flip %0 {axis = [0]} : !V -> !V | V | V
%r = array.roll %0 {shift = [1], axis = [1]} : !A | A | A
%r = nn.softmax %0 {axis = 0} : !V | V | V
%r = nn.log_softmax %0 {axis = 1} : !A | A | A
%r = array.cumulative_sum %0 {axis = 0} : !V | V | V
%r = array.sort %0 {axis = 0} : !V | V | V
%r = array.take %0, %1 {axis = 0} : !V, !I -> !V | VI | V
%r = array.take %0, %1 {axis = 1} : !A, !I -> !A | AI | A
%r = array.scatter_add %0, %1, %2 {axis = 0} : !V, !I, !V -> !V | VIV | V
%r = tensor.extract %0[] : !P | P | S
%rn = arith.constant $N : index / %ri = arith.remui %1, %rn : index / %r = tensor.extract %0[%ri] : !V | VX | S
%rn = arith.constant $N : index / %ri = arith.remui %1, %rn : index / %r = tensor.extract %0[%ri, %ri] : !A | AX | S
%rn = arith.constant $N : index / %ri = arith.remui %1, %rn : index / %r = tensor.insert %2 into %0[%ri] : !V | VXS | V
%rn = arith.constant $N : index / %ri = arith.remui %1, %rn : index / %r = tensor.extract_slice %0[%ri, 0] [1, $N] [1, 1] : !A to !V | AX | V
%rn = arith.constant $N : index / %ri = arith.remui %1, %rn : index / %r = tensor.insert_slice %2 into %0[0, %ri] [$N, 1] [1, 1] : !V into !A | AXV | A
%r = tensor.from_elements %0 : !P | S | P
%r = tensor.splat %0 : !V | S | V
%rc = arith.cmpf olt, %0, %1 : !S / %r = arith.select %rc, %1, %2 : !S | SSS | S
%ro = arith.constant 1 : index / %r = arith.addi %0, %ro : index | X | X
%r = arith.cmpi eq, %0, %1 : index | XX | B
%r = arith.cmpf olt, %0, %1 : !S | SS | B
%r = arith.xori %0, %1 : i1 | BB | B
%rk = arith.index_cast %0 : index to i64 / %r = arith.sitofp %rk : i64 to !S | X | S
%r = array.flip %0 {axis = [0]} : !I -> !I | I | I
%rw = array.astype %0 : !I -> !W / %rh = array.full {value = 9223372036854775809 : ui64} : !W / %rm = array.multiply %rw, %rh : !W / %rn = array.full {value = $N} : !W / %rr = array.remainder %rm, %rn : !W / %r = array.astype %rr : !W -> !I | I | I
%rx = array.astype %0 : !I -> !H / %ry = array.astype %1 : !I -> !H / %rs = array.subtract %rx, %ry : !H / %rn = array.full {value = $N} : !H / %rm = array.floor_divide %rs, %rn : !H / %rr = array.remainder %rm, %rn : !H / %r = array.astype %rr : !H -> !I | II | I
"""  # noqa: E501


def form(text: str, operands: str, result: str) -> Form:
    """A form from a template in which !V stands for the type of the letter."""
    text = re.sub("!([A-Z])", lambda match: {**TYPES, **_INSIDE}[match[1]], text)
    return Form(text, tuple(TYPES[letter] for letter in operands), TYPES[result])


def filled(text: str, names: list[str], result: str) -> str:
    """The text of a form with the names of its operands and its result."""

    def name(match: re.Match[str]) -> str:
        return result + match[2] if match[1] == "r" else names[int(match[1])]

    return re.sub(r"%(r|\d)(\w*)", name, text)


def _elementwise() -> list[Form]:
    found: list[Form] = []
    for t in "PVA":
        found += [form(f"%r = {name} %0 : !{t}", t, t) for name in UNARY]
        found += [form(f"%r = array.{name} %0, %1 : !{t}", t + t, t) for name in BINARY]
        found.append(form(f"%re = array.tanh %0 : !{t}\n%r = array.exp %re : !{t}", t, t))
        bools = TYPES[t].replace("$F", "i1")
        less = f"%rc = array.less %0, %1 : !{t}, !{t} -> {bools}\n"
        where = f"%r = array.where %rc, %1, %2 : {bools}, !{t}, !{t} -> !{t}"
        found.append(form(less + where, t * 3, t))
    found += [form(f"%r = {name} %0 : !S", "S", "S") for name in SCALAR_UNARY]
    found += [form(f"%r = arith.{name} %0, %1 : !S", "SS", "S") for name in SCALAR_BINARY]
    return found


def _forms() -> tuple[Form, ...]:
    found = _elementwise()
    for name in REDUCTIONS:
        found.append(form(f"%r = array.{name} %0 : !V -> !P", "V", "P"))
        for axis in (0, 1):
            found.append(form(f"%r = array.{name} %0 {{axis = {axis}}} : !A -> !V", "A", "V"))
    for line in OTHERS.strip().splitlines():
        text, operands, result = line.split(" | ")
        found.append(form(text.replace(" / ", "\n"), operands, result))
    return tuple(found)


FORMS = _forms()
# Of derivative zero: the ops before them matter for values alone.
FLAT = (
    *(form(f"%r = array.{name} %0 : !{t}", t, t) for t in "PVA" for name in ("floor", "sign")),
    *(form(f"%r = array.floor_divide %0, %1 : !{t}", t + t, t) for t in "PVA"),
    form("%r = math.floor %0 : !S", "S", "S"),
)
# Of a table, nearly all by rows.
READS = (
    *(form("%r = array.take %0, %1 {axis = 0} : !T, !I -> !A", "TI", "A"),) * 4,
    *(form("%r = nn.embedding %0, %1 : !T, !I -> !A", "TI", "A"),) * 2,
    form("%r = array.sum %0 {axis = 0} : !T -> !V", "T", "V"),
)
NO_GRAD = tuple(form(f"%r = grad.no_grad %0 : !{t}", t, t) for t in "PVA")


def by_result(forms: tuple[Form, ...]) -> dict[str, tuple[Form, ...]]:
    """Forms by the type that they give."""
    types = dict.fromkeys(f.result for f in forms)
    return {t: tuple(f for f in forms if f.result == t) for t in types}
