"""Programs of constructs in constructs, and of functions and checkpoint stages with loops."""

from __future__ import annotations

import numpy as np
from control_flow_text import CONSTANTS, Program, program

NESTS: dict[str, Program] = {
    "switch_in_loop": program(
        "%x: !s, %w: !s", "!s",
        """
  %y = scf.for %i = %c0 to %c3 step %c1 iter_args(%z = %x) -> (!s) {
    %n = scf.index_switch %i -> !s
    case 1 {
      %a = array.multiply %z, %w : !s
      %b = array.sin %a : !s
      scf.yield %b : !s
    }
    default {
      %a = array.exp %z : !s
      %b = array.multiply %a, %w : !s
      scf.yield %b : !s
    }
    scf.yield %n : !s
  }""",
        [(), ()],
    ),
    "execute_region_in_loop": program(
        "%x: !s, %w: !s", "!s",
        """
  %y = scf.for %i = %c0 to %c3 step %c1 iter_args(%z = %x) -> (!s) {
    %v = scf.execute_region -> (!s) {
      %a = array.multiply %z, %w : !s
      %b = scf.execute_region -> (!s) {
        %e = array.sin %a : !s
        scf.yield %e : !s
      }
      scf.yield %b : !s
    }
    scf.yield %v : !s
  }""",
        [(), ()],
    ),
    "while_in_for_in_if": program(
        "%x: !s, %w: !s, %c: i1", "!s",
        """
  %y = scf.if %c -> (!s) {
    %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %x) -> (!s) {
      %u, %n = scf.while (%b = %a, %k = %c0) : (!s, index) -> (!s, index) {
        %more = arith.cmpi slt, %k, %i : index
        %d = array.multiply %b, %w : !s
        scf.condition(%more) %d, %k : !s, index
      } do {
      ^bb0(%b: !s, %k: index):
        %s = array.sin %b : !s
        %l = arith.addi %k, %c1 : index
        scf.yield %s, %l : !s, index
      }
      scf.yield %u : !s
    }
    scf.yield %r : !s
  } else {
    scf.yield %w : !s
  }""",
        [(), ()], np.bool_(True),
    ),
    "if_in_while_in_for": program(
        "%x: !s, %w: !s", "!s",
        """
  %y = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %x) -> (!s) {
    %u, %n = scf.while (%b = %a, %k = %c0) : (!s, index) -> (!s, index) {
      %more = arith.cmpi slt, %k, %c2 : index
      scf.condition(%more) %b, %k : !s, index
    } do {
    ^bb0(%b: !s, %k: index):
      %even = arith.cmpi eq, %k, %c0 : index
      %z = scf.if %even -> (!s) {
        %s = array.sin %b : !s
        %t = array.multiply %s, %w : !s
        scf.yield %t : !s
      } else {
        %s = array.exp %b : !s
        scf.yield %s : !s
      }
      %l = arith.addi %k, %c1 : index
      scf.yield %z, %l : !s, index
    }
    %v = array.multiply %u, %a : !s
    scf.yield %v : !s
  }""",
        [(), ()],
    ),
    "shared_weights": program(
        "%x: !v, %w: !m", "!v",
        """
  %z = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %x) -> (!v) {
    %p = array.matmul %w, %a : !m, !v -> !v
    %t = array.tanh %p : !v
    scf.yield %t : !v
  }
  %y = scf.for %i = %c0 to %c2 step %c1 iter_args(%a = %z) -> (!v) {
    %p = array.matmul %a, %w : !v, !m -> !v
    %t = array.sin %p : !v
    scf.yield %t : !v
  }""",
        [(4,), (4, 4)],
    ),
    "callee_in_loop": program(
        "%x: !s, %w: !s", "!s",
        """
  %y = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %x) -> (!s) {
    %b = func.call @g(%a, %w) : (!s, !s) -> !s
    scf.yield %b : !s
  }""",
        [(), ()],
        before="""
func.func @g(%a: !s, %w: !s) -> !s {
  %b = array.multiply %a, %w : !s
  %c = array.sin %b : !s
  func.return %c : !s
}""",
    ),
    "loop_in_callee": program(
        "%x: !s, %w: !s", "!s",
        """
  %z = func.call @g(%x, %w) : (!s, !s) -> !s
  %y = func.call @g(%z, %x) : (!s, !s) -> !s""",
        [(), ()],
        before=f"""
func.func @g(%a: !s, %w: !s) -> !s {{{CONSTANTS}
  %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%b = %a) -> (!s) {{
    %c = array.multiply %b, %w : !s
    %d = array.sin %c : !s
    scf.yield %d : !s
  }}
  func.return %r : !s
}}""",
    ),
    "loop_in_callee_in_loop": program(
        "%x: !s, %w: !s, %c: i1", "!s",
        """
  %y = scf.for %i = %c0 to %c2 step %c1 iter_args(%a = %x) -> (!s) {
    %b = scf.if %c -> (!s) {
      %d = func.call @g(%a, %w) : (!s, !s) -> !s
      scf.yield %d : !s
    } else {
      scf.yield %w : !s
    }
    scf.yield %b : !s
  }""",
        [(), ()], np.bool_(True),
        before=f"""
func.func @g(%a: !s, %w: !s) -> !s {{{CONSTANTS}
  %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%b = %a) -> (!s) {{
    %c = array.multiply %b, %w : !s
    %d = array.sin %c : !s
    scf.yield %d : !s
  }}
  func.return %r : !s
}}""",
    ),
    "scalars_in_nests": program(
        "%x: f64, %w: f64", "f64",
        """
  %y = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %x) -> (f64) {
    %z = scf.for %j = %i to %c3 step %c1 iter_args(%b = %a) -> (f64) {
      %p = arith.mulf %b, %w : f64
      %e = math.exp %p : f64
      %s = math.sin %e : f64
      scf.yield %s : f64
    }
    %q = arith.addf %z, %a : f64
    scf.yield %q : f64
  }""",
        [(), ()],
    ),
    # names that a derivative would like to use itself
    "names": program(
        "%x_ct: !s, %tape: !s, %count: index", "!s",
        """
  %y, %back = scf.for %back_1 = %c0 to %count step %c1 iter_args(%x_ct_1 = %x_ct, %c0_1 = %tape)
      -> (!s, !s) {
    %a_ct = array.multiply %x_ct_1, %c0_1 : !s
    %tape_1 = array.sin %a_ct : !s
    scf.yield %tape_1, %a_ct : !s, !s
  }""",
        [(), ()], np.int64(3),
    ),
    # two results with one cotangent, and one value for two results
    "one_cotangent_for_two": program(
        "%x: !s, %w: !s, %c: i1", "!s",
        """
  %p, %q = scf.if %c -> (!s, !s) {
    %a = array.multiply %x, %w : !s
    scf.yield %a, %a : !s, !s
  } else {
    %a = array.sin %x : !s
    scf.yield %a, %w : !s, !s
  }
  %u, %v = scf.for %i = %c0 to %c3 step %c1 iter_args(%d = %p, %e = %q) -> (!s, !s) {
    %t = array.add %d, %e : !s
    %s = array.sin %t : !s
    scf.yield %s, %s : !s, !s
  }
  %y = array.add %u, %v : !s""",
        [(), ()], np.bool_(True),
    ),
    "stage_in_loop": program(
        "%x: !v, %w: !m", "!v",
        """
  %y = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %x) -> (!v) {
    %b = grad.checkpoint -> (!v) {
      %p = array.matmul %w, %a : !m, !v -> !v
      %t = array.tanh %p : !v
      %s = array.sin %t : !v
      grad.yield %s : !v
    }
    scf.yield %b : !v
  }""",
        [(4,), (4, 4)],
    ),
    "loop_in_stage": program(
        "%x: !v, %w: !m, %n: index", "!v",
        """
  %y = grad.checkpoint -> (!v) {
    %z = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (!v) {
      %p = array.matmul %w, %a : !m, !v -> !v
      %t = array.tanh %p : !v
      scf.yield %t : !v
    }
    %s = array.sin %z : !v
    grad.yield %s : !v
  }""",
        [(4,), (4, 4)], np.int64(3),
    ),
    "loop_in_stage_in_loop": program(
        "%x: !s, %w: !s, %n: index", "!s",
        """
  %y = scf.for %j = %c0 to %c2 step %c1 iter_args(%b = %x) -> (!s) {
    %z = grad.checkpoint -> (!s) {
      %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %b) -> (!s) {
        %p = array.multiply %w, %a : !s
        %t = array.sin %p : !s
        scf.yield %t : !s
      }
      %q = array.multiply %r, %r : !s
      grad.yield %q : !s
    }
    scf.yield %z : !s
  }""",
        [(), ()], np.int64(3),
    ),
    "calls_in_while": program(
        "%x: !s, %w: !s, %limit: f64", "!s",
        """
  %y = scf.while (%a = %x) : (!s) -> !s {
    %b = func.call @g(%a, %w) : (!s, !s) -> !s
    %e = tensor.extract %b[] : !s
    %more = arith.cmpf olt, %e, %limit : f64
    scf.condition(%more) %b : !s
  } do {
  ^bb0(%b: !s):
    %c = func.call @g(%b, %b) : (!s, !s) -> !s
    %d = array.add %c, %w : !s
    scf.yield %d : !s
  }""",
        [(), ()], np.float64(5.0),
        before=f"""
func.func @g(%a: !s, %w: !s) -> !s {{{CONSTANTS}
  %r = scf.for %i = %c0 to %c2 step %c1 iter_args(%b = %a) -> (!s) {{
    %c = array.multiply %b, %w : !s
    %d = array.add %c, %b : !s
    scf.yield %d : !s
  }}
  func.return %r : !s
}}""",
    ),
}  # fmt: skip
