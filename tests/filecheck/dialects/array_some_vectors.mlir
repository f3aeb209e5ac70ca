// RUN: gradir-opt %s | filecheck %s
// RUN: GRADIR_ROUNDTRIP
// RUN: gradir-opt %s -p "gradir-gradient{function=top mode=vjp},gradir-gradient{function=pair mode=vjp},gradir-gradient{function=orthogonal mode=vjp}" | filecheck %s --check-prefix=GRAD
// RUN: gradir-opt %s -p "gradir-decompose" | filecheck %s --check-prefix=CALL

func.func @top(%a: tensor<3x3xf64>) -> tensor<3x1xf64> {
  %w, %v = array.eigh %a : tensor<3x3xf64> -> (tensor<3xf64>, tensor<3x3xf64>)
  %top = array.slice %v {start = [0, 2], stop = [3, 3]} : tensor<3x3xf64> -> tensor<3x1xf64>
  func.return %top : tensor<3x1xf64>
}
func.func @pair(%a: tensor<4x3xf64>) -> (tensor<4x1xf64>, tensor<1x3xf64>) {
  %u, %s, %vh = array.svd %a : tensor<4x3xf64> -> (tensor<4x3xf64>, tensor<3xf64>, tensor<3x3xf64>)
  %left = array.slice %u {start = [0, 0], stop = [4, 1]} : tensor<4x3xf64> -> tensor<4x1xf64>
  %right = array.slice %vh {start = [0, 0], stop = [1, 3]} : tensor<3x3xf64> -> tensor<1x3xf64>
  func.return %left, %right : tensor<4x1xf64>, tensor<1x3xf64>
}
func.func @orthogonal(%a: tensor<3x3xf64>, %q: tensor<3x3xf64>) -> (tensor<3x3xf64>, tensor<3x3xf64>) {
  %u, %norm, %w, %v = grad.polar %a : tensor<3x3xf64> -> (tensor<3x3xf64>, tensor<f64>, tensor<3xf64>, tensor<3x3xf64>)
  %y = grad.sylvester %a, %q : tensor<3x3xf64>, tensor<3x3xf64> -> tensor<3x3xf64>
  %c = grad.cofactor_slope %y, %q : tensor<3x3xf64>, tensor<3x3xf64> -> tensor<3x3xf64>
  func.return %u, %c : tensor<3x3xf64>, tensor<3x3xf64>
}

//      CHECK: func.func @orthogonal
// CHECK-NEXT:   %u, %norm, %w, %v = grad.polar %a : tensor<3x3xf64> -> (tensor<3x3xf64>, tensor<f64>, tensor<3xf64>, tensor<3x3xf64>)
// CHECK-NEXT:   %y = grad.sylvester %a, %q : tensor<3x3xf64>, tensor<3x3xf64> -> tensor<3x3xf64>
// CHECK-NEXT:   %c = grad.cofactor_slope %y, %q : tensor<3x3xf64>, tensor<3x3xf64> -> tensor<3x3xf64>

// The systems are those of the vectors that are read, and of no others.
//      GRAD: func.func @top_vjp
//      GRAD:   grad.eigen_solve %a, %{{.*}}, %w, %v {columns = [2, 3]} : tensor<3x3xf64>, tensor<3x1xf64>, tensor<3xf64>, tensor<3x3xf64> -> tensor<3x1xf64>
//      GRAD: func.func @pair_vjp
//      GRAD:   grad.singular_solve %a, %{{.*}}, %{{.*}}, %u, %s, %vh {columns = [0, 1]} : tensor<4x3xf64>, tensor<4x1xf64>, tensor<3x1xf64>, tensor<4x3xf64>, tensor<3xf64>, tensor<3x3xf64> -> (tensor<4x1xf64>, tensor<3x1xf64>)
//      GRAD: func.func @orthogonal_vjp
//      GRAD:   array.inv
//      GRAD:   grad.sylvester
//      GRAD:   grad.lyapunov %{{.*}}, %{{.*}}, %w, %v : tensor<3x3xf64>, tensor<3x3xf64>, tensor<3xf64>, tensor<3x3xf64> -> tensor<3x3xf64>

//      CALL:   grad.host_call %a {callee = "lapack.polar", pure}
//      CALL:   grad.host_call %a, %q {callee = "lapack.sylvester", pure}
