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
// SPLIT-NEXT:   %1 = array.full {value = -100} : tensor<4xi64>
// SPLIT-NEXT:   %2 = array.not_equal %t, %1 : tensor<4xi64>, tensor<4xi64> -> tensor<4xi1>
// SPLIT-NEXT:   %3 = array.astype %2 : tensor<4xi1> -> tensor<4xf64>
// SPLIT-NEXT:   %4 = array.sum %3 : tensor<4xf64> -> tensor<f64>
// SPLIT-NEXT:   %5 = array.divide %loss_ct, %4 : tensor<f64>
// SPLIT-NEXT:   %6 = array.broadcast_to %5 : tensor<f64> -> tensor<4xf64>
// SPLIT-NEXT:   %7 = array.negative %6 : tensor<4xf64>
// SPLIT-NEXT:   %8 = array.full {value = 0.0} : tensor<4xf64>
// SPLIT-NEXT:   %9 = array.multiply %7, %3 : tensor<4xf64>
// SPLIT-NEXT:   %10 = array.where %2, %9, %8 : tensor<4xi1>, tensor<4xf64>, tensor<4xf64> -> tensor<4xf64>
// SPLIT-NEXT:   %11 = array.reshape %10 : tensor<4xf64> -> tensor<4x1xf64>
// SPLIT-NEXT:   %12 = array.broadcast_to %11 : tensor<4x1xf64> -> tensor<4x5xf64>
// SPLIT-NEXT:   %13 = nn.softmax %y {axis = 1} : tensor<4x5xf64>
// SPLIT-NEXT:   %14 = grad.softmax_complement %y {axis = 1} : tensor<4x5xf64>
// SPLIT-NEXT:   %15 = array.multiply %0, %14 : tensor<4x5xf64>
// SPLIT-NEXT:   %16 = array.subtract %12, %0 : tensor<4x5xf64>
// SPLIT-NEXT:   %17 = array.multiply %13, %16 : tensor<4x5xf64>
// SPLIT-NEXT:   %y_ct = array.subtract %15, %17 : tensor<4x5xf64>
// SPLIT-NEXT:   %18 = array.full {value = 0.0} : tensor<4x5xf64>
// SPLIT-NEXT:   %19 = array.greater %y, %18 : tensor<4x5xf64>, tensor<4x5xf64> -> tensor<4x5xi1>
// SPLIT-NEXT:   %h_ct = grad.gate %y_ct, %19, %y : tensor<4x5xf64>, tensor<4x5xi1>, tensor<4x5xf64> -> tensor<4x5xf64>
// SPLIT-NEXT:   %20 = array.permute_dims %h_ct {axes = [1, 0]} : tensor<4x5xf64> -> tensor<5x4xf64>
// SPLIT-NEXT:   %w_ct = array.matmul %20, %x : tensor<5x4xf64>, tensor<4x3xf64> -> tensor<5x3xf64>
// SPLIT-NEXT:   %b_ct = array.sum %h_ct {axis = 0} : tensor<4x5xf64> -> tensor<5xf64>
// SPLIT-NEXT:   func.return %w_ct, %b_ct : tensor<5x3xf64>, tensor<5xf64>
// SPLIT-NEXT: }

//      VJP: func.func @f_vjp(%x: tensor<4x3xf64> {grad.inactive}, %w: tensor<5x3xf64>, %b: tensor<5xf64>, %t: tensor<4xi64>, %loss_ct: tensor<f64>) -> (tensor<f64>, tensor<5x3xf64>, tensor<5xf64>) {
// VJP-NEXT:   %h = nn.linear %x, %w, %b : tensor<4x3xf64>, tensor<5x3xf64>, tensor<5xf64> -> tensor<4x5xf64>
// VJP-NEXT:   %y = nn.relu %h : tensor<4x5xf64>
// VJP-NEXT:   %loss = nn.cross_entropy %y, %t : tensor<4x5xf64>, tensor<4xi64> -> tensor<f64>
// VJP-NEXT:   %0 = grad.nll_loss_backward %loss_ct, %t : tensor<f64>, tensor<4xi64> -> tensor<4x5xf64>
// VJP-NEXT:   %1 = array.full {value = -100} : tensor<4xi64>
// VJP-NEXT:   %2 = array.not_equal %t, %1 : tensor<4xi64>, tensor<4xi64> -> tensor<4xi1>
// VJP-NEXT:   %3 = array.astype %2 : tensor<4xi1> -> tensor<4xf64>
// VJP-NEXT:   %4 = array.sum %3 : tensor<4xf64> -> tensor<f64>
// VJP-NEXT:   %5 = array.divide %loss_ct, %4 : tensor<f64>
// VJP-NEXT:   %6 = array.broadcast_to %5 : tensor<f64> -> tensor<4xf64>
// VJP-NEXT:   %7 = array.negative %6 : tensor<4xf64>
// VJP-NEXT:   %8 = array.full {value = 0.0} : tensor<4xf64>
// VJP-NEXT:   %9 = array.multiply %7, %3 : tensor<4xf64>
// VJP-NEXT:   %10 = array.where %2, %9, %8 : tensor<4xi1>, tensor<4xf64>, tensor<4xf64> -> tensor<4xf64>
// VJP-NEXT:   %11 = array.reshape %10 : tensor<4xf64> -> tensor<4x1xf64>
// VJP-NEXT:   %12 = array.broadcast_to %11 : tensor<4x1xf64> -> tensor<4x5xf64>
// VJP-NEXT:   %13 = nn.softmax %y {axis = 1} : tensor<4x5xf64>
// VJP-NEXT:   %14 = grad.softmax_complement %y {axis = 1} : tensor<4x5xf64>
// VJP-NEXT:   %15 = array.multiply %0, %14 : tensor<4x5xf64>
// VJP-NEXT:   %16 = array.subtract %12, %0 : tensor<4x5xf64>
// VJP-NEXT:   %17 = array.multiply %13, %16 : tensor<4x5xf64>
// VJP-NEXT:   %y_ct = array.subtract %15, %17 : tensor<4x5xf64>
// VJP-NEXT:   %18 = array.full {value = 0.0} : tensor<4x5xf64>
// VJP-NEXT:   %19 = array.greater %y, %18 : tensor<4x5xf64>, tensor<4x5xf64> -> tensor<4x5xi1>
// VJP-NEXT:   %h_ct = grad.gate %y_ct, %19, %y : tensor<4x5xf64>, tensor<4x5xi1>, tensor<4x5xf64> -> tensor<4x5xf64>
// VJP-NEXT:   %20 = array.permute_dims %h_ct {axes = [1, 0]} : tensor<4x5xf64> -> tensor<5x4xf64>
// VJP-NEXT:   %w_ct = array.matmul %20, %x : tensor<5x4xf64>, tensor<4x3xf64> -> tensor<5x3xf64>
// VJP-NEXT:   %b_ct = array.sum %h_ct {axis = 0} : tensor<4x5xf64> -> tensor<5xf64>
// VJP-NEXT:   func.return %loss, %w_ct, %b_ct : tensor<f64>, tensor<5x3xf64>, tensor<5xf64>
// VJP-NEXT: }

