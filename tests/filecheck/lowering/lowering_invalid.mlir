// RUN: gradir-opt %s --split-input-file --verify-diagnostics -p "gradir-inline,gradir-lower,gradir-bufferize"

func.func @f(%x: tensor<?xf32>) -> tensor<?xf32> {
  // expected-error @+1 {{array.exp: native code needs static shapes, got tensor<?xf32>; write the extents, or run gradir-specialize}}
  %y = array.exp %x : tensor<?xf32>
  func.return %y : tensor<?xf32>
}

// -----

// expected-error @+1 {{@f: native code takes tensors and numbers, got complex<f32>}}
func.func @f(%x: complex<f32>) -> complex<f32> {
  func.return %x : complex<f32>
}

// -----

func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{tensor.cast: native code needs static shapes, got tensor<?xf32>; write the extents, or run gradir-specialize}}
  %y = tensor.cast %x : tensor<4xf32> to tensor<?xf32>
  %z = tensor.cast %y : tensor<?xf32> to tensor<4xf32>
  func.return %z : tensor<4xf32>
}

// -----

func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{func.call: @f is recursive}}
  %y = func.call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

func.func @g(%x: tensor<4xf32>) -> tensor<4xf32> {
  cf.br ^next
^next:
  func.return %x : tensor<4xf32>
}
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{func.call: @g has several blocks}}
  %y = func.call @g(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

func.func private @g(tensor<4xf32>) -> tensor<4xf32>
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{func.call: @g has no body}}
  %y = func.call @g(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

// expected-error @+1 {{@f: native code needs one block, got several}}
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  cf.br ^next
^next:
  func.return %x : tensor<4xf32>
}

// -----

func.func @f(%s: !grad.slices<4xf64, count = 2>, %t: !grad.slices<4xf64, count = 3>) -> !grad.slices<4xf64, count = 5> {
  // expected-error @+1 {{grad.accumulate: row slices have no loop nest, got !grad.slices<4xf64, count = 2>; run gradir-expand-slices first}}
  %y = grad.accumulate %s, %t : !grad.slices<4xf64, count = 2>, !grad.slices<4xf64, count = 3> -> !grad.slices<4xf64, count = 5>
  func.return %y : !grad.slices<4xf64, count = 5>
}

// -----

func.func @f(%s: !grad.slices<4xf64, count = 2>) -> tensor<4xf64> {
  // expected-error @+1 {{grad.densify: row slices have no loop nest, got !grad.slices<4xf64, count = 2>; run gradir-expand-slices first}}
  %y = grad.densify %s : !grad.slices<4xf64, count = 2> -> tensor<4xf64>
  func.return %y : tensor<4xf64>
}

// -----

func.func @f(%x: tensor<3xf64>, %y: tensor<3xf64>) -> tensor<3xf64> {
  // expected-error @+1 {{array.complex: loop nests are of real numbers, got tensor<3xcomplex<f64>>; run gradir-split-complex first}}
  %z = array.complex %x, %y : tensor<3xf64>, tensor<3xf64> -> tensor<3xcomplex<f64>>
  %i = array.imag %z : tensor<3xcomplex<f64>> -> tensor<3xf64>
  func.return %i : tensor<3xf64>
}
