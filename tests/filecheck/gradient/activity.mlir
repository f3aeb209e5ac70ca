// RUN: gradir-opt %s --split-input-file -p "gradir-gradient{function=f mode=vjp}" | filecheck %s

// Integer values are inactive; a cotangent stops where a float becomes an integer.
func.func @f(%x: tensor<4xf64>, %n: tensor<4xi64>) -> tensor<4xf64> {
  %whole = array.astype %x : tensor<4xf64> -> tensor<4xi64>
  %sum = array.add %whole, %n : tensor<4xi64>
  %scale = array.astype %sum : tensor<4xi64> -> tensor<4xf64>
  %y = array.multiply %x, %scale : tensor<4xf64>
  func.return %y : tensor<4xf64>
}

//      CHECK: func.func @f_vjp(%x: tensor<4xf64>, %n: tensor<4xi64>, %y_ct: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>) {
// CHECK-NEXT:   %whole = array.astype %x : tensor<4xf64> -> tensor<4xi64>
// CHECK-NEXT:   %sum = array.add %whole, %n : tensor<4xi64>
// CHECK-NEXT:   %scale = array.astype %sum : tensor<4xi64> -> tensor<4xf64>
// CHECK-NEXT:   %y = array.multiply %x, %scale : tensor<4xf64>
// CHECK-NEXT:   %x_ct = array.multiply %y_ct, %scale : tensor<4xf64>
// CHECK-NEXT:   func.return %y, %x_ct : tensor<4xf64>, tensor<4xf64>
// CHECK-NEXT: }

// -----

// Nothing flows through grad.no_grad, and what only reaches it needs no derivative.
func.func @f(%x: tensor<4xf64>) -> tensor<4xf64> {
  %dynamic = tensor.cast %x : tensor<4xf64> to tensor<?xf64>
  %static = tensor.cast %dynamic : tensor<?xf64> to tensor<4xf64>
  %fixed = grad.no_grad %static : tensor<4xf64>
  %y = array.multiply %x, %fixed : tensor<4xf64>
  func.return %y : tensor<4xf64>
}

//      CHECK: func.func @f_vjp(%x: tensor<4xf64>, %y_ct: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>) {
// CHECK-NEXT:   %dynamic = tensor.cast %x : tensor<4xf64> to tensor<?xf64>
// CHECK-NEXT:   %static = tensor.cast %dynamic : tensor<?xf64> to tensor<4xf64>
// CHECK-NEXT:   %fixed = grad.no_grad %static : tensor<4xf64>
// CHECK-NEXT:   %y = array.multiply %x, %fixed : tensor<4xf64>
// CHECK-NEXT:   %x_ct = array.multiply %y_ct, %fixed : tensor<4xf64>
// CHECK-NEXT:   func.return %y, %x_ct : tensor<4xf64>, tensor<4xf64>
// CHECK-NEXT: }

// -----

// An argument marked inactive has no gradient, and nothing is computed for it.
func.func @f(%x: tensor<4xf64>, %y: tensor<4xf64> {grad.inactive}) -> tensor<4xf64> {
  %z = array.multiply %x, %y : tensor<4xf64>
  %e = array.exp %y : tensor<4xf64>
  %r = array.add %z, %e : tensor<4xf64>
  func.return %r : tensor<4xf64>
}

//      CHECK: func.func @f_vjp(%x: tensor<4xf64>, %y: tensor<4xf64> {grad.inactive}, %r_ct: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>) {
// CHECK-NEXT:   %z = array.multiply %x, %y : tensor<4xf64>
// CHECK-NEXT:   %e = array.exp %y : tensor<4xf64>
// CHECK-NEXT:   %r = array.add %z, %e : tensor<4xf64>
// CHECK-NEXT:   %x_ct = array.multiply %r_ct, %y : tensor<4xf64>
// CHECK-NEXT:   func.return %r, %x_ct : tensor<4xf64>, tensor<4xf64>
// CHECK-NEXT: }

// -----

// What does not reach a result gets zeros; dead code is dropped from the copy.
func.func @f(%x: tensor<4xf64>, %y: tensor<4xf64>) -> tensor<f64> {
  %dead = array.tanh %y : tensor<4xf64>
  %s = array.sum %x : tensor<4xf64> -> tensor<f64>
  func.return %s : tensor<f64>
}

