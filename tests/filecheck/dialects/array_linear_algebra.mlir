// RUN: gradir-opt %s | filecheck %s
// RUN: GRADIR_ROUNDTRIP
// RUN: gradir-opt %s -p "gradir-gradient{function=systems mode=vjp},gradir-gradient{function=determinants mode=vjp}" | filecheck %s --check-prefix=GRAD
// RUN: gradir-opt %s -p "gradir-decompose" | filecheck %s --check-prefix=LU

func.func @factor(%a: tensor<2x3x3xf64>) -> tensor<2x3x3xf64> {
  %y = array.cholesky %a : tensor<2x3x3xf64>
  func.return %y : tensor<2x3x3xf64>
}
func.func @systems(%a: tensor<3x3xf32>, %b: tensor<3x2xf32>, %c: tensor<3xf32>) -> (tensor<3x2xf32>, tensor<3xf32>) {
  %x = array.triangular_solve %a, %b {lower = false, transpose = true} : tensor<3x3xf32>, tensor<3x2xf32> -> tensor<3x2xf32>
  %y = array.solve %a, %c : tensor<3x3xf32>, tensor<3xf32> -> tensor<3xf32>
  func.return %x, %y : tensor<3x2xf32>, tensor<3xf32>
}
func.func @determinants(%a: tensor<2x3x3xf64>) -> (tensor<2xf64>, tensor<2xf64>) {
  %y = array.det %a : tensor<2x3x3xf64> -> tensor<2xf64>
  %sign, %log = array.slogdet %a : tensor<2x3x3xf64> -> (tensor<2xf64>, tensor<2xf64>)
  func.return %y, %log : tensor<2xf64>, tensor<2xf64>
}
func.func @inverse(%a: tensor<1x1xf64>) -> (tensor<1x1xf64>, tensor<1x1xf64>) {
  %y = array.inv %a : tensor<1x1xf64>
  %lu, %rows, %columns, %sign = grad.lu_factor %a {defer = true} : tensor<1x1xf64> -> (tensor<1x1xf64>, tensor<1xi64>, tensor<1xi64>, tensor<f64>)
  func.return %y, %lu : tensor<1x1xf64>, tensor<1x1xf64>
}

//      CHECK: func.func @factor(%a: tensor<2x3x3xf64>) -> tensor<2x3x3xf64> {
// CHECK-NEXT:   %y = array.cholesky %a : tensor<2x3x3xf64>
//      CHECK: func.func @systems
// CHECK-NEXT:   %x = array.triangular_solve %a, %b {lower = false, transpose = true} : tensor<3x3xf32>, tensor<3x2xf32> -> tensor<3x2xf32>
// CHECK-NEXT:   %y = array.solve %a, %c : tensor<3x3xf32>, tensor<3xf32> -> tensor<3xf32>
//      CHECK: func.func @determinants
// CHECK-NEXT:   %y = array.det %a : tensor<2x3x3xf64> -> tensor<2xf64>
// CHECK-NEXT:   %sign, %log = array.slogdet %a : tensor<2x3x3xf64> -> (tensor<2xf64>, tensor<2xf64>)
//      CHECK: func.func @inverse
// CHECK-NEXT:   %y = array.inv %a : tensor<1x1xf64>
// CHECK-NEXT:   %lu, %rows, %columns, %sign = grad.lu_factor %a {defer = true} : tensor<1x1xf64> -> (tensor<1x1xf64>, tensor<1xi64>, tensor<1xi64>, tensor<f64>)

//      GRAD: func.func @systems_vjp
//      GRAD:   array.solve %a, %y_ct {transpose = true} : tensor<3x3xf32>, tensor<3xf32> -> tensor<3xf32>
//      GRAD:   array.triangular_solve %a, %x_ct {lower = false, transpose = false, unit_diagonal = false} : tensor<3x3xf32>, tensor<3x2xf32> -> tensor<3x2xf32>
//      GRAD: func.func @determinants_vjp
//      GRAD:   array.inv %a : tensor<2x3x3xf64>
//      GRAD:   grad.cofactor %a : tensor<2x3x3xf64>

// A solve is a factorization, and two triangular solves.
//        LU: func.func @systems
//        LU:   array.triangular_solve %a, %b {lower = false, transpose = true}
//        LU:   grad.lu_factor %a : tensor<3x3xf32> -> (tensor<3x3xf32>, tensor<3xi64>, tensor<3xi64>, tensor<f32>)
//   LU-NEXT:   array.take_along_axis %c
//   LU-NEXT:   array.triangular_solve {{.*}} {lower = true, transpose = false, unit_diagonal = true}
//   LU-NEXT:   array.triangular_solve {{.*}} {lower = false, transpose = false, unit_diagonal = false}
