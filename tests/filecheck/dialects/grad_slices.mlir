// RUN: gradir-opt %s | filecheck %s
// RUN: gradir-opt %s --print-op-generic | gradir-opt | filecheck %s

func.func @f(%i: tensor<5xi64>, %v: tensor<5x2xf64>, %d: tensor<4x2xf64>) -> (tensor<4x2xf64>, !grad.slices<4x2xf64, count = 10>) {
  %s = grad.slices %i, %v : tensor<5xi64>, tensor<5x2xf64> -> !grad.slices<4x2xf64, count = 5>
  %m = grad.coalesce %s {mode = "mean"} : !grad.slices<4x2xf64, count = 5>
  %n = grad.slice_indices %m : !grad.slices<4x2xf64, count = 5> -> tensor<5xi64>
  %b = grad.accumulate %s, %m : !grad.slices<4x2xf64, count = 5>, !grad.slices<4x2xf64, count = 5> -> !grad.slices<4x2xf64, count = 10>
  %t = grad.accumulate %d, %s : tensor<4x2xf64>, !grad.slices<4x2xf64, count = 5> -> tensor<4x2xf64>
  %x = grad.densify %b : !grad.slices<4x2xf64, count = 10> -> tensor<4x2xf64>
  %y = array.add %x, %t : tensor<4x2xf64>
  func.return %y, %b : tensor<4x2xf64>, !grad.slices<4x2xf64, count = 10>
}
func.func @unknown(%s: !grad.slices<4xf64>) -> !grad.slices<4xf64> {
  func.return %s : !grad.slices<4xf64>
}

//      CHECK: func.func @f(%i: tensor<5xi64>, %v: tensor<5x2xf64>, %d: tensor<4x2xf64>) -> (tensor<4x2xf64>, !grad.slices<4x2xf64, count = 10>) {
// CHECK-NEXT:   %s = grad.slices %i, %v : tensor<5xi64>, tensor<5x2xf64> -> !grad.slices<4x2xf64, count = 5>
// CHECK-NEXT:   %m = grad.coalesce %s {mode = "mean"} : !grad.slices<4x2xf64, count = 5>
// CHECK-NEXT:   %n = grad.slice_indices %m : !grad.slices<4x2xf64, count = 5> -> tensor<5xi64>
// CHECK-NEXT:   %b = grad.accumulate %s, %m : !grad.slices<4x2xf64, count = 5>, !grad.slices<4x2xf64, count = 5> -> !grad.slices<4x2xf64, count = 10>
// CHECK-NEXT:   %t = grad.accumulate %d, %s : tensor<4x2xf64>, !grad.slices<4x2xf64, count = 5> -> tensor<4x2xf64>
// CHECK-NEXT:   %x = grad.densify %b : !grad.slices<4x2xf64, count = 10> -> tensor<4x2xf64>
// CHECK-NEXT:   %y = array.add %x, %t : tensor<4x2xf64>
// CHECK-NEXT:   func.return %y, %b : tensor<4x2xf64>, !grad.slices<4x2xf64, count = 10>
// CHECK-NEXT: }
//      CHECK: func.func @unknown(%s: !grad.slices<4xf64>) -> !grad.slices<4xf64> {
// CHECK-NEXT:   func.return %s : !grad.slices<4xf64>
// CHECK-NEXT: }