//      CHECK: func.func @f_vjp(%x: tensor<4xf64>, %y: tensor<4xf64>, %s_ct: tensor<f64>) -> (tensor<f64>, tensor<4xf64>, tensor<4xf64>) {
// CHECK-NEXT:   %s = array.sum %x : tensor<4xf64> -> tensor<f64>
// CHECK-NEXT:   %0 = array.reshape %s_ct : tensor<f64> -> tensor<1xf64>
// CHECK-NEXT:   %x_ct = array.broadcast_to %0 : tensor<1xf64> -> tensor<4xf64>
// CHECK-NEXT:   %y_ct = grad.zero : tensor<4xf64>
// CHECK-NEXT:   func.return %s, %x_ct, %y_ct : tensor<f64>, tensor<4xf64>, tensor<4xf64>
// CHECK-NEXT: }

// -----

// Integer results have no cotangent, and are returned.
func.func @f(%x: tensor<4xf64>) -> (tensor<4xi1>, tensor<4xf64>) {
  %zero = array.full {value = 0.0} : tensor<4xf64>
  %positive = array.greater %x, %zero : tensor<4xf64>, tensor<4xf64> -> tensor<4xi1>
  %y = array.where %positive, %x, %zero : tensor<4xi1>, tensor<4xf64>, tensor<4xf64> -> tensor<4xf64>
  func.return %positive, %y : tensor<4xi1>, tensor<4xf64>
}

//      CHECK: func.func @f_vjp(%x: tensor<4xf64>, %y_ct: tensor<4xf64>) -> (tensor<4xi1>, tensor<4xf64>, tensor<4xf64>) {
// CHECK-NEXT:   %zero = array.full {value = 0.0} : tensor<4xf64>
// CHECK-NEXT:   %positive = array.greater %x, %zero : tensor<4xf64>, tensor<4xf64> -> tensor<4xi1>
// CHECK-NEXT:   %y = array.where %positive, %x, %zero : tensor<4xi1>, tensor<4xf64>, tensor<4xf64> -> tensor<4xf64>
// CHECK-NEXT:   %0 = array.full {value = 0.0} : tensor<4xf64>
// CHECK-NEXT:   %x_ct = array.where %positive, %y_ct, %0 : tensor<4xi1>, tensor<4xf64>, tensor<4xf64> -> tensor<4xf64>
// CHECK-NEXT:   func.return %positive, %y, %x_ct : tensor<4xi1>, tensor<4xf64>, tensor<4xf64>
// CHECK-NEXT: }

// -----

// Piecewise constant: the gradient is zero.
func.func @f(%x: tensor<4xf64>) -> tensor<4xf64> {
  %y = array.floor %x : tensor<4xf64>
  func.return %y : tensor<4xf64>
}

//      CHECK: func.func @f_vjp(%x: tensor<4xf64>, %y_ct: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>) {
// CHECK-NEXT:   %y = array.floor %x : tensor<4xf64>
// CHECK-NEXT:   %x_ct = grad.zero : tensor<4xf64>
// CHECK-NEXT:   func.return %y, %x_ct : tensor<4xf64>, tensor<4xf64>
// CHECK-NEXT: }

// -----

// An argument that is returned; the same value returned twice.
func.func @f(%x: tensor<4xf64>, %y: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>, tensor<4xf64>) {
  %z = array.multiply %x, %y : tensor<4xf64>
  func.return %x, %z, %z : tensor<4xf64>, tensor<4xf64>, tensor<4xf64>
}

//      CHECK: func.func @f_vjp(%x: tensor<4xf64>, %y: tensor<4xf64>, %x_ct: tensor<4xf64>, %z_ct: tensor<4xf64>, %z_ct_1: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>) {
// CHECK-NEXT:   %z = array.multiply %x, %y : tensor<4xf64>
// CHECK-NEXT:   %z_ct_2 = grad.accumulate %z_ct, %z_ct_1 : tensor<4xf64>
// CHECK-NEXT:   %x_ct_1 = array.multiply %z_ct_2, %y : tensor<4xf64>
// CHECK-NEXT:   %y_ct = array.multiply %z_ct_2, %x : tensor<4xf64>
// CHECK-NEXT:   %x_ct_2 = grad.accumulate %x_ct, %x_ct_1 : tensor<4xf64>
// CHECK-NEXT:   func.return %x, %z, %z, %x_ct_2, %y_ct : tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>
// CHECK-NEXT: }
