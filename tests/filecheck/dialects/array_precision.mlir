// RUN: gradir-opt %s | filecheck %s
// RUN: GRADIR_ROUNDTRIP
// RUN: gradir-opt %s -p "gradir-gradient{function=product mode=vjp}" | filecheck %s --check-prefix=VJP
// RUN: gradir-opt %s -p gradir-decompose,gradir-lower | filecheck %s --check-prefix=LOWERED
// RUN: gradir-run %s --function numbers | filecheck %s --check-prefix=VALUES
// RUN: gradir-run %s --function numbers --interpret | filecheck %s --check-prefix=VALUES

func.func @product(%x: tensor<3x4xf32>, %y: tensor<4x5xf32>) -> tensor<3x5xf32> {
  %z = array.matmul %x, %y {precision = "bf16"} : tensor<3x4xf32>, tensor<4x5xf32> -> tensor<3x5xf32>
  func.return %z : tensor<3x5xf32>
}

// 1 + 2**-9 is half way between two numbers of bf16: it is 1. Of 2**-63 * 2**-64 nothing is left.
func.func @numbers() -> (tensor<1x3xf32>) {
  %x = array.constant {value = dense<[[1.001953125, 1.08420217e-19]]> : tensor<1x2xf32>} : tensor<1x2xf32>
  %y = array.constant {value = dense<[[3.0, 0.0, 0.0], [0.0, 5.42101086e-20, 1.08420217e-19]]> : tensor<2x3xf32>} : tensor<2x3xf32>
  %z = array.matmul %x, %y {precision = "bf16"} : tensor<1x2xf32>, tensor<2x3xf32> -> tensor<1x3xf32>
  func.return %z : tensor<1x3xf32>
}

// CHECK: %z = array.matmul %x, %y {precision = "bf16"} : tensor<3x4xf32>, tensor<4x5xf32> -> tensor<3x5xf32>

//      VJP: func.func @product_vjp(
//      VJP:   %x_ct = array.matmul %{{.*}} {precision = "bf16"} : tensor<3x5xf32>, tensor<5x4xf32> -> tensor<3x4xf32>
//      VJP:   %y_ct = array.matmul %{{.*}} {precision = "bf16"} : tensor<4x3xf32>, tensor<3x5xf32> -> tensor<4x5xf32>

//      LOWERED: %z = loopnest.contract [3, 5, 4] (%x[d0, d2] : tensor<3x4xf32>, %y[d2, d1] : tensor<4x5xf32>) acc %0: f32 precision bf16 -> ([d0, d1] : tensor<3x5xf32>) {
// LOWERED-NEXT:   loopnest.yield %0 : f32

// VALUES: {{\[\[}}3.000000e+00 0.000000e+00 1.175494e-38{{\]\]}}
