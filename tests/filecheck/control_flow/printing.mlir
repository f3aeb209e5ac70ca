// RUN: gradir-opt %s | gradir-opt | filecheck %s
// RUN: gradir-opt %s --print-op-generic | gradir-opt | filecheck %s

// A region whose op has no results keeps its terminator; zeros of two signs are no splat.

func.func @f(%x: f64) -> (f64, tensor<2xf64>) {
  scf.execute_region -> () {
    %y = math.sin %x : f64
    scf.yield
  }
  %zeros = array.constant {value = dense<[0.0, -0.0]> : tensor<2xf64>} : tensor<2xf64>
  func.return %x, %zeros : f64, tensor<2xf64>
}

//      CHECK: func.func @f(%x: f64) -> (f64, tensor<2xf64>) {
// CHECK-NEXT:   scf.execute_region {
// CHECK-NEXT:     %y = math.sin %x : f64
// CHECK-NEXT:     scf.yield
// CHECK-NEXT:   }
// CHECK-NEXT:   %zeros = array.constant {value = dense<"0x00000000000000000000000000000080"> : tensor<2xf64>} : tensor<2xf64>
// CHECK-NEXT:   func.return %x, %zeros : f64, tensor<2xf64>
// CHECK-NEXT: }