//      GRAD: func.func @f_grad(%x: tensor<4x3xf64> {grad.inactive}, %w: tensor<5x3xf64>, %b: tensor<5xf64>, %t: tensor<4xi64>) -> (tensor<f64>, tensor<5x3xf64>, tensor<5xf64>) {
// GRAD-NEXT:   %h = nn.linear %x, %w, %b : tensor<4x3xf64>, tensor<5x3xf64>, tensor<5xf64> -> tensor<4x5xf64>
// GRAD-NEXT:   %y = nn.relu %h : tensor<4x5xf64>
// GRAD-NEXT:   %loss = nn.cross_entropy %y, %t : tensor<4x5xf64>, tensor<4xi64> -> tensor<f64>
// GRAD-NEXT:   %loss_ct = array.full {value = 1.0} : tensor<f64>
// GRAD-NEXT:   %0 = grad.nll_loss_backward %loss_ct, %t : tensor<f64>, tensor<4xi64> -> tensor<4x5xf64>
// GRAD-NEXT:   %1 = array.full {value = -100} : tensor<4xi64>
// GRAD-NEXT:   %2 = array.not_equal %t, %1 : tensor<4xi64>, tensor<4xi64> -> tensor<4xi1>
// GRAD-NEXT:   %3 = array.astype %2 : tensor<4xi1> -> tensor<4xf64>
// GRAD-NEXT:   %4 = array.sum %3 : tensor<4xf64> -> tensor<f64>
// GRAD-NEXT:   %5 = array.divide %loss_ct, %4 : tensor<f64>
// GRAD-NEXT:   %6 = array.broadcast_to %5 : tensor<f64> -> tensor<4xf64>
// GRAD-NEXT:   %7 = array.negative %6 : tensor<4xf64>
// GRAD-NEXT:   %8 = array.full {value = 0.0} : tensor<4xf64>
// GRAD-NEXT:   %9 = array.multiply %7, %3 : tensor<4xf64>
// GRAD-NEXT:   %10 = array.where %2, %9, %8 : tensor<4xi1>, tensor<4xf64>, tensor<4xf64> -> tensor<4xf64>
// GRAD-NEXT:   %11 = array.reshape %10 : tensor<4xf64> -> tensor<4x1xf64>
// GRAD-NEXT:   %12 = array.broadcast_to %11 : tensor<4x1xf64> -> tensor<4x5xf64>
// GRAD-NEXT:   %13 = nn.softmax %y {axis = 1} : tensor<4x5xf64>
// GRAD-NEXT:   %14 = grad.softmax_complement %y {axis = 1} : tensor<4x5xf64>
// GRAD-NEXT:   %15 = array.multiply %0, %14 : tensor<4x5xf64>
// GRAD-NEXT:   %16 = array.subtract %12, %0 : tensor<4x5xf64>
// GRAD-NEXT:   %17 = array.multiply %13, %16 : tensor<4x5xf64>
// GRAD-NEXT:   %y_ct = array.subtract %15, %17 : tensor<4x5xf64>
// GRAD-NEXT:   %18 = array.full {value = 0.0} : tensor<4x5xf64>
// GRAD-NEXT:   %19 = array.greater %y, %18 : tensor<4x5xf64>, tensor<4x5xf64> -> tensor<4x5xi1>
// GRAD-NEXT:   %h_ct = grad.gate %y_ct, %19, %y : tensor<4x5xf64>, tensor<4x5xi1>, tensor<4x5xf64> -> tensor<4x5xf64>
// GRAD-NEXT:   %20 = array.permute_dims %h_ct {axes = [1, 0]} : tensor<4x5xf64> -> tensor<5x4xf64>
// GRAD-NEXT:   %w_ct = array.matmul %20, %x : tensor<5x4xf64>, tensor<4x3xf64> -> tensor<5x3xf64>
// GRAD-NEXT:   %b_ct = array.sum %h_ct {axis = 0} : tensor<4x5xf64> -> tensor<5xf64>
// GRAD-NEXT:   func.return %loss, %w_ct, %b_ct : tensor<f64>, tensor<5x3xf64>, tensor<5xf64>
// GRAD-NEXT: }
