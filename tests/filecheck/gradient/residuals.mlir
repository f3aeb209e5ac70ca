// RUN: gradir-opt %s --split-input-file -p "gradir-gradient{function=f}" | filecheck %s

// What the forward function returns is what the backward function reads, and nothing else.
// tanh keeps a point, relu its output, matmul its operands, add and transposes nothing.
func.func @f(%x: tensor<3x4xf64>, %w: tensor<4x5xf64>, %b: tensor<3x5xf64>) -> tensor<5x3xf64> {
  %product = array.matmul %x, %w : tensor<3x4xf64>, tensor<4x5xf64> -> tensor<3x5xf64>
  %sum = array.add %product, %b : tensor<3x5xf64>
  %tanh = array.tanh %sum : tensor<3x5xf64>
  %relu = nn.relu %tanh : tensor<3x5xf64>
  %y = array.permute_dims %relu {axes = [1, 0]} : tensor<3x5xf64> -> tensor<5x3xf64>
  func.return %y : tensor<5x3xf64>
}

//      CHECK: func.func @f_fwd(%x: tensor<3x4xf64>, %w: tensor<4x5xf64>, %b: tensor<3x5xf64>) -> (tensor<5x3xf64>, tensor<3x4xf64>, tensor<4x5xf64>, tensor<3x5xf64>, tensor<3x5xf64>) {
// CHECK-NEXT:   %product = array.matmul %x, %w : tensor<3x4xf64>, tensor<4x5xf64> -> tensor<3x5xf64>
// CHECK-NEXT:   %sum = array.add %product, %b : tensor<3x5xf64>
// CHECK-NEXT:   %tanh_point = grad.tanh_point %sum : tensor<3x5xf64>
// CHECK-NEXT:   %tanh = grad.tanh_at %tanh_point : tensor<3x5xf64>
// CHECK-NEXT:   %relu = nn.relu %tanh : tensor<3x5xf64>
// CHECK-NEXT:   %y = array.permute_dims %relu {axes = [1, 0]} : tensor<3x5xf64> -> tensor<5x3xf64>
// CHECK-NEXT:   func.return %y, %x, %w, %tanh_point, %relu : tensor<5x3xf64>, tensor<3x4xf64>, tensor<4x5xf64>, tensor<3x5xf64>, tensor<3x5xf64>
// CHECK-NEXT: }
//      CHECK: func.func @f_bwd(%x: tensor<3x4xf64>, %w: tensor<4x5xf64>, %tanh_point: tensor<3x5xf64>, %relu: tensor<3x5xf64>, %y_ct: tensor<5x3xf64>) -> (tensor<3x4xf64>, tensor<4x5xf64>, tensor<3x5xf64>) {
// CHECK-NEXT:   %relu_ct = array.permute_dims %y_ct {axes = [1, 0]} : tensor<5x3xf64> -> tensor<3x5xf64>
// CHECK-NEXT:   %0 = array.full {value = 0.0} : tensor<3x5xf64>
// CHECK-NEXT:   %1 = array.greater %relu, %0 : tensor<3x5xf64>, tensor<3x5xf64> -> tensor<3x5xi1>
// CHECK-NEXT:   %2 = grad.tanh_slope_at %tanh_point : tensor<3x5xf64>
// CHECK-NEXT:   %3 = array.multiply %relu_ct, %2 : tensor<3x5xf64>
// CHECK-NEXT:   %tanh_point_ct = grad.gate %3, %1, %relu : tensor<3x5xf64>, tensor<3x5xi1>, tensor<3x5xf64> -> tensor<3x5xf64>
// CHECK-NEXT:   %4 = array.permute_dims %w {axes = [1, 0]} : tensor<4x5xf64> -> tensor<5x4xf64>
// CHECK-NEXT:   %x_ct = array.matmul %tanh_point_ct, %4 : tensor<3x5xf64>, tensor<5x4xf64> -> tensor<3x4xf64>
// CHECK-NEXT:   %5 = array.permute_dims %x {axes = [1, 0]} : tensor<3x4xf64> -> tensor<4x3xf64>
// CHECK-NEXT:   %w_ct = array.matmul %5, %tanh_point_ct : tensor<4x3xf64>, tensor<3x5xf64> -> tensor<4x5xf64>
// CHECK-NEXT:   func.return %x_ct, %w_ct, %tanh_point_ct : tensor<3x4xf64>, tensor<4x5xf64>, tensor<3x5xf64>
// CHECK-NEXT: }

