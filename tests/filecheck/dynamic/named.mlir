// RUN: gradir-opt %s -p "gradir-specialize{function=f shapes=5x3,2}" | filecheck %s
// RUN: gradir-opt %s -p "gradir-gradient{function=means mode=grad wrt=0},gradir-specialize{function=means_grad shapes=4x3}" | filecheck %s --check-prefix=GRADIENT
// RUN: GRADIR_ROUNDTRIP --check-prefix=TEXT

// Each ? has a name, or an expression of names. Equal names are equal extents, in callees too.
func.func @f(%x: tensor<?x3xf64, "n">, %y: tensor<?xf64, "m">) -> (tensor<?x3xf64, "n - 1">, tensor<?xf64, "m + n">, tensor<i64>, index) attributes {grad.requires = ["n >= 1"]} {
  %later = array.slice %x {start = [1, 0], stop = [#grad.extent<"n">, 3]} : tensor<?x3xf64, "n"> -> tensor<?x3xf64, "n - 1">
  %one = array.full {value = 1.0} : tensor<?xf64, "n">
  %both = array.concat %one, %y {axis = 0} : tensor<?xf64, "n">, tensor<?xf64, "m"> -> tensor<?xf64, "m + n">
  %count = func.call @count(%y) : (tensor<?xf64, "m">) -> tensor<i64>
  %half = grad.extent "(n + 1)//2" : index
  func.return %later, %both, %count, %half : tensor<?x3xf64, "n - 1">, tensor<?xf64, "m + n">, tensor<i64>, index
}

func.func @count(%y: tensor<?xf64, "m">) -> tensor<i64> {
  %n = grad.extent "2*m + n" : tensor<i64>
  func.return %n : tensor<i64>
}

func.func @means(%x: tensor<?x3xf64, "n">) -> tensor<f64> {
  %y = array.mean %x : tensor<?x3xf64, "n"> -> tensor<f64>
  func.return %y : tensor<f64>
}

// CHECK: func.func @f(%x: tensor<5x3xf64>, %y: tensor<2xf64>) -> (tensor<4x3xf64>, tensor<7xf64>, tensor<i64>, index) {
// CHECK-NEXT: %later = array.slice %x {start = [1, 0], stop = [5, 3]} : tensor<5x3xf64> -> tensor<4x3xf64>
// CHECK-NEXT: %one = array.full {value = 1.0} : tensor<5xf64>
// CHECK-NEXT: %both = array.concat %one, %y {axis = 0} : tensor<5xf64>, tensor<2xf64> -> tensor<7xf64>
// CHECK-NEXT: %count = func.call @count_5x2(%y) : (tensor<2xf64>) -> tensor<i64>
// CHECK-NEXT: %half = arith.constant 3 : index
// CHECK-NEXT: func.return %later, %both, %count, %half : tensor<4x3xf64>, tensor<7xf64>, tensor<i64>, index
// CHECK-NEXT: }
// CHECK: func.func @count_5x2(%y: tensor<2xf64>) -> tensor<i64> {
// CHECK-NEXT: %n = array.full {value = 9} : tensor<i64>
// CHECK-NEXT: func.return %n : tensor<i64>
// CHECK-NEXT: }

// GRADIENT: func.func @means_grad(%x: tensor<4x3xf64>) -> (tensor<f64>, tensor<4x3xf64>) {
// GRADIENT-NEXT: %y = array.mean %x : tensor<4x3xf64> -> tensor<f64>
// GRADIENT-NEXT: %y_ct = array.full {value = 1.0} : tensor<f64>
// GRADIENT-NEXT: %0 = array.full {value = 12.0} : tensor<f64>
// GRADIENT-NEXT: %1 = array.divide %y_ct, %0 : tensor<f64>
// GRADIENT-NEXT: %2 = array.reshape %1 : tensor<f64> -> tensor<1x1xf64>
// GRADIENT-NEXT: %x_ct = array.broadcast_to %2 : tensor<1x1xf64> -> tensor<4x3xf64>
// GRADIENT-NEXT: func.return %y, %x_ct : tensor<f64>, tensor<4x3xf64>
// GRADIENT-NEXT: }

// TEXT: %later = array.slice %x {start = [1, 0], stop = [#grad.extent<"n">, 3]} : tensor<?x3xf64, "n"> -> tensor<?x3xf64, "n - 1">
// TEXT: %half = grad.extent "(n + 1)//2" : index
