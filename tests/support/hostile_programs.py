"""Programs that want memory which is not theirs, for test_memory_safety.py."""

from __future__ import annotations


def program(body: str, argument: str = "%n: i64") -> str:
    """A program that loads from four numbers and stores to four others."""
    return f"""func.func @f(%x: tensor<4xf64>, %k: tensor<1xi64>) -> tensor<4xf64> {{
  %y = loopnest.forall [1] (%in = %x : tensor<4xf64>, %at = %k : tensor<1xi64>)
      -> (%out : tensor<4xf64>) {{
    %zero = arith.constant 0 : i64
    %one = arith.constant 1 : i64
    %four = arith.constant 4 : i64
    %v = arith.constant 1.0 : f64
    %n = loopnest.load %at[%zero] : tensor<1xi64> -> i64
    {body}
    loopnest.yield
  }}
  return %y : tensor<4xf64>
}}
"""


def load(index: str) -> str:
    return f"%a = loopnest.load %in[{index}] : tensor<4xf64> -> f64"


def store(index: str) -> str:
    return f"loopnest.store %v, %out[{index}] : f64 to memref<4xf64>"


# Programs of loads and stores.

UNPROVEN = {
    "index from memory": store("%n"),
    "constant": f"%c = arith.constant 4 : i64\n{load('%c')}",
    "negative": f"%c = arith.constant -1 : i64\n{load('%c')}",
    "check of another tensor's size": (
        f'%c = loopnest.check_index %n bound 5 : i64 message "m"\n{store("%c")}'
    ),
    "check of another index": (
        f'%c = loopnest.check_index %n bound 4 : i64 message "m"\n{store("%n")}'
    ),
    "arithmetic after the check": (
        '%c = loopnest.check_index %n bound 4 : i64 message "m"\n'
        f"%d = arith.addi %c, %one : i64\n{store('%d')}"
    ),
    "overflow": (
        "%c = arith.constant 9223372036854775807 : i64\n"
        f"%d = arith.addi %c, %c : i64\n%e = arith.addi %d, %four : i64\n{load('%e')}"
    ),
    "bound that is too large": (
        f"scf.for %i = %zero to %n step %one : i64 {{\n{store('%i')}\nscf.yield\n}}"
    ),
    "lower bound that is too small": (
        f"scf.for %i = %n to %four step %one : i64 {{\n{store('%i')}\nscf.yield\n}}"
    ),
    "carried value": (
        "%r = scf.for %i = %zero to %four step %one iter_args(%c = %zero) -> (i64) : i64 {\n"
        f"{store('%c')}\n%d = arith.addi %c, %four : i64\nscf.yield %d : i64\n}}"
    ),
    "lanes": f"loopnest.lanes %i = %zero to %n {{\n{store('%i')}\nloopnest.yield\n}}",
    "lanes that overflow": (
        "%low = arith.constant -9223372036854775808 : i64\n"
        "%high = arith.constant 9223372036854775807 : i64\n"
        f"loopnest.lanes %i = %low to %high {{\n{store('%zero')}\nloopnest.yield\n}}"
    ),
    "the branch that is not checked": (
        f"%c = arith.cmpi ult, %n, %four : i64\nscf.if %c {{\n}} else {{\n{store('%n')}\n}}"
    ),
    "signed comparison": f"%c = arith.cmpi slt, %n, %four : i64\nscf.if %c {{\n{store('%n')}\n}}",
    "condition of a loop, before it": (
        "%r = scf.while (%i = %n) : (i64) -> i64 {\n"
        f"{store('%i')}\n%c = arith.cmpi ult, %i, %four : i64\nscf.condition(%c) %i : i64\n"
        "} do {\n^bb0(%i: i64):\nscf.yield %i : i64\n}"
    ),
    "half of a clamp": f"%c = arith.minsi %n, %one : i64\n{store('%c')}",
    "truncation": (
        '%c = loopnest.check_index %n bound 300 : i64 message "m"\n'
        f"%d = arith.trunci %c : i64 to i8\n%e = arith.extsi %d : i8 to i64\n{store('%e')}"
    ),
    "bits of a float": (
        f"%a = {load('%zero').split('= ')[1]}\n%b = arith.bitcast %a : f64 to i64\n{store('%b')}"
    ),
    "nan": (
        f"%a = {load('%zero').split('= ')[1]}\n%b = arith.fptosi %a : f64 to i64\n{store('%b')}"
    ),
    "shift": f"%c = arith.shli %one, %n : i64\n{store('%c')}",
    "remainder of a negative": f"%c = arith.remsi %n, %four : i64\n{store('%c')}",
}

