// RUN: gradir-opt %s | filecheck %s
// RUN: GRADIR_ROUNDTRIP

func.func @creation() -> (tensor<2x2xf32>, tensor<3xi64>, tensor<f64>, tensor<3xi1>, tensor<2x3xi32>) {
  %full = array.full {value = 0.5} : tensor<2x2xf32>
  %constant = array.constant {value = dense<[1, -2, 3]> : tensor<3xi64>} : tensor<3xi64>
  %scalar = array.constant {value = dense<1.500000e-07> : tensor<f64>} : tensor<f64>
  %flags = array.constant {value = dense<[true, false, true]> : tensor<3xi1>} : tensor<3xi1>
  %iota = array.iota {axis = 1} : tensor<2x3xi32>
  func.return %full, %constant, %scalar, %flags, %iota : tensor<2x2xf32>, tensor<3xi64>, tensor<f64>, tensor<3xi1>, tensor<2x3xi32>
}
// Numbers that MLIR writes with a type: small exponents, infinities, nan.
func.func @numbers() -> (tensor<f64>, tensor<f32>, tensor<f32>, tensor<f32>) {
  %small = array.full {value = 1.0e-07 : f64} : tensor<f64>
  %third = array.full {value = 0.3333333333333333} : tensor<f32>
  %infinite = array.full {value = 0x7FF0000000000000 : f64} : tensor<f32>
  %nan = array.full {value = 0x7FF8000000000000 : f64} : tensor<f32>
  func.return %small, %third, %infinite, %nan : tensor<f64>, tensor<f32>, tensor<f32>, tensor<f32>
}

//      CHECK: func.func @creation() -> (tensor<2x2xf32>, tensor<3xi64>, tensor<f64>, tensor<3xi1>, tensor<2x3xi32>) {
// CHECK-NEXT:   %full = array.full {value = 0.5} : tensor<2x2xf32>
// CHECK-NEXT:   %constant = array.constant {value = dense<[1, -2, 3]> : tensor<3xi64>} : tensor<3xi64>
// CHECK-NEXT:   %scalar = array.constant {value = dense<1.500000e-07> : tensor<f64>} : tensor<f64>
// CHECK-NEXT:   %flags = array.constant {value = dense<[true, false, true]> : tensor<3xi1>} : tensor<3xi1>
// CHECK-NEXT:   %iota = array.iota {axis = 1} : tensor<2x3xi32>
// CHECK-NEXT:   func.return %full, %constant, %scalar, %flags, %iota : tensor<2x2xf32>, tensor<3xi64>, tensor<f64>, tensor<3xi1>, tensor<2x3xi32>
// CHECK-NEXT: }
//      CHECK: func.func @numbers() -> (tensor<f64>, tensor<f32>, tensor<f32>, tensor<f32>) {
// CHECK-NEXT:   %small = array.full {value = 1.000000e-07 : f64} : tensor<f64>
// CHECK-NEXT:   %third = array.full {value = 0.3333333333333333} : tensor<f32>
// CHECK-NEXT:   %infinite = array.full {value = 0x7ff0000000000000 : f64} : tensor<f32>
// CHECK-NEXT:   %nan = array.full {value = 0x7ff8000000000000 : f64} : tensor<f32>
// CHECK-NEXT:   func.return %small, %third, %infinite, %nan : tensor<f64>, tensor<f32>, tensor<f32>, tensor<f32>
// CHECK-NEXT: }
