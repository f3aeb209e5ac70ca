// RUN: gradir-opt %s | filecheck %s
// RUN: GRADIR_ROUNDTRIP

func.func @axes(%a: tensor<2x3x4xf32>, %b: tensor<4x2x5xf32>, %u: tensor<3xf32>, %v: tensor<4xf32>, %m: tensor<3x4xf32>) -> (tensor<2x3x5xf32>, tensor<2x3x4x4x2x5xf32>, tensor<3x4xf32>, tensor<3xf32>, tensor<4xf32>) {
  %dot = array.dot_general %a, %b {lhs_batch = [0], rhs_batch = [1], lhs_contract = [2], rhs_contract = [0]} : tensor<2x3x4xf32>, tensor<4x2x5xf32> -> tensor<2x3x5xf32>
  %all = array.dot_general %a, %b : tensor<2x3x4xf32>, tensor<4x2x5xf32> -> tensor<2x3x4x4x2x5xf32>
  %outer = array.outer %u, %v : tensor<3xf32>, tensor<4xf32> -> tensor<3x4xf32>
  %rows = array.vecdot %m, %v : tensor<3x4xf32>, tensor<4xf32> -> tensor<3xf32>
  %columns = array.vecdot %m, %m {axis = 0} : tensor<3x4xf32>, tensor<3x4xf32> -> tensor<4xf32>
  func.return %dot, %all, %outer, %rows, %columns : tensor<2x3x5xf32>, tensor<2x3x4x4x2x5xf32>, tensor<3x4xf32>, tensor<3xf32>, tensor<4xf32>
}
func.func @equations(%a: tensor<2x3x4xf32>, %m: tensor<4x5xf32>, %s: tensor<3x3xf32>) -> (tensor<2x3x5xf32>, tensor<f32>, tensor<3xf32>, tensor<2x4xf32>) {
  %rest = array.einsum %a, %m {equation = "...ij,jk->...ik"} : tensor<2x3x4xf32>, tensor<4x5xf32> -> tensor<2x3x5xf32>
  %trace = array.einsum %s {equation = "ii"} : tensor<3x3xf32> -> tensor<f32>
  %diagonal = array.einsum %s {equation = "ii->i"} : tensor<3x3xf32> -> tensor<3xf32>
  %three = array.einsum %a, %s, %m {equation = "bij,ik,jl->bj"} : tensor<2x3x4xf32>, tensor<3x3xf32>, tensor<4x5xf32> -> tensor<2x4xf32>
  func.return %rest, %trace, %diagonal, %three : tensor<2x3x5xf32>, tensor<f32>, tensor<3xf32>, tensor<2x4xf32>
}

//      CHECK: func.func @axes(%a: tensor<2x3x4xf32>, %b: tensor<4x2x5xf32>, %u: tensor<3xf32>, %v: tensor<4xf32>, %m: tensor<3x4xf32>) -> (tensor<2x3x5xf32>, tensor<2x3x4x4x2x5xf32>, tensor<3x4xf32>, tensor<3xf32>, tensor<4xf32>) {
// CHECK-NEXT:   %dot = array.dot_general %a, %b {lhs_batch = [0], rhs_batch = [1], lhs_contract = [2], rhs_contract = [0]} : tensor<2x3x4xf32>, tensor<4x2x5xf32> -> tensor<2x3x5xf32>
// CHECK-NEXT:   %all = array.dot_general %a, %b : tensor<2x3x4xf32>, tensor<4x2x5xf32> -> tensor<2x3x4x4x2x5xf32>
// CHECK-NEXT:   %outer = array.outer %u, %v : tensor<3xf32>, tensor<4xf32> -> tensor<3x4xf32>
// CHECK-NEXT:   %rows = array.vecdot %m, %v : tensor<3x4xf32>, tensor<4xf32> -> tensor<3xf32>
// CHECK-NEXT:   %columns = array.vecdot %m, %m {axis = 0} : tensor<3x4xf32>, tensor<3x4xf32> -> tensor<4xf32>
// CHECK-NEXT:   func.return %dot, %all, %outer, %rows, %columns : tensor<2x3x5xf32>, tensor<2x3x4x4x2x5xf32>, tensor<3x4xf32>, tensor<3xf32>, tensor<4xf32>
// CHECK-NEXT: }
//      CHECK: func.func @equations(%a: tensor<2x3x4xf32>, %m: tensor<4x5xf32>, %s: tensor<3x3xf32>) -> (tensor<2x3x5xf32>, tensor<f32>, tensor<3xf32>, tensor<2x4xf32>) {
// CHECK-NEXT:   %rest = array.einsum %a, %m {equation = "...ij,jk->...ik"} : tensor<2x3x4xf32>, tensor<4x5xf32> -> tensor<2x3x5xf32>
// CHECK-NEXT:   %trace = array.einsum %s {equation = "ii"} : tensor<3x3xf32> -> tensor<f32>
// CHECK-NEXT:   %diagonal = array.einsum %s {equation = "ii->i"} : tensor<3x3xf32> -> tensor<3xf32>
// CHECK-NEXT:   %three = array.einsum %a, %s, %m {equation = "bij,ik,jl->bj"} : tensor<2x3x4xf32>, tensor<3x3xf32>, tensor<4x5xf32> -> tensor<2x4xf32>
// CHECK-NEXT:   func.return %rest, %trace, %diagonal, %three : tensor<2x3x5xf32>, tensor<f32>, tensor<3xf32>, tensor<2x4xf32>
// CHECK-NEXT: }
