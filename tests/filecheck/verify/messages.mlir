// RUN: not gradir-opt %s --split-input-file 2>&1 | filecheck %s --strict-whitespace

func.func @f(%x: f64) -> f64 {
  %y = arith.addf %z, %x : f64
  %z = arith.addf %x, %x : f64
  func.return %y : f64
}

//      CHECK:{{.*}}messages.mlir:4:3: error: arith.addf: %z is used before it is defined
// CHECK-NEXT:  %y = arith.addf %z, %x : f64
// CHECK-NEXT:  ^
// CHECK-NEXT:{{.*}}messages.mlir:5:3: note: %z is defined here
// CHECK-NEXT:  %z = arith.addf %x, %x : f64
// CHECK-NEXT:  ^

// -----

func.func @g(%x: f64) {
	%y = arith.addf %x, %w : f64
  func.return
}

//      CHECK:{{.*}}messages.mlir:19:22: error: %w is used but not defined
// CHECK-NEXT:	%y = arith.addf %x, %w : f64
// CHECK-NEXT:	                    ^

// -----

// The chunks that follow an error are processed all the same.
// CHECK: func.func @h
func.func @h() {
  func.return
}
