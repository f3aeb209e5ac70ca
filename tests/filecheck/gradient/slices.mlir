// RUN: gradir-opt %s -p 'gradir-gradient{function=f mode=vjp req="w=slices"}' | filecheck %s

// The gradient of a table as the rows that were read. What was read last comes first.
func.func @f(%w: tensor<1000x8xf32> {grad.name = "w"}, %i: tensor<3xi32>, %j: tensor<2xi64>) -> (tensor<3x8xf32>, tensor<2x8xf32>) {
  %a = array.take %w, %i {axis = 0} : tensor<1000x8xf32>, tensor<3xi32> -> tensor<3x8xf32>
  %b = nn.embedding %w, %j {padding_idx = 0} : tensor<1000x8xf32>, tensor<2xi64> -> tensor<2x8xf32>
  func.return %a, %b : tensor<3x8xf32>, tensor<2x8xf32>
}

//      CHECK: func.func @f(%w: tensor<1000x8xf32> {grad.name = "w"}, %i: tensor<3xi32>, %j: tensor<2xi64>) -> (tensor<3x8xf32>, tensor<2x8xf32>) {
// CHECK-NEXT:   %a = array.take %w, %i {axis = 0} : tensor<1000x8xf32>, tensor<3xi32> -> tensor<3x8xf32>
// CHECK-NEXT:   %b = nn.embedding %w, %j {padding_idx = 0} : tensor<1000x8xf32>, tensor<2xi64> -> tensor<2x8xf32>
// CHECK-NEXT:   func.return %a, %b : tensor<3x8xf32>, tensor<2x8xf32>
// CHECK-NEXT: }
//      CHECK: func.func @f_vjp(%w: tensor<1000x8xf32> {grad.name = "w"}, %i: tensor<3xi32>, %j: tensor<2xi64>, %a_ct: tensor<3x8xf32>, %b_ct: tensor<2x8xf32>) -> (tensor<3x8xf32>, tensor<2x8xf32>, !grad.slices<1000x8xf32, count = 5>) {
// CHECK-NEXT:   %a = array.take %w, %i {axis = 0} : tensor<1000x8xf32>, tensor<3xi32> -> tensor<3x8xf32>
// CHECK-NEXT:   %b = nn.embedding %w, %j {padding_idx = 0} : tensor<1000x8xf32>, tensor<2xi64> -> tensor<2x8xf32>
// CHECK-NEXT:   %0 = array.full {value = 0} : tensor<2xi64>
// CHECK-NEXT:   %1 = array.equal %j, %0 : tensor<2xi64>, tensor<2xi64> -> tensor<2xi1>
// CHECK-NEXT:   %2 = array.full {value = -1000} : tensor<2xi64>
// CHECK-NEXT:   %3 = array.equal %j, %2 : tensor<2xi64>, tensor<2xi64> -> tensor<2xi1>
// CHECK-NEXT:   %4 = array.logical_or %1, %3 : tensor<2xi1>
// CHECK-NEXT:   %5 = array.reshape %4 : tensor<2xi1> -> tensor<2x1xi1>
// CHECK-NEXT:   %6 = array.broadcast_to %5 : tensor<2x1xi1> -> tensor<2x8xi1>
// CHECK-NEXT:   %7 = array.full {value = 0.0} : tensor<2x8xf32>
// CHECK-NEXT:   %8 = array.where %6, %7, %b_ct : tensor<2x8xi1>, tensor<2x8xf32>, tensor<2x8xf32> -> tensor<2x8xf32>
// CHECK-NEXT:   %9 = array.less %j, %2 : tensor<2xi64>, tensor<2xi64> -> tensor<2xi1>
// CHECK-NEXT:   %10 = array.full {value = 1000} : tensor<2xi64>
// CHECK-NEXT:   %11 = array.add %j, %10 : tensor<2xi64>
// CHECK-NEXT:   %12 = array.where %9, %j, %11 : tensor<2xi1>, tensor<2xi64>, tensor<2xi64> -> tensor<2xi64>
// CHECK-NEXT:   %13 = array.less %j, %0 : tensor<2xi64>, tensor<2xi64> -> tensor<2xi1>
// CHECK-NEXT:   %14 = array.where %13, %12, %j : tensor<2xi1>, tensor<2xi64>, tensor<2xi64> -> tensor<2xi64>
// CHECK-NEXT:   %w_ct = grad.slices %14, %8 : tensor<2xi64>, tensor<2x8xf32> -> !grad.slices<1000x8xf32, count = 2>
// CHECK-NEXT:   %15 = array.astype %i : tensor<3xi32> -> tensor<3xi64>
// CHECK-NEXT:   %16 = array.full {value = -1000} : tensor<3xi64>
// CHECK-NEXT:   %17 = array.less %15, %16 : tensor<3xi64>, tensor<3xi64> -> tensor<3xi1>
// CHECK-NEXT:   %18 = array.full {value = 1000} : tensor<3xi64>
// CHECK-NEXT:   %19 = array.add %15, %18 : tensor<3xi64>
// CHECK-NEXT:   %20 = array.where %17, %15, %19 : tensor<3xi1>, tensor<3xi64>, tensor<3xi64> -> tensor<3xi64>
// CHECK-NEXT:   %21 = array.full {value = 0} : tensor<3xi64>
// CHECK-NEXT:   %22 = array.less %15, %21 : tensor<3xi64>, tensor<3xi64> -> tensor<3xi1>
// CHECK-NEXT:   %23 = array.where %22, %20, %15 : tensor<3xi1>, tensor<3xi64>, tensor<3xi64> -> tensor<3xi64>
// CHECK-NEXT:   %w_ct_1 = grad.slices %23, %a_ct : tensor<3xi64>, tensor<3x8xf32> -> !grad.slices<1000x8xf32, count = 3>
// CHECK-NEXT:   %w_ct_2 = grad.accumulate %w_ct, %w_ct_1 : !grad.slices<1000x8xf32, count = 2>, !grad.slices<1000x8xf32, count = 3> -> !grad.slices<1000x8xf32, count = 5>
// CHECK-NEXT:   func.return %a, %b, %w_ct_2 : tensor<3x8xf32>, tensor<2x8xf32>, !grad.slices<1000x8xf32, count = 5>
// CHECK-NEXT: }
