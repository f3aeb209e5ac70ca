// RUN: gradir-opt %s --split-input-file --verify-diagnostics

// The operation that is wrong is named, not the one around it.
func.func @wrong_return(%x: f64) -> f32 {
  // expected-error @+1 {{func.return: Expected arguments to have the same types as the function output types}}
  func.return %x : f64
}

// -----

func.func @types(%x: f64, %y: f32) {
  // expected-error @+1 {{arith.addf:}}
  %z = "arith.addf"(%x, %y) : (f64, f32) -> f64
  func.return
}

// -----

func.func @missing_terminator(%x: f64) {
  // expected-error @+1 {{arith.addf: a block of func.func must end with a terminator}}
  %y = arith.addf %x, %x : f64
}

// -----

// expected-error @+1 {{func.func: a block must end with a terminator, got an empty block}}
"func.func"() <{sym_name = "empty_block", function_type = () -> ()}> ({
^entry:
}) : () -> ()

// -----

func.func @not_last() {
  // expected-error @+1 {{cf.br}}
  cf.br ^next
  cf.br ^next
^next:
  func.return
}

// -----

func.func @nested(%x: f64, %c: i1) {
  scf.if %c {
    // expected-error @+1 {{arith.addf:}}
    %z = "arith.addf"(%x) : (f64) -> f64
  }
  func.return
}

// -----

func.func @yields(%x: tensor<4xf64>) -> tensor<4xf64> {
  // expected-error @+1 {{grad.yield: ends no function; use func.return}}
  grad.yield %x : tensor<4xf64>
}