PROVEN = {
    "checked": f'%c = loopnest.check_index %n bound 4 : i64 message "m"\n{store("%c")}',
    "clamped": (
        f"%c = arith.maxsi %n, %zero : i64\n%l = arith.constant 3 : i64\n"
        f"%d = arith.minsi %c, %l : i64\n{store('%d')}"
    ),
    "clamped without a sign": (
        f"%l = arith.constant 3 : i64\n%d = arith.minui %n, %l : i64\n{store('%d')}"
    ),
    "selected": (
        "%c = arith.cmpi ult, %n, %four : i64\n"
        f"%d = arith.select %c, %n, %zero : i64\n{store('%d')}"
    ),
    "branch": f"%c = arith.cmpi ult, %n, %four : i64\nscf.if %c {{\n{store('%n')}\n}}",
    "two conditions": (
        "%c = arith.cmpi sge, %n, %zero : i64\n%d = arith.cmpi slt, %n, %four : i64\n"
        f"%e = arith.andi %c, %d : i1\nscf.if %e {{\n{store('%n')}\n}}"
    ),
    "loop": f"scf.for %i = %zero to %four step %one : i64 {{\n{store('%i')}\nscf.yield\n}}",
    "loop of any step": (
        "scf.for %i = %zero to %four step %four : i64 {\n"
        f"scf.for %j = %i to %four step %one : i64 {{\n{store('%j')}\nscf.yield\n}}\nscf.yield\n}}"
    ),
    "lanes": f"loopnest.lanes %i = %zero to %four {{\n{store('%i')}\nloopnest.yield\n}}",
    "condition of a loop": (
        "%r = scf.while (%i = %n) : (i64) -> i64 {\n"
        "%c = arith.cmpi ult, %i, %four : i64\nscf.condition(%c) %i : i64\n"
        f"}} do {{\n^bb0(%i: i64):\n{store('%i')}\n%j = arith.addi %i, %one : i64\n"
        "scf.yield %j : i64\n}"
    ),
    "remainder": f"%c = arith.remui %n, %four : i64\n{store('%c')}",
    "bits": f"%l = arith.constant 3 : i64\n%c = arith.andi %n, %l : i64\n{store('%c')}",
    "a loop without trips": (
        f"scf.for %i = %four to %zero step %one : i64 {{\n{store('%i')}\nscf.yield\n}}"
    ),
}


