// RUN: gradir-opt %s | filecheck %s
// RUN: GRADIR_ROUNDTRIP
// RUN: gradir-opt %s -p "gradir-gradient{function=matrix mode=vjp},gradir-gradient{function=projector mode=vjp},gradir-gradient{function=total mode=vjp},gradir-gradient{function=singular mode=vjp}" | filecheck %s --check-prefix=GRAD

// Sums over eigenvectors are ops of the matrix before they are differentiated.

func.func @matrix(%a: tensor<3x3xf64>) -> tensor<3x3xf64> {
  %w, %v = array.eigh %a : tensor<3x3xf64> -> (tensor<3xf64>, tensor<3x3xf64>)
  %f = array.exp %w : tensor<3xf64>
  %line = array.broadcast_to %f : tensor<3xf64> -> tensor<3x3xf64>
  %p = array.multiply %v, %line : tensor<3x3xf64>
  %vt = array.permute_dims %v {axes = [1, 0]} : tensor<3x3xf64> -> tensor<3x3xf64>
  %y = array.matmul %p, %vt : tensor<3x3xf64>, tensor<3x3xf64> -> tensor<3x3xf64>
  func.return %y : tensor<3x3xf64>
}
//      GRAD: func.func @matrix_vjp
//      GRAD:   %y = grad.spectral %a, {{.*}}
//      GRAD:   grad.spectral %a, {{.*}} {order = 1} :
//  GRAD-NOT:   grad.eigen_solve

func.func @projector(%a: tensor<3x3xf64>) -> tensor<3x3xf64> {
  %w, %v = array.eigh %a : tensor<3x3xf64> -> (tensor<3xf64>, tensor<3x3xf64>)
  %two = array.slice %v {start = [0, 0], stop = [3, 2]} : tensor<3x3xf64> -> tensor<3x2xf64>
  %y = array.einsum %two, %two {equation = "ai,bi->ab"} : tensor<3x2xf64>, tensor<3x2xf64> -> tensor<3x3xf64>
  func.return %y : tensor<3x3xf64>
}
//      GRAD: func.func @projector_vjp
//      GRAD:   grad.spectral %a, {{.*}} {order = 1, run = [0, 2]} :
//  GRAD-NOT:   grad.eigen_solve

func.func @total(%a: tensor<3x3xf64>) -> tensor<f64> {
  %w, %v = array.eigh %a : tensor<3x3xf64> -> (tensor<3xf64>, tensor<3x3xf64>)
  %f = array.sin %w : tensor<3xf64>
  %y = array.sum %f : tensor<3xf64> -> tensor<f64>
  func.return %y : tensor<f64>
}
//      GRAD: func.func @total_vjp
//      GRAD:   grad.spectral_trace %a
//      GRAD:   grad.spectral %a

func.func @singular(%a: tensor<4x3xf64>) -> tensor<4x3xf64> {
  %u, %s, %vh = array.svd %a : tensor<4x3xf64> -> (tensor<4x3xf64>, tensor<3xf64>, tensor<3x3xf64>)
  %y = array.matmul %u, %vh : tensor<4x3xf64>, tensor<3x3xf64> -> tensor<4x3xf64>
  func.return %y : tensor<4x3xf64>
}
//      GRAD: func.func @singular_vjp
//      GRAD:   grad.spectral
//      GRAD:   grad.spectral {{.*}} {order = 1} :
//  GRAD-NOT:   grad.singular_solve

// CHECK: func.func @derivative
func.func @derivative(%a: tensor<2x2xf64>, %w: tensor<2xf64>, %e: tensor<2x2xf64>) -> (tensor<2x2xf64>, tensor<f64>) {
  // CHECK: %y = grad.spectral %a, %w, %a, %w, %w, %e {order = 1, run = [0, 1]} : tensor<2x2xf64>, tensor<2xf64>, tensor<2x2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2x2xf64> -> tensor<2x2xf64>
  %y = grad.spectral %a, %w, %a, %w, %w, %e {order = 1, run = [0, 1]} : tensor<2x2xf64>, tensor<2xf64>, tensor<2x2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2x2xf64> -> tensor<2x2xf64>
  // CHECK: %t = grad.spectral_trace %a, %w, %a, %w : tensor<2x2xf64>, tensor<2xf64>, tensor<2x2xf64>, tensor<2xf64> -> tensor<f64>
  %t = grad.spectral_trace %a, %w, %a, %w : tensor<2x2xf64>, tensor<2xf64>, tensor<2x2xf64>, tensor<2xf64> -> tensor<f64>
  func.return %y, %t : tensor<2x2xf64>, tensor<f64>
}
