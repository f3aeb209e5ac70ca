// RUN: gradir-opt %s -p "gradir-expand-slices" | filecheck %s

func.func @loop(%s: !grad.slices<4xf64, count = 3>, %low: index, %high: index, %step: index) -> !grad.slices<4xf64, count = 3> {
  %r = scf.for %i = %low to %high step %step iter_args(%a = %s) -> (!grad.slices<4xf64, count = 3>) {
    %b = func.call @same(%a) : (!grad.slices<4xf64, count = 3>) -> !grad.slices<4xf64, count = 3>
    scf.yield %b : !grad.slices<4xf64, count = 3>
  }
  func.return %r : !grad.slices<4xf64, count = 3>
}
func.func @same(%s: !grad.slices<4xf64, count = 3>) -> !grad.slices<4xf64, count = 3> {
  func.return %s : !grad.slices<4xf64, count = 3>
}
func.func @sums(%i: tensor<2xi64>, %v: tensor<2xf64>, %s: !grad.slices<4xf64, count = 3>, %d: tensor<4xf64>) -> (tensor<4xf64>, !grad.slices<4xf64, count = 5>) {
  %t = grad.slices %i, %v : tensor<2xi64>, tensor<2xf64> -> !grad.slices<4xf64, count = 2>
  %c = grad.accumulate %t, %s : !grad.slices<4xf64, count = 2>, !grad.slices<4xf64, count = 3> -> !grad.slices<4xf64, count = 5>
  %y = grad.accumulate %s, %d, %d : !grad.slices<4xf64, count = 3>, tensor<4xf64>, tensor<4xf64> -> tensor<4xf64>
  func.return %y, %c : tensor<4xf64>, !grad.slices<4xf64, count = 5>
}
func.func @coalesced(%s: !grad.slices<4xf64, count = 3>) -> tensor<4xf64> {
  %c = grad.coalesce %s : !grad.slices<4xf64, count = 3>
  %y = grad.densify %c : !grad.slices<4xf64, count = 3> -> tensor<4xf64>
  func.return %y : tensor<4xf64>
}

