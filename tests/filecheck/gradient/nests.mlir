// RUN: gradir-opt %s -p "gradir-gradient{function=f mode=vjp}" | filecheck %s

// A stencil: each input has a nest that sums its cotangent; what is read outside has none.
func.func @f(%x: tensor<8xf64>, %w: tensor<8x3xf64>) -> tensor<8xf64> {
  %y = loopnest.nest [8, 3] (%0 = %x[d0 + d1 - 1] pad 1.0 : f64 : tensor<8xf64>,
      %1 = %w[d0, d1] : tensor<8x3xf64>, %2 = %x[d0 - 1] pad 0.0 : f64 : tensor<8xf64>)
      -> (add [d0] : tensor<8xf64>) {
    %3 = math.sin %0 : f64
    %4 = arith.mulf %3, %1 : f64
    %5 = arith.maximumf %4, %2 : f64
    loopnest.yield %5 : f64
  }
  func.return %y : tensor<8xf64>
}

//      CHECK: func.func @f_vjp(%x: tensor<8xf64>, %w: tensor<8x3xf64>, %y_ct: tensor<8xf64>) -> (tensor<8xf64>, tensor<8xf64>, tensor<8x3xf64>) {
// CHECK-NEXT:   %y = loopnest.nest [8, 3] (%0 = %x[d0 + d1 + -1] pad 1.000000e+00 : f64 : tensor<8xf64>, %1 = %w[d0, d1] : tensor<8x3xf64>, %2 = %x[d0 + -1] pad 0.000000e+00 : f64 : tensor<8xf64>) -> (add [d0] : tensor<8xf64>) {
// CHECK-NEXT:     %3 = math.sin %0 : f64
// CHECK-NEXT:     %4 = arith.mulf %3, %1 : f64
// CHECK-NEXT:     %5 = arith.maximumf %4, %2 : f64
// CHECK-NEXT:     loopnest.yield %5 : f64
// CHECK-NEXT:   }
// CHECK-NEXT:   %0 = loopnest.nest [8, 3] (%1 = %x[d0 + d1 + -1] pad 1.000000e+00 : f64 : tensor<8xf64>, %2 = %w[d0, d1] : tensor<8x3xf64>, %3 = %x[d0 + -1] pad 0.000000e+00 : f64 : tensor<8xf64>, %4 = %y_ct[d0] : tensor<8xf64>) -> (add [d0 + d1] : tensor<10xf64>) {
// CHECK-NEXT:     %5 = math.sin %1 : f64
// CHECK-NEXT:     %6 = arith.mulf %5, %2 : f64
// CHECK-NEXT:     %7 = arith.constant 5.000000e-01 : f64
// CHECK-NEXT:     %8 = arith.constant 1.000000e+00 : f64
// CHECK-NEXT:     %9 = arith.cmpf oeq, %6, %3 : f64
// CHECK-NEXT:     %10 = arith.select %9, %7, %8 : f64
// CHECK-NEXT:     %11 = arith.mulf %4, %10 : f64
// CHECK-NEXT:     %12 = arith.constant 0.000000e+00 : f64
// CHECK-NEXT:     %13 = arith.cmpf oge, %6, %3 : f64
// CHECK-NEXT:     %14 = arith.cmpf oeq, %6, %6 : f64
// CHECK-NEXT:     %15 = arith.select %14, %12, %6 : f64
// CHECK-NEXT:     %16 = arith.mulf %11, %2 : f64
// CHECK-NEXT:     %17 = math.cos %1 : f64
// CHECK-NEXT:     %18 = arith.mulf %16, %17 : f64
// CHECK-NEXT:     %19 = grad.gate %18, %13, %15 : f64, i1, f64 -> f64
// CHECK-NEXT:     loopnest.yield %19 : f64
// CHECK-NEXT:   }
// CHECK-NEXT:   %x_ct = loopnest.nest [8] (%1 = %0[d0 + 1] pad 0.000000e+00 : f64 : tensor<10xf64>) -> ([d0] : tensor<8xf64>) {
// CHECK-NEXT:     loopnest.yield %1 : f64
// CHECK-NEXT:   }
// CHECK-NEXT:   %w_ct = loopnest.nest [8, 3] (%1 = %x[d0 + d1 + -1] pad 1.000000e+00 : f64 : tensor<8xf64>, %2 = %w[d0, d1] : tensor<8x3xf64>, %3 = %x[d0 + -1] pad 0.000000e+00 : f64 : tensor<8xf64>, %4 = %y_ct[d0] : tensor<8xf64>) -> ([d0, d1] : tensor<8x3xf64>) {
// CHECK-NEXT:     %5 = math.sin %1 : f64
// CHECK-NEXT:     %6 = arith.mulf %5, %2 : f64
// CHECK-NEXT:     %7 = arith.constant 5.000000e-01 : f64
// CHECK-NEXT:     %8 = arith.constant 1.000000e+00 : f64
// CHECK-NEXT:     %9 = arith.cmpf oeq, %6, %3 : f64
// CHECK-NEXT:     %10 = arith.select %9, %7, %8 : f64
// CHECK-NEXT:     %11 = arith.mulf %4, %10 : f64
// CHECK-NEXT:     %12 = arith.constant 0.000000e+00 : f64
// CHECK-NEXT:     %13 = arith.cmpf oge, %6, %3 : f64
// CHECK-NEXT:     %14 = arith.cmpf oeq, %6, %6 : f64
// CHECK-NEXT:     %15 = arith.select %14, %12, %6 : f64
// CHECK-NEXT:     %16 = arith.mulf %11, %5 : f64
// CHECK-NEXT:     %17 = grad.gate %16, %13, %15 : f64, i1, f64 -> f64
// CHECK-NEXT:     loopnest.yield %17 : f64
// CHECK-NEXT:   }
// CHECK-NEXT:   %x_ct_1 = loopnest.nest [7, 3] (%1 = %x[d0 + d1] pad 1.000000e+00 : f64 : tensor<8xf64>, %2 = %w[d0 + 1, d1] : tensor<8x3xf64>, %3 = %x[d0] pad 0.000000e+00 : f64 : tensor<8xf64>, %4 = %y_ct[d0 + 1] : tensor<8xf64>) -> (add [d0] : tensor<8xf64>) {
// CHECK-NEXT:     %5 = math.sin %1 : f64
// CHECK-NEXT:     %6 = arith.mulf %5, %2 : f64
// CHECK-NEXT:     %7 = arith.constant 5.000000e-01 : f64
// CHECK-NEXT:     %8 = arith.constant 1.000000e+00 : f64
// CHECK-NEXT:     %9 = arith.cmpf oeq, %6, %3 : f64
// CHECK-NEXT:     %10 = arith.select %9, %7, %8 : f64
// CHECK-NEXT:     %11 = arith.mulf %4, %10 : f64
// CHECK-NEXT:     %12 = arith.constant 0.000000e+00 : f64
// CHECK-NEXT:     %13 = arith.cmpf oge, %3, %6 : f64
// CHECK-NEXT:     %14 = arith.cmpf oeq, %3, %3 : f64
// CHECK-NEXT:     %15 = arith.select %14, %12, %3 : f64
// CHECK-NEXT:     %16 = grad.gate %11, %13, %15 : f64, i1, f64 -> f64
// CHECK-NEXT:     loopnest.yield %16 : f64
// CHECK-NEXT:   }
// CHECK-NEXT:   %x_ct_2 = grad.accumulate %x_ct, %x_ct_1 : tensor<8xf64>
// CHECK-NEXT:   func.return %y, %x_ct_2, %w_ct : tensor<8xf64>, tensor<8xf64>, tensor<8x3xf64>
// CHECK-NEXT: }
