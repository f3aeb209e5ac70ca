// RUN: gradir-opt %s --split-input-file --print-debuginfo | filecheck %s

func.func @f(%x: f64) -> f64 {
  %y = arith.addf %x, %x : f64
  %z = arith.addf %y, %x : f64 loc("model.py":7:3)
  func.return %z : f64
}
// CHECK:       func.func @f(%x: f64
// CHECK-NEXT:    %y = arith.addf %x, %x : f64 loc("{{.*}}locations.mlir":4:3)
// CHECK-NEXT:    %z = arith.addf %y, %x : f64 loc("model.py":7:3)
// CHECK-NEXT:    func.return %z : f64 loc("{{.*}}locations.mlir":6:3)
// CHECK-NEXT:  } loc("{{.*}}locations.mlir":3:1)

// -----

// A chunk's lines are counted from the start of the file.
func.func @g() {
  func.return
}
// CHECK:       func.func @g()
// CHECK-NEXT:    func.return loc("{{.*}}locations.mlir":18:3)
