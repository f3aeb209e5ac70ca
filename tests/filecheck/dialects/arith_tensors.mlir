// RUN: gradir-opt %s --print-op-generic | gradir-opt | filecheck %s
// RUN: gradir-opt %s -p "gradir-gradient{function=power mode=vjp}" | filecheck %s --check-prefix=VJP
// RUN: gradir-opt %s -p "gradir-lower" | filecheck %s --check-prefix=LOWERED

// Ops of arith and math mean the same on each element of a tensor as on a number; comparisons,
// choices by a tensor, and conversions are among them.

//      CHECK: func.func @ops(%x: tensor<4xf32>, %n: tensor<4xi32>, %p: i1)
// CHECK-NEXT:   %half = arith.constant dense<5.000000e-01> : tensor<4xf32>
// CHECK-NEXT:   %0 = arith.mulf %x, %half : tensor<4xf32>
// CHECK-NEXT:   %1 = arith.cmpf olt, %0, %x fastmath<nnan> : tensor<4xf32>
// CHECK-NEXT:   %2 = arith.select %1, %0, %half : tensor<4xi1>, tensor<4xf32>
// CHECK-NEXT:   %3 = arith.select %p, %2, %x : tensor<4xf32>
// CHECK-NEXT:   %4 = arith.fptosi %3 : tensor<4xf32> to tensor<4xi32>
// CHECK-NEXT:   %5 = arith.cmpi ult, %4, %n : tensor<4xi32>
// CHECK-NEXT:   %6 = arith.extui %5 : tensor<4xi1> to tensor<4xi64>
// CHECK-NEXT:   %7 = arith.index_cast %6 : tensor<4xi64> to tensor<4xindex>
// CHECK-NEXT:   %8 = arith.index_cast %7 : tensor<4xindex> to tensor<4xi32>
// CHECK-NEXT:   %9 = arith.uitofp %8 : tensor<4xi32> to tensor<4xbf16>
// CHECK-NEXT:   func.return %9 : tensor<4xbf16>
func.func @ops(%x: tensor<4xf32>, %n: tensor<4xi32>, %p: i1) -> tensor<4xbf16> {
  %half = arith.constant dense<0.5> : tensor<4xf32>
  %0 = arith.mulf %x, %half : tensor<4xf32>
  %1 = arith.cmpf olt, %0, %x fastmath<nnan> : tensor<4xf32>
  %2 = arith.select %1, %0, %half : tensor<4xi1>, tensor<4xf32>
  %3 = arith.select %p, %2, %x : tensor<4xf32>
  %4 = arith.fptosi %3 : tensor<4xf32> to tensor<4xi32>
  %5 = arith.cmpi ult, %4, %n : tensor<4xi32>
  %6 = arith.extui %5 : tensor<4xi1> to tensor<4xi64>
  %7 = arith.index_cast %6 : tensor<4xi64> to tensor<4xindex>
  %8 = arith.index_cast %7 : tensor<4xindex> to tensor<4xi32>
  %9 = arith.uitofp %8 : tensor<4xi32> to tensor<4xbf16>
  func.return %9 : tensor<4xbf16>
}

// The derivative is that of the op on numbers: ops on tensors again.

//      VJP: func.func @power_vjp(%x: tensor<2xf64>, %n: tensor<2xi32>, %y_ct: tensor<2xf64>) -> (tensor<2xf64>, tensor<2xf64>) {
// VJP-NEXT:   %y = math.fpowi %x, %n : tensor<2xf64>, tensor<2xi32>
// VJP-NEXT:   %0 = arith.constant dense<0> : tensor<2xi32>
// VJP-NEXT:   %1 = arith.constant dense<1> : tensor<2xi32>
// VJP-NEXT:   %2 = arith.cmpi eq, %n, %0 : tensor<2xi32>
// VJP-NEXT:   %3 = arith.subi %n, %1 : tensor<2xi32>
// VJP-NEXT:   %4 = arith.select %2, %1, %3 : tensor<2xi1>, tensor<2xi32>
// VJP-NEXT:   %5 = math.fpowi %x, %4 : tensor<2xf64>, tensor<2xi32>
// VJP-NEXT:   %6 = arith.sitofp %n : tensor<2xi32> to tensor<2xf64>
// VJP-NEXT:   %7 = arith.mulf %6, %5 : tensor<2xf64>
// VJP-NEXT:   %x_ct = arith.mulf %y_ct, %7 : tensor<2xf64>
// VJP-NEXT:   func.return %y, %x_ct : tensor<2xf64>, tensor<2xf64>

// A loop nest has the op on numbers as its body.

//      LOWERED: func.func @power(%x: tensor<2xf64>, %n: tensor<2xi32>) -> tensor<2xf64> {
// LOWERED-NEXT:   %y = loopnest.nest [2] (%0 = %x[d0] : tensor<2xf64>, %1 = %n[d0] : tensor<2xi32>) -> ([d0] : tensor<2xf64>) {
// LOWERED-NEXT:     %2 = math.fpowi %0, %1 : f64, i32
// LOWERED-NEXT:     loopnest.yield %2 : f64
func.func @power(%x: tensor<2xf64>, %n: tensor<2xi32>) -> tensor<2xf64> {
  %y = math.fpowi %x, %n : tensor<2xf64>, tensor<2xi32>
  func.return %y : tensor<2xf64>
}

// Constants of one number become part of what reads them; others are kept as they are.

//      LOWERED: func.func @constants() -> (tensor<2xf64>, tensor<2xf64>) {
// LOWERED-NEXT:   %pair = arith.constant dense<[1.000000e+00, -0.000000e+00]> : tensor<2xf64>
// LOWERED-NEXT:   %ones = loopnest.nest [2] () -> ([d0] : tensor<2xf64>) {
func.func @constants() -> (tensor<2xf64>, tensor<2xf64>) {
  %pair = arith.constant dense<[1.0, -0.0]> : tensor<2xf64>
  %ones = arith.constant dense<1.0> : tensor<2xf64>
  func.return %pair, %ones : tensor<2xf64>, tensor<2xf64>
}
