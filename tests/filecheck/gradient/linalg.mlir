// RUN: gradir-opt %s --split-input-file -p "gradir-gradient{function=f mode=vjp},gradir-dce" | filecheck %s

// A layer of linalg: its backward pass is of array ops.
func.func @f(%x: tensor<2x3xf32>, %w: tensor<3x4xf32>) -> tensor<2x4xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x4xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<2x4xf32>) -> tensor<2x4xf32>
  %h = linalg.matmul ins(%x, %w : tensor<2x3xf32>, tensor<3x4xf32>) outs(%z : tensor<2x4xf32>) -> tensor<2x4xf32>
  %y = linalg.tanh ins(%h : tensor<2x4xf32>) outs(%e : tensor<2x4xf32>) -> tensor<2x4xf32>
  func.return %y : tensor<2x4xf32>
}

//      CHECK: func.func @f(%x: tensor<2x3xf32>, %w: tensor<3x4xf32>) -> tensor<2x4xf32> {
// CHECK-NEXT:   %zero = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:   %e = tensor.empty() : tensor<2x4xf32>
// CHECK-NEXT:   %z = linalg.fill ins(%zero : f32) outs(%e : tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:   %h = linalg.matmul ins(%x, %w : tensor<2x3xf32>, tensor<3x4xf32>) outs(%z : tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:   %y = linalg.tanh ins(%h : tensor<2x4xf32>) outs(%e : tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:   func.return %y : tensor<2x4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.func @f_vjp(%x: tensor<2x3xf32>, %w: tensor<3x4xf32>, %y_ct: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x3xf32>, tensor<3x4xf32>) {
// CHECK-NEXT:   %h = array.einsum %x, %w {equation = "ac,cb->ab"} : tensor<2x3xf32>, tensor<3x4xf32> -> tensor<2x4xf32>
// CHECK-NEXT:   %y = math.tanh %h : tensor<2x4xf32>
// CHECK-NEXT:   %0 = arith.mulf %y, %y : tensor<2x4xf32>
// CHECK-NEXT:   %1 = arith.constant dense<1.000000e+00> : tensor<2x4xf32>
// CHECK-NEXT:   %2 = arith.subf %1, %0 : tensor<2x4xf32>
// CHECK-NEXT:   %h_ct = arith.mulf %y_ct, %2 : tensor<2x4xf32>
// CHECK-NEXT:   %x_ct = array.einsum %w, %h_ct {equation = "cb,ab->ac"} : tensor<3x4xf32>, tensor<2x4xf32> -> tensor<2x3xf32>
// CHECK-NEXT:   %w_ct = array.einsum %x, %h_ct {equation = "ac,ab->cb"} : tensor<2x3xf32>, tensor<2x4xf32> -> tensor<3x4xf32>
// CHECK-NEXT:   func.return %y, %x_ct, %w_ct : tensor<2x4xf32>, tensor<2x3xf32>, tensor<3x4xf32>
// CHECK-NEXT: }