//      CHECK: func.func @loop(%s_indices: tensor<3xi64>, %s_values: tensor<3xf64>, %low: index, %high: index, %step: index) -> (tensor<3xi64>, tensor<3xf64>) {
// CHECK-NEXT:   %r_indices, %r_values = scf.for %i = %low to %high step %step iter_args(%a_indices = %s_indices, %a_values = %s_values) -> (tensor<3xi64>, tensor<3xf64>) {
// CHECK-NEXT:     %b_indices, %b_values = func.call @same(%a_indices, %a_values) : (tensor<3xi64>, tensor<3xf64>) -> (tensor<3xi64>, tensor<3xf64>)
// CHECK-NEXT:     scf.yield %b_indices, %b_values : tensor<3xi64>, tensor<3xf64>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %r_indices, %r_values : tensor<3xi64>, tensor<3xf64>
// CHECK-NEXT: }
//      CHECK: func.func @same(%s_indices: tensor<3xi64>, %s_values: tensor<3xf64>) -> (tensor<3xi64>, tensor<3xf64>) {
// CHECK-NEXT:   func.return %s_indices, %s_values : tensor<3xi64>, tensor<3xf64>
// CHECK-NEXT: }
//      CHECK: func.func @sums(%i: tensor<2xi64>, %v: tensor<2xf64>, %s_indices: tensor<3xi64>, %s_values: tensor<3xf64>, %d: tensor<4xf64>) -> (tensor<4xf64>, tensor<5xi64>, tensor<5xf64>) {
// CHECK-NEXT:   %c_indices = array.concat %i, %s_indices {axis = 0} : tensor<2xi64>, tensor<3xi64> -> tensor<5xi64>
// CHECK-NEXT:   %c_values = array.concat %v, %s_values {axis = 0} : tensor<2xf64>, tensor<3xf64> -> tensor<5xf64>
// CHECK-NEXT:   %0 = array.scatter_add %d, %s_indices, %s_values {axis = 0, gradir.source = "grad.accumulate"} : tensor<4xf64>, tensor<3xi64>, tensor<3xf64> -> tensor<4xf64>
// CHECK-NEXT:   %y = grad.accumulate %0, %d : tensor<4xf64>
// CHECK-NEXT:   func.return %y, %c_indices, %c_values : tensor<4xf64>, tensor<5xi64>, tensor<5xf64>
// CHECK-NEXT: }
//      CHECK: func.func @coalesced(%s_indices: tensor<3xi64>, %s_values: tensor<3xf64>) -> tensor<4xf64> {
// CHECK-NEXT:   %0 = array.full {value = -4} : tensor<3xi64>
// CHECK-NEXT:   %1 = array.less %s_indices, %0 : tensor<3xi64>, tensor<3xi64> -> tensor<3xi1>
// CHECK-NEXT:   %2 = array.full {value = 4} : tensor<3xi64>
// CHECK-NEXT:   %3 = array.add %s_indices, %2 : tensor<3xi64>
// CHECK-NEXT:   %4 = array.where %1, %s_indices, %3 : tensor<3xi1>, tensor<3xi64>, tensor<3xi64> -> tensor<3xi64>
// CHECK-NEXT:   %5 = array.full {value = 0} : tensor<3xi64>
// CHECK-NEXT:   %6 = array.less %s_indices, %5 : tensor<3xi64>, tensor<3xi64> -> tensor<3xi1>
// CHECK-NEXT:   %7 = array.where %6, %4, %s_indices : tensor<3xi1>, tensor<3xi64>, tensor<3xi64> -> tensor<3xi64>
// CHECK-NEXT:   %8 = array.argsort %7 {axis = 0} : tensor<3xi64> -> tensor<3xi64>
// CHECK-NEXT:   %9 = array.take %7, %8 {axis = 0, gradir.source = "grad.coalesce"} : tensor<3xi64>, tensor<3xi64> -> tensor<3xi64>
// CHECK-NEXT:   %10 = array.take %s_values, %8 {axis = 0, gradir.source = "grad.coalesce"} : tensor<3xf64>, tensor<3xi64> -> tensor<3xf64>
// CHECK-NEXT:   %11 = array.slice %9 {start = [1], stop = [3]} : tensor<3xi64> -> tensor<2xi64>
// CHECK-NEXT:   %12 = array.slice %9 {start = [0], stop = [2]} : tensor<3xi64> -> tensor<2xi64>
// CHECK-NEXT:   %13 = array.not_equal %11, %12 : tensor<2xi64>, tensor<2xi64> -> tensor<2xi1>
// CHECK-NEXT:   %14 = array.astype %13 : tensor<2xi1> -> tensor<2xi64>
// CHECK-NEXT:   %15 = array.slice %9 {start = [0], stop = [1]} : tensor<3xi64> -> tensor<1xi64>
// CHECK-NEXT:   %16 = array.full {value = 1} : tensor<1xi64>
// CHECK-NEXT:   %17 = array.concat %16, %14 {axis = 0} : tensor<1xi64>, tensor<2xi64> -> tensor<3xi64>
// CHECK-NEXT:   %18 = array.cumulative_sum %17 {axis = 0} : tensor<3xi64>
// CHECK-NEXT:   %19 = array.full {value = 1} : tensor<3xi64>
// CHECK-NEXT:   %20 = array.subtract %18, %19 : tensor<3xi64>
// CHECK-NEXT:   %21 = array.slice %9 {start = [2], stop = [3]} : tensor<3xi64> -> tensor<1xi64>
// CHECK-NEXT:   %22 = array.broadcast_to %21 : tensor<1xi64> -> tensor<3xi64>
// CHECK-NEXT:   %23 = array.full {value = 0.0} : tensor<3xf64>
// CHECK-NEXT:   %c_values = array.scatter_add %23, %20, %10 {axis = 0, gradir.source = "grad.coalesce"} : tensor<3xf64>, tensor<3xi64>, tensor<3xf64> -> tensor<3xf64>
// CHECK-NEXT:   %24 = array.full {value = 0} : tensor<3xi64>
// CHECK-NEXT:   %25 = array.subtract %9, %22 : tensor<3xi64>
// CHECK-NEXT:   %26 = array.multiply %25, %17 : tensor<3xi64>
// CHECK-NEXT:   %27 = array.scatter_add %24, %20, %26 {axis = 0, gradir.source = "grad.coalesce"} : tensor<3xi64>, tensor<3xi64>, tensor<3xi64> -> tensor<3xi64>
// CHECK-NEXT:   %c_indices = array.add %22, %27 : tensor<3xi64>
// CHECK-NEXT:   %28 = grad.zero : tensor<4xf64>
// CHECK-NEXT:   %y = array.scatter_add %28, %c_indices, %c_values {axis = 0, gradir.source = "grad.densify"} : tensor<4xf64>, tensor<3xi64>, tensor<3xf64> -> tensor<4xf64>
// CHECK-NEXT:   func.return %y : tensor<4xf64>
// CHECK-NEXT: }
