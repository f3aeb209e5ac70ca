// RUN: gradir-opt %s --split-input-file -p "gradir-gradient{function=f mode=vjp}" | filecheck %s

// A callee is differentiated once for each pattern of active arguments.
func.func @g(%a: tensor<4xf64>, %b: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>) {
  %product = array.multiply %a, %b : tensor<4xf64>
  %e = array.exp %b : tensor<4xf64>
  func.return %product, %e : tensor<4xf64>, tensor<4xf64>
}
func.func @f(%x: tensor<4xf64>, %c: tensor<4xf64> {grad.inactive}) -> tensor<4xf64> {
  %p, %q = func.call @g(%x, %x) : (tensor<4xf64>, tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>)
  %r, %s = func.call @g(%p, %q) : (tensor<4xf64>, tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>)
  %u, %v = func.call @g(%r, %c) : (tensor<4xf64>, tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>)
  %y = array.add %u, %s : tensor<4xf64>
  func.return %y : tensor<4xf64>
}

//      CHECK: func.func @g_fwd_wrt_0_of_0(%a: tensor<4xf64>, %b: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>, tensor<4xf64>) {
// CHECK-NEXT:   %product = array.multiply %a, %b : tensor<4xf64>
// CHECK-NEXT:   %e = array.exp %b : tensor<4xf64>
// CHECK-NEXT:   func.return %product, %e, %b : tensor<4xf64>, tensor<4xf64>, tensor<4xf64>
// CHECK-NEXT: }
//      CHECK: func.func @g_bwd_wrt_0_of_0(%b: tensor<4xf64>, %product_ct: tensor<4xf64>) -> tensor<4xf64> {
// CHECK-NEXT:   %a_ct = array.multiply %product_ct, %b : tensor<4xf64>
// CHECK-NEXT:   func.return %a_ct : tensor<4xf64>
// CHECK-NEXT: }
//      CHECK: func.func @g_fwd(%a: tensor<4xf64>, %b: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>) {
// CHECK-NEXT:   %product = array.multiply %a, %b : tensor<4xf64>
// CHECK-NEXT:   %e = array.exp %b : tensor<4xf64>
// CHECK-NEXT:   func.return %product, %e, %a, %b, %e : tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>
// CHECK-NEXT: }
//      CHECK: func.func @g_bwd(%a: tensor<4xf64>, %b: tensor<4xf64>, %e: tensor<4xf64>, %product_ct: tensor<4xf64>, %e_ct: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>) {
// CHECK-NEXT:   %b_ct = array.multiply %e_ct, %e : tensor<4xf64>
// CHECK-NEXT:   %a_ct = array.multiply %product_ct, %b : tensor<4xf64>
// CHECK-NEXT:   %b_ct_1 = array.multiply %product_ct, %a : tensor<4xf64>
// CHECK-NEXT:   %b_ct_2 = grad.accumulate %b_ct, %b_ct_1 : tensor<4xf64>
// CHECK-NEXT:   func.return %a_ct, %b_ct_2 : tensor<4xf64>, tensor<4xf64>
// CHECK-NEXT: }
//      CHECK: func.func @f_vjp(%x: tensor<4xf64>, %c: tensor<4xf64> {grad.inactive}, %y_ct: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>) {
// CHECK-NEXT:   %p, %q, %a, %b, %e = func.call @g_fwd(%x, %x) : (tensor<4xf64>, tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>)
// CHECK-NEXT:   %r, %s, %a_1, %b_1, %e_1 = func.call @g_fwd(%p, %q) : (tensor<4xf64>, tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>)
// CHECK-NEXT:   %u, %v, %b_2 = func.call @g_fwd_wrt_0_of_0(%r, %c) : (tensor<4xf64>, tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>, tensor<4xf64>)
// CHECK-NEXT:   %y = array.add %u, %s : tensor<4xf64>
// CHECK-NEXT:   %r_ct = func.call @g_bwd_wrt_0_of_0(%c, %y_ct) : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
// CHECK-NEXT:   %p_ct, %q_ct = func.call @g_bwd(%p, %q, %e_1, %r_ct, %y_ct) : (tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>)
// CHECK-NEXT:   %x_ct, %x_ct_1 = func.call @g_bwd(%x, %x, %e, %p_ct, %q_ct) : (tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>)
// CHECK-NEXT:   %x_ct_2 = grad.accumulate %x_ct, %x_ct_1 : tensor<4xf64>
// CHECK-NEXT:   func.return %y, %x_ct_2 : tensor<4xf64>, tensor<4xf64>
// CHECK-NEXT: }

