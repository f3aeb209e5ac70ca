// RUN: gradir-opt %s -p "gradir-gradient{function=f mode=vjp}" | filecheck %s

// What only sign and floor read needs no derivative: here %w, through which the loss offers none.
func.func @f(%x: tensor<4x3xf64>, %t: tensor<4xi64>, %w: tensor<3xf64>) -> (tensor<f64>, tensor<3xf64>) {
  %a = nn.nll_loss %x, %t, %w : tensor<4x3xf64>, tensor<4xi64>, tensor<3xf64> -> tensor<f64>
  %s = array.sign %a : tensor<f64>
  %r = array.floor %a : tensor<f64>
  %u = array.multiply %s, %r : tensor<f64>
  %v = array.square %w : tensor<3xf64>
  func.return %u, %v : tensor<f64>, tensor<3xf64>
}

//      CHECK: func.func @f_vjp(
//      CHECK:   %w_ct = array.multiply %v_ct, %1 : tensor<3xf64>
// CHECK-NEXT:   %x_ct = grad.zero : tensor<4x3xf64>
// CHECK-NEXT:   func.return %u, %v, %x_ct, %w_ct : tensor<f64>, tensor<3xf64>, tensor<4x3xf64>, tensor<3xf64>
