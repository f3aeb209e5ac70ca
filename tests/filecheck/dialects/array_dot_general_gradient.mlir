// RUN: gradir-opt %s -p "gradir-gradient{function=dot mode=vjp},gradir-gradient{function=trace mode=vjp},gradir-gradient{function=chain mode=vjp}" | filecheck %s

func.func @dot(%a: tensor<2x3x4xf32>, %b: tensor<4x2x5xf32>) -> tensor<2x3x5xf32> {
  %y = array.dot_general %a, %b {lhs_batch = [0], rhs_batch = [1], lhs_contract = [2], rhs_contract = [0]} : tensor<2x3x4xf32>, tensor<4x2x5xf32> -> tensor<2x3x5xf32>
  func.return %y : tensor<2x3x5xf32>
}
// The cotangent of a trace lies on the diagonal.
func.func @trace(%s: tensor<3x3xf32>) -> tensor<f32> {
  %y = array.einsum %s {equation = "ii"} : tensor<3x3xf32> -> tensor<f32>
  func.return %y : tensor<f32>
}
// What one operand alone sums over, its cotangent repeats.
func.func @chain(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>, %c: tensor<4x5xf32>) -> tensor<2xf32> {
  %y = array.einsum %a, %b, %c {equation = "ij,jk,kl->i"} : tensor<2x3xf32>, tensor<3x4xf32>, tensor<4x5xf32> -> tensor<2xf32>
  func.return %y : tensor<2xf32>
}

//      CHECK: func.func @dot(%a: tensor<2x3x4xf32>, %b: tensor<4x2x5xf32>) -> tensor<2x3x5xf32> {
// CHECK-NEXT:   %y = array.dot_general %a, %b {lhs_batch = [0], rhs_batch = [1], lhs_contract = [2], rhs_contract = [0]} : tensor<2x3x4xf32>, tensor<4x2x5xf32> -> tensor<2x3x5xf32>
// CHECK-NEXT:   func.return %y : tensor<2x3x5xf32>
// CHECK-NEXT: }
//      CHECK: func.func @dot_vjp(%a: tensor<2x3x4xf32>, %b: tensor<4x2x5xf32>, %y_ct: tensor<2x3x5xf32>) -> (tensor<2x3x5xf32>, tensor<2x3x4xf32>, tensor<4x2x5xf32>) {
// CHECK-NEXT:   %y = array.dot_general %a, %b {lhs_batch = [0], rhs_batch = [1], lhs_contract = [2], rhs_contract = [0]} : tensor<2x3x4xf32>, tensor<4x2x5xf32> -> tensor<2x3x5xf32>
// CHECK-NEXT:   %a_ct = array.dot_general %y_ct, %b {lhs_batch = [0], rhs_batch = [1], lhs_contract = [2], rhs_contract = [2]} : tensor<2x3x5xf32>, tensor<4x2x5xf32> -> tensor<2x3x4xf32>
// CHECK-NEXT:   %0 = array.dot_general %a, %y_ct {lhs_batch = [0], rhs_batch = [0], lhs_contract = [1], rhs_contract = [1]} : tensor<2x3x4xf32>, tensor<2x3x5xf32> -> tensor<2x4x5xf32>
// CHECK-NEXT:   %b_ct = array.permute_dims %0 {axes = [1, 0, 2]} : tensor<2x4x5xf32> -> tensor<4x2x5xf32>
// CHECK-NEXT:   func.return %y, %a_ct, %b_ct : tensor<2x3x5xf32>, tensor<2x3x4xf32>, tensor<4x2x5xf32>
// CHECK-NEXT: }
//      CHECK: func.func @trace(%s: tensor<3x3xf32>) -> tensor<f32> {
// CHECK-NEXT:   %y = array.einsum %s {equation = "ii"} : tensor<3x3xf32> -> tensor<f32>
// CHECK-NEXT:   func.return %y : tensor<f32>
// CHECK-NEXT: }
//      CHECK: func.func @trace_vjp(%s: tensor<3x3xf32>, %y_ct: tensor<f32>) -> (tensor<f32>, tensor<3x3xf32>) {
// CHECK-NEXT:   %y = array.einsum %s {equation = "ii"} : tensor<3x3xf32> -> tensor<f32>
// CHECK-NEXT:   %0 = array.einsum %y_ct {equation = "->"} : tensor<f32> -> tensor<f32>
// CHECK-NEXT:   %1 = array.reshape %0 : tensor<f32> -> tensor<1x1xf32>
// CHECK-NEXT:   %2 = array.broadcast_to %1 : tensor<1x1xf32> -> tensor<3x3xf32>
// CHECK-NEXT:   %3 = array.iota {axis = 0} : tensor<3x3xi64>
// CHECK-NEXT:   %4 = array.iota {axis = 1} : tensor<3x3xi64>
// CHECK-NEXT:   %5 = array.equal %3, %4 : tensor<3x3xi64>, tensor<3x3xi64> -> tensor<3x3xi1>
// CHECK-NEXT:   %6 = array.full {value = 0.0} : tensor<3x3xf32>
// CHECK-NEXT:   %s_ct = array.where %5, %2, %6 : tensor<3x3xi1>, tensor<3x3xf32>, tensor<3x3xf32> -> tensor<3x3xf32>
// CHECK-NEXT:   func.return %y, %s_ct : tensor<f32>, tensor<3x3xf32>
// CHECK-NEXT: }
//      CHECK: func.func @chain(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>, %c: tensor<4x5xf32>) -> tensor<2xf32> {
// CHECK-NEXT:   %y = array.einsum %a, %b, %c {equation = "ij,jk,kl->i"} : tensor<2x3xf32>, tensor<3x4xf32>, tensor<4x5xf32> -> tensor<2xf32>
// CHECK-NEXT:   func.return %y : tensor<2xf32>
// CHECK-NEXT: }
//      CHECK: func.func @chain_vjp(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>, %c: tensor<4x5xf32>, %y_ct: tensor<2xf32>) -> (tensor<2xf32>, tensor<2x3xf32>, tensor<3x4xf32>, tensor<4x5xf32>) {
// CHECK-NEXT:   %y = array.einsum %a, %b, %c {equation = "ij,jk,kl->i"} : tensor<2x3xf32>, tensor<3x4xf32>, tensor<4x5xf32> -> tensor<2xf32>
// CHECK-NEXT:   %a_ct = array.einsum %b, %c, %y_ct {equation = "jk,kl,i->ij"} : tensor<3x4xf32>, tensor<4x5xf32>, tensor<2xf32> -> tensor<2x3xf32>
// CHECK-NEXT:   %b_ct = array.einsum %a, %c, %y_ct {equation = "ij,kl,i->jk"} : tensor<2x3xf32>, tensor<4x5xf32>, tensor<2xf32> -> tensor<3x4xf32>
// CHECK-NEXT:   %0 = array.einsum %a, %b, %y_ct {equation = "ij,jk,i->k"} : tensor<2x3xf32>, tensor<3x4xf32>, tensor<2xf32> -> tensor<4xf32>
// CHECK-NEXT:   %1 = array.reshape %0 : tensor<4xf32> -> tensor<4x1xf32>
// CHECK-NEXT:   %c_ct = array.broadcast_to %1 : tensor<4x1xf32> -> tensor<4x5xf32>
// CHECK-NEXT:   func.return %y, %a_ct, %b_ct, %c_ct : tensor<2xf32>, tensor<2x3xf32>, tensor<3x4xf32>, tensor<4x5xf32>
// CHECK-NEXT: }