NESTS = {
    "load in a body": (
        """func.func @f(%x: tensor<4xf64>, %i: tensor<2xi64>) -> tensor<2xf64> {
  %y = loopnest.nest [2] (%a = %x : tensor<4xf64>, %n = %i[d0] : tensor<2xi64>)
      -> ([d0] : tensor<2xf64>) {
    %v = loopnest.load %a[%n] : tensor<4xf64> -> f64
    loopnest.yield %v : f64
  }
  return %y : tensor<2xf64>
}""",
        r":4:5: error: loopnest.load: index 0 \(%n\) must be proven",
    ),
    "scattered index": (
        """func.func @f(%x: tensor<2xf64>, %i: tensor<2xi64>) -> tensor<4xf64> {
  %y = loopnest.nest [2] (%a = %x[d0] : tensor<2xf64>, %n = %i[d0] : tensor<2xi64>)
      -> (add [s0] : tensor<4xf64>) {
    loopnest.yield %a, %n : f64, i64
  }
  return %y : tensor<4xf64>
}""",
        r":4:5: error: loopnest.yield: index s0 must be proven",
    ),
    "second scattered index": (
        """func.func @f(%x: tensor<2xf64>, %i: tensor<2xi64>) -> (tensor<4xf64>, tensor<4xf64>) {
  %y, %z = loopnest.nest [2] (%a = %x[d0] : tensor<2xf64>, %n = %i[d0] : tensor<2xi64>)
      -> (add [s1] : tensor<4xf64>, add [s0] : tensor<4xf64>) {
    %c = loopnest.check_index %n bound 4 : i64 message "m"
    loopnest.yield %a, %a, %c, %n : f64, f64, i64, i64
  }
  return %y, %z : tensor<4xf64>, tensor<4xf64>
}""",
        r":5:5: error: loopnest.yield: index s0 must be proven",
    ),
    "a tensor of the function around": (
        """func.func @f(%x: tensor<4xf64>) -> tensor<2xf64> {
  %y = loopnest.nest [2] (%a = %x[d0] : tensor<4xf64>) -> ([d0] : tensor<2xf64>) {
    %n = arith.constant 0 : i64
    %v = loopnest.load %x[%n] : tensor<4xf64> -> f64
    loopnest.yield %v : f64
  }
  return %y : tensor<2xf64>
}""",
        r":4:5: error: loopnest.load: %x is defined outside of loopnest.nest",
    ),
    "buffers": (
        """func.func @f(%x: memref<4xf64>) attributes {gradir.inputs = 0, gradir.results = 1} {
  %n = arith.constant 1000000 : index
  %v = arith.constant 1.0 : f64
  memref.store %v, %x[%n] : memref<4xf64>
  return
}""",
        r"func.func: gradir.inputs is what passes say of their own results",
    ),
    "an argument that is a buffer": (
        """func.func @f(%x: memref<4xf64>) {
  return
}""",
        r":1:1: error: func.func: no op on buffers is proven to be safe",
    ),
    "forged results": (
        """func.func @f(%x: tensor<4xf64>) -> tensor<4xf64>
    attributes {gradir.read_results = array<i64: 7>} {
  return %x : tensor<4xf64>
}""",
        r"gradir.read_results is what passes say of their own results",
    ),
    "a view of the arena": (
        """func.func @f(%x: f64) -> f64 {
  %m = memref.alloc() : memref<1xf64>
  %n = arith.constant 99999 : index
  %v = memref.load %m[%n] : memref<1xf64>
  return %v : f64
}""",
        r":2:3: error: memref.alloc: no op on buffers is proven to be safe",
    ),
    "an offset that is checked by another bound": (
        """func.func @f(%x: tensor<4xf64>, %n: index) -> f64 {
  %c = loopnest.check_offset %n bound 99 : i64 message "m"
  %v = tensor.extract %x[%c] : tensor<4xf64>
  return %v : f64
}""",
        r":2:3: error: loopnest.check_offset: no op on buffers is proven to be safe",
    ),
}


