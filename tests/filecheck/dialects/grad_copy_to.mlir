// RUN: gradir-opt %s -p 'gradir-gradient{function=f mode=vjp}' | filecheck %s

// The cotangent goes the way back.

func.func @f(%x: tensor<3xf32>) -> tensor<3xf32> {
  %there = grad.copy_to %x {space = "cpu:1"} : tensor<3xf32>
  %y = array.exp %there : tensor<3xf32>
  %back = grad.copy_to %y {space = "cpu:0", source = "cpu:1"} : tensor<3xf32>
  func.return %back : tensor<3xf32>
}

//      CHECK: func.func @f_vjp(%x: tensor<3xf32>, %back_ct: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
// CHECK-NEXT:   %there = grad.copy_to %x {space = "cpu:1"} : tensor<3xf32>
// CHECK-NEXT:   %y = array.exp %there : tensor<3xf32>
// CHECK-NEXT:   %back = grad.copy_to %y {space = "cpu:0", source = "cpu:1"} : tensor<3xf32>
// CHECK-NEXT:   %y_ct = grad.copy_to %back_ct {space = "cpu:1", source = "cpu:0"} : tensor<3xf32>
// CHECK-NEXT:   %there_ct = array.multiply %y_ct, %y : tensor<3xf32>
// CHECK-NEXT:   %x_ct = grad.copy_to %there_ct {space = "cpu:0", source = "cpu:1"} : tensor<3xf32>
// CHECK-NEXT:   func.return %back, %x_ct : tensor<3xf32>, tensor<3xf32>
// CHECK-NEXT: }
