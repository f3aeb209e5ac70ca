// RUN: gradir-opt %s | filecheck %s
// RUN: GRADIR_ROUNDTRIP

func.func @matrices(%x: tensor<2x3x4xf32>) -> (tensor<3x4xi1>, tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3xf32>, tensor<2xf32>) {
  %eye = array.eye {k = -1} : tensor<3x4xi1>
  %tril = array.tril %x : tensor<2x3x4xf32>
  %triu = array.triu %x {k = 1} : tensor<2x3x4xf32>
  %diagonal = array.diagonal %x {offset = 1} : tensor<2x3x4xf32> -> tensor<2x3xf32>
  %trace = array.trace %x : tensor<2x3x4xf32> -> tensor<2xf32>
  func.return %eye, %tril, %triu, %diagonal, %trace : tensor<3x4xi1>, tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3xf32>, tensor<2xf32>
}
func.func @back(%ct: tensor<2x3xf32>) -> tensor<2x3x4xf32> {
  %x_ct = grad.diagonal_backward %ct {offset = 1} : tensor<2x3xf32> -> tensor<2x3x4xf32>
  func.return %x_ct : tensor<2x3x4xf32>
}

//      CHECK: func.func @matrices(%x: tensor<2x3x4xf32>) -> (tensor<3x4xi1>, tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3xf32>, tensor<2xf32>) {
// CHECK-NEXT:   %eye = array.eye {k = -1} : tensor<3x4xi1>
// CHECK-NEXT:   %tril = array.tril %x : tensor<2x3x4xf32>
// CHECK-NEXT:   %triu = array.triu %x {k = 1} : tensor<2x3x4xf32>
// CHECK-NEXT:   %diagonal = array.diagonal %x {offset = 1} : tensor<2x3x4xf32> -> tensor<2x3xf32>
// CHECK-NEXT:   %trace = array.trace %x : tensor<2x3x4xf32> -> tensor<2xf32>
// CHECK-NEXT:   func.return %eye, %tril, %triu, %diagonal, %trace : tensor<3x4xi1>, tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3xf32>, tensor<2xf32>
// CHECK-NEXT: }
//      CHECK: func.func @back(%ct: tensor<2x3xf32>) -> tensor<2x3x4xf32> {
// CHECK-NEXT:   %x_ct = grad.diagonal_backward %ct {offset = 1} : tensor<2x3xf32> -> tensor<2x3x4xf32>
// CHECK-NEXT:   func.return %x_ct : tensor<2x3x4xf32>
// CHECK-NEXT: }
