// RUN: gradir-opt %s -p "gradir-gradient{function=f}" | filecheck %s --check-prefix=SPLIT
// RUN: gradir-opt %s -p "gradir-gradient{function=f mode=vjp}" | filecheck %s --check-prefix=VJP
// RUN: gradir-opt %s -p "gradir-gradient{function=f mode=grad}" | filecheck %s --check-prefix=GRAD

// The three forms of the same derivative: forward and backward functions, one function with
// cotangents as arguments, one function seeded with ones. @f stays as it is.
func.func @f(%x: tensor<4x3xf64> {grad.inactive}, %w: tensor<5x3xf64>, %b: tensor<5xf64>, %t: tensor<4xi64>) -> tensor<f64> {
  %h = nn.linear %x, %w, %b : tensor<4x3xf64>, tensor<5x3xf64>, tensor<5xf64> -> tensor<4x5xf64>
  %y = nn.relu %h : tensor<4x5xf64>
  %loss = nn.cross_entropy %y, %t : tensor<4x5xf64>, tensor<4xi64> -> tensor<f64>
  func.return %loss : tensor<f64>
}

//      SPLIT: func.func @f_fwd(%x: tensor<4x3xf64> {grad.inactive}, %w: tensor<5x3xf64>, %b: tensor<5xf64>, %t: tensor<4xi64>) -> (tensor<f64>, tensor<4x3xf64>, tensor<4xi64>, tensor<4x5xf64>) {
// SPLIT-NEXT:   %h = nn.linear %x, %w, %b : tensor<4x3xf64>, tensor<5x3xf64>, tensor<5xf64> -> tensor<4x5xf64>
// SPLIT-NEXT:   %y = nn.relu %h : tensor<4x5xf64>
// SPLIT-NEXT:   %loss = nn.cross_entropy %y, %t : tensor<4x5xf64>, tensor<4xi64> -> tensor<f64>
// SPLIT-NEXT:   func.return %loss, %x, %t, %y : tensor<f64>, tensor<4x3xf64>, tensor<4xi64>, tensor<4x5xf64>
// SPLIT-NEXT: }
//      SPLIT: func.func @f_bwd(%x: tensor<4x3xf64>, %t: tensor<4xi64>, %y: tensor<4x5xf64>, %loss_ct: tensor<f64>) -> (tensor<5x3xf64>, tensor<5xf64>) {
// SPLIT-NEXT:   %0 = grad.nll_loss_backward %loss_ct, %t : tensor<f64>, tensor<4xi64> -> tensor<4x5xf64>
// SPLIT-NEXT:   %1 = array.sum %0 {axis = 1} : tensor<4x5xf64> -> tensor<4xf64>
// SPLIT-NEXT:   %2 = nn.softmax %y {axis = 1} : tensor<4x5xf64>
// SPLIT-NEXT:   %3 = array.reshape %1 : tensor<4xf64> -> tensor<4x1xf64>
// SPLIT-NEXT:   %4 = array.broadcast_to %3 : tensor<4x1xf64> -> tensor<4x5xf64>
// SPLIT-NEXT:   %5 = array.multiply %2, %4 : tensor<4x5xf64>
// SPLIT-NEXT:   %y_ct = array.subtract %0, %5 : tensor<4x5xf64>
// SPLIT-NEXT:   %6 = array.full {value = 0.0} : tensor<4x5xf64>
// SPLIT-NEXT:   %7 = array.greater %y, %6 : tensor<4x5xf64>, tensor<4x5xf64> -> tensor<4x5xi1>
// SPLIT-NEXT:   %h_ct = grad.gate %y_ct, %7, %y : tensor<4x5xf64>, tensor<4x5xi1>, tensor<4x5xf64> -> tensor<4x5xf64>
// SPLIT-NEXT:   %8 = array.permute_dims %h_ct {axes = [1, 0]} : tensor<4x5xf64> -> tensor<5x4xf64>
// SPLIT-NEXT:   %w_ct = array.matmul %8, %x : tensor<5x4xf64>, tensor<4x3xf64> -> tensor<5x3xf64>
// SPLIT-NEXT:   %b_ct = array.sum %h_ct {axis = 0} : tensor<4x5xf64> -> tensor<5xf64>
// SPLIT-NEXT:   func.return %w_ct, %b_ct : tensor<5x3xf64>, tensor<5xf64>
// SPLIT-NEXT: }