// -----

// Constants are made again, not kept.
func.func @f(%x: tensor<4xf64>) -> tensor<4xf64> {
  %c = array.constant {value = dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf64>} : tensor<4xf64>
  %i = array.iota {axis = 0} : tensor<4xf64>
  %y = array.multiply %x, %c : tensor<4xf64>
  %z = array.multiply %y, %i : tensor<4xf64>
  func.return %z : tensor<4xf64>
}

//      CHECK: func.func @f_fwd(%x: tensor<4xf64>) -> tensor<4xf64> {
// CHECK-NEXT:   %c = array.constant {value = dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]> : tensor<4xf64>} : tensor<4xf64>
// CHECK-NEXT:   %i = array.iota {axis = 0} : tensor<4xf64>
// CHECK-NEXT:   %y = array.multiply %x, %c : tensor<4xf64>
// CHECK-NEXT:   %z = array.multiply %y, %i : tensor<4xf64>
// CHECK-NEXT:   func.return %z : tensor<4xf64>
// CHECK-NEXT: }
//      CHECK: func.func @f_bwd(%z_ct: tensor<4xf64>) -> tensor<4xf64> {
// CHECK-NEXT:   %i = array.iota {axis = 0} : tensor<4xf64>
// CHECK-NEXT:   %y_ct = array.multiply %z_ct, %i : tensor<4xf64>
// CHECK-NEXT:   %c = array.constant {value = dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]> : tensor<4xf64>} : tensor<4xf64>
// CHECK-NEXT:   %x_ct = array.multiply %y_ct, %c : tensor<4xf64>
// CHECK-NEXT:   func.return %x_ct : tensor<4xf64>
// CHECK-NEXT: }

// -----

// A linear function keeps nothing.
func.func @f(%x: tensor<4xf64>, %y: tensor<4xf64>) -> tensor<f64> {
  %d = array.subtract %x, %y : tensor<4xf64>
  %s = array.mean %d : tensor<4xf64> -> tensor<f64>
  func.return %s : tensor<f64>
}

//      CHECK: func.func @f_fwd(%x: tensor<4xf64>, %y: tensor<4xf64>) -> tensor<f64> {
// CHECK-NEXT:   %d = array.subtract %x, %y : tensor<4xf64>
// CHECK-NEXT:   %s = array.mean %d : tensor<4xf64> -> tensor<f64>
// CHECK-NEXT:   func.return %s : tensor<f64>
// CHECK-NEXT: }
//      CHECK: func.func @f_bwd(%s_ct: tensor<f64>) -> (tensor<4xf64>, tensor<4xf64>) {
// CHECK-NEXT:   %0 = array.full {value = 4.0} : tensor<f64>
// CHECK-NEXT:   %1 = array.divide %s_ct, %0 : tensor<f64>
// CHECK-NEXT:   %2 = array.reshape %1 : tensor<f64> -> tensor<1xf64>
// CHECK-NEXT:   %d_ct = array.broadcast_to %2 : tensor<1xf64> -> tensor<4xf64>
// CHECK-NEXT:   %y_ct = array.negative %d_ct : tensor<4xf64>
// CHECK-NEXT:   func.return %d_ct, %y_ct : tensor<4xf64>, tensor<4xf64>
// CHECK-NEXT: }
