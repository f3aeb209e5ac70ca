// RUN: not gradir-opt %s -p csee 2>&1 | filecheck %s --check-prefix=UNKNOWN
// RUN: not gradir-opt %s -p "cse{deep=true}" 2>&1 | filecheck %s --check-prefix=OPTION
// RUN: not gradir-opt %s -p "cse{" 2>&1 | filecheck %s --check-prefix=SYNTAX
// RUN: not gradir-opt %s -p "mlir-opt{generic=maybe}" 2>&1 | filecheck %s --check-prefix=TYPE
// RUN: gradir-opt --list-passes | filecheck %s --check-prefix=LIST
// RUN: gradir-opt %s -p "gradir-verify,cse" | gradir-opt - | filecheck %s

// UNKNOWN: error: unknown pass 'csee'; did you mean cse
// OPTION: error: pass 'cse' has no option 'deep'; its options: none
// SYNTAX: pass-pipeline:1:5: error: Expected argument name here
// TYPE: error: pass 'mlir-opt': option 'generic' must be true or false, got maybe
// LIST: gradir-verify {{ *}}Check that the module is valid

func.func @f(%x: f64) -> f64 {
  %y = arith.addf %x, %x : f64
  %z = arith.addf %x, %x : f64
  %w = arith.mulf %y, %z : f64
  func.return %w : f64
}
// CHECK:       func.func @f(%x: f64) -> f64 {
// CHECK-NEXT:    %y = arith.addf %x, %x : f64
// CHECK-NEXT:    %w = arith.mulf %y, %y : f64
// CHECK-NEXT:    func.return %w : f64