//      VJP: func.func @f_vjp(%x: tensor<4x3xf64> {grad.inactive}, %w: tensor<5x3xf64>, %b: tensor<5xf64>, %t: tensor<4xi64>, %loss_ct: tensor<f64>) -> (tensor<f64>, tensor<5x3xf64>, tensor<5xf64>) {
// VJP-NEXT:   %h = nn.linear %x, %w, %b : tensor<4x3xf64>, tensor<5x3xf64>, tensor<5xf64> -> tensor<4x5xf64>
// VJP-NEXT:   %y = nn.relu %h : tensor<4x5xf64>
// VJP-NEXT:   %loss = nn.cross_entropy %y, %t : tensor<4x5xf64>, tensor<4xi64> -> tensor<f64>
// VJP-NEXT:   %0 = grad.nll_loss_backward %loss_ct, %t : tensor<f64>, tensor<4xi64> -> tensor<4x5xf64>
// VJP-NEXT:   %1 = array.sum %0 {axis = 1} : tensor<4x5xf64> -> tensor<4xf64>
// VJP-NEXT:   %2 = nn.softmax %y {axis = 1} : tensor<4x5xf64>
// VJP-NEXT:   %3 = array.reshape %1 : tensor<4xf64> -> tensor<4x1xf64>
// VJP-NEXT:   %4 = array.broadcast_to %3 : tensor<4x1xf64> -> tensor<4x5xf64>
// VJP-NEXT:   %5 = array.multiply %2, %4 : tensor<4x5xf64>
// VJP-NEXT:   %y_ct = array.subtract %0, %5 : tensor<4x5xf64>
// VJP-NEXT:   %6 = array.full {value = 0.0} : tensor<4x5xf64>
// VJP-NEXT:   %7 = array.greater %y, %6 : tensor<4x5xf64>, tensor<4x5xf64> -> tensor<4x5xi1>
// VJP-NEXT:   %h_ct = grad.gate %y_ct, %7, %y : tensor<4x5xf64>, tensor<4x5xi1>, tensor<4x5xf64> -> tensor<4x5xf64>
// VJP-NEXT:   %8 = array.permute_dims %h_ct {axes = [1, 0]} : tensor<4x5xf64> -> tensor<5x4xf64>
// VJP-NEXT:   %w_ct = array.matmul %8, %x : tensor<5x4xf64>, tensor<4x3xf64> -> tensor<5x3xf64>
// VJP-NEXT:   %b_ct = array.sum %h_ct {axis = 0} : tensor<4x5xf64> -> tensor<5xf64>
// VJP-NEXT:   func.return %loss, %w_ct, %b_ct : tensor<f64>, tensor<5x3xf64>, tensor<5xf64>
// VJP-NEXT: }

//      GRAD: func.func @f_grad(%x: tensor<4x3xf64> {grad.inactive}, %w: tensor<5x3xf64>, %b: tensor<5xf64>, %t: tensor<4xi64>) -> (tensor<f64>, tensor<5x3xf64>, tensor<5xf64>) {
// GRAD-NEXT:   %h = nn.linear %x, %w, %b : tensor<4x3xf64>, tensor<5x3xf64>, tensor<5xf64> -> tensor<4x5xf64>
// GRAD-NEXT:   %y = nn.relu %h : tensor<4x5xf64>
// GRAD-NEXT:   %loss = nn.cross_entropy %y, %t : tensor<4x5xf64>, tensor<4xi64> -> tensor<f64>
// GRAD-NEXT:   %loss_ct = array.full {value = 1.0} : tensor<f64>
// GRAD-NEXT:   %0 = grad.nll_loss_backward %loss_ct, %t : tensor<f64>, tensor<4xi64> -> tensor<4x5xf64>
// GRAD-NEXT:   %1 = array.sum %0 {axis = 1} : tensor<4x5xf64> -> tensor<4xf64>
// GRAD-NEXT:   %2 = nn.softmax %y {axis = 1} : tensor<4x5xf64>
// GRAD-NEXT:   %3 = array.reshape %1 : tensor<4xf64> -> tensor<4x1xf64>
// GRAD-NEXT:   %4 = array.broadcast_to %3 : tensor<4x1xf64> -> tensor<4x5xf64>
// GRAD-NEXT:   %5 = array.multiply %2, %4 : tensor<4x5xf64>
// GRAD-NEXT:   %y_ct = array.subtract %0, %5 : tensor<4x5xf64>
// GRAD-NEXT:   %6 = array.full {value = 0.0} : tensor<4x5xf64>
// GRAD-NEXT:   %7 = array.greater %y, %6 : tensor<4x5xf64>, tensor<4x5xf64> -> tensor<4x5xi1>
// GRAD-NEXT:   %h_ct = grad.gate %y_ct, %7, %y : tensor<4x5xf64>, tensor<4x5xi1>, tensor<4x5xf64> -> tensor<4x5xf64>
// GRAD-NEXT:   %8 = array.permute_dims %h_ct {axes = [1, 0]} : tensor<4x5xf64> -> tensor<5x4xf64>
// GRAD-NEXT:   %w_ct = array.matmul %8, %x : tensor<5x4xf64>, tensor<4x3xf64> -> tensor<5x3xf64>
// GRAD-NEXT:   %b_ct = array.sum %h_ct {axis = 0} : tensor<4x5xf64> -> tensor<5xf64>
// GRAD-NEXT:   func.return %loss, %w_ct, %b_ct : tensor<f64>, tensor<5x3xf64>, tensor<5xf64>
// GRAD-NEXT: }
