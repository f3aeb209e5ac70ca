// RUN: not gradir-opt %s --split-input-file --verify-diagnostics 2>&1 | filecheck %s

// CHECK: expected_differs.mlir:5:{{.*}}error: unexpected error: %y is used but not defined
func.func @unexpected(%x: f64) {
  %z = arith.addf %x, %y : f64
  func.return
}

// -----

// CHECK: expected_differs.mlir:13:6: error: expected error "no such error" was not produced
func.func @not_produced() {
  // expected-error @+1 {{no such error}}
  func.return
}

// -----

// CHECK: expected_differs.mlir:23:{{.*}}error: unexpected error: %y is used but not defined
// CHECK: expected_differs.mlir:22:{{.*}}error: expected error "%y is used" was not produced
func.func @wrong_line(%x: f64) {
  // expected-error {{%y is used}}
  %z = arith.addf %x, %y : f64
  func.return
}

// -----

// CHECK: expected_differs.mlir:32:{{.*}}error: malformed comment
// CHECK: expected_differs.mlir:33:{{.*}}error: unexpected error: %y is used but not defined
func.func @malformed(%x: f64) {
  // expected-error @+1 no braces
  %z = arith.addf %x, %y : f64
  func.return
}

// -----

// CHECK: expected_differs.mlir:{{.*}}error: unknown place '@down'; write @+N, @-N, @above, @below or @unknown
// expected-error @+1 {{a block}} expected-note @down {{nowhere}}
