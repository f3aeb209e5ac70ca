// RUN: gradir-opt %s --split-input-file --verify-diagnostics

func.func @before_definition(%x: f64) -> f64 {
  // expected-error @+2 {{arith.addf: %z is used before it is defined}}
  // expected-note @+2 {{%z is defined here}}
  %y = arith.addf %z, %x : f64
  %z = arith.addf %x, %x : f64
  func.return %y : f64
}

// -----

func.func @own_result(%x: f64) -> f64 {
  // expected-error @+2 {{arith.addf: %y is used before it is defined}}
  // expected-note @+1 {{%y is defined here}}
  %y = arith.addf %y, %x : f64
  func.return %y : f64
}

// -----

func.func @unnamed(%x: f64) -> f64 {
  // expected-error @+2 {{arith.addf: result 0 of arith.mulf is used before it is defined}}
  // expected-note @+2 {{result 0 of arith.mulf is defined here}}
  %0 = arith.addf %1, %x : f64
  %1 = arith.mulf %x, %x : f64
  func.return %0 : f64
}

// -----

// A use before the region, a definition inside it.
func.func @inner_region(%x: f64, %c: i1) -> f64 {
  // expected-error @+1 {{arith.addf: %v is defined in a region that does not enclose this use}}
  %y = arith.addf %v, %x : f64
  scf.if %c {
    // expected-note @+1 {{%v is defined here}}
    %v = arith.addf %x, %x : f64
  }
  func.return %y : f64
}

// -----

// xDSL's parser leaves a placeholder here: the loop does not exist yet when %s is defined.
func.func @own_region(%n: index) {
  // expected-error @+1 {{%s is defined in a region that does not enclose this use}}
  scf.for %i = %n to %n step %s {
    %s = arith.constant 1 : index
  }
  func.return
}

// -----

func.func @sibling_region(%x: f64, %c: i1) {
  scf.if %c {
    // expected-error @+1 {{arith.addf: %v is defined in a region that does not enclose this use}}
    %y = arith.addf %v, %x : f64
  } else {
    // expected-note @+1 {{%v is defined here}}
    %v = arith.addf %x, %x : f64
  }
  func.return
}

// -----

func.func @own_body(%x: f64, %c: i1) -> f64 {
  // expected-note @+1 {{%r is defined here}}
  %r = scf.if %c -> (f64) {
    // expected-error @+1 {{scf.yield: %r is used inside the operation that defines it}}
    scf.yield %r : f64
  } else {
    scf.yield %x : f64
  }
  func.return %r : f64
}

// -----

// expected-note @+1 {{%v is defined here}}
%v = "test.op"() : () -> f64
func.func @isolated(%x: f64) -> f64 {
  // expected-error @+1 {{arith.addf: %v is defined outside of func.func, which lets no value in}}
  %y = arith.addf %v, %x : f64
  func.return %y : f64
}

// -----

func.func @one_path(%x: f64, %c: i1) -> f64 {
  cf.cond_br %c, ^left, ^join
^left:
  // expected-note @+1 {{%v is defined here}}
  %v = arith.addf %x, %x : f64
  cf.br ^join
^join:
  // expected-error @+1 {{func.return: %v is not defined on every path to this use}}
  func.return %v : f64
}

// -----

// The order of the blocks in the text does not matter, only the paths do.
func.func @blocks(%x: f64, %c: i1) -> f64 {
  cf.br ^first
^last:
  cf.cond_br %c, ^first, ^exit
^exit:
  func.return %v : f64
^first:
  %v = arith.addf %x, %x : f64
  cf.br ^last
}

// -----

// Code that is never reached may use what it likes.
func.func @unreachable(%x: f64) -> f64 {
  func.return %x : f64
^dead:
  %y = arith.addf %z, %x : f64
  cf.br ^dead2
^dead2:
  %z = arith.addf %x, %x : f64
  func.return %y : f64
}
