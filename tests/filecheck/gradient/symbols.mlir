// RUN: gradir-opt %s --split-input-file -p "gradir-gradient{function=f},gradir-gradient{function=h},gradir-gradient{function=f mode=vjp}" | filecheck %s

// The halves of a callee are made once, and serve every function that calls it.
func.func @g(%a: tensor<4xf64>) -> tensor<4xf64> {
  %t = array.tanh %a : tensor<4xf64>
  func.return %t : tensor<4xf64>
}
func.func @f(%x: tensor<4xf64>) -> tensor<4xf64> {
  %y = func.call @g(%x) : (tensor<4xf64>) -> tensor<4xf64>
  func.return %y : tensor<4xf64>
}
func.func @h(%x: tensor<4xf64>) -> tensor<4xf64> {
  %y = func.call @g(%x) : (tensor<4xf64>) -> tensor<4xf64>
  func.return %y : tensor<4xf64>
}

//      CHECK: func.func @g_fwd(%a: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>) {
// CHECK-NEXT:   %t_point = grad.tanh_point %a : tensor<4xf64>
// CHECK-NEXT:   %t = grad.tanh_at %t_point : tensor<4xf64>
// CHECK-NEXT:   func.return %t, %t_point : tensor<4xf64>, tensor<4xf64>
// CHECK-NEXT: }
//      CHECK: func.func @g_bwd(%t_point: tensor<4xf64>, %t_ct: tensor<4xf64>) -> tensor<4xf64> {
// CHECK-NEXT:   %0 = grad.tanh_slope_at %t_point : tensor<4xf64>
// CHECK-NEXT:   %t_point_ct = array.multiply %t_ct, %0 : tensor<4xf64>
// CHECK-NEXT:   func.return %t_point_ct : tensor<4xf64>
// CHECK-NEXT: }
//      CHECK: func.func @f_vjp(%x: tensor<4xf64>, %y_ct: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>) {
// CHECK-NEXT:   %y, %t_point = func.call @g_fwd(%x) : (tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>)
// CHECK-NEXT:   %x_ct = func.call @g_bwd(%t_point, %y_ct) : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
// CHECK-NEXT:   func.return %y, %x_ct : tensor<4xf64>, tensor<4xf64>
// CHECK-NEXT: }
//      CHECK: func.func @f_fwd(%x: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>) {
// CHECK-NEXT:   %y, %t_point = func.call @g_fwd(%x) : (tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>)
// CHECK-NEXT:   func.return %y, %t_point : tensor<4xf64>, tensor<4xf64>
// CHECK-NEXT: }
//      CHECK: func.func @f_bwd(%t_point: tensor<4xf64>, %y_ct: tensor<4xf64>) -> tensor<4xf64> {
// CHECK-NEXT:   %x_ct = func.call @g_bwd(%t_point, %y_ct) : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
// CHECK-NEXT:   func.return %x_ct : tensor<4xf64>
// CHECK-NEXT: }
//      CHECK: func.func @h_fwd(%x: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>) {
// CHECK-NEXT:   %y, %t_point = func.call @g_fwd(%x) : (tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>)
// CHECK-NEXT:   func.return %y, %t_point : tensor<4xf64>, tensor<4xf64>
// CHECK-NEXT: }
//      CHECK: func.func @h_bwd(%t_point: tensor<4xf64>, %y_ct: tensor<4xf64>) -> tensor<4xf64> {
// CHECK-NEXT:   %x_ct = func.call @g_bwd(%t_point, %y_ct) : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
// CHECK-NEXT:   func.return %x_ct : tensor<4xf64>
// CHECK-NEXT: }

// -----

// A function that has the name and is another one is left alone.
func.func @g(%a: tensor<4xf64>) -> tensor<4xf64> {
  %t = array.tanh %a : tensor<4xf64>
  func.return %t : tensor<4xf64>
}
func.func @g_fwd(%a: tensor<4xf64>) -> tensor<4xf64> {
  func.return %a : tensor<4xf64>
}
func.func @f(%x: tensor<4xf64>) -> tensor<4xf64> {
  %y = func.call @g(%x) : (tensor<4xf64>) -> tensor<4xf64>
  func.return %y : tensor<4xf64>
}
func.func @h(%x: tensor<4xf64>) -> tensor<4xf64> {
  func.return %x : tensor<4xf64>
}

//      CHECK: func.func @g_fwd__1(%a: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>) {
// CHECK-NEXT:   %t_point = grad.tanh_point %a : tensor<4xf64>
// CHECK-NEXT:   %t = grad.tanh_at %t_point : tensor<4xf64>
// CHECK-NEXT:   func.return %t, %t_point : tensor<4xf64>, tensor<4xf64>
// CHECK-NEXT: }
//      CHECK: func.func @g_bwd(%t_point: tensor<4xf64>, %t_ct: tensor<4xf64>) -> tensor<4xf64> {
// CHECK-NEXT:   %0 = grad.tanh_slope_at %t_point : tensor<4xf64>
// CHECK-NEXT:   %t_point_ct = array.multiply %t_ct, %0 : tensor<4xf64>
// CHECK-NEXT:   func.return %t_point_ct : tensor<4xf64>
// CHECK-NEXT: }
//      CHECK: func.func @f_vjp(%x: tensor<4xf64>, %y_ct: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>) {
// CHECK-NEXT:   %y, %t_point = func.call @g_fwd__1(%x) : (tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>)
// CHECK-NEXT:   %x_ct = func.call @g_bwd(%t_point, %y_ct) : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
// CHECK-NEXT:   func.return %y, %x_ct : tensor<4xf64>, tensor<4xf64>
// CHECK-NEXT: }
//      CHECK: func.func @f_fwd(%x: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>) {
// CHECK-NEXT:   %y, %t_point = func.call @g_fwd__1(%x) : (tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>)
// CHECK-NEXT:   func.return %y, %t_point : tensor<4xf64>, tensor<4xf64>
// CHECK-NEXT: }
//      CHECK: func.func @f_bwd(%t_point: tensor<4xf64>, %y_ct: tensor<4xf64>) -> tensor<4xf64> {
// CHECK-NEXT:   %x_ct = func.call @g_bwd(%t_point, %y_ct) : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
// CHECK-NEXT:   func.return %x_ct : tensor<4xf64>
// CHECK-NEXT: }
//      CHECK: func.func @h_fwd(%x: tensor<4xf64>) -> tensor<4xf64> {
// CHECK-NEXT:   func.return %x : tensor<4xf64>
// CHECK-NEXT: }
//      CHECK: func.func @h_bwd(%x_ct: tensor<4xf64>) -> tensor<4xf64> {
// CHECK-NEXT:   func.return %x_ct : tensor<4xf64>
// CHECK-NEXT: }
