// RUN: gradir-opt %s --split-input-file --verify-diagnostics -p 'gradir-gradient{function=f req="0=slices"},gradir-expand-slices'

func.func @f(%i: tensor<5xi32>, %v: tensor<5x2xf64>) {
  // expected-error @+1 {{grad.slices: expected tensor<5xi64>, got tensor<5xi32>}}
  %s = grad.slices %i, %v : tensor<5xi32>, tensor<5x2xf64> -> !grad.slices<4x2xf64, count = 5>
  func.return
}

// -----

func.func @f(%i: tensor<5xi64>, %v: tensor<5x3xf64>) {
  // expected-error @+1 {{grad.slices: expected tensor<5x2xf64>, got tensor<5x3xf64>}}
  %s = grad.slices %i, %v : tensor<5xi64>, tensor<5x3xf64> -> !grad.slices<4x2xf64, count = 5>
  func.return
}

// -----

func.func @f(%s: !grad.slices<4x2xf64, count = 5>) {
  // expected-error @+1 {{grad.densify: expected tensor<4x2xf64>, got tensor<4x2xf32>}}
  %y = grad.densify %s : !grad.slices<4x2xf64, count = 5> -> tensor<4x2xf32>
  func.return
}

// -----

func.func @f(%s: !grad.slices<4x2xf64, count = 5>) {
  // expected-error @+1 {{grad.coalesce: mode must be "sum" or "mean", got "max"}}
  %y = grad.coalesce %s {mode = "max"} : !grad.slices<4x2xf64, count = 5>
  func.return
}

// -----

func.func @f(%s: !grad.slices<4x2xi64, count = 5>) {
  // expected-error @+1 {{grad.coalesce: a mean needs floating elements, got !grad.slices<4x2xi64, count = 5>}}
  %y = grad.coalesce %s {mode = "mean"} : !grad.slices<4x2xi64, count = 5>
  func.return
}

// -----

func.func @f(%s: !grad.slices<4x2xf64, count = 5>) {
  // expected-error @+1 {{grad.slice_indices: expected tensor<5xi64>, got tensor<4xi64>}}
  %y = grad.slice_indices %s : !grad.slices<4x2xf64, count = 5> -> tensor<4xi64>
  func.return
}

// -----

func.func @f(%s: !grad.slices<4x2xf64, count = 5>, %d: tensor<5x2xf64>) {
  // expected-error @+1 {{grad.accumulate: operands must be of one tensor type, or its slices, got !grad.slices<4x2xf64, count = 5>, tensor<5x2xf64>}}
  %y = grad.accumulate %s, %d : !grad.slices<4x2xf64, count = 5>, tensor<5x2xf64> -> tensor<4x2xf64>
  func.return
}

// -----

func.func @f(%s: !grad.slices<4x2xf64, count = 5>) {
  // expected-error @+1 {{grad.accumulate: result type must be !grad.slices<4x2xf64, count = 10>, got !grad.slices<4x2xf64, count = 5>}}
  %y = grad.accumulate %s, %s : !grad.slices<4x2xf64, count = 5>, !grad.slices<4x2xf64, count = 5> -> !grad.slices<4x2xf64, count = 5>
  func.return
}

// -----

// expected-error @+1 {{grad.slices: expected a static shape of rank 1 or more, got tensor<f64>}}
func.func @f(%s: !grad.slices<f64, count = 5>) {
  func.return
}

// -----

// expected-error @+1 {{req: slices needs a tensor of rows, got tensor<f64> for x}}
func.func @f(%x: tensor<f64>) -> tensor<f64> {
  func.return %x : tensor<f64>
}

// -----

// expected-error @+1 {{grad.slices: elements must be numbers, got tensor<4x3xnone>}}
func.func @f(%x: tensor<4x3xf32>, %s: !grad.slices<4x3xnone>) -> tensor<4x3xf32> {
  func.return %x : tensor<4x3xf32>
}

// -----

func.func @f(%x: tensor<4xf64>) -> tensor<4xf64> {
  func.return %x : tensor<4xf64>
}
func.func @g(%s: !grad.slices<4x2xf64>) -> !grad.slices<4x2xf64> {
  // expected-error @+1 {{grad.coalesce: native code needs a static number of slices, got !grad.slices<4x2xf64>; write the count}}
  %y = grad.coalesce %s : !grad.slices<4x2xf64>
  func.return %y : !grad.slices<4x2xf64>
}

// -----

func.func @f(%x: tensor<4xf64>) -> tensor<4xf64> {
  func.return %x : tensor<4xf64>
}
func.func @g(%s: !grad.slices<4x2xf64>, %c: i1) -> !grad.slices<4x2xf64> {
  // expected-error @+1 {{arith.select: native code does not know this op on row slices}}
  %y = arith.select %c, %s, %s : !grad.slices<4x2xf64>
  func.return %y : !grad.slices<4x2xf64>
}

// -----

func.func @f(%w: tensor<4xf64>, %i: tensor<4xi64>, %n: index) -> tensor<4xf64> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %y = scf.for %k = %zero to %n step %one iter_args(%a = %w) -> (tensor<4xf64>) {
    // expected-error @+1 {{%t: the backward code of a region cannot read row slices; densify them, or move what makes them out of the region}}
    %t = grad.slices %i, %a : tensor<4xi64>, tensor<4xf64> -> !grad.slices<4xf64, count = 4>
    %u = grad.coalesce %t {mode = "mean"} : !grad.slices<4xf64, count = 4>
    %b = grad.densify %u : !grad.slices<4xf64, count = 4> -> tensor<4xf64>
    scf.yield %b : tensor<4xf64>
  }
  func.return %y : tensor<4xf64>
}