// -----

// Calls in callees.
func.func @inner(%a: tensor<4xf64>) -> tensor<4xf64> {
  %t = array.tanh %a : tensor<4xf64>
  func.return %t : tensor<4xf64>
}
func.func @outer(%a: tensor<4xf64>) -> tensor<4xf64> {
  %b = func.call @inner(%a) : (tensor<4xf64>) -> tensor<4xf64>
  %c = func.call @inner(%b) : (tensor<4xf64>) -> tensor<4xf64>
  func.return %c : tensor<4xf64>
}
func.func @f(%x: tensor<4xf64>) -> tensor<4xf64> {
  %y = func.call @outer(%x) : (tensor<4xf64>) -> tensor<4xf64>
  func.return %y : tensor<4xf64>
}

//      CHECK: func.func @inner_fwd(%a: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>) {
// CHECK-NEXT:   %t_point = grad.tanh_point %a : tensor<4xf64>
// CHECK-NEXT:   %t = grad.tanh_at %t_point : tensor<4xf64>
// CHECK-NEXT:   func.return %t, %t_point : tensor<4xf64>, tensor<4xf64>
// CHECK-NEXT: }
//      CHECK: func.func @inner_bwd(%t_point: tensor<4xf64>, %t_ct: tensor<4xf64>) -> tensor<4xf64> {
// CHECK-NEXT:   %0 = grad.tanh_slope_at %t_point : tensor<4xf64>
// CHECK-NEXT:   %t_point_ct = array.multiply %t_ct, %0 : tensor<4xf64>
// CHECK-NEXT:   func.return %t_point_ct : tensor<4xf64>
// CHECK-NEXT: }
//      CHECK: func.func @outer_fwd(%a: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>, tensor<4xf64>) {
// CHECK-NEXT:   %b, %t_point = func.call @inner_fwd(%a) : (tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>)
// CHECK-NEXT:   %c, %t_point_1 = func.call @inner_fwd(%b) : (tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>)
// CHECK-NEXT:   func.return %c, %t_point, %t_point_1 : tensor<4xf64>, tensor<4xf64>, tensor<4xf64>
// CHECK-NEXT: }
//      CHECK: func.func @outer_bwd(%t_point: tensor<4xf64>, %t_point_1: tensor<4xf64>, %c_ct: tensor<4xf64>) -> tensor<4xf64> {
// CHECK-NEXT:   %b_ct = func.call @inner_bwd(%t_point_1, %c_ct) : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
// CHECK-NEXT:   %a_ct = func.call @inner_bwd(%t_point, %b_ct) : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
// CHECK-NEXT:   func.return %a_ct : tensor<4xf64>
// CHECK-NEXT: }
//      CHECK: func.func @f_vjp(%x: tensor<4xf64>, %y_ct: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>) {
// CHECK-NEXT:   %y, %t_point, %t_point_1 = func.call @outer_fwd(%x) : (tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>, tensor<4xf64>)
// CHECK-NEXT:   %x_ct = func.call @outer_bwd(%t_point, %t_point_1, %y_ct) : (tensor<4xf64>, tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
// CHECK-NEXT:   func.return %y, %x_ct : tensor<4xf64>, tensor<4xf64>
// CHECK-NEXT: }

// -----

// A call that no cotangent needs stays a plain call.
func.func @g(%a: tensor<4xf64>) -> tensor<4xf64> {
  %t = array.tanh %a : tensor<4xf64>
  func.return %t : tensor<4xf64>
}
func.func @f(%x: tensor<4xf64>) -> tensor<4xf64> {
  %t = func.call @g(%x) : (tensor<4xf64>) -> tensor<4xf64>
  %fixed = grad.no_grad %t : tensor<4xf64>
  %y = array.multiply %x, %fixed : tensor<4xf64>
  func.return %y : tensor<4xf64>
}

//      CHECK: func.func @f_vjp(%x: tensor<4xf64>, %y_ct: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>) {
// CHECK-NEXT:   %t = func.call @g(%x) : (tensor<4xf64>) -> tensor<4xf64>
// CHECK-NEXT:   %fixed = grad.no_grad %t : tensor<4xf64>
// CHECK-NEXT:   %y = array.multiply %x, %fixed : tensor<4xf64>
// CHECK-NEXT:   %x_ct = array.multiply %y_ct, %fixed : tensor<4xf64>
// CHECK-NEXT:   func.return %y, %x_ct : tensor<4xf64>, tensor<4xf64>
// CHECK-NEXT: }
