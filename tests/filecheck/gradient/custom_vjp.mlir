// RUN: gradir-opt %s --split-input-file -p "gradir-gradient{function=f mode=vjp}" | filecheck %s

// Of @step nothing is looked at, not even that it has an op without a derivative; %n is an integer,
// and %c does not take part. The vjp is not what the forward function says: it passes ct on.
grad.custom_vjp @step, @step_forward, @step_backward
func.func @step(%x: tensor<4xf64>, %n: tensor<4xi64>, %c: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xi64>, tensor<4xf64>) {
  %y = "test.op"(%x, %c) : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
  func.return %y, %n, %y : tensor<4xf64>, tensor<4xi64>, tensor<4xf64>
}
func.func @step_forward(%x: tensor<4xf64>, %n: tensor<4xi64>, %c: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xi64>, tensor<4xf64>, tensor<4xf64>) {
  %y = array.floor %x : tensor<4xf64>
  func.return %y, %n, %y, %c : tensor<4xf64>, tensor<4xi64>, tensor<4xf64>, tensor<4xf64>
}
func.func @step_backward(%c: tensor<4xf64>, %y_ct: tensor<4xf64>, %z_ct: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>) {
  %c_ct = array.multiply %z_ct, %c : tensor<4xf64>
  func.return %y_ct, %c_ct : tensor<4xf64>, tensor<4xf64>
}
func.func @f(%x: tensor<4xf64>, %n: tensor<4xi64>, %c: tensor<4xf64> {grad.inactive}) -> tensor<4xf64> {
  %y, %m, %z = func.call @step(%x, %n, %c) : (tensor<4xf64>, tensor<4xi64>, tensor<4xf64>) -> (tensor<4xf64>, tensor<4xi64>, tensor<4xf64>)
  %w = array.tanh %y : tensor<4xf64>
  func.return %w : tensor<4xf64>
}

//      CHECK: grad.custom_vjp @step, @step_forward, @step_backward
//      CHECK: func.func @f_vjp(%x: tensor<4xf64>, %n: tensor<4xi64>, %c: tensor<4xf64> {grad.inactive}, %w_ct: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>) {
// CHECK-NEXT:   %y, %m, %z, %c_1 = func.call @step_forward(%x, %n, %c) : (tensor<4xf64>, tensor<4xi64>, tensor<4xf64>) -> (tensor<4xf64>, tensor<4xi64>, tensor<4xf64>, tensor<4xf64>)
// CHECK-NEXT:   %w = array.tanh %y : tensor<4xf64>
// CHECK-NEXT:   %0 = array.multiply %w, %w : tensor<4xf64>
// CHECK-NEXT:   %1 = array.full {value = 1.0} : tensor<4xf64>
// CHECK-NEXT:   %2 = array.subtract %1, %0 : tensor<4xf64>
// CHECK-NEXT:   %y_ct = array.multiply %w_ct, %2 : tensor<4xf64>
// CHECK-NEXT:   %3 = grad.zero : tensor<4xf64>
// CHECK-NEXT:   %x_ct, %4 = func.call @step_backward(%c_1, %y_ct, %3) : (tensor<4xf64>, tensor<4xf64>, tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>)
// CHECK-NEXT:   func.return %w, %x_ct : tensor<4xf64>, tensor<4xf64>
// CHECK-NEXT: }

// -----

// The derivative of the function itself is that of a call of it.
grad.custom_vjp @f, @f_forward, @f_backward
func.func @f(%x: tensor<4xf64>, %w: tensor<4xf64> {grad.name = "w"}) -> tensor<4xf64> {
  %y = array.multiply %x, %w : tensor<4xf64>
  func.return %y : tensor<4xf64>
}
func.func @f_forward(%x: tensor<4xf64>, %w: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>, tensor<4xf64>) {
  %y = func.call @f(%x, %w) : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
  func.return %y, %x, %w : tensor<4xf64>, tensor<4xf64>, tensor<4xf64>
}
func.func @f_backward(%x: tensor<4xf64>, %w: tensor<4xf64>, %y_ct: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>) {
  %x_ct = array.multiply %y_ct, %w : tensor<4xf64>
  %w_ct = array.multiply %y_ct, %x : tensor<4xf64>
  func.return %x_ct, %w_ct : tensor<4xf64>, tensor<4xf64>
}

//      CHECK: func.func @f(%x: tensor<4xf64>, %w: tensor<4xf64> {grad.name = "w"}) -> tensor<4xf64> {
// CHECK-NEXT:   %y = array.multiply %x, %w : tensor<4xf64>
// CHECK-NEXT:   func.return %y : tensor<4xf64>
// CHECK-NEXT: }
// CHECK-NEXT: func.func @f_vjp(%x: tensor<4xf64>, %w: tensor<4xf64> {grad.name = "w"}, %y_ct: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>, tensor<4xf64>) {
// CHECK-NEXT:   %y, %x_1, %w_1 = func.call @f_forward(%x, %w) : (tensor<4xf64>, tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>, tensor<4xf64>)
// CHECK-NEXT:   %x_ct, %w_ct = func.call @f_backward(%x_1, %w_1, %y_ct) : (tensor<4xf64>, tensor<4xf64>, tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>)
// CHECK-NEXT:   func.return %y, %x_ct, %w_ct : tensor<4xf64>, tensor<4xf64>, tensor<4xf64>
// CHECK-NEXT: }
