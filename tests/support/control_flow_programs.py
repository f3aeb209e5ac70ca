"""Programs with branches and loops, and arguments at which they are smooth, by name.

Each stands for something that an earlier system got wrong, or for one way in which constructs nest.
"""

from __future__ import annotations

import numpy as np
from control_flow_nests import NESTS
from control_flow_text import Program, program

SINE_WHILE = program(
    "%x: !s", "!s",
    """
  %y, %n = scf.while (%a = %x, %i = %c0) : (!s, index) -> (!s, index) {
    %more = arith.cmpi slt, %i, %c3 : index
    scf.condition(%more) %a, %i : !s, index
  } do {
  ^bb0(%a: !s, %i: index):
    %s = array.sin %a : !s
    %b = array.multiply %s, %a : !s
    %j = arith.addi %i, %c1 : index
    scf.yield %b, %j : !s, index
  }""",
    [()],
)  # fmt: skip

PROGRAMS: dict[str, Program] = {
    **NESTS,
    "sine_while": SINE_WHILE,
    # x += h * w, three times: the gradient of the invariant w sums all iterations
    "invariant": program(
        "%x: !s, %w: !s, %h: !s", "!s",
        """
  %y = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %x) -> (!s) {
    %p = array.multiply %h, %w : !s
    %b = array.add %a, %p : !s
    scf.yield %b : !s
  }""",
        [(), (), ()],
    ),
    "zero_trips": program(
        "%x: !s, %w: !s", "!s",
        """
  %z = scf.for %i = %c3 to %c0 step %c1 iter_args(%a = %x) -> (!s) {
    %b = array.multiply %a, %w : !s
    scf.yield %b : !s
  }
  %y = array.sin %z : !s""",
        [(), ()],
    ),
    "zero_trips_while": program(
        "%x: !s, %w: !s, %more: i1", "!s",
        """
  %z = scf.while (%a = %x) : (!s) -> !s {
    scf.condition(%more) %a : !s
  } do {
  ^bb0(%a: !s):
    %b = array.multiply %a, %w : !s
    scf.yield %b : !s
  }
  %y = array.sin %z : !s""",
        [(), ()], np.bool_(False),
    ),
    # a body that only passes values through, swaps them, and overwrites one
    "pass_through": program(
        "%x: !s, %w: !s, %v: !s", "!s",
        """
  %p, %q, %r, %s = scf.for %i = %c0 to %c3 step %c1
      iter_args(%a = %x, %b = %w, %c = %v, %d = %x) -> (!s, !s, !s, !s) {
    scf.yield %b, %a, %c, %w : !s, !s, !s, !s
  }
  %t = array.multiply %p, %r : !s
  %u = array.multiply %t, %q : !s
  %e = array.multiply %u, %q : !s
  %y = array.multiply %e, %s : !s""",
        [(), (), ()],
    ),
    "pass_through_while": program(
        "%x: !s, %w: !s", "!s",
        """
  %p, %q, %n = scf.while (%a = %x, %b = %w, %i = %c0) : (!s, !s, index) -> (!s, !s, index) {
    %more = arith.cmpi slt, %i, %c3 : index
    scf.condition(%more) %b, %a, %i : !s, !s, index
  } do {
  ^bb0(%a: !s, %b: !s, %i: index):
    %j = arith.addi %i, %c1 : index
    scf.yield %a, %b, %j : !s, !s, index
  }
  %t = array.multiply %p, %p : !s
  %y = array.multiply %t, %q : !s""",
        [(), ()],
    ),
    "rnn": program(
        "%x: tensor<3x4xf64>, %h: !v, %w: !m, %u: !m, %b: !v", "!v",
        """
  %y = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %h) -> (!v) {
    %n = arith.index_cast %i : index to i64
    %at = tensor.from_elements %n : tensor<i64>
    %xt = array.take %x, %at {axis = 0} : tensor<3x4xf64>, tensor<i64> -> !v
    %xu = array.matmul %u, %xt : !m, !v -> !v
    %hw = array.matmul %w, %a : !m, !v -> !v
    %s = array.add %xu, %hw : !v
    %t = array.add %s, %b : !v
    %z = array.tanh %t : !v
    scf.yield %z : !v
  }""",
        [(3, 4), (4,), (4, 4), (4, 4), (4,)],
    ),
    # an RNN as frontends write it: all that the loop uses is carried
    "rnn_while": program(
        "%x: tensor<3x4xf64>, %h: !v, %w: !m", "!v",
        """
  %r:4 = scf.while (%i = %c0, %a = %h, %v = %w, %xs = %x)
      : (index, !v, !m, tensor<3x4xf64>) -> (index, !v, !m, tensor<3x4xf64>) {
    %more = arith.cmpi slt, %i, %c3 : index
    scf.condition(%more) %i, %a, %v, %xs : index, !v, !m, tensor<3x4xf64>
  } do {
  ^bb0(%i: index, %a: !v, %v: !m, %xs: tensor<3x4xf64>):
    %n = arith.index_cast %i : index to i64
    %at = tensor.from_elements %n : tensor<i64>
    %xt = array.take %xs, %at {axis = 0} : tensor<3x4xf64>, tensor<i64> -> !v
    %hw = array.matmul %v, %a : !m, !v -> !v
    %s = array.add %xt, %hw : !v
    %z = array.tanh %s : !v
    %j = arith.addi %i, %c1 : index
    scf.yield %j, %z, %v, %xs : index, !v, !m, tensor<3x4xf64>
  }
  %y = array.multiply %r#1, %r#1 : !v""",
        [(3, 4), (4,), (4, 4)],
    ),
    "inside_and_outside": program(
        "%x: !s, %w: !s, %c: i1", "!s",
        """
  %h = array.sin %x : !s
  %z = scf.if %c -> (!s) {
    %a = array.multiply %h, %w : !s
    scf.yield %a : !s
  } else {
    scf.yield %x : !s
  }
  %y = array.multiply %z, %h : !s""",
        [(), ()], np.bool_(True),
    ),
    "not_taken": program(
        "%x: !s, %w: !s, %c: i1", "!s",
        """
  %h = array.sin %x : !s
  %z = scf.if %c -> (!s) {
    %a = array.multiply %h, %w : !s
    scf.yield %a : !s
  } else {
    scf.yield %x : !s
  }
  %y = array.multiply %z, %h : !s""",
        [(), ()], np.bool_(False),
    ),
    "one_sided_overwrite": program(
        "%x: !s, %w: !s, %c: i1", "!s",
        """
  %h = array.multiply %x, %x : !s
  %z = scf.if %c -> (!s) {
    %a = array.exp %w : !s
    scf.yield %a : !s
  } else {
    scf.yield %h : !s
  }
  %y = array.multiply %z, %x : !s""",
        [(), ()], np.bool_(True),
    ),
    "residuals_of_both_branches": program(
        "%x: !v, %w: !m, %c: i1", "!v",
        """
  %y = scf.if %c -> (!v) {
    %p = array.matmul %w, %x : !m, !v -> !v
    %a = array.tanh %p : !v
    %q = array.exp %a : !v
    scf.yield %q : !v
  } else {
    %p = array.matmul %w, %w : !m, !m -> !m
    %a = array.sin %p : !m
    %q = array.matmul %a, %x : !m, !v -> !v
    scf.yield %q : !v
  }""",
        [(4,), (4, 4)], np.bool_(False),
    ),
    "switch": program(
        "%x: !s, %w: !s, %k: index", "!s",
        """
  %y = scf.index_switch %k -> !s
  case 0 {
    %a = array.multiply %x, %w : !s
    %b = array.sin %a : !s
    scf.yield %b : !s
  }
  case 7 {
    scf.yield %w : !s
  }
  default {
    %a = array.exp %x : !s
    %b = array.multiply %a, %a : !s
    scf.yield %b : !s
  }""",
        [(), ()], np.int64(5),
    ),
    "execute_region": program(
        "%x: !s, %w: !s", "!s",
        """
  %z, %v = scf.execute_region -> (!s, !s) {
    %a = array.multiply %x, %w : !s
    %b = array.sin %a : !s
    scf.yield %b, %w : !s, !s
  }
  %t = array.multiply %z, %v : !s
  %y = array.multiply %t, %z : !s""",
        [(), ()],
    ),
    "take_in_loop": program(
        "%x: !v, %w: tensor<5x4xf64>", "!v",
        """
  %c5 = arith.constant 5 : index
  %y = scf.for %i = %c1 to %c5 step %c2 iter_args(%a = %x) -> (!v) {
    %n = arith.index_cast %i : index to i64
    %at = tensor.from_elements %n : tensor<i64>
    %row = array.take %w, %at {axis = 0} : tensor<5x4xf64>, tensor<i64> -> !v
    %b = array.multiply %a, %row : !v
    scf.yield %b : !v
  }""",
        [(4,), (5, 4)],
    ),
    "dynamic_bounds": program(
        "%x: !s, %w: !s, %low: index, %high: index, %by: index", "!s",
        """
  %y = scf.for %i = %low to %high step %by iter_args(%a = %x) -> (!s) {
    %n = arith.index_cast %i : index to i64
    %at = tensor.from_elements %n : tensor<i64>
    %f = array.astype %at : tensor<i64> -> !s
    %b = array.multiply %a, %w : !s
    %s = array.sin %b : !s
    %c = array.multiply %s, %f : !s
    scf.yield %c : !s
  }""",
        [(), ()], np.int64(2), np.int64(9), np.int64(3),
    ),
    "carried_matrices": program(
        "%x: !m, %w: !m", "!m",
        """
  %y, %z = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %x, %b = %w) -> (!m, !m) {
    %p = array.matmul %a, %b : !m, !m -> !m
    %t = array.tanh %p : !m
    scf.yield %t, %a : !m, !m
  }""",
        [(4, 4), (4, 4)],
    ),
    "early_exit": program(
        "%x: !s, %w: !s, %limit: f64", "!s",
        """
  %go = arith.constant true
  %y, %flag = scf.while (%a = %x, %on = %go) : (!s, i1) -> (!s, i1) {
    scf.condition(%on) %a, %on : !s, i1
  } do {
  ^bb0(%a: !s, %on: i1):
    %b = array.add %a, %w : !s
    %s = array.multiply %b, %b : !s
    %e = tensor.extract %s[] : !s
    %still = arith.cmpf olt, %e, %limit : f64
    scf.yield %s, %still : !s, i1
  }""",
        [(), ()], np.float64(30.0),
    ),
    "unused_results": program(
        "%x: !s, %w: !s", "!s",
        """
  %y, %z, %v = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %x, %b = %w, %c = %w)
      -> (!s, !s, !s) {
    %p = array.sin %a : !s
    %q = array.exp %b : !s
    %r = array.multiply %c, %a : !s
    scf.yield %p, %q, %r : !s, !s, !s
  }""",
        [(), ()],
    ),
    "swapped": program(
        "%x: !s, %w: !s", "!s",
        """
  %y, %z = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %x, %b = %w) -> (!s, !s) {
    %p = array.sin %a : !s
    scf.yield %b, %p : !s, !s
  }""",
        [(), ()],
    ),
    "integers_carried": program(
        "%x: !s, %w: tensor<5xf64>", "!s",
        """
  %one = array.full {value = 1} : tensor<i64>
  %zero = array.full {value = 0} : tensor<i64>
  %y, %k = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %x, %n = %zero) -> (!s, tensor<i64>) {
    %e = array.take %w, %n {axis = 0} : tensor<5xf64>, tensor<i64> -> !s
    %p = array.multiply %a, %e : !s
    %s = array.sin %p : !s
    %m = array.add %n, %one : tensor<i64>
    scf.yield %s, %m : !s, tensor<i64>
  }""",
        [(), (5,)],
    ),
    "condition_computes": program(
        "%x: !s, %w: !s, %limit: f64", "!s",
        """
  %z, %p = scf.while (%a = %x) : (!s) -> (!s, !s) {
    %b = array.multiply %a, %w : !s
    %s = array.exp %b : !s
    %e = tensor.extract %s[] : !s
    %more = arith.cmpf olt, %e, %limit : f64
    scf.condition(%more) %s, %b : !s, !s
  } do {
  ^bb0(%s: !s, %b: !s):
    %c = array.multiply %s, %b : !s
    %d = array.add %c, %w : !s
    scf.yield %d : !s
  }
  %y = array.multiply %z, %p : !s""",
        [(), ()], np.float64(20.0),
    ),
    "heat": program(
        "%x: tensor<6xf64>, %k: !s", "tensor<6xf64>",
        """
  %c10 = arith.constant 10 : index
  %y = scf.for %i = %c0 to %c10 step %c3 iter_args(%a = %x) -> (tensor<6xf64>) {
    %kk = array.broadcast_to %k : !s -> tensor<6xf64>
    %up = array.flip %a {axis = [0]} : tensor<6xf64> -> tensor<6xf64>
    %d = array.subtract %up, %a : tensor<6xf64>
    %s = array.multiply %d, %d : tensor<6xf64>
    %f = array.multiply %s, %kk : tensor<6xf64>
    %b = array.add %a, %f : tensor<6xf64>
    scf.yield %b : tensor<6xf64>
  }""",
        [(6,), ()],
    ),
    # an explicit Euler step of a scalar equation, with time in it
    "scalars": program(
        "%x: f64, %h: f64, %n: index", "f64",
        """
  %half = arith.constant 0.5 : f64
  %y = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (f64) {
    %k = arith.index_cast %i : index to i64
    %j = arith.sitofp %k : i64 to f64
    %t = arith.mulf %j, %h : f64
    %s = math.sin %a : f64
    %p = arith.mulf %s, %t : f64
    %q = arith.mulf %p, %h : f64
    %is_large = arith.cmpf ogt, %a, %half : f64
    %r = scf.if %is_large -> (f64) {
      %e = arith.divf %q, %a : f64
      scf.yield %e : f64
    } else {
      scf.yield %q : f64
    }
    %b = arith.addf %a, %r : f64
    scf.yield %b : f64
  }""",
        [(), ()], np.int64(6),
    ),
    # Newton's iteration for the square root of a, until it no longer changes
    "newton": program(
        "%a: f64, %start: f64", "f64",
        """
  %half = arith.constant 0.5 : f64
  %small = arith.constant 1.0e-12 : f64
  %far = arith.constant 1.0 : f64
  %y, %d = scf.while (%x = %start, %change = %far) : (f64, f64) -> (f64, f64) {
    %size = math.absf %change : f64
    %more = arith.cmpf ogt, %size, %small : f64
    scf.condition(%more) %x, %change : f64, f64
  } do {
  ^bb0(%x: f64, %change: f64):
    %q = arith.divf %a, %x : f64
    %s = arith.addf %x, %q : f64
    %next = arith.mulf %s, %half : f64
    %moved = arith.subf %next, %x : f64
    scf.yield %next, %moved : f64, f64
  }""",
        [(), ()],
    ),
    "elements": program(
        "%x: tensor<5xf64>, %w: f64", "tensor<5xf64>",
        """
  %c4 = arith.constant 4 : index
  %y = scf.for %i = %c0 to %c4 step %c1 iter_args(%a = %x) -> (tensor<5xf64>) {
    %j = arith.addi %i, %c1 : index
    %e = tensor.extract %a[%i] : tensor<5xf64>
    %o = tensor.extract %a[%j] : tensor<5xf64>
    %p = arith.mulf %e, %o : f64
    %q = arith.mulf %p, %w : f64
    %s = math.sin %q : f64
    %b = tensor.insert %s into %a[%j] : tensor<5xf64>
    scf.yield %b : tensor<5xf64>
  }""",
        [(5,), ()],
    ),
}  # fmt: skip