REFUSED = {
    "index that fits no 64 bits": (
        """func.func @f(%x: tensor<4xf64>) -> f64 {
  %i = arith.constant 18446744073709551618 : index
  %r = tensor.extract %x[%i] : tensor<4xf64>
  return %r : f64
}""",
        "arith.constant: value must be an index of 64 bits, got 18446744073709551618",
    ),
    "false bound of a check": (
        """func.func @f(%x: tensor<4xf64>, %i: i64) -> f64 {
  %c = loopnest.check_index %i bound -1000 : i64 message "m"
  %j = arith.index_cast %c : i64 to index
  %r = tensor.extract %x[%j] : tensor<4xf64>
  return %r : f64
}""",
        "loopnest.check_index: bound must be positive and below 2\\*\\*63, got -1000",
    ),
    "elements between two widths": (
        """func.func @f(%i: index) -> i32 {
  %a = arith.constant 70000 : i20
  %t = tensor.from_elements %a, %a : tensor<2xi20>
  %r = tensor.extract %t[%i] : tensor<2xi20>
  %q = arith.extsi %r : i20 to i32
  return %q : i32
}""",
        "arith.constant: integers must have 1, 8, 16, 32 or 64 bits, got i20",
    ),
    "numbers wider than a slot": (
        """func.func @f(%c: i1, %x: i64) -> i64 {
  %a = arith.extsi %x : i64 to i128
  %r = scf.if %c -> (i128) {
    scf.yield %a : i128
  } else {
    %b = arith.addi %a, %a : i128
    scf.yield %b : i128
  }
  %q = arith.trunci %r : i128 to i64
  return %q : i64
}""",
        "arith.extsi: integers must have 1, 8, 16, 32 or 64 bits, got i128",
    ),
    "record of no size": (
        """func.func @f() -> index {
  %t = grad.tape_new : !grad.tape<tensor<4611686018427387904x4xf64>>
  %s = grad.tape_size %t : !grad.tape<tensor<4611686018427387904x4xf64>>
  return %s : index
}""",
        "a tensor must take less than 2\\*\\*62 bytes",
    ),
    "limit of a tape": (
        """func.func @f() -> index {
  %t = grad.tape_new : !grad.tape<f64, limit = 9223372036854775808>
  %s = grad.tape_size %t : !grad.tape<f64, limit = 9223372036854775808>
  return %s : index
}""",
        "limit must not be negative, and below 2\\*\\*63",
    ),
    "capacity of a tape": (
        """func.func @f(%x: f64) -> f64 {
  %t = grad.tape_new : !grad.tape<f64, capacity = 2305843009213693953>
  %u = grad.tape_push %t, %x : !grad.tape<f64, capacity = 2305843009213693953>
  %v, %y = grad.tape_pop %u : !grad.tape<f64, capacity = 2305843009213693953>
  return %y : f64
}""",
        "@f: needs 18446744073709551624 bytes, more than can be addressed",
    ),
    "attribute that overflows": (
        """func.func @f(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %y = grad.shift %x {axis = 1, by = -9223372036854775808} : tensor<3x4xf32>
  return %y : tensor<3x4xf32>
}""",
        "by must be less than 2\\*\\*62, got -9223372036854775808",
    ),
    "slice that ends outside": (
        """func.func @f(%x: tensor<4xf64>) -> tensor<2xf64> {
  %r = tensor.extract_slice %x[3] [2] [1] : tensor<4xf64> to tensor<2xf64>
  return %r : tensor<2xf64>
}""",
        "tensor.extract_slice: a slice must stay inside a size of 4",
    ),
    "reads of another type": (
        """func.func @f(%x: tensor<8xi8>) -> tensor<8xf64> {
  %y = loopnest.nest [8] (%a = %x : tensor<8xi8>) -> ([d0] : tensor<8xf64>) {
    %n = loopnest.index 0
    %v = loopnest.load %a[%n] : tensor<8xi8> -> f64
    loopnest.yield %v : f64
  }
  return %y : tensor<8xf64>
}""",
        "loopnest.load: expected a result of i8 from tensor<8xi8>, got f64",
    ),
    "bounds that overflow": (
        """func.func @f(%x: tensor<f64>) -> tensor<f64> {
  %y = loopnest.nest [4294967296, 4294967296] (%a = %x[] : tensor<f64>)
      -> (add [] : tensor<f64>) {
    loopnest.yield %a : f64
  }
  return %y : tensor<f64>
}""",
        "loopnest.nest: bounds must come to less than 2\\*\\*62 iterations",
    ),
    "splats that fill memory": (
        "func.func @f() {\n"
        + "".join(f"  %c{k} = arith.constant dense<1.0> : tensor<16777216xf32>\n" for k in range(5))
        + "  return\n}",
        ":6:\\d+: error: dense: expected at most 67108864 elements in all constants",
    ),
}


TAPE = "!grad.tape<i8, limit = 9223372036854775807>"
GROWS = f"""func.func @f(%n: index, %v: i8) -> i8 {{
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %t = grad.tape_new : {TAPE}
  %r = scf.for %i = %zero to %n step %one iter_args(%a = %t) -> ({TAPE}) {{
    %b = grad.tape_push %a, %v : {TAPE}
    scf.yield %b : {TAPE}
  }}
  %u, %b = grad.tape_pop %r : {TAPE}
  return %b : i8
}}
"""
