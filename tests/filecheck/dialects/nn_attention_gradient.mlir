// RUN: gradir-opt %s -p "gradir-gradient{function=attention mode=vjp},gradir-gradient{function=embedding mode=vjp},gradir-dce" | filecheck %s

// A mask of bools has no gradient; the row of padding gets none.
func.func @attention(%q: tensor<4x3xf32>, %k: tensor<5x3xf32>, %v: tensor<5x2xf32>, %mask: tensor<5xi1>) -> tensor<4x2xf32> {
  %y = nn.attention %q, %k, %v, %mask : tensor<4x3xf32>, tensor<5x3xf32>, tensor<5x2xf32>, tensor<5xi1> -> tensor<4x2xf32>
  func.return %y : tensor<4x2xf32>
}
func.func @embedding(%table: tensor<4x3xf32>, %ids: tensor<2xi64>) -> tensor<2x3xf32> {
  %y = nn.embedding %table, %ids {padding_idx = 1} : tensor<4x3xf32>, tensor<2xi64> -> tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}

//      CHECK: func.func @attention(%q: tensor<4x3xf32>, %k: tensor<5x3xf32>, %v: tensor<5x2xf32>, %mask: tensor<5xi1>) -> tensor<4x2xf32> {
// CHECK-NEXT:   %y = nn.attention %q, %k, %v, %mask : tensor<4x3xf32>, tensor<5x3xf32>, tensor<5x2xf32>, tensor<5xi1> -> tensor<4x2xf32>
// CHECK-NEXT:   func.return %y : tensor<4x2xf32>
// CHECK-NEXT: }
//      CHECK: func.func @attention_vjp(%q: tensor<4x3xf32>, %k: tensor<5x3xf32>, %v: tensor<5x2xf32>, %mask: tensor<5xi1>, %y_ct: tensor<4x2xf32>) -> (tensor<4x2xf32>, tensor<4x3xf32>, tensor<5x3xf32>, tensor<5x2xf32>) {
// CHECK-NEXT:   %y = nn.attention %q, %k, %v, %mask : tensor<4x3xf32>, tensor<5x3xf32>, tensor<5x2xf32>, tensor<5xi1> -> tensor<4x2xf32>
// CHECK-NEXT:   %q_ct, %k_ct, %v_ct = grad.attention_backward %y_ct, %y, %q, %k, %v, %mask : tensor<4x2xf32>, tensor<4x2xf32>, tensor<4x3xf32>, tensor<5x3xf32>, tensor<5x2xf32>, tensor<5xi1> -> (tensor<4x3xf32>, tensor<5x3xf32>, tensor<5x2xf32>)
// CHECK-NEXT:   func.return %y, %q_ct, %k_ct, %v_ct : tensor<4x2xf32>, tensor<4x3xf32>, tensor<5x3xf32>, tensor<5x2xf32>
// CHECK-NEXT: }
//      CHECK: func.func @embedding(%table: tensor<4x3xf32>, %ids: tensor<2xi64>) -> tensor<2x3xf32> {
// CHECK-NEXT:   %y = nn.embedding %table, %ids {padding_idx = 1} : tensor<4x3xf32>, tensor<2xi64> -> tensor<2x3xf32>
// CHECK-NEXT:   func.return %y : tensor<2x3xf32>
// CHECK-NEXT: }
//      CHECK: func.func @embedding_vjp(%table: tensor<4x3xf32>, %ids: tensor<2xi64>, %y_ct: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<4x3xf32>) {
// CHECK-NEXT:   %y = nn.embedding %table, %ids {padding_idx = 1} : tensor<4x3xf32>, tensor<2xi64> -> tensor<2x3xf32>
// CHECK-NEXT:   %0 = array.full {value = 1} : tensor<2xi64>
// CHECK-NEXT:   %1 = array.equal %ids, %0 : tensor<2xi64>, tensor<2xi64> -> tensor<2xi1>
// CHECK-NEXT:   %2 = array.full {value = -3} : tensor<2xi64>
// CHECK-NEXT:   %3 = array.equal %ids, %2 : tensor<2xi64>, tensor<2xi64> -> tensor<2xi1>
// CHECK-NEXT:   %4 = array.logical_or %1, %3 : tensor<2xi1>
// CHECK-NEXT:   %5 = array.reshape %4 : tensor<2xi1> -> tensor<2x1xi1>
// CHECK-NEXT:   %6 = array.broadcast_to %5 : tensor<2x1xi1> -> tensor<2x3xi1>
// CHECK-NEXT:   %7 = array.full {value = 0.0} : tensor<2x3xf32>
// CHECK-NEXT:   %8 = array.where %6, %7, %y_ct : tensor<2x3xi1>, tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
// CHECK-NEXT:   %9 = array.full {value = 0.0} : tensor<4x3xf32>
// CHECK-NEXT:   %table_ct = array.scatter_add %9, %ids, %8 {axis = 0, gradir.source = "nn.embedding"} : tensor<4x3xf32>, tensor<2xi64>, tensor<2x3xf32> -> tensor<4x3xf32>
// CHECK-NEXT:   func.return %y, %table_ct : tensor<2x3xf32>, tensor<4x3xf32>
// CHECK-NEXT: }
