// RUN: gradir-opt %s -p "gradir-gradient{function=f mode=vjp}" --print-debuginfo | filecheck %s

// What is made for an op has the op's location; what stands for none has that of the function.
func.func @f(%x: tensor<4xf64>, %w: tensor<4xf64>) -> tensor<4xf64> {
  %y = array.exp %x : tensor<4xf64> loc("model.py":7:3)
  %z = array.multiply %y, %x : tensor<4xf64>
  func.return %z : tensor<4xf64>
}

//      CHECK: func.func @f_vjp(%x: tensor<4xf64> loc(unknown), %w: tensor<4xf64> loc(unknown), %z_ct: tensor<4xf64> loc(unknown)) -> (tensor<4xf64>, tensor<4xf64>, tensor<4xf64>) {
// CHECK-NEXT:   %y = array.exp %x : tensor<4xf64> loc("model.py":7:3)
// CHECK-NEXT:   %z = array.multiply %y, %x : tensor<4xf64> loc("{{.*}}locations.mlir":6:3)
// CHECK-NEXT:   %y_ct = array.multiply %z_ct, %x : tensor<4xf64> loc("{{.*}}locations.mlir":6:3)
// CHECK-NEXT:   %x_ct = array.multiply %z_ct, %y : tensor<4xf64> loc("{{.*}}locations.mlir":6:3)
// CHECK-NEXT:   %x_ct_1 = array.multiply %y_ct, %y : tensor<4xf64> loc("model.py":7:3)
// CHECK-NEXT:   %x_ct_2 = grad.accumulate %x_ct, %x_ct_1 : tensor<4xf64> loc("{{.*}}locations.mlir":4:1)
// CHECK-NEXT:   %w_ct = grad.zero : tensor<4xf64> loc("{{.*}}locations.mlir":4:1)
// CHECK-NEXT:   func.return %z, %x_ct_2, %w_ct : tensor<4xf64>, tensor<4xf64>, tensor<4xf64> loc("{{.*}}locations.mlir":7:3)
// CHECK-NEXT: } loc("{{.*}}locations.mlir":4:1)
